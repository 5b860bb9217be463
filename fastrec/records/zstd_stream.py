# SPDX-License-Identifier: Apache-2.0
"""Decompress Zstandard frame by frame, and block by block.

The headers of frames and blocks are parsed here. Memory is therefore bounded before the library is
called, all blocks before damage are delivered, and the start of each frame is known: reading can
start there, without earlier output.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple, TypeGuard

from ..errors import LimitExceededError
from .compression import Damaged, Short
from .stream_input import Decompressed, Starts, other_content
from .zstd import MAGIC, is_skippable, library

__all__ = ["ZstdStream", "small_frame"]

_MOST_WINDOW = 1 << 27  # bytes of earlier output that a decompressor must keep, as for `zstd -d`
_MOST_BLOCK = 1 << 17  # bytes of a block, compressed or not
_MOST_WHOLE = 1 << 22  # bytes of content of a frame that is decompressed in one call
_BLOCK_HEADER = 3
_ID_BYTES = (0, 1, 2, 4)  # bytes of a dictionary's number, by the lowest bits of a header's flags
_SINGLE = 0x20  # the flag of a frame without a separate window
_RLE, _RESERVED = 1, 3  # types of blocks: one repeated byte, and an invalid type


class _FrameHeader(NamedTuple):
    """Header of a frame, content size if known, and whether a checksum ends the frame."""

    raw: bytes
    content: int | None
    has_checksum: bool


def _header_size(flags: int) -> int:
    """Return the size of a frame's header from its fifth byte (RFC 8878, section 3.1.1.1)."""
    window_bytes = 0 if flags & _SINGLE else 1
    return 5 + window_bytes + _ID_BYTES[flags & 3] + _content_bytes(flags)


def _content_bytes(flags: int) -> int:
    return (1 if flags & _SINGLE else 0, 2, 4, 8)[flags >> 6]


def _parse_header(raw: bytes) -> _FrameHeader:
    """Return the header of a frame; raise for one that the library should not see."""
    flags, content = raw[4], None
    if flags & 8:
        raise Damaged("a frame has a reserved bit in its header")
    content_bytes = _content_bytes(flags)
    id_bytes = _ID_BYTES[flags & 3]
    begin = len(raw) - content_bytes - id_bytes
    number = int.from_bytes(raw[begin : begin + id_bytes], "little")
    if number:
        raise Damaged(
            f"it needs the dictionary {number}; decompress it first: `zstd -d -D DICTIONARY`"
        )
    if content_bytes:
        content = int.from_bytes(raw[-content_bytes:], "little")
        content += 256 if content_bytes == 2 else 0
    base = 1 << 10 + (raw[5] >> 3)
    window = content if flags & _SINGLE else base + base // 8 * (raw[5] & 7)
    if window is not None and window > _MOST_WINDOW:
        raise LimitExceededError(
            f"a zstd frame requires a window of {window} bytes, more than the limit of "
            f"{_MOST_WINDOW}; decompress it first: `zstd -d --long=31`"
        )
    return _FrameHeader(raw, content, bool(flags & 4))


def _is_small(content: int | None) -> TypeGuard[int]:
    """Return whether a frame with this stated size of its content is decompressed in one call.

    A size of 0 is not, because zstandard then ignores the blocks, which may be intact.
    """
    return content is not None and 0 < content <= _MOST_WHOLE


def small_frame(data: bytes | memoryview, size: int | None = None) -> bytes | None:
    """Return the content of data that is one valid frame of small, known size; otherwise None.

    This is the fast way for records that are compressed one by one. `size` is the size of the
    content if the frame does not state one.
    """
    if data[:4] != MAGIC or len(data) < 5:
        return None
    header_size = _header_size(data[4])
    if len(data) < header_size:
        return None
    try:
        content = _parse_header(bytes(data[:header_size])).content
        content = size if content is None else content
        if not _is_small(content):
            return None
        found = library().decompress(data, content)
    except (Damaged, library().error):
        return None
    return found if len(found) == content else None


