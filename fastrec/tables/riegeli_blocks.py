# SPDX-License-Identifier: Apache-2.0
"""Read and write the chunks of Riegeli files, each with checksums of its header and its data.

A block header stands at each multiple of 64 KiB, also within a chunk, and states where that chunk
begins and ends. All checksums are HighwayHash.
"""

from __future__ import annotations

import os
import struct
from typing import Any, NamedTuple

from .._core import riegeli_hash
from ..errors import CorruptRecordError, FastrecError, LimitExceededError, TruncatedFileError
from ..records.byte_sources import NamedFile
from ..records.content import file_content
from .riegeli_chunks import PADDING, SIGNATURE, SIMPLE, TRANSPOSED, simple_records
from .riegeli_transposed import transposed_records

__all__ = ["BLOCK", "Chunk", "ChunkReader", "ChunkWriter", "Header"]

BLOCK = 1 << 16
"""Bytes from one block header to the next one."""

_BLOCK_HEADER = struct.Struct("<QQQ")  # checksum, bytes since the chunk's begin, and to its end
_USABLE = BLOCK - _BLOCK_HEADER.size
_HEADER = struct.Struct("<QQQQQ")  # checksum, size, checksum of the data, type and count, content
_HASH = 8  # bytes of a checksum, which comes first in a header
_MOST = (1 << 31) - 1  # bytes of a chunk, and of its records, which bounds memory
_RECORD = 64  # bytes of memory that a record takes besides its own bytes
_PIECE = 1 << 20  # bytes that are read or written at once
_SKIPPED_PIECE = BLOCK  # bytes that are read at once for headers alone
_COPY = "copy the file again from its origin"
_EXAMINED = 1 << 14  # bytes that are read to name another format


def _after(begin: int, size: int) -> int:
    """Return the position after `size` bytes of content, between which are block headers."""
    headers = (size + (begin + _USABLE - 1) % BLOCK) // _USABLE
    return begin + size + headers * _BLOCK_HEADER.size


def _end(begin: int, size: int, count: int) -> int:
    """Return where a chunk of `size` bytes of data ends; it has at least `count` bytes in all."""
    place = begin % BLOCK
    if place and count <= size and place + _HEADER.size + size <= BLOCK:
        return begin + _HEADER.size + size  # as for most chunks of one record
    least = begin + count
    least += max(0, -least % BLOCK - (_USABLE - 1))  # not within nor right after a block header
    return max(_after(begin, _HEADER.size + size), least)


def _block_header(begin: int, at: int, end: int) -> bytes:
    """Return the block header at a position within a chunk."""
    places = struct.pack("<QQ", at - begin, end - at)
    return struct.pack("<Q", riegeli_hash(places)) + places


def _header(kind: int, count: int, size: int, data: bytes) -> bytes:
    rest = struct.pack("<QQQQ", len(data), riegeli_hash(data), count << 8 | kind, size)
    return struct.pack("<Q", riegeli_hash(rest)) + rest


class Header(NamedTuple):
    """Header of a chunk, whose checksum is right.

    Attributes
    ----------
    kind : int
        Type of the chunk.
    records : int
        Number of its records.
    size : int
        Bytes of all its records.
    data_size, data_hash : int
    end : int
        Position after the chunk.
    """

    kind: int
    records: int
    size: int
    data_size: int
    data_hash: int
    end: int


class Chunk(NamedTuple):
    """A chunk whose checksums are right.

    Attributes
    ----------
    header : Header
    data : memoryview
        Valid until the next chunk is read.
    """

    header: Header
    data: memoryview

    def records(self) -> list[bytes]:
        """Return its records.

        Raises
        ------
        CorruptRecordError, LimitExceededError
        ModuleNotFoundError
            If the package for its compression is not installed.
        """
        kind, count, size = self.header[:3]
        if not count:
            return []
        if kind == SIMPLE:
            return simple_records(self.data, count, size)
        if kind == TRANSPOSED:
            return transposed_records(bytes(self.data), count, size)
        raise CorruptRecordError(f"{bytes([kind])!a} is no known type of a chunk")


