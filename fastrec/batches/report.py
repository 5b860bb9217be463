# SPDX-License-Identifier: Apache-2.0
"""Report where the time of a pass goes, and which part of it limits the training loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import _core
from ..arguments import shown
from ..storage.remote import traffic
from ..threads.clock import Span, Work
from ..threads.cpus import usable_cpus
from ..threads.pipeline import Pipeline
from .remote_feed import RemoteFeed

__all__ = ["Meter", "Report"]

STAGES = {
    "storage": "waiting for storage",
    "parse": "checksums and parsing",
    "decode": "decoding images",
    "augment": "augmentation",
    "batching": "padding and packing",
    "transform": "the transform",
}
_LOADING_LIMITS = 0.1  # least share of time that the loop waits for data if loading is the limit
# A thread waits longer than this for the interpreter's lock, on average, if others hold it: they
# give it up after 5 ms (sys.getswitchinterval()). Otherwise it waits for microseconds.
_LOCK_HELD_S = 1e-3
_COMPUTES = 0.02  # least share of its time that a transform computes, if it does not only wait
_POINTS = 512  # points of the timeline

_MORE_THREADS = "use more threads, or "
_STARVED = "threads wait for a processor: use fewer threads, stop other programs, or "
_REMEDIES = {
    "parse": "request only the features that the step uses",
    "decode": "store smaller images, or hand encoded images to the accelerator",
    "augment": "augment on the accelerator",
    "batching": "prefetch more batches",
    "transform": "more transform_workers, or a cheaper transform",
    "storage": "use shuffle='blocks' instead of a shuffle of all records, or a faster disk",
}
_CONSUMER = "the training step takes longer than loading; faster loading would not help"
_OBJECTS = (
    "copy the objects with StorageOptions(cache=...), fetch further ahead with a larger "
    "window_bytes, or read from a nearer region"
)
_LOCK = (
    "the transform holds the interpreter's lock, so that more threads do not help: use NumPy "
    "operations on whole batches, which release it, or processes with transform_workers="
)


@dataclass(frozen=True)
class Report:
    """Where the time of a pass went; ``str()`` gives a text that names the bottleneck.

    :meth:`Batches.report` and :meth:`Batcher.report` create it. Times are in seconds.

    Examples
    --------
    >>> import os, tempfile, time, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"record"] * 10)
    >>> batcher = fastrec.Batcher(path)
    >>> for batch in batcher:
    ...     time.sleep(0.01)  # the training step
    >>> report = batcher.report()
    >>> report.batches, report.bottleneck
    (10, 'consumer')
    """

    batches: int
    """Batches delivered."""
    records: int
    """Records in the delivered batches, and in batches that are ready."""
    bytes: int
    """Bytes of the records that were read."""
    seconds: float
    """Time since the first batch was requested, or from there to the end of the pass."""
    first_batch_s: float
    """Time until the first batch, which includes opening the files."""
    exposed_data_loading_s: float
    """Time that the loop waited for later batches; Ray Train calls it exposed data loading time."""
    work: list[dict[str, Any]]
    """For each group of threads: their number, the time in each stage, and idle time."""
    requests: dict[str, int]
    """Counts of this process: requests, retries, fetched bytes, cache hits and misses."""
    timeline: list[tuple[float, float, int]] = field(default_factory=list)
    """Time, wait for the batch, and ready batches, at up to 512 evenly chosen batches."""
    cpus: int = 1
    """Number of processors that this process may use."""
    rank: int = 0
    """Rank of the process, for :func:`fastrec.torch.report`."""
    ranks: list[dict[str, Any]] = field(default_factory=list)
    """For each rank: exposed data loading time, its share of the time, and bottleneck."""

    @property
    def stages(self) -> dict[str, float]:
        """Time of all threads in each stage."""
        sums = dict.fromkeys(STAGES, 0.0)
        for group in self.work:
            for stage, seconds in group["stages"].items():
                sums[stage] += seconds
        return sums

    @property
    def exposed_share(self) -> float:
        """Share of the time after the first batch that the loop waited for data, from 0 to 1."""
        return self.exposed_data_loading_s / max(self.seconds - self.first_batch_s, 1e-9)

    @property
    def bottleneck(self) -> str:
        """The limit of the throughput: a stage, ``"consumer"``, or ``"unknown"`` at the start.

        The stages are ``"storage"``, ``"parse"``, ``"decode"``, ``"augment"``, ``"batching"`` and
        ``"transform"``. It is ``"consumer"`` if the loop waits for data less than a tenth of the
        time.
        """
        if self.batches < 2 or not self.work:
            return "unknown"
        if self.exposed_share < _LOADING_LIMITS:
            return "consumer"
        # Waiting for a processor lengthens all stages, so it does not tell which one is slow.
        busy = [
            {stage: each - group["starved_s"][stage] for stage, each in group["stages"].items()}
            for group in self.work
        ]
        shares = [
            sum(stages.values()) / group["threads"]
            for stages, group in zip(busy, self.work, strict=True)
        ]
        stages = busy[shares.index(max(shares))]
        return max(STAGES, key=lambda stage: float(stages[stage]))

    @property
    def remedy(self) -> str:
        """How to make the loop faster."""
        stage = self.bottleneck
        if stage == "unknown":
            return "take more batches before the report"
        if stage == "consumer":
            return _CONSUMER
        if stage == "storage" and self.requests.get("requests", 0) > 0:
            return _OBJECTS
        if stage == "transform" and self._transform_holds_lock():
            return _LOCK
        starved = sum(sum(group["starved_s"].values()) for group in self.work)
        is_starved = starved > 0.5 * sum(self.stages.values())
        return (_STARVED if is_starved else _MORE_THREADS) + _REMEDIES[stage]

    def _transform_holds_lock(self) -> bool:
        for group in self.work:
            seconds = group["stages"]["transform"]
            computing = seconds - group["blocked_s"]["transform"] - group["starved_s"]["transform"]
            if computing > _COMPUTES * seconds and group["lock_s"] > _LOCK_HELD_S:
                return True
        return False

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers, strings, lists and dicts, for JSON."""
        derived = ("stages", "exposed_share", "bottleneck", "remedy")
        return asdict(self) | {name: getattr(self, name) for name in derived}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """Return the report that :meth:`as_dict` has converted."""
        if not isinstance(values, Mapping) or not values.keys() >= cls.__dataclass_fields__.keys():
            raise ValueError(f"values must be a dict of Report.as_dict(), got {shown(values)}")
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})

    def scalars(self) -> dict[str, float]:
        """Return the numbers for a metrics system, by name."""
        seconds = max(self.seconds, 1e-9)
        values: dict[str, float] = {
            "batches": self.batches,
            "records": self.records,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "batches_per_second": self.batches / seconds,
            "records_per_second": self.records / seconds,
            "first_batch_seconds": self.first_batch_s,
            "exposed_data_loading_seconds": self.exposed_data_loading_s,
            "exposed_data_loading_share": self.exposed_share,
            "data_wait_ms": 1e3 * self.exposed_data_loading_s / max(self.batches - 1, 1),
            "queue_depth": self.timeline[-1][2] if self.timeline else 0,
            "queue_full_seconds": sum(group["idle_s"]["room"] for group in self.work),
        }
        values |= {f"stage_{stage}_seconds": each for stage, each in self.stages.items()}
        return values | {name: float(count) for name, count in self.requests.items()}

    def __str__(self) -> str:
        seconds = max(self.seconds, 1e-9)
        lines = [
            f"{self.batches} batches, {self.records} records and {_size(self.bytes)} in "
            f"{self.seconds:.3g} s; {self.records / seconds:.4g} records per second",
            f"exposed data loading time: {self.exposed_data_loading_s:.3g} s, "
            f"{self.exposed_share:.0%} of the time, "
            f"{self.scalars()['data_wait_ms']:.3g} ms per step; "
            f"first batch after {self.first_batch_s:.3g} s",
            *self._stage_lines(),
        ]
        if self.requests.get("requests") or self.requests.get("cache_hits"):
            counts = (f"{name.replace('_', ' ')} {count}" for name, count in self.requests.items())
            lines.append(", ".join(counts))
        lines.append(f"bottleneck: {STAGES.get(self.bottleneck, self.bottleneck)}; {self.remedy}")
        return "\n".join([*self._rank_lines(), *lines])

    def _stage_lines(self) -> list[str]:
        lines = []
        for group in self.work:
            whole = max(group["threads"] * self.seconds, 1e-9)
            parts = [
                f"{STAGES[stage]} {seconds / whole:.0%}"
                for stage, seconds in group["stages"].items()
                if seconds >= 0.005 * whole
            ]
            parts.append(f"full output queue {group['idle_s']['room'] / whole:.0%}")
            lines.append(f"{group['threads']} x {group['name']}: {', '.join(parts)}")
        return lines

    def _rank_lines(self) -> list[str]:
        if len(self.ranks) < 2:
            return []
        others = [each for rank, each in enumerate(self.ranks) if rank != self.rank]
        most = max(each["exposed_share"] for each in others)
        return [
            f"rank {self.rank} of {len(self.ranks)} waits longest for data: "
            f"{self.exposed_share:.0%} of the time, other ranks at most {most:.0%}"
        ]


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


