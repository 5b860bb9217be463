# SPDX-License-Identifier: Apache-2.0
"""Read objects from start to end, in parts that are fetched ahead of the consumer."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Sequence
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
        self, files: Sequence[RemoteFile], ends: Sequence[int], begin: int, most: int
    ) -> None:
        self._files, self._ends = files, ends
        self._begin = begin
        self._most = max(_LEAST_PART, min(_MOST_PART, most))
        self._size = _LEAST_PART

    def __iter__(self) -> Iterator[Job]:
        for number, file in enumerate(self._files):
            begin = self._begin if number == 0 else 0
            while begin < self._ends[number]:
                end = min(begin + self._size, self._ends[number])
                yield Job(self._job(file, begin, end), end - begin)
                begin = end

    def _job(self, file: RemoteFile, begin: int, end: int) -> Callable[[Pause], memoryview]:
        def fetch(pause: Pause) -> memoryview:
            since = time.monotonic()
            data = file.read(begin, end, pause)
            took = time.monotonic() - since
            if took < _QUICK_S and end - begin >= self._size:
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
        self.ends: list[int] = [file.size for file in files]
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
        while number < len(self.files) and offset >= self.ends[number]:
            number, offset = number + 1, 0
        self.at = number, offset
        return data

    def _begin(self, number: int, offset: int) -> Ahead[memoryview]:
        window = self._options.window_bytes
        if self._whole:
            return Ahead(self.files[number].body(offset), budget=window, threads=1, most=1)
        parts = _Parts(self.files[number:], self.ends[number:], offset, window // 4)
        return Ahead(parts, budget=window)

    def extend(self, number: int) -> bool:
        """Allow more bytes of a file to be fetched; return False if it is complete."""
        size, end = self.files[number].size, self.ends[number]
        self.ends[number] = min(size, end + _LEAST_PART)
        return end < size


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
            if self._at >= self._run.ends[self._number] and not self._run.extend(self._number):
                return b""
            self._data = self._run.part(self._number, self._at)
            self._at += len(self._data)
            if self._at >= self._run.ends[self._number] and self._file.silent:
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