class ZstdStream(Decompressed):
    """The decompressed bytes of a file with any number of frames, as chunks.

    Parameters
    ----------
    read : callable
        ``read(size)`` returns bytes of the file.
    marks : Starts, optional
        Receives the positions of frames.
    size : int, optional
        Maximum output, in bytes.

    Raises
    ------
    ModuleNotFoundError
        If no library for Zstandard is installed.
    """

    def __init__(
        self, read: Callable[[int], bytes], marks: Starts | None, size: int | None
    ) -> None:
        super().__init__(read, size)
        self._marks = marks
        self._library = library()

    def _pieces(self) -> Iterator[bytes]:
        source = self.source
        while True:
            if source.buffered < len(MAGIC):
                yield b""
            magic = bytes(source.ahead(len(MAGIC), len(MAGIC)))
            if not magic:
                return
            if is_skippable(magic):
                source.skip_all(int.from_bytes(source.exactly(8)[4:], "little"))
            elif magic == MAGIC:
                if self._marks is not None:
                    self._marks.begin(source.taken, self.output)
                yield from self._frame()
            elif MAGIC.startswith(magic) or (source.taken and len(magic) < len(MAGIC)):
                raise Short
            else:
                raise Damaged(f"not a zstd frame: it begins with {magic!r}{other_content(source)}")

    # -- Frames ----------------------------------------------------------------------------------

    def _header(self) -> _FrameHeader:
        """Take the header of a frame."""
        flags = bytes(self.source.ahead(5, 5))[4:]
        if not flags:
            raise Short
        return _parse_header(self.source.exactly(_header_size(flags[0])))

    def _frame(self) -> Iterator[bytes]:
        header = self._header()
        if _is_small(header.content):
            data = yield from self._whole_frame(header, header.content)
            if data is not None:
                yield self._counted(data)
                return
        yield from self._blocks(header)

    def _whole_frame(
        self, header: _FrameHeader, content: int
    ) -> Generator[bytes, None, bytes | None]:
        """Return the content of a frame of known size; None for a damaged or truncated frame.

        Yield an empty piece before a read that may block.
        """
        source, size, is_last = self.source, 0, False
        while not is_last:
            stop = size + _BLOCK_HEADER
            if source.buffered < stop:
                yield b""
            head = source.ahead(stop, stop)[size:]
            bits = int.from_bytes(head, "little")
            is_last = bool(bits & 1)
            size = stop + (1 if bits >> 1 & 3 == _RLE else bits >> 3)
            if len(head) < _BLOCK_HEADER or size > 2 * _MOST_WHOLE:
                return None
        size += 4 if header.has_checksum else 0
        if source.buffered < size:
            yield b""
        frame = source.ahead(size, size)
        if len(frame) < size:
            return None
        try:
            data = self._library.decompress(header.raw + frame, content)
        except self._library.error:
            return None
        if len(data) != content:
            return None
        source.skip(size)
        return data

    def _blocks(self, header: _FrameHeader) -> Iterator[bytes]:
        """Yield the output of a frame, block by block."""
        source = self.source
        decompressor = self._library.decompressor()
        begin = self.output
        self._decompress(decompressor, header.raw)
        is_last = False
        while not is_last:
            if source.buffered < _BLOCK_HEADER:
                yield b""
            bits = int.from_bytes(source.ahead(_BLOCK_HEADER, _BLOCK_HEADER), "little")
            is_last, kind, size = bool(bits & 1), bits >> 1 & 3, bits >> 3
            if source.buffered < _BLOCK_HEADER:
                raise Short
            if kind == _RESERVED or size > _MOST_BLOCK:
                raise Damaged("a block has an invalid header")
            size = _BLOCK_HEADER + (1 if kind == _RLE else size)
            if source.buffered < size:
                yield b""
            data = self._decompress(decompressor, source.exactly(size))
            if data:
                yield self._counted(data)
        if header.has_checksum:
            self._decompress(decompressor, source.exactly(4))
        if not decompressor.eof or header.content not in (None, self.output - begin):
            raise Damaged("a frame has another size than its header states")

    def _decompress(self, decompressor: object, piece: bytes) -> bytes:
        try:
            data: bytes = decompressor.decompress(piece)  # type: ignore[attr-defined]
        except self._library.error as error:
            raise Damaged(str(error)) from error
        return data