class Meter:
    """Counts the batches of one pass and the time that the loop waits for them."""

    def __init__(self) -> None:
        self.batches: int = 0
        self.records: int = 0
        self.waited_s: float = 0.0
        self.first_batch_s: float = 0.0
        self.began: float = 0.0
        self._ended = 0.0
        self._stride, self._next_point = 1, 0  # in batches
        self._timeline: list[tuple[float, float, int]] = []
        self._before: dict[str, int] = {}

    def begin(self) -> float:
        """Start the pass, and return the time."""
        self._before = traffic.counts()
        self.began = time.perf_counter()
        return self.began

    @property
    def seconds(self) -> float:
        """Time since the start, up to the end of the pass."""
        return (self._ended or time.perf_counter()) - self.began if self.began else 0.0

    def end(self) -> None:
        """Stop the clock at the end of the pass."""
        self._ended = self._ended or time.perf_counter()

    def count(self, since: float, feed: Any) -> float:
        """Count a batch that was requested at `since`; return the time of the wait for it."""
        now = time.perf_counter()
        wait = now - since
        batches = self.batches
        if batches:
            self.waited_s += wait
        else:
            self.first_batch_s = now - self.began
        if batches == self._next_point:
            self._timeline.append((now - self.began, wait, _depth(feed)))
            if len(self._timeline) == _POINTS:
                del self._timeline[1::2]
                self._stride *= 2
            self._next_point = len(self._timeline) * self._stride
        self.batches = batches + 1
        return wait

    def report(self, feed: Any) -> Report:
        """Return the report of a pass whose batches come from `feed`."""
        now = traffic.counts()
        work = [] if feed is None else _groups(feed)
        return Report(
            batches=self.batches,
            records=self.records,
            bytes=sum(group.pop("bytes") for group in work),
            seconds=self.seconds,
            first_batch_s=self.first_batch_s,
            exposed_data_loading_s=self.waited_s,
            work=work,
            requests={name: count - self._before.get(name, 0) for name, count in now.items()},
            timeline=list(self._timeline),
            cpus=usable_cpus(),
        )


