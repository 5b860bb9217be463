# SPDX-License-Identifier: Apache-2.0
"""Inflate the compressed files of one pass on several threads ahead of the reader."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FastrecError
from ..storage.ahead import Ahead, Job
from ..threads.locks import check_process
from .inflated import Inflated
from .inflated_dataset import InflatedFile
from .packed import indexed, inflate_whole, kind_of

if TYPE_CHECKING:
    from .record_files import RecordFiles

__all__ = ["InflatedAhead"]

_JOB = 2 << 20  # approximate output of one job of an indexed file
_BEGUN = 16 << 20  # maximum output inflated in advance from a file without checkpoints
_RATIO = 4  # the same, relative to the size of the file


class _Part(NamedTuple):
    """A part of the output of file `number`, in chunks, or an error in its place."""

    number: int
    content: Inflated | deque[bytes] | Exception


class InflatedAhead:
    """Compressed files in the order of a pass, inflated by several threads.

    The spans between checkpoints of an indexed file are inflated in parallel. A file without an
    index is inflated in advance, up to 16 MiB of output, while earlier files are read.

    Parameters
    ----------
    files : RecordFiles
    stop : int
        Number of the last file plus 1.
    """

    def __init__(self, files: RecordFiles, stop: int) -> None:
        self._files, self._stop = files, stop
        self._parts: Ahead[_Part] | None = None
        self._next: _Part | None = None
        self._pid = os.getpid()

    def open(self, number: int, place: str | bytes, kind: str) -> Callable[[int], bytes]:
        """Return ``read(size)`` of the output of a compressed file; the files are opened in order.

        `place` is the path of a local file, or of the copy of a remote file in the cache.

        Raises
        ------
        OSError
            If the file cannot be opened.
        """
        part = self._peek()
        while part is not None and part.number < number:  # skip the rest of an abandoned file
            self._next = None
            part = self._peek()
        if part is None or part.number > number:
            return self._begin_with(number, place, kind)
        if isinstance(part.content, (deque, FastrecError)):
            return _Spans(self, number)
        self._next = None
        if isinstance(part.content, Exception):
            raise part.content
        return part.content

    def _begin_with(self, number: int, place: str | bytes, kind: str) -> Callable[[int], bytes]:
        """Open a file that no thread has started, and start threads for the files after it."""
        file = indexed(self._files, number)
        if file is None and number + 1 == self._stop:
            return inflate_whole(self._files, number, place, kind)
        threads = self._files.threads
        self._parts = Ahead(
            self._jobs(number, file),
            budget=threads * _BEGUN,
            threads=threads,
            most=threads,
            helps=True,
        )
        self._parts.start()
        if file is None:
            return inflate_whole(self._files, number, place, kind)
        return _Spans(self, number)

    def _jobs(self, first: int, file: InflatedFile | None) -> Iterator[Job]:
        if file is not None:
            yield from _span_jobs(first, file, self._files.threads)
        for number in range(first + 1, self._stop):
            if kind_of(self._files, number) is None:
                return
            file = indexed(self._files, number)
            if file is None:
                size = min(_RATIO * os.path.getsize(self._files.places[number]), _BEGUN)
                yield Job(partial(self._begin, number, size), size)
            else:
                yield from _span_jobs(number, file, self._files.threads)

    def _begin(self, number: int, size: int, pause: Callable[[float], None]) -> _Part:
        try:
            inflated = inflate_whole(self._files, number)
        except OSError as error:
            return _Part(number, error)
        inflated.begin(size, pause)
        return _Part(number, inflated)

    def _peek(self) -> _Part | None:
        check_process(self._pid, "the iterator")
        if self._next is None and self._parts is not None:
            self._next = next(self._parts, None)
        return self._next

    def take(self, number: int) -> bytes | Exception:
        """Return the next chunk of an indexed file; empty at its end."""
        part = self._peek()
        if part is None or part.number != number:
            return b""
        content = part.content
        assert not isinstance(content, Inflated)
        if not isinstance(content, deque):
            self._next = None
            return content
        chunk = content.popleft()
        if not content:
            self._next = None
        return chunk

    def inflate_after(self, number: int, size: int) -> Callable[[int], bytes]:
        """Return ``read(size)`` of a file's output from byte `size` on, without its checkpoints."""
        read = inflate_whole(self._files, number)
        while size:
            data = read(size)
            if len(data) > size:
                return _Rest(data[size:], read)
            if not data:
                break
            size -= len(data)
        return read


def _span_jobs(number: int, file: InflatedFile, threads: int) -> Iterator[Job]:
    """Yield jobs of several spans each, so that opening and resuming cost little."""
    count = file.spans()
    many = max(1, min(_JOB // max(file.size // count, 1), count // (2 * threads)))
    for first in range(0, count, many):
        begin, end = file.span(first)[0], file.span(min(first + many, count) - 1)[1]
        if begin < end:
            yield Job(partial(_read_part, number, partial(file.parts, begin, end)), end - begin)


def _read_part(number: int, read: Callable[[Any], Iterator[bytes]], pause: Any) -> _Part:
    try:
        return _Part(number, deque(read(pause)))
    except (FastrecError, OSError) as error:
        return _Part(number, error)


class _Spans:
    """A function ``read(size)`` over all output of a file, chunk by chunk.

    If a span cannot be inflated from its checkpoint, the file is inflated from its start: this
    delivers all output before the damage, and an error with the position of the damage.
    """

    def __init__(self, ahead: InflatedAhead, number: int) -> None:
        self._ahead, self._number = ahead, number
        self._size = 0  # bytes delivered
        self._instead: Callable[[int], bytes] | None = None

    def __call__(self, size: int) -> bytes:
        if self._instead is None:
            content = self._ahead.take(self._number)
            if isinstance(content, bytes):
                self._size += len(content)
                return content
            self._instead = self._ahead.inflate_after(self._number, self._size)
        return self._instead(size)


class _Rest:
    """A function ``read(size)`` that returns some bytes first, then those of another `read`."""

    def __init__(self, first: bytes, read: Callable[[int], bytes]) -> None:
        self._first, self._read = first, read

    def __call__(self, size: int) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return self._read(size)
