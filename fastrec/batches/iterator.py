# SPDX-License-Identifier: Apache-2.0
"""One pass of a Batcher: the iterator, where it stands, and who waits for whom."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import _core
from .checkpoint import Position
from .progress import Progress
from .thread_map import Pipeline

__all__ = ["Batches", "Made", "Stats"]


class Stats(NamedTuple):
    """Who waited for whom.

    The consumer waits when loading is what takes the time; the workers wait, for room, when the
    consumer is. Reading and transforming, which have threads of their own, are counted together.
    """

    batches: int
    """Batches delivered."""
    seconds: float
    """Since the first was asked for."""
    consumer_wait_s: float
    """Seconds that the consumer has waited for a batch."""
    worker_wait_s: float
    """Seconds that workers, all together, have waited for room."""

    @property
    def bottleneck(self) -> str:
        """``"loading"`` or ``"consumer"``: who would have to be faster, for more to go through."""
        return "loading" if self.consumer_wait_s * 10 > self.seconds else "consumer"


class Made(NamedTuple):
    """What became of a block: its batches, and where the next block is."""

    batches: list[Any]
    at: Position
    then: Position


Start = Callable[[Position], "_core.Loader | Pipeline"]


class Batches(Iterator[Any]):
    """The batches of one pass over a :class:`Batcher`, from wherever it starts.

    ``state_dict()`` counts what was delivered, not what was prefetched: the batch that follows it
    is the one that follows in a run that goes on.
    """

    def __init__(
        self,
        start: Start,
        position: Position,
        describe: Callable[[Position], dict[str, Any]],
        epoch_blocks: Callable[[], int] | None,
        *,
        single: bool,
        progress: Progress | None = None,
    ) -> None:
        self._start = start
        self._first = position
        self._describe = describe
        self._epoch_blocks = epoch_blocks
        self._single = single  # what the feed gives are batches, one a block
        self._progress = progress
        self._feed: _core.Loader | Pipeline | None = None
        self._closed = False
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ready: deque[Any] = deque()
        self._at = position
        self._then = position
        self._count = 0
        self._began = 0.0

    def __repr__(self) -> str:
        return f"<fastrec.Batches, {self._count} delivered{', closed' if self._closed else ''}>"

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._pid != os.getpid():
            raise ValueError(f"made in process {self._pid}; make a new iterator in the child")
        with self._lock:
            if self._feed is None:
                self._open()
            try:
                batch = next(self._feed) if self._single else self._next_made()  # type: ignore[arg-type]
            except StopIteration:
                self._report(last=True)
                raise
            self._count += 1
            if self._progress is not None:
                self._report()
            return batch

    def _report(self, *, last: bool = False) -> None:
        if self._progress is not None:
            self._progress.update(self._count, self.stats().consumer_wait_s, last=last)
        if last:
            self._progress = None

    def _open(self) -> None:
        if self._closed:
            raise StopIteration
        self._began = time.perf_counter()
        self._feed = self._start(self._first)
        if self._closed:  # meanwhile, by another thread, which found nothing to close
            self._feed.close()

    def _next_made(self) -> Any:
        if self._closed:
            raise StopIteration
        while not self._ready:
            made: Made = next(self._feed)  # type: ignore[arg-type]
            done = self._first.item if made.at[:2] == self._first[:2] else 0
            self._ready.extend(made.batches[done:])
            self._at, self._then = made.at._replace(item=done), made.then
        batch = self._ready.popleft()
        self._at = self._at._replace(item=self._at.item + 1) if self._ready else self._then
        return batch

    @property
    def position(self) -> Position:
        """What is delivered so far."""
        if not self._single:
            return self._at
        block = self._first.block + self._count
        if self._epoch_blocks is None or not (blocks := self._epoch_blocks()):
            return self._first._replace(block=block)
        return Position(self._first.epoch + block // blocks, block % blocks)

    def state_dict(self) -> dict[str, Any]:
        """Where this pass stands, as some hundred bytes of plain numbers and strings.

        Give it to :meth:`Batcher.load_state_dict`, of a Batcher over the same files with the same
        options, to go on with the next batch. Threads, prefetch, transform and `epochs` may
        differ; the number of shards may where an epoch begins.
        """
        return self._describe(self.position)

    get_state = state_dict

    def stats(self) -> Stats:
        """How long who has waited for whom."""
        feed, seconds = self._feed, 0.0
        consumer = workers = 0.0
        if feed is not None:
            seconds = time.perf_counter() - self._began
        if isinstance(feed, Pipeline):
            consumer, workers = feed.waited_s
        elif feed is not None and (native := feed.stats()) is not None:
            consumer, workers = native["consumer_ns"] / 1e9, native["workers_ns"] / 1e9
        return Stats(self._count, seconds, consumer, workers)

    def close(self) -> None:
        """Stop the workers. There are no more batches after it."""
        self._closed = True
        if self._feed is not None:
            self._feed.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
