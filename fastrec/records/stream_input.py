# SPDX-License-Identifier: Apache-2.0
"""The input of decompressors with lookahead, and their output in chunks of a useful size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..errors import LimitExceededError
from .compression import Damaged, Short
from .content import file_content

__all__ = ["PIECE", "SMALL", "Decompressed", "Starts", "StreamInput", "other_content"]

PIECE = 1 << 20  # bytes of input per call; other threads may get the GIL between calls
SMALL = 1 << 18  # bytes of output too small to use a thread for
_EXAMINED = 4096  # bytes examined of a file whose compression is unexpected


class StreamInput:
    """Compressed input with lookahead."""

    def __init__(self, read: Callable[[int], Any]) -> None:
        self._read = read
        self._data: bytes = b""
        self._at: int = 0
        self.taken: int = 0

    @property
    def buffered(self) -> int:
        """Number of bytes available without reading."""
        return len(self._data) - self._at

    def ahead(self, size: int, least: int = 1) -> memoryview:
        """Return up to `size` bytes without consuming them; fewer than `least` only at the end."""
        while len(self._data) - self._at < least:
            more = self._read(PIECE)
            if more is None:
                raise BlockingIOError(11, "the stream has no bytes now")
            if type(more) is not bytes:
                more = bytes(memoryview(more))
            if not more:
                break
            self._data = self._data[self._at :] + more if self.buffered else more
            self._at = 0
        return memoryview(self._data)[self._at : self._at + size]

    def skip(self, size: int) -> None:
        """Skip `size` bytes that are available without reading."""
        self._at += size
        self.taken += size

    def exactly(self, size: int) -> bytes:
        """Return the next `size` bytes, and skip them."""
        found = bytes(self.ahead(size, size))
        if len(found) < size:
            raise Short
        self.skip(size)
        return found

    def skip_all(self, size: int) -> None:
        """Skip `size` bytes, which may be more than fit into memory."""
        while size:
            piece = self.ahead(min(size, PIECE))
            if not piece:
                raise Short
            self.skip(len(piece))
            size -= len(piece)

    def past_zero(self) -> None:
        """Skip bytes up to and including the next zero byte."""
        while self.ahead(1):
            end = self._data.find(b"\0", self._at)
            if end >= 0:
                self.skip(end + 1 - self._at)
                return
            self.skip(self.buffered)
        raise Short

    def past_padding(self) -> None:
        """Skip zero bytes."""
        while self.ahead(1) and self._data[self._at] == 0:
            self.skip(self.buffered - len(self._data[self._at :].lstrip(b"\0")))


def other_content(source: StreamInput) -> str:
    """Describe the content of a file that is not compressed as expected, from its first bytes."""
    if source.taken:
        return ""
    content = file_content(bytes(source.ahead(_EXAMINED, _EXAMINED)))
    if content.name == "TFRecord":
        return "; the file is not compressed: compression='auto' reads it"
    return f"; it looks like {content}"


class Starts(Protocol):
    """Receives the positions in a file where reading can start."""

    def begin(self, at: int, output: int) -> None:
        """Note that byte `at` of the file corresponds to byte `output` of the output."""


class Decompressed:
    """The output of a decompressor, as chunks; it ends after `size` bytes, if that is not None.

    Attributes
    ----------
    source : StreamInput
    output : int
        Number of bytes delivered.
    """

    def __init__(self, read: Callable[[int], Any], size: int | None) -> None:
        self.source: StreamInput = StreamInput(read)
        self.size: int | None = size
        self.output: int = 0

    @property
    def taken(self) -> int:
        """Number of bytes of input that were processed."""
        return self.source.taken

    def _counted(self, data: bytes) -> bytes:
        """Count output, and return it up to the requested size."""
        if self.size is not None:
            data = data[: self.size - self.output]
        self.output += len(data)
        return data

    def _pieces(self) -> Iterator[bytes]:
        """Yield output piece by piece; an empty piece precedes a read that may block."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[bytes]:
        """Yield the output; small pieces are joined, as each chunk has a cost.

        The pieces before damage are yielded first.
        """
        held: list[bytes] = []
        size = 0
        try:
            for data in self._pieces():
                held.append(data)
                size += len(data)
                if self.output == self.size:
                    break
                if size >= SMALL or (size and not data):
                    yield b"".join(held) if len(held) > 1 else data
                    held, size = [], 0
        except (Damaged, Short, LimitExceededError, OSError):
            if size:
                yield b"".join(held)
            raise
        if size:
            yield b"".join(held)
