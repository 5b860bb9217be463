# SPDX-License-Identifier: Apache-2.0
"""Zstandard (RFC 8878): its libraries, the headers of frames, and writing independent frames.

The writer follows Zstandard's seekable format: frames of 512 KiB of content, and at the end a table
of all frames, in a skippable frame that ``zstd -d`` ignores. The table serves other programs: the
readers here trust nothing but the headers of frames.
"""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "MAGIC",
    "FrameCompressor",
    "Library",
    "checked_level",
    "is_skippable",
    "library",
]

MAGIC = b"\x28\xb5\x2f\xfd"
_FRAME_SIZE = 1 << 19  # bytes of content in a frame, which half a millisecond decompresses
_TABLE_MAGIC = b"\x5e\x2a\x4d\x18"  # the skippable frame that holds a frame table
_FOOTER = struct.Struct("<IBI")
_FOOTER_MAGIC = 0x8F92EAB1
_ENTRY = struct.Struct("<II")  # size of a frame, and size of its content
_SKIPPABLE_HEADER = 8  # bytes of magic and size
_WINDOW_LOG = 27  # log2 of the largest window, as for `zstd -d`
_HAS_CHECKSUMS = 0x80  # flag of a table whose entries have a checksum, too
_CHECKSUM_SIZE = 4
_LEVELS = range(-(1 << 17), 23)
_REMEDY = "requires Python 3.14 or zstandard: pip install 'fastrec-io[zstd]'"


class Library(NamedTuple):
    """A library for Zstandard.

    Attributes
    ----------
    name : str
    error : type of Exception
        The exception for damaged data.
    decompress : callable
        ``decompress(frame, size)`` decompresses one frame to at most `size` bytes.
    decompressor : callable
        Returns an object with ``decompress(piece)`` and ``eof``, for the parts of one frame.
    compressor : callable
        ``compressor(level)`` returns a function that compresses bytes into one frame.
    """

    name: str
    error: type[Exception]
    decompress: Callable[[bytes | memoryview, int], bytes]
    decompressor: Callable[[], Any]
    compressor: Callable[[int], Callable[[Any], bytes]]


