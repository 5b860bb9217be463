# SPDX-License-Identifier: Apache-2.0
"""Iterator over one pass of a Batcher, with its checkpoint and waiting times."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from ..errors import FastrecError, call_out, log_info
from ..threads.clock import Span
from ..threads.locks import check_process
from ..threads.pipeline import Pipeline, close_together, is_in_pipeline
from .checkpoint import Position, Start
from .progress import Progress
from .report import Meter, Report, spans_of

if TYPE_CHECKING:
    from .audit import Audit
    from .epoch_pass import Pass

__all__ = ["Batches", "Made"]


class Made(NamedTuple):
    """The batches made of a block of records."""

    batches: list[Any]
    at: Position
    """Where the block begins."""
    then: Position
    """Where the next one begins."""
    rows: int
    """Number of records in the batches."""
    failures: Sequence[FastrecError] = ()
    """Of the records of the block that cannot be used."""


_CLOSED = "the iterator is closed; iter(batcher) begins another pass"
_POLL_S = 0.01  # seconds between two checks whether another thread has opened the feed


class Batches(Iterator[Any]):
    """The batches of one pass over a :class:`Batcher`, from its start position.

    ``state_dict()`` counts delivered batches, not prefetched ones: a resumed run continues with the
    same batch as an uninterrupted run.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> batches = iter(fastrec.Batcher(path, None, batch_size=2))
    >>> list(next(batches)), batches.epoch
    ([b'one', b'two'], 0)
    >>> state = batches.state_dict()
    >>> batches.close()
    """

    def __init__(
        self,
        run: Pass,
        open_feed: Callable[[Pass], tuple[_core.Loader | Pipeline, Audit]],
        *,
        progress: Progress | None = None,
        on_stats: Callable[[Report], Any] | None = None,
        every: float = 10.0,
        on_end: Callable[[Report], Any] | None = None,
    ) -> None:
        self._meter = Meter()
        self._final: Report | None = None  # at the end of the pass, when no thread works any more
        self._wait_s = 0.0
        self._on_stats, self._every, self._on_end = on_stats, every, on_end
        self._due = 0.0  # when on_stats is called next
        self._run = run
        self._open_feed = open_feed
        self._progress = progress
        self._feed: _core.Loader | Pipeline | None = None
        self._feed_is_native = False
        self._audit: Audit | None = None
        self._failure: FastrecError | None = None
        self._closed = False
        self._finished = False
        self._has_failed = False  # an error has taken the place of a batch, and none follows
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ready: deque[Any] = deque()
        self._block = self._at = self._then = run.start.position
        self._item = run.start.position.item
        self._epoch = run.first.epoch

    @property
    def _count(self) -> int:
        return self._meter.batches

    def __repr__(self) -> str:
        return f"<fastrec.Batches, {self._count} delivered{', closed' if self._closed else ''}>"

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        check_process(self._pid, "the iterator")
        if not self._feed_is_native and is_in_pipeline():
            self._refuse_own_transform()
        with self._lock:
            since = time.perf_counter()
            if self._feed is None:
                since = self._open()
            if self._failure is not None:
                raise self._failure
            if self._on_stats is not None and since >= self._due:
                self._due = since + self._every
                if self._count:
                    call_out(self._on_stats, self.report())
                    since = time.perf_counter()
            try:
                batch = self._next_native() if self._feed_is_native else self._next_made()
            except StopIteration:
                # The caller has closed the iterator before the end of the epoch.
                if self._closed and not self._finished:
                    raise ValueError(_CLOSED) from None
                self._end()
                raise
            except Exception:
                self._has_failed = True
                raise
            self._wait_s = self._meter.count(since, self._feed)
            if self._progress is not None:
                self._show_progress()
            return batch

    def _refuse_own_transform(self) -> None:
        """Raise if called in a transform whose result this iterator waits for."""
        while self._feed is None and self._lock.locked():  # another thread is opening the feed
            time.sleep(_POLL_S)
        if isinstance(self._feed, Pipeline) and self._feed.is_worker():
            raise RuntimeError("transform must not take batches of the iterator that calls it")

    def _show_progress(self, *, last: bool = False) -> None:
        if self._progress is not None:
            meter = self._meter
            self._progress.update(self._count, meter.first_batch_s + meter.waited_s, last=last)
        if last:
            self._progress = None

    def _end(self) -> None:
        """Finish the pass after its last batch."""
        if not self._finished:
            self._meter.end()
            self._audited(self._audit.finish)  # type: ignore[union-attr]
            self._finished = True
            self._final = self._meter.report(self._feed)
            log_info("epoch %d has ended\n%s", self.epoch, self._final)
            for function in filter(None, (self._on_end, self._on_stats)):
                call_out(function, self._final)
        self._show_progress(last=True)

    def _audited(self, check: Callable[..., None], *arguments: Any) -> None:
        """Call a check; its error ends the pass."""
        try:
            check(*arguments)
        except FastrecError as error:
            self._failure = error
            raise

    def _open(self) -> float:
        began = self._meter.begin()
        self._due = began + self._every
        self._feed, self._audit = self._open_feed(self._run)
        self._feed_is_native = isinstance(self._feed, _core.Loader)
        log_info("epoch %d begins in shard %d of %d", self._epoch, *self._run.spec.shard)
        if self._closed:  # another thread has closed it and did not find the feed
            self._feed.close()
        return began

    def _next_native(self) -> Any:
        loader: Any = self._feed
        audit: Any = self._audit
        while True:
            batch = next(loader)
            self._meter.records += loader.rows
            if not audit.is_open:
                return batch
            self._audited(audit.settle, [error for _, error in loader.misfits], loader.rows)
            if loader.rows:
                return batch

    def _next_made(self) -> Any:
        if self._closed:
            raise StopIteration
        audit: Any = self._audit
        while not self._ready:
            made: Made = next(self._feed)  # type: ignore[arg-type]
            self._meter.records += made.rows
            if audit.is_open:
                self._audited(audit.settle, made.failures, made.rows)
            if made.at[:2] != self._block[:2]:
                self._item = 0
            self._ready.extend(made.batches[self._item :])
            self._block, self._then = made.at, made.then
            if not self._ready:
                self._at, self._item = made.then, 0
        batch = self._ready.popleft()
        self._epoch = self._block.epoch
        self._item += 1
        if self._ready:
            self._at = self._run.within(self._block, self._item)
        else:
            self._at, self._block, self._item = self._then, self._then, 0
        return batch

    @property
    def _steps(self) -> int | None:
        """Number of finished steps of the order; None if steps cannot be counted."""
        if self._feed_is_native:
            return int(self._feed.taken)  # type: ignore[union-attr]
        return self._count if self._run.has_steps else None

    @property
    def epoch(self) -> int:
        """Number of the epoch of the last batch; before it, of the first epoch."""
        if self._count and (steps := self._steps) is not None:
            return self._run.find(steps - 1).epoch
        return self._epoch

    @property
    def start(self) -> Start:
        """The start of a run that resumes from here."""
        if self._finished:
            return self._run.next_start
        if (steps := self._steps) is not None:
            return self._run.start_after(steps) if steps else self._run.start
        return self._run.start_at(self._at)

    @property
    def is_live(self) -> bool:
        """Whether more batches may come."""
        return not (self._closed or self._finished)

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint of this pass: some hundred bytes of plain numbers and strings.

        To continue with the next batch, pass it to :meth:`Batcher.load_state_dict` of a Batcher
        over the same files with the same options. Threads, prefetch, transform and `epochs` may
        differ. The number of shards may differ if the shards are in step.
        """
        return self._run.ordering.describe(self.start, self._run.spec.shard[1])

    get_state = state_dict

    def report(self) -> Report:
        """Return where the time of this pass has gone so far.

        ``print(batches.report())`` names the bottleneck and the remedy.
        """
        check_process(self._pid, "the iterator")
        return self._final or self._meter.report(self._feed)

    @property
    def data_wait_ms(self) -> float:
        """Time in milliseconds that the loop waited for the last batch."""
        return self._wait_s * 1e3

    def spans(self) -> list[Span]:
        """Return what each thread did last: up to 1,024 stages of each, with begin and end.

        :func:`fastrec.metrics.write_trace` makes a file for Perfetto of them.
        """
        check_process(self._pid, "the iterator")
        return [] if self._feed is None else spans_of(self._feed)

    @property
    def began_ns(self) -> int:
        """Start of the timeline of the report, by ``time.perf_counter_ns()``."""
        return int(self._meter.began * 1e9)

    def close(self) -> None:
        """Stop the workers; later ``next()`` calls raise ValueError, unless the pass had ended."""
        self._close_together([self])

    @staticmethod
    def _close_together(several: Iterable[Batches]) -> None:
        """Stop the workers of several iterators, with one deadline for all."""
        pipelines = []
        for batches in several:
            if batches.is_live and batches._count and batches._pid == os.getpid():
                batches._meter.end()
                if batches._on_end is not None:
                    batches._on_end(batches.report())
            batches._closed = True
            if isinstance(batches._feed, Pipeline):
                pipelines.append(batches._feed)
            elif batches._feed is not None:
                batches._feed.close()
        close_together(pipelines)

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
