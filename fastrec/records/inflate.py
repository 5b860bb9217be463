# SPDX-License-Identifier: Apache-2.0
"""Decompress files of all compressions, and read tar archives as streams of records.

The library of :func:`~fastrec.records.compression.inflater_library` inflates raw deflate streams.
Containers are parsed here, so that all output before any damage is delivered before the error.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from ..errors import CorruptRecordError, FastrecError, LimitExceededError, TruncatedFileError
from .compression import Damaged, Short, inflater_library
from .stream_input import PIECE, Decompressed, Starts, StreamInput, other_content
from .tar import TarStream
from .zstd_stream import ZstdStream, small_frame

__all__ = ["Marks", "Resume", "expanded_zstd", "inflate"]

_CRUMB = 1 << 16  # the same, if the input may be inflated again byte by byte
_OUTPUT = 1 << 19  # maximum bytes of output per call; malloc reuses blocks of this size
_RATIO_FROM = 1 << 20  # the ratio is not checked below this output
_HEADER = 10  # bytes of a member's fixed header; its trailer is shorter
_LEAST = 512  # minimum bytes of input per call

_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16


# Empty deflate blocks and their lengths in bits: with fixed codes, and with dynamic codes.
_FIXED, _DYNAMIC = (0x2, 10), (0x4D5FF10000000000081C004, 91)


class Resume(NamedTuple):
    """State for resuming inside a deflate stream.

    The first `shift` bits of the first byte belong to the previous block, and `window` is the
    output before the checkpoint.
    """

    shift: int
    window: bytes

    def first(self, byte: int) -> bytes:
        """Return the first byte, with the bits of the previous block replaced by empty blocks.

        Inflaters can only begin at whole bytes.
        """
        bits, count = _DYNAMIC if self.shift % 2 else (0, 0)
        while count % 8 != self.shift:
            bits |= _FIXED[0] << count
            count += _FIXED[1]
        return (bits | byte >> self.shift << count).to_bytes(count // 8 + 1, "little")


class Marks(Starts, Protocol):
    """Receives inflated pieces; a FastrecError that it raises means that the stream is damaged."""

    def add(self, piece: memoryview, data: bytes, last: bool) -> None:
        """Process a piece of input and its output `data`; `last` means the end of the stream."""


def _gzip_header(source: StreamInput) -> bool:
    """Return True if another member begins here."""
    head = bytes(source.ahead(10, 10))
    if not head:
        return False
    if head[:2] != b"\x1f\x8b":
        raise Damaged(f"not a GZIP member: it begins with {head[:2]!r}{other_content(source)}")
    if len(head) < 10:
        raise Short
    source.skip(10)
    if head[2] != 8:
        raise Damaged(f"unknown compression method {head[2]}")
    flags = head[3]
    if flags & _FEXTRA:
        source.exactly(int.from_bytes(source.exactly(2), "little"))
    if flags & _FNAME:
        source.past_zero()
    if flags & _FCOMMENT:
        source.past_zero()
    if flags & _FHCRC:
        source.exactly(2)
    return True


def _zlib_header(source: StreamInput) -> bool:
    head = bytes(source.ahead(2, 2))
    if not head:
        return False
    if len(head) < 2:
        raise Short
    if head[0] & 0x8F != 8 or int.from_bytes(head, "big") % 31:
        raise Damaged(f"not a zlib stream: it begins with {head!r}{other_content(source)}")
    if head[1] & 0x20:
        raise Damaged("it needs a preset dictionary")
    source.skip(2)
    return True


def _one_by_one(inflater: Any, piece: bytes) -> bytes:
    """Return the output before the damage in `piece`; zlib drops some of it in larger steps."""
    found = bytearray()
    with contextlib.suppress(zlib.error):
        for byte in piece:
            data = inflater.decompress(bytes((byte,)), 1)
            while data:
                found += data
                data = inflater.decompress(inflater.unconsumed_tail, 1)
    return bytes(found)


def _up_to_the_damage(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield all output of a deflate stream before its damage, using zlib."""
    inflater = zlib.decompressobj(-15)
    while piece := read(_CRUMB):
        while piece:
            before = inflater.copy()
            try:
                yield inflater.decompress(piece, _OUTPUT)
            except zlib.error:
                yield _one_by_one(before, piece)
                return
            piece = inflater.unconsumed_tail


