# SPDX-License-Identifier: Apache-2.0
"""Shuffle records that do not fit into memory through temporary files.

A bucket is a record file for a range of output positions. Records are appended to their buckets in
file order, and each bucket is then read in output order.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..errors import FastrecError
from .framing import FRAME_OVERHEAD
from .reader import Reader
from .reshard_sources import BLOCK, Sources
from .reshard_state import JobState

__all__ = ["Buckets", "picked"]

_BUFFER = 1 << 16  # buffer size in bytes, small because many files are open
_BLOCK_BYTES = 16 << 20  # bytes of records that are read in one call
_MOST_BUCKETS = 512  # maximum number of open files
_CHECKPOINTS = 16  # number of checkpoints while records are written to buckets


class Buckets:
    """The buckets of a job.

    Parameters
    ----------
    folder : str
        Directory of the job.
    state : JobState
    memory : int
        Most bytes of memory that two buckets may take.

    Raises
    ------
    ValueError
        If more than 512 buckets would be necessary.
    """

    def __init__(self, folder: str, state: JobState, memory: int) -> None:
        size = state.bytes + state.total * FRAME_OVERHEAD
        count = max(1, -(-2 * size // memory))
        if count > _MOST_BUCKETS:
            least = -(-2 * size // _MOST_BUCKETS)
            raise ValueError(f"memory must be at least {least} bytes for these files")
        self._folder, self._state = folder, state
        # The first output position of each bucket, and the number of records.
        self._bounds = [state.total * number // count for number in range(count + 1)]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def fill(self, sources: Sources, report: Callable[[int], None]) -> None:
        """Append each record to the bucket of its output position, and save the state."""
        state = self._state
        if state.dealt == state.total and state.dealt:
            return
        ends = np.array(self._bounds[1:], np.uint64)
        sizes = state.sizes or [0] * len(self)
        with contextlib.ExitStack() as stack:
            buckets = [
                stack.enter_context(_Bucket(self._path(number), size))
                for number, size in enumerate(sizes)
            ]

            def save() -> None:
                state.dealt, state.sizes = done, [bucket.flush() for bucket in buckets]
                state.save(self._folder)

            done = state.dealt
            for block in sources.blocks(state.counts, done):
                places = state.places_of(done, done + len(block))
                _deal(block, np.searchsorted(ends, places, "right"), buckets)
                done += len(block)
                report(done)
                if done - state.dealt >= state.total // _CHECKPOINTS:
                    save()
            save()

    def blocks(self, first: int) -> Iterator[Bytes]:
        """Yield the records in output order, starting at position `first`."""
        state = self._state
        for number, (begin, end) in enumerate(itertools.pairwise(self._bounds)):
            if end <= first or begin == end:
                continue
            # A bucket holds its records in file order; `ranks` gives their numbers in it.
            ranks = np.empty(end - begin, np.int64)
            ranks[np.argsort(state.permuted(begin, end))] = np.arange(end - begin)
            with Reader(self._path(number), compression=None, index=False) as reader:
                yield from picked(reader, state, ranks, max(first - begin, 0))

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"bucket-{number:05d}")


def picked(
    reader: Reader, state: JobState, numbers: NDArray[np.int64] | None, first: int
) -> Iterator[Bytes]:
    """Yield records in blocks, in the order of their `numbers`, starting at position `first`.

    Without numbers, the records follow the order of the whole job, which is computed for one block
    at a time.
    """
    mean = state.bytes // max(state.total, 1) + 1
    step = max(1, min(BLOCK, _BLOCK_BYTES // mean))
    end = state.total if numbers is None else len(numbers)
    for begin in range(first, end, step):
        stop = min(begin + step, end)
        some = state.permuted(begin, stop) if numbers is None else numbers[begin:stop]
        yield reader.read_many(some)


class _Bucket:
    """A record file that grows; it is first truncated to its last known good size."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._file = open(path, "ab", buffering=_BUFFER)  # noqa: SIM115
        if self._file.seek(0, os.SEEK_END) < size:
            self._file.close()
            raise FastrecError(f"{path!a} must have {size} bytes: remove the directory it is in")
        self._file.truncate(size)

    def write(self, records: list[bytes]) -> None:
        for frames, _ in _core.Frames(records):
            self._do(self._file.write, frames)

    def flush(self) -> int:
        """Pass buffered data to the operating system, and return the size of the file."""
        self._do(self._file.flush)
        return self._file.tell()

    def _do(self, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            function(*arguments)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def __enter__(self) -> _Bucket:
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        with contextlib.suppress(OSError) if exc_type else contextlib.nullcontext():
            self._file.close()


def _deal(block: Bytes, numbers: NDArray[np.int64], buckets: list[_Bucket]) -> None:
    """Append each record to the bucket whose number is given."""
    order = np.argsort(numbers, kind="stable")
    records = block.to_list()
    present, begins = np.unique(numbers[order], return_index=True)
    for number, some in zip(present.tolist(), np.split(order, begins[1:]), strict=True):
        buckets[number].write([records[i] for i in some.tolist()])