class ChunkReader:
    """Reads the chunks of a local file, one at a time, and checks all checksums.

    Attributes
    ----------
    size : int
        Size of the file, in bytes.
    """

    def __init__(self, path: str, phrase: str) -> None:
        self.path: str = path
        self._phrase = phrase
        self._file = NamedFile(path)
        self.size: int = os.fstat(self._file.fileno()).st_size
        self._room = memoryview(bytearray())
        self._start = self._filled = 0  # position of its first byte in the file, and its size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check_signature(self) -> None:
        """Raise unless the file begins as each Riegeli file does."""
        head = bytes(self._bytes(0, min(_EXAMINED, self.size), _EXAMINED))
        if head.startswith(_SIGNATURE):
            return
        if _SIGNATURE.startswith(head):
            raise self.truncated(f"its {len(head)} bytes end within the signature")
        content = file_content(head)
        text, hint = "its signature is damaged", _COPY
        if content.name not in ("Riegeli", "data of an unknown format"):
            text, hint = f"it looks like {content}", ""
        raise self._error(CorruptRecordError, text, None, 0, hint)

    def header(self, begin: int, record: int | None, piece: int = _SKIPPED_PIECE) -> Header:
        """Return the header of the chunk at a position; `record` numbers its first record."""
        head = _content(self._bytes(begin, _after(begin, _HEADER.size), piece), begin)
        if len(head) < _HEADER.size:
            raise self.truncated("a chunk's header is cut off", record, begin)
        stated, data_size, data_hash, count, size = _HEADER.unpack(head)
        if riegeli_hash(head[_HASH:]) != stated:
            raise self.damaged("a chunk's header has a wrong checksum", record, begin)
        kind, count = count & 0xFF, count >> 8
        end = _end(begin, data_size, count)
        if end > self.size:
            text = f"a chunk ends at {end}, and the file has {self.size} bytes"
            raise self.truncated(text, record, begin)
        self._check_size(max(end - begin, size), begin, record)
        return Header(kind, count, size, data_size, data_hash, end)

    def chunk(self, begin: int, record: int | None) -> Chunk:
        """Return the chunk at a position, whose checksums were compared."""
        header = self.header(begin, record, _PIECE)
        end = header.end
        raw = self._bytes(begin, end, _PIECE)
        for at in range(begin + -begin % BLOCK, end, BLOCK):
            found = raw[at - begin : at - begin + _BLOCK_HEADER.size]
            if found != _block_header(begin, at, end):
                raise self.damaged(f"the block header at {at} is wrong", record, begin)
        filled = _after(begin, _HEADER.size + header.data_size) - begin
        data = _content(raw[:filled], begin)[_HEADER.size :]
        if len(raw) < end - begin or riegeli_hash(data) != header.data_hash:
            raise self.damaged("a chunk's data has a wrong checksum", record, begin)
        return Chunk(header, data)

    def _check_size(self, size: int, begin: int, record: int | None) -> None:
        if size > _MOST:
            error = LimitExceededError(
                f"{self.path!a}: a chunk at {begin} takes {size} bytes of memory, more than the "
                f"limit of {_MOST}; write the file with smaller chunks"
            )
            raise self._located(error, record, begin)

    def records(self, chunk: Chunk, begin: int, record: int | None) -> list[bytes]:
        """Return the records of a chunk at a position; an error names the first one."""
        header = chunk.header
        self._check_size(header.size + _RECORD * header.records, begin, record)
        try:
            return chunk.records()
        except FastrecError as error:
            raise self.damaged(f"a chunk cannot be decoded: {error}", record, begin) from None

    def _bytes(self, begin: int, end: int, piece: int) -> memoryview:
        """Return bytes of the file, which the next call may replace; fewer at its end.

        At least `piece` bytes are read at once.
        """
        at = begin - self._start
        if not 0 <= at <= self._filled:
            self._start, self._filled, at = begin, 0, 0
        if end - self._start > self._filled:
            wanted = min(max(end - begin, piece), self.size - begin)
            room = self._room
            if wanted > len(room):
                room = memoryview(bytearray(wanted))
            kept = self._filled - at
            room[:kept] = self._room[at : self._filled]
            self._room, self._start, self._filled, at = room, begin, kept, 0
            self._file.seek(begin + kept)
            while self._filled < wanted:
                if not (more := self._file.readinto(room[self._filled : wanted])):
                    break
                self._filled += more
        return self._room[at : min(at + end - begin, self._filled)]

    def damaged(self, text: str, record: int | None, offset: int) -> FastrecError:
        """Return the error for damage of a record or, without one, of the file."""
        return self._error(CorruptRecordError, text, record, offset)

    def truncated(self, text: str, record: int | None = None, offset: int = 0) -> FastrecError:
        """Return the error for a file that ends too early."""
        return self._error(TruncatedFileError, text, record, offset)

    def _error(
        self,
        kind: type[FastrecError],
        text: str,
        record: int | None,
        offset: int,
        hint: str = _COPY,
    ) -> FastrecError:
        place = "" if record is None else f"record {record} at {offset}: "
        message = f"{self.path!a} is not a whole {self._phrase} file: {place}{text}"
        return self._located(kind(message, hint=hint), record, offset)

    def _located(self, error: FastrecError, record: int | None, offset: int) -> FastrecError:
        error.path, error.record, error.offset = self.path, record, offset
        return error


def _content(raw: memoryview, begin: int) -> memoryview:
    """Return bytes of a file, from a position on, without block headers."""
    first = -begin % BLOCK
    if first >= len(raw):
        return raw
    blocks = range(first, len(raw), BLOCK)
    parts = (raw[at + _BLOCK_HEADER.size : at + BLOCK] for at in blocks)
    return memoryview(b"".join((raw[:first], *parts)))


class ChunkWriter:
    """Writes chunks to a file of the sink, with block headers.

    Attributes
    ----------
    position : int
        Size of the file so far.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.position: int = 0
        self._held: list[bytes] = []
        self._held_size = 0
        self.add(SIGNATURE, 0, 0, b"")

    def add(self, kind: int, count: int, size: int, data: bytes) -> int:
        """Write a chunk with records of `size` bytes in all, and return its position."""
        begin = self.position
        end = _end(begin, len(data), count)
        content = _header(kind, count, size, data) + data
        at, taken = begin, 0
        while at < end:
            if at % BLOCK == 0:
                self._put(_block_header(begin, at, end))
                at += _BLOCK_HEADER.size
            room = min(end - at, -at % BLOCK)
            self._put(content[taken : taken + room].ljust(room, b"\0"))
            at, taken = at + room, taken + room
        self.position = end
        if self._held_size >= _PIECE:
            self.flush()
        return begin

    def pad(self) -> None:
        """Write a chunk without records that ends at the next multiple of 64 KiB."""
        room = -self.position % BLOCK
        if room:
            room += 0 if room >= _HEADER.size else _USABLE
            self.add(PADDING, 0, 0, bytes(room - _HEADER.size))

    def _put(self, data: bytes) -> None:
        self._held.append(data)
        self._held_size += len(data)

    def flush(self) -> None:
        """Pass on all bytes."""
        self._file.write_frames(b"".join(self._held), 0)
        self._held, self._held_size = [], 0


_SIGNATURE = _block_header(0, 0, 64) + _header(SIGNATURE, 0, 0, b"")