@functools.cache
def library() -> Library:
    """Return the library for Zstandard: Python's, or else the package zstandard.

    Raises
    ------
    ModuleNotFoundError
        If neither is installed; the message names the remedy.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            import zstandard
        except ImportError:
            message = f"a file compressed with zstd {_REMEDY}"
            raise ModuleNotFoundError(message, name="zstandard") from None
        return _of_package(zstandard)
    return _of_python(zstd)


def _of_python(zstd: Any) -> Library:
    limit = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
    settings = zstd.CompressionParameter

    def compressor(level: int) -> Callable[[Any], bytes]:
        options = {settings.compression_level: level, settings.checksum_flag: 1}
        return functools.partial(zstd.compress, options=options)

    decompressor = functools.partial(zstd.ZstdDecompressor, options=limit)

    def decompress(frame: bytes | memoryview, size: int) -> bytes:
        made = decompressor()
        data: bytes = made.decompress(frame, size)
        if made.unused_data or not made.eof:
            raise zstd.ZstdError("a frame has another size than its header states")
        return data

    return Library("compression.zstd", zstd.ZstdError, decompress, decompressor, compressor)


def _of_package(zstandard: Any) -> Library:
    make = functools.partial(zstandard.ZstdDecompressor, max_window_size=1 << _WINDOW_LOG)
    of_thread = threading.local()  # making one takes longer than most small frames

    def decompress(frame: bytes | memoryview, size: int) -> bytes:
        made = getattr(of_thread, "made", None)
        if made is None:
            made = of_thread.made = make()
        data: bytes = made.decompress(frame, max_output_size=size, allow_extra_data=False)
        return data

    def decompressor() -> Any:
        return make().decompressobj()

    def compressor(level: int) -> Callable[[Any], bytes]:
        compress: Callable[[Any], bytes]
        compress = zstandard.ZstdCompressor(level=level, write_checksum=True).compress
        return compress

    return Library("zstandard", zstandard.ZstdError, decompress, decompressor, compressor)


def is_skippable(head: bytes) -> bool:
    """Return whether a skippable frame begins with these bytes, which LZ4 has, too.

    Examples
    --------
    >>> is_skippable(bytes([0x50, 0x2A, 0x4D, 0x18]))
    True
    """
    return head[1:4] == _TABLE_MAGIC[1:] and head[0] & 0xF0 == 0x50


def checked_level(level: int | None) -> int:
    """Return a level of Zstandard, 3 by default; raise a ValueError if it is out of range."""
    level = 3 if level is None else level
    if level not in _LEVELS:
        raise ValueError(f"level must be {_LEVELS[0]} to {_LEVELS[-1]}, got {level!r}")
    return level


class _FrameTable:
    """The table of frames that ends a file.

    Parameters
    ----------
    entries : bytes
        Pairs of 32-bit numbers: the size of a frame, and the size of its content.
    """

    def __init__(self, entries: bytes = b"") -> None:
        self._entries = bytearray(entries)

    def add(self, size: int, content: int) -> None:
        """Add a frame of `size` bytes."""
        self._entries += _ENTRY.pack(size, content)

    def frame(self) -> bytes:
        """Return the table as a skippable frame, which ends a file."""
        footer = _FOOTER.pack(len(self._entries) // _ENTRY.size, 0, _FOOTER_MAGIC)
        size = len(self._entries) + len(footer)
        return _TABLE_MAGIC + size.to_bytes(4, "little") + self._entries + footer


def _table_of(file: Any, size: int) -> _FrameTable | None:
    """Return the frame table of a file of `size` bytes, to append frames; None without a table.

    The result has an entry for the existing table, which stays in the file as a frame without
    content.
    """
    if size < _SKIPPABLE_HEADER + _FOOTER.size:
        return None
    file.seek(size - _FOOTER.size)
    count, flags, magic = _FOOTER.unpack(_read(file, _FOOTER.size))
    each = _ENTRY.size + (_CHECKSUM_SIZE if flags & _HAS_CHECKSUMS else 0)
    body = count * each + _FOOTER.size
    if magic != _FOOTER_MAGIC:
        return None
    if size < _SKIPPABLE_HEADER + body:
        return None
    file.seek(size - _SKIPPABLE_HEADER - body)
    head = _read(file, _SKIPPABLE_HEADER)
    if head != _TABLE_MAGIC + body.to_bytes(4, "little"):
        return None
    entries = _read(file, count * each)
    kept = b"".join(entries[at : at + _ENTRY.size] for at in range(0, len(entries), each))
    frames = sum(frame for frame, _ in _ENTRY.iter_unpack(kept))
    if frames + _SKIPPABLE_HEADER + body != size:
        return None
    table = _FrameTable(kept)
    table.add(_SKIPPABLE_HEADER + body, 0)
    return table


def _read(file: Any, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data.ljust(size, b"\0")


class FrameCompressor:
    """Compresses a stream into independent frames of 512 KiB of content, and a frame table.

    Parameters
    ----------
    level : int, optional
        Level of Zstandard, -131072 to 22; 3 by default.

    Raises
    ------
    ValueError
        If the level is out of range.
    ModuleNotFoundError
        If no library is installed.
    """

    def __init__(self, level: int | None = None) -> None:
        self._compress = library().compressor(checked_level(level))
        self._table: _FrameTable | None = _FrameTable()
        self._held = bytearray()  # content of the next frame
        self._needs_frame = True  # because a file without content has one frame, too

    def continue_file(self, file: Any, size: int) -> None:
        """Continue an open file of `size` bytes; write a frame table only if the file has one."""
        self._table = _table_of(file, size)
        self._needs_frame = False

    def compress(self, data: Any, /) -> bytes:
        """Compress more data, and return the frames that are ready."""
        self._held += data
        frames = []
        while len(self._held) >= _FRAME_SIZE:
            frames.append(self._frame(bytes(self._held[:_FRAME_SIZE])))
            del self._held[:_FRAME_SIZE]
        return b"".join(frames)

    def _frame(self, content: bytes) -> bytes:
        frame = self._compress(content)
        if self._table is not None:
            self._table.add(len(frame), len(content))
        self._needs_frame = False
        return frame

    def flush(self) -> bytes:
        """End the stream, and return the rest of the output."""
        last = b""
        if self._held or self._needs_frame:
            last = self._frame(bytes(self._held))
            self._held.clear()
        return last + (b"" if self._table is None else self._table.frame())