def _depth(feed: Any) -> int:
    return int(feed.depth if isinstance(feed, Pipeline) else feed.stats()["times"]["done"])


def _groups(feed: _core.Loader | Pipeline) -> list[dict[str, Any]]:
    """Return the work of each group of threads behind a feed."""
    if not isinstance(feed, Pipeline):
        return [_native_group(feed)]
    source, threads = feed.work()
    own = feed.source
    loader = getattr(own, "loader", None)
    if loader is not None:
        first = _native_group(loader)
    else:
        name = "fetching thread" if isinstance(own, RemoteFeed) else "reading thread"
        first = _group(name, source)
    return [first, _group("worker threads", threads)]


def _native_group(loader: _core.Loader) -> dict[str, Any]:
    stats = loader.stats()
    times = {name: value / 1e9 for name, value in stats["times"].items()}
    work = Work(
        threads=loader.threads,
        seconds={"parse": times["tasks_ns"]},
        blocked_s={"parse": times["blocked_ns"]},
        starved_s={"parse": times["starved_ns"]},
        idle_s={"input": 0.0, "room": times["room_ns"]},
        bytes=stats["bytes"],
    )
    return _group("reading threads", work)


def _group(name: str, work: Work) -> dict[str, Any]:
    """Return a group with the waiting inside of reading and parsing counted as storage."""
    stages = dict.fromkeys(STAGES, 0.0)
    blocked, starved = dict.fromkeys(STAGES, 0.0), dict.fromkeys(STAGES, 0.0)
    for own, seconds in work.seconds.items():
        stage = own if own in STAGES else "parse"
        stages[stage] += seconds
        blocked[stage] += work.blocked_s[own]
        starved[stage] += work.starved_s[own]
    stages["storage"] += blocked["parse"]
    stages["parse"] -= blocked["parse"]
    blocked["parse"] = 0.0
    return {
        "name": name,
        "threads": max(work.threads, 1),
        "stages": stages,
        "blocked_s": blocked,
        "starved_s": starved,
        "idle_s": dict(work.idle_s),
        "lock_s": work.lock_s,
        "bytes": work.bytes,
    }


def spans_of(feed: Any) -> list[Span]:
    """Return the last stages of each thread behind a feed."""
    spans = feed.spans() if isinstance(feed, Pipeline) else []
    loader = getattr(feed.source, "loader", None) if isinstance(feed, Pipeline) else feed
    rows = [] if loader is None else loader.spans().tolist()
    native = [Span(f"native-{member}", "parse", began, ended) for member, _, began, ended in rows]
    return [*native, *(span for span in spans if span.stage in STAGES)]
