# SPDX-License-Identifier: Apache-2.0
"""Read objects from start to end, in parts that are fetched ahead of the consumer."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .ahead import Ahead, Job, run_all
from .options import StorageOptions
from .remote import Pause, RemoteFile

__all__ = ["RemoteStream", "stream_of", "streams_of"]

_LEAST_PART, _MOST_PART = 1 << 20, 16 << 20
# After a part that takes less or more time, in seconds, later parts are larger or smaller.
_QUICK_S, _SLOW_S = 0.25, 2.0
_READ = 1 << 20  # maximum bytes per read of a stream


class _Parts:
    """Jobs for consecutive parts of files; the part size adapts to the fetch time."""

    def __init__(
        self, files: Sequence[RemoteFile], ends: Sequence[int | None], begin: int, most: int
    ) -> None:
        self._files, self._ends = files, ends
        self._begin = begin
        self._most = max(_LEAST_PART, min(_MOST_PART, most))
        self._size = _LEAST_PART

    def __iter__(self) -> Iterator[Job]:
        for number, (file, end) in enumerate(zip(self._files, self._ends, strict=True)):
            begin = self._begin if number == 0 else 0
            if file.is_open or begin or end is not None:
                stop = file.size if end is None else end
                if begin >= stop:  # the consumer may not have known its size when it asked
                    yield Job(lambda pause: memoryview(b""), 0)
                yield from self._parts(file, begin, stop)
                continue
            # The response to the first request also contains the size of the object.
            size = self._size
            job = self._timed(partial(file.head, size), size)
            yield Job(job, size, partial(self._rest, file, size))

    def _rest(self, file: RemoteFile, begin: int) -> Iterator[Job]:
        return self._parts(file, begin, file.size)

    def _parts(self, file: RemoteFile, begin: int, stop: int) -> Iterator[Job]:
        while begin < stop:
            end = min(begin + self._size, stop)
            yield Job(self._timed(partial(file.read, begin, end), end - begin), end - begin)
            begin = end

    def _timed(
        self, read: Callable[[Pause], bytes | memoryview], size: int
    ) -> Callable[[Pause], memoryview]:
        def fetch(pause: Pause) -> memoryview:
            since = time.monotonic()
            data = memoryview(read(pause))
            took = time.monotonic() - since
            if took < _QUICK_S and size >= self._size:
                self._size = min(2 * self._size, self._most)
            elif took > _SLOW_S:
                self._size = max(self._size // 2, _LEAST_PART // 4)
            return data

        return fetch


class _Pass:
    """A sequential pass over files, with the parts that are fetched ahead.

    Files are fetched in parts, or each with one request if the server does not support ranges.
    With `end`, only bytes before it are fetched ahead from the last file.
    """

    def __init__(
        self, files: Sequence[RemoteFile], options: StorageOptions, end: int | None = None
    ) -> None:
        self.files = files
        # None means the end of the file, whose size may be unknown at first.
        self.ends: list[int | None] = [None] * len(files)
        if end is not None:
            self.ends[-1] = end
        self._options = options
        self._ahead: Ahead[memoryview] | None = None
        self._whole = bool(files) and not files[0].location.store.ranged  # one request per file
        self.at: tuple[int, int] = (0, 0)  # file and offset of the next part

    def part(self, number: int, offset: int) -> memoryview:
        """Return bytes of a file, starting at an offset."""
        file = self.files[number]
        try:
            if self._ahead is None or self.at != (number, offset):
                self._ahead = self._begin(number, offset)
            data = next(self._ahead, None)
            # An empty result belongs to an empty file, which may be before this one.
            while data is not None and not data and not (file.is_open and offset >= file.size):
                data = next(self._ahead, None)
            if data is None:
                raise RuntimeError(f"no part at {offset} of {file.name!a}")
        except BaseException as error:
            self._ahead = None  # the next call restarts at this offset
            if not isinstance(error, OSError) or error.errno != errno.EOPNOTSUPP or self._whole:
                raise
            self._whole = not file.location.store.ranged
            if not self._whole:
                raise
            return self.part(number, offset)
        offset += len(data)
        if self._whole and offset >= file.size:
            self._ahead = None
        while number < len(self.files) and self.is_at_end(number, offset):
            number, offset = number + 1, 0
        self.at = number, offset
        return data

    def is_at_end(self, number: int, offset: int) -> bool:
        """Return whether no more bytes of a file are fetched; False while its size is unknown."""
        end, file = self.ends[number], self.files[number]
        if end is None and not file.is_open:
            return False
        return offset >= (file.size if end is None else end)

    def _begin(self, number: int, offset: int) -> Ahead[memoryview]:
        window = self._options.window_bytes
        if self._whole:
            return Ahead(self.files[number].body(offset), budget=window, threads=1, most=1)
        parts = _Parts(self.files[number:], self.ends[number:], offset, window // 4)
        return Ahead(parts, budget=window)

    def extend(self, number: int) -> bool:
        """Allow more bytes of a file to be fetched; return False if it is complete."""
        size, end = self.files[number].size, self.ends[number]
        if end is None or end >= size:
            return False
        self.ends[number] = min(size, end + _LEAST_PART)
        return True


class RemoteStream:
    """A stream of one object with ``read(size)``. Data past the end is fetched once that is read.

    An error is raised once; the next call tries again from the same position.
    """

    def __init__(self, run: _Pass, number: int) -> None:
        self._run, self._number = run, number
        self._file = run.files[number]
        self._data = memoryview(b"")
        self._at = 0  # offset of the end of `_data`

    def read(self, size: int = _READ) -> bytes:
        """Return up to `size` bytes; an empty result means the end."""
        if not self._data:
            if self._run.is_at_end(self._number, self._at) and not self._run.extend(self._number):
                return b""
            self._data = self._run.part(self._number, self._at)
            self._at += len(self._data)
            if self._run.is_at_end(self._number, self._at) and self._file.silent:
                run_all([self._file.identify])
        some = bytes(self._data[: min(size, _READ)])
        self._data = self._data[len(some) :]
        return some

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, position: int) -> int:
        """Set the position of the next read, and return it."""
        self._data = memoryview(b"")
        self._at = position
        return position

    def close(self) -> None:
        """Do nothing: the stream owns no connection."""


def streams_of(files: Sequence[RemoteFile], options: StorageOptions) -> Iterator[RemoteStream]:
    """Return a stream for each file, to be read in order; later files are also fetched ahead."""
    run = _Pass(files, options)
    return (RemoteStream(run, number) for number in range(len(files)))


def stream_of(file: RemoteFile, begin: int = 0, end: int | None = None) -> RemoteStream:
    """Return a stream of the bytes from `begin` on, fetched ahead up to `end`."""
    stream = RemoteStream(_Pass([file], file.options, end), 0)
    stream.seek(begin)
    return stream
