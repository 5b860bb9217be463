# SPDX-License-Identifier: Apache-2.0
"""Read records of compressed files by number, by inflating spans between checkpoints."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from .. import _core
from ..errors import CorruptRecordError, FastrecError, RandomAccessError, TruncatedFileError
from ..storage.ahead import Ahead, Job
from ..storage.options import StorageOptions
from .byte_sources import NamedFile
from .checkpoints import Checkpoints, mismatch, spacing_of
from .framing import FRAME_OVERHEAD
from .index import Index
from .inflate import inflate
from .paths import PathLike
from .remote_dataset import IndexList, Plan, RemoteDataset

__all__ = ["InflatedDataset", "InflatedFile"]

_WHOLE = 8 << 20  # maximum size of a span to inflate as a whole, so that it fits into memory
_MOST_FRAME = 64 << 20  # maximum content of a zstd frame to decompress for one record
_BLOCK = 2 << 20  # minimum bytes of a block; checkpoints are half a megabyte apart
_KEPT = 64 << 20  # bytes of recently inflated spans to keep
_WINDOW = 128 << 20  # bytes of ranges to inflate ahead of the consumer of a shuffle


class InflatedFile:
    """A compressed file that is read as its inflated content. Thread-safe.

    Parameters
    ----------
    path : path
        Name of the file, for messages.
    place : path
        Location of the file.
    index : Index
        Index with checkpoints.

    Attributes
    ----------
    name : str
    size : int
        Size of the output, in bytes.
    """

    silent = False

    def __init__(self, path: PathLike, place: PathLike, index: Index) -> None:
        if index.checkpoints is None:
            raise mismatch(path, "it has no checkpoints, and the file is compressed")
        self.name: str = os.fsdecode(path)
        self._path, self._place = path, place
        self._checkpoints: Checkpoints = index.checkpoints
        self.index: Final = index._core
        self.size: int = self.index.size

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and modification time of the compressed file."""
        return self._checkpoints.stamp[:2]

    def identify(self, pause: Any) -> None:
        """Do nothing: each read compares the file with its stamp."""

    def spans(self) -> int:
        """Return the number of spans."""
        return len(self._checkpoints)

    def span_of(self, at: int) -> int:
        """Return the number of the span that contains a byte of the output."""
        return self._checkpoints.find(at)

    def span(self, number: int) -> tuple[int, int]:
        """Return the start and stop offsets of a span in the output."""
        outputs = self._checkpoints.outputs
        end = outputs[number + 1] if number + 1 < len(outputs) else self.size
        return int(outputs[number]), int(end)

    @property
    def is_worth_threads(self) -> bool:
        """Whether several threads can share the file within the memory limit."""
        return self.spans() > 2 and self.longest() <= _WHOLE

    def longest(self) -> int:
        """Return the size of the longest span."""
        return max((end - begin for begin, end in map(self.span, range(self.spans()))), default=0)

    def read(
        self, begin: int, end: int, pause: Callable[[float], None] | None = None
    ) -> bytes | memoryview:
        """Return the output from `begin` to `end`, exclusive; ``pause(0)`` may raise to stop.

        Raises
        ------
        OSError, CorruptRecordError, TruncatedFileError
            With the path, and the start offset of the requested output.
        """
        parts = self.parts(begin, end, pause)
        first = next(parts)
        if len(first) == end - begin:
            return first
        # Parts are copied one by one. Joining 700 MiB and freeing the parts would hold the
        # interpreter's lock for 100 ms.
        output = np.empty(end - begin, np.uint8)
        at = 0
        for part in itertools.chain([first], parts):
            output[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        return output.data

    def parts(
        self, begin: int, end: int, pause: Callable[[float], None] | None = None
    ) -> Iterator[bytes]:
        """Yield the output from `begin` to `end`, exclusive, in parts; raise as `read` does."""
        try:
            yield from self._parts(begin, end, pause)
        except zlib.error as error:
            text = f"its checkpoint is damaged: {error}"
            raise self._error(CorruptRecordError, text, begin) from None
        except FastrecError as error:
            if error.offset is None:
                error.offset = begin
            raise

    def _parts(
        self, begin: int, end: int, pause: Callable[[float], None] | None
    ) -> Iterator[bytes]:
        number = self.span_of(begin)
        output, last = self.span(number)
        if self._checkpoints.kind == "ZSTD" and last - output > _MOST_FRAME and begin > output:
            text = (
                f"reading records by number would decompress a zstd frame of {last - output} bytes "
                f"for each, more than {_MOST_FRAME}; `fastrec reshard {self.name} -o NEW.zst` "
                "writes frames of 512 KiB"
            )
            raise self._error(RandomAccessError, text, begin, "compression")
        at, resume = self._checkpoints.resume(number)
        with NamedFile(self._place, self._path) as file:
            self._check(file, begin)
            file.seek(at)
            last = self._checkpoints.byte_after(self.span_of(end - 1))
            read, size, kind = _Part(file.read, last - at), end - output, self._checkpoints.kind
            for chunk in inflate(read, kind, self.name, resume=resume, size=size):
                if pause is not None:
                    pause(0)
                first, output = output, output + len(chunk)
                if output > begin:
                    yield chunk[max(begin - first, 0) : end - first]
                if output >= end:
                    return
        raise self._error(TruncatedFileError, f"inflates to {output} bytes, not {self.size}", begin)

    def _check(self, file: NamedFile, begin: int) -> None:
        status = os.fstat(file.fileno())
        size = self._checkpoints.stamp.size
        if (status.st_size, status.st_mtime_ns) == self.stamp:
            return
        if status.st_size < size:
            text = f"the file shrank while it was read, it had {size} bytes"
            raise self._error(TruncatedFileError, text, begin, "shrunk")
        text = "the file was replaced or written to while it was read"
        raise self._error(CorruptRecordError, text, begin, "changed")

    def _error(
        self, error: type[FastrecError], text: str, begin: int, kind: str = "compression"
    ) -> FastrecError:
        raised = error(f"{self.name!a}: {text}, at {begin} bytes of output")
        raised.path, raised.offset, raised.kind = self.name, begin, kind  # type: ignore[attr-defined]
        return raised


class _Part:
    """A function ``read(size)`` that reads at most a fixed number of bytes in total."""

    def __init__(self, read: Callable[[int], bytes], left: int) -> None:
        self._read, self._left = read, left

    def __call__(self, size: int) -> bytes:
        data = self._read(min(size, self._left))
        self._left -= len(data)
        return data


class InflatedDataset(RemoteDataset):
    """The records of compressed files under one numbering.

    Parameters
    ----------
    files : list of InflatedFile
    options : mapping
        ``verify`` and ``max_record`` of ``_core.Dataset``.
    threads : int
        Number of inflating threads.
    """

    def __init__(
        self, files: Sequence[InflatedFile], options: dict[str, Any], threads: int
    ) -> None:
        storage = StorageOptions(window_bytes=_WINDOW)
        super().__init__(files, IndexList([file.index for file in files]), storage, options)
        self.inflated = files
        self._threads = threads
        longest = max((min(file.longest(), _WHOLE) for file in files), default=1)
        self._span = functools.lru_cache(max(2, _KEPT // max(longest, 1)))(partial(_inflate, files))

    @property
    def block_bytes(self) -> int:
        """Block size in bytes. Inflating from the checkpoint before a block adds little work.

        It depends only on the sizes of the files, so all processes use the same blocks.
        """
        most = max((spacing_of(file.size) for file in self.inflated), default=0)
        return max(_BLOCK, 2 * most)

    def __getitem__(self, number: Any) -> bytes:
        at, count = number.__index__(), len(self)
        if -count <= at < count:
            # The call below raises the same error again, with full details.
            with contextlib.suppress(FastrecError):
                if (record := self._record(at % count)) is not None:
                    return record
        return super().__getitem__(number)

    def _record(self, number: int) -> bytes | None:
        """Return one record; None unless it fills the range that the index states."""
        file, begin, end = self.frame_of(number)
        if self._is_long(file, begin, end):
            parts = self.inflated[file].parts(begin, end)
        else:
            parts = iter([bytes(self._range(file, begin, end, None))])
        reader = _core.RecordReader(
            self.files[file].name, read=lambda _: next(parts, b""), begin=begin, **self.options
        )
        record: Any = next(reader, b"")
        return record if len(record) == end - begin - FRAME_OVERHEAD else None

    def jobs(self, plan: Plan) -> Iterator[Job]:
        """Yield the jobs that inflate the ranges of a plan.

        There is one job for each long range, and one for the short ranges of each span.
        """
        short: list[tuple[int, int, int]] = []
        for each in plan.ranges:
            if short and (self._is_long(*each) or self._span_of(each) != self._span_of(short[0])):
                yield self._job(short)
                short = []
            if self._is_long(*each):
                yield self._job([each])
            else:
                short.append(each)
        if short:
            yield self._job(short)

    take_jobs = jobs  # spans are kept instead of files

    def ahead(self, jobs: Iterator[Job]) -> Ahead[Any]:
        """Return the results of jobs, which threads run ahead within the window."""
        budget, threads = self.storage.window_bytes, self._threads
        return Ahead(jobs, budget=budget, threads=threads, most=threads)

    def _span_of(self, where: tuple[int, int, int]) -> tuple[int, int]:
        return where[0], self.inflated[where[0]].span_of(where[1])

    def _is_long(self, file: int, begin: int, end: int) -> bool:
        """Return whether a range is at least half of its span, or its span is too long to keep."""
        inflated = self.inflated[file]
        first, last = inflated.span(inflated.span_of(begin))
        return end > last or last - first > _WHOLE or 2 * (end - begin) >= last - first

    def _job(self, ranges: list[tuple[int, int, int]]) -> Job:
        return Job(partial(self._fetch, ranges), sum(end - begin for _, begin, end in ranges))

    def _fetch(self, ranges: list[tuple[int, int, int]], pause: Any) -> memoryview:
        parts = [self._range(*each, pause) for each in ranges]
        return memoryview(parts[0] if len(parts) == 1 else b"".join(parts))

    def _range(self, file: int, begin: int, end: int, pause: Any) -> bytes | memoryview:
        """Return the output from `begin` to `end`; the whole span of a short range is kept."""
        inflated = self.inflated[file]
        try:
            if self._is_long(file, begin, end):
                return inflated.read(begin, end, pause)
            first, last = inflated.span(inflated.span_of(begin))
            return memoryview(self._span(file, first, last))[begin - first : end - first]
        except FastrecError as error:
            raise self._at_record(error, file, begin) from None

    def _at_record(self, error: FastrecError, file: int, begin: int) -> FastrecError:
        """Return the error with the number of the first record that it affects."""
        record = self.record_at(file, begin)
        located = type(error)(f"{error} (record {record})")
        located.__dict__.update(error.__dict__)
        located.record = record
        return located


def _inflate(files: Sequence[InflatedFile], file: int, first: int, last: int) -> bytes | memoryview:
    return files[file].read(first, last)
