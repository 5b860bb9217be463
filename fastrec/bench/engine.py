# SPDX-License-Identifier: Apache-2.0
"""Run comparisons: prepare every contestant, check that they agree, and let them take turns."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .cases import Case
from .jobs import CEILING, OURS, Entry, Job
from .processes import Contestant

__all__ = ["Comparison", "Engine", "Measurement", "Rules"]

_FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Rules:
    """Limits of a comparison.

    `budget_s` is its approximate duration, with at least 3 rounds. `turn_s` is the minimum duration
    of a turn, long enough that starting it and reading the clock are negligible.
    """

    rounds: int = 7
    budget_s: float = 6.0
    seed: int = 1
    threads: int = 2
    turn_s: float = 0.1


@dataclass
class Measurement:
    """Measurements of one contestant: seconds (or bytes, for memory) per pass, one per round.

    `busy` is processor time, which does not include time taken by other programs.
    """

    entry: Entry
    records: int = 0
    seconds: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    gap: str = ""
    error: str = ""
    agrees: bool | None = None  # None if nothing could be compared
    passes: int = 1

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else math.nan

    @property
    def per_record(self) -> float:
        """Median time per record."""
        return self.median / self.records if self.records else math.nan

    @property
    def processors(self) -> float:
        """Number of processors in use."""
        return sum(self.busy) / sum(self.seconds) if self.seconds else math.nan

    def per_records(self) -> list[float]:
        """Return the seconds per record of each round."""
        return [second / max(self.records, 1) for second in self.seconds]

    @property
    def spread(self) -> float:
        """Interquartile range of the rounds, relative to the median."""
        if len(self.seconds) < 3:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median


@dataclass
class Comparison:
    """One job on one case. `size` is the size of the records in bytes, including frames."""

    job: Job
    case: Case
    size: int
    measurements: list[Measurement]
    threads: int = 2

    def of(self, entry: Entry) -> Measurement | None:
        """Return the measurement of an entry; None if the entry was not measured."""
        return next((m for m in self.measurements if m.entry == entry), None)

    def bytes_per_second(self, measurement: Measurement) -> float:
        """Return the speed of a measurement, in bytes of the file per second."""
        return self.size / self.case.records / measurement.per_record


def ratio(slow: Measurement, quick: Measurement) -> tuple[float, float, float]:
    """Return the time of `slow` relative to `quick`: median, minimum and maximum over the rounds.

    Rounds are paired, because a temporary slowdown affects both contestants of a round.
    """
    pairs = zip(slow.per_records(), quick.per_records())  # noqa: B905 - a round may be missing
    ratios = [a / b for a, b in pairs if b > 0]
    if not ratios:
        return math.nan, math.nan, math.nan
    return slow.per_record / quick.per_record, min(ratios), max(ratios)


class Engine:
    """Compares `contestants`, by peer. `judge` is a process of fastrec that never competes."""

    def __init__(
        self,
        contestants: dict[str, Contestant],
        judge: Contestant,
        rules: Rules,
        folder: str,
        say: Callable[[str], object] = lambda text: None,
        jpeg_driver: str = "",
    ) -> None:
        self._contestants, self._judge, self._rules = contestants, judge, rules
        self._folder, self._say, self._jpeg_driver = folder, say, jpeg_driver

    def entries(self, job: Job) -> Iterable[Entry]:
        """Yield each contestant's variants for a job."""
        for peer, contestant in self._contestants.items():
            for variant in contestant.variants(job.name):
                yield Entry(peer, variant)

    def compare(self, job: Job, case: Case, path: str, saved: str = "") -> Comparison:
        """Measure every contestant that can take part."""
        entries = list(self.entries(job))
        # A process holds one trial at a time; each entry is a turn of its contestant.
        tasks = {entry: self._task(job, case, path, saved, entry) for entry in entries}
        found = {entry: Measurement(entry) for entry in entries}
        digests = {entry: self._prepare(found[entry], tasks[entry]) for entry in entries}
        _judge_digests(job, found, digests)
        running = [m for m in found.values() if not m.gap and not m.error]
        for number in range(self._rounds(running)):
            turn = number % len(running)
            for measurement in running[turn:] + running[:turn]:
                if not measurement.error:
                    self._round(measurement)
        for contestant in [*self._contestants.values(), self._judge]:
            contestant.ask("drop")
        size = os.path.getsize(path) if path else 0
        return Comparison(job, case, size, list(found.values()), self._rules.threads)

    def _task(self, job: Job, case: Case, path: str, saved: str, entry: Entry) -> dict[str, Any]:
        name = f"{entry.peer}-{entry.variant}".replace(" ", "_").replace("(", "").replace(")", "")
        return {
            "job": job.name,
            "variant": entry.variant,
            "case": case.to_json(),
            "path": path,
            "out": os.path.join(self._folder, f"out-{name}"),
            "seed": self._rules.seed,
            "saved": saved,
            "threads": self._rules.threads,
            "jpeg_driver": self._jpeg_driver,
        }

    def _prepare(self, measurement: Measurement, task: dict[str, Any]) -> dict[str, int] | None:
        contestant = self._contestants[measurement.entry.peer]
        answer = contestant.ask("prepare", task=task)
        measurement.gap, measurement.error = answer.get("gap", ""), answer.get("error", "")
        if measurement.gap or measurement.error:
            return None
        measurement.records = answer["records"]
        measurement.passes = max(1, math.ceil(self._rules.turn_s / max(answer["seconds"], 1e-9)))
        if answer["measures_itself"]:
            measurement.passes = 1
        measurement.seconds = [answer["seconds"]]
        if task["job"] == "write" and measurement.entry.peer != CEILING:
            back = {**task, "job": "readback", "variant": "", "path": task["out"]}
            answer = self._judge.ask("prepare", task=back)
            measurement.error = answer.get("error", "")
        digest: dict[str, int] | None = answer.get("digest")
        return digest

    def _rounds(self, running: list[Measurement]) -> int:
        once = sum(max(m.seconds[0] * m.passes, self._rules.turn_s) for m in running)
        for measurement in running:
            measurement.seconds = []
        if not running:
            return 0
        return max(_FEWEST_ROUNDS, min(self._rules.rounds, int(self._rules.budget_s / once)))

    def _round(self, measurement: Measurement) -> None:
        contestant = self._contestants[measurement.entry.peer]
        variant = measurement.entry.variant
        answer = contestant.ask("run", variant=variant, passes=measurement.passes)
        if "seconds" in answer:
            measurement.seconds.append(answer["seconds"])
            measurement.busy.append(answer.get("busy", 0.0))
        else:
            measurement.error = answer.get("error", "") or answer.get("gap", "")


def _judge_digests(
    job: Job, found: dict[Entry, Measurement], digests: dict[Entry, dict[str, int] | None]
) -> None:
    """Compare every digest with the first digest of fastrec."""
    ours = [digests[entry] for entry in found if entry.peer == OURS and digests[entry]]
    if not ours or ours[0] is None:
        return
    for entry, digest in digests.items():
        if digest is None:
            continue
        if digest["rows"] != ours[0]["rows"]:
            keys = ["head"]
        else:
            keys = ["shuffled"] if job.shuffled else ["ordered", "shuffled"]
        found[entry].agrees = all(digest[key] == ours[0][key] for key in keys)