class _Stream(Decompressed):
    """The inflated bytes of a compressed file with one or more members."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        kind: str,
        seek: Callable[[int], object] | None = None,
        marks: Marks | None = None,
        resume: Resume | None = None,
        size: int | None = None,
    ) -> None:
        super().__init__(read, size)
        self._marks, self._resume = marks, resume
        self._read, self._seek = read, seek
        self._gzip = kind == "GZIP"
        self._library = inflater_library()
        self._feed = _CRUMB if resume is None else PIECE

    def _pieces(self) -> Iterator[bytes]:
        begins = _gzip_header if self._gzip else _zlib_header
        if self._resume is not None:
            yield from self._rest_of_member(self._resume)
        while True:
            if self.source.buffered < _HEADER:
                yield b""
            if not begins(self.source):
                return
            yield from self._member()
            self.source.past_padding()

    def _inflate(self, inflater: Any) -> tuple[memoryview, bytes]:
        """Return the consumed input and its output."""
        source = self.source
        piece = source.ahead(self._feed)
        most = _OUTPUT if self.size is None else min(self.size - self.output, _OUTPUT)
        try:
            data: bytes = inflater.decompress(piece, most)
        except Exception as error:
            raise Damaged(str(error)) from error
        if not piece and not data:
            raise Short
        # At the end of a stream, zlib may put the following bytes in both attributes.
        rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        used = len(piece) - len(rest)
        source.skip(used)
        # The library copies unused input. The ratio of this call predicts how much input fills the
        # output of the next one.
        self._feed = min(max(used * _OUTPUT // max(len(data), 1), _LEAST), PIECE)
        self.output += len(data)
        return piece[:used], data

    def _rest_of_member(self, resume: Resume) -> Iterator[bytes]:
        """Yield the rest of a member after a checkpoint, without checking its checksum."""
        inflater = self._library.decompressobj(-15, zdict=resume.window)
        if resume.shift:
            first = resume.first(self.source.exactly(1)[0])
            try:
                inflater.decompress(first)
            except Exception as error:
                raise Damaged(str(error)) from error
        while not inflater.eof:
            yield self._inflate(inflater)[1]
        self.source.exactly(8 if self._gzip else 4)
        self.source.past_padding()

    def _member(self) -> Iterator[bytes]:
        inflater = self._library.decompressobj(-15)
        source, marks = self.source, self._marks
        begin = source.taken
        if marks is not None:
            marks.begin(begin, self.output)
        sum_up = self._library.crc32 if self._gzip else self._library.adler32
        check = sum_up(b"")
        size = 0
        while not inflater.eof:
            if not source.buffered:
                yield b""
            try:
                piece, data = self._inflate(inflater)
            except Damaged:
                yield from self._rescued(begin, size)
                raise
            if marks is not None:
                self._mark(marks, piece, data, inflater.eof)
            check = sum_up(data, check)
            size += len(data)
            if data:
                yield data
        # The next member probably has the same length, so bytes after this one need not be copied.
        self._feed = min(max(source.taken - begin + _HEADER, _LEAST), PIECE)
        if source.buffered < _HEADER:
            yield b""
        self._check_trailer(check, size)

    def _mark(self, marks: Marks, piece: memoryview, data: bytes, last: bool) -> None:
        try:
            marks.add(piece, data, last)
        except FastrecError as error:
            raise Damaged(str(error)) from error

    def _rescued(self, begin: int, size: int) -> Iterator[bytes]:
        """Yield the output of the failed call before its error, if the input can be read again."""
        if self._seek is None:
            return
        self._seek(begin)
        for data in _up_to_the_damage(self._read):
            if len(data) > size:
                self.output += len(data) - size
                yield data[size:]
            size -= min(size, len(data))

    def _check_trailer(self, check: int, size: int) -> None:
        if self._gzip:
            trailer = self.source.exactly(8)
            if int.from_bytes(trailer[:4], "little") != check:
                raise Damaged("CRC check failed")
            if int.from_bytes(trailer[4:], "little") != size % 2**32:
                raise Damaged("incorrect length of data produced")
        elif int.from_bytes(self.source.exactly(4), "big") != check:
            raise Damaged("Adler-32 check failed")


def inflate(
    read: Callable[[int], bytes],
    kind: str,
    path: object,
    *,
    seek: Callable[[int], object] | None = None,
    max_output: int | None = None,
    max_ratio: int | None = None,
    max_record: int = 0,
    marks: Marks | None = None,
    resume: Resume | None = None,
    size: int | None = None,
) -> Iterator[bytes]:
    """Yield the output of a compressed file; an empty piece precedes a read that may block.

    Parameters
    ----------
    read, kind, path
        As for :class:`~fastrec.records.inflated.Inflated`.
    seek : callable, optional
        ``seek(position)`` sets the position in the compressed bytes. With it, all output before
        damage is delivered; without it, up to a megabyte of output is lost.
    max_output, max_ratio : int, optional
        Maximum output in bytes, and maximum ratio of output to input.
    max_record : int
        Maximum size of a sample of an archive, in bytes; 0 means 2 GiB.
    marks : Marks, optional
        Receives each piece.
    resume : Resume, optional
        The checkpoint at which the output starts; `read` is positioned at its first byte.
    size : int, optional
        Maximum output in bytes, at least 1; later data is not inflated.

    Raises
    ------
    CorruptRecordError, TruncatedFileError, LimitExceededError
    """
    stream: Decompressed | TarStream
    if kind == "ZSTD":
        stream = ZstdStream(read, marks, size)
    elif kind == "TAR":
        stream = TarStream(read, marks, max_record, is_resumed=resume is not None, size=size)
    else:
        stream = _Stream(read, kind, seek, marks, resume, size)
    return _guarded(stream, kind, str(path), max_output, max_ratio)


def expanded_zstd(data: bytes | memoryview, most: int) -> bytes:
    """Return the content of zstd frames in memory, of at most `most` bytes.

    Raises
    ------
    CorruptRecordError, LimitExceededError
    """
    content = small_frame(data, most)
    if content is not None:
        return content
    return b"".join(inflate(io.BytesIO(data).read, "ZSTD", "record", max_output=most))


def _guarded(
    stream: Decompressed | TarStream,
    kind: str,
    path: str,
    max_output: int | None,
    max_ratio: int | None,
) -> Iterator[bytes]:
    """Yield the chunks of `stream` within the limits; add path and offset to errors."""
    try:
        for chunk in stream:
            if max_output is not None and stream.output > max_output:
                raise LimitExceededError(
                    f"{path!a} inflates to more than {max_output} bytes; raise max_output_bytes"
                )
            ratio = stream.output // max(stream.taken, 1)
            if max_ratio is not None and stream.output > _RATIO_FROM and ratio > max_ratio:
                raise LimitExceededError(
                    f"{path!a} inflates to more than {max_ratio} times its size; raise max_ratio"
                )
            yield chunk
    except Damaged as error:
        raise _located(
            CorruptRecordError(f"damaged {kind} stream in {path!a}: {error}"), path, "compression"
        ) from None
    except Short:
        raise _located(
            TruncatedFileError(f"truncated {kind} stream in {path!a}"), path, "torn-data"
        ) from None
    except LimitExceededError as error:
        raise _located(error, path, "too-large") from None


def _located(error: FastrecError, path: str, kind: str) -> FastrecError:
    error.path = path
    error.kind = kind  # type: ignore[attr-defined]
    return error
