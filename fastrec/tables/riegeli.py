# SPDX-License-Identifier: Apache-2.0
"""Read and write Riegeli files, and array_record files, which are Riegeli files with an index.

The last two chunks with records of an array_record file are its index and, in the last 64 KiB, the
position of the index. The first record of the index has the number of chunks and records, and each
other one the position of a chunk. All of them are messages of Protocol Buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import FastrecError
from ..records.zstd import checked_level
from .riegeli_blocks import BLOCK, ChunkReader, ChunkWriter, Header
from .riegeli_chunks import (
    SIMPLE,
    Compressor,
    encode_simple,
    first_simple_record,
    number,
    put_number,
)

__all__ = ["ArrayRecordWriter", "RiegeliReader", "RiegeliWriter"]

_PIECE = 1 << 20  # bytes of records of a chunk
_MAGIC = 0x71930E704FDAE05E  # ends the position of the index
_VERSION = 1
_COPIES = 3  # of the position of the index
_FIELDS = [bytes([number << 3]) for number in range(4)]  # tags of fields that are numbers
_TEXT_1, _TEXT_4 = b"\x0a", b"\x22"  # tags of fields that are messages or texts


class RiegeliReader:
    """The records of a Riegeli file, in order, without the records of an index.

    Parameters
    ----------
    path : str
        A local file.
    has_index : bool
        Whether the file must be an array_record file, which has an index.

    Attributes
    ----------
    count : int
        Number of records.

    Raises
    ------
    OSError
    CorruptRecordError, LimitExceededError
        If the file is damaged, or a chunk is too large for memory.
    ModuleNotFoundError
        If the package for a chunk's compression is not installed.
    """

    def __init__(self, path: str, *, has_index: bool) -> None:
        self._path = path
        self._phrase = "array_record" if has_index else "Riegeli"
        chunks = ChunkReader(path, self._phrase)
        try:
            chunks.check_signature()
            index = _index_position(chunks)
            if index is None and has_index:
                raise chunks.truncated("its end has no index of records")
            self._end = chunks.size if index is None else index
            self.count: int = _counted(chunks) if index is None else _index_count(chunks, index)
        finally:
            chunks.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the records."""
        chunks = ChunkReader(self._path, self._phrase)
        try:
            begin = record = 0
            while begin < chunks.size:
                chunk = chunks.chunk(begin, record)
                if begin < self._end:
                    yield from chunks.records(chunk, begin, record)
                    record += chunk.header.records
                    if chunk.header.end > self._end:
                        text = f"a chunk goes on after {self._end}, where the index begins"
                        raise chunks.damaged(text, record, begin)
                begin = chunk.header.end
            if record != self.count:
                raise chunks.damaged(f"its index states {self.count} records", record, begin)
        finally:
            chunks.close()


def _counted(chunks: ChunkReader) -> int:
    """Return the number of records that the headers of all chunks state."""
    begin = count = 0
    while begin < chunks.size:
        header = chunks.header(begin, count)
        begin, count = header.end, count + header.records
    return count


def _index_position(chunks: ChunkReader) -> int | None:
    """Return where the index begins; None without one."""
    begin = chunks.size - BLOCK
    if begin < BLOCK or begin % BLOCK:
        return None
    try:
        fields = _numbers(_first_record(*chunks.chunk(begin, None)))
    except FastrecError:
        return None
    position = fields.get(1, 0)
    return position if fields.get(2) == _MAGIC and 0 < position < begin else None


def _index_count(chunks: ChunkReader, begin: int) -> int:
    """Return the number of records that the index at a position states."""
    header, data = chunks.chunk(begin, None)
    try:
        first = _first_record(header, data)
        size, at = number(first, 1, "the size of the numbers in it")
        fields = _numbers(first[at : at + size])
    except FastrecError as error:
        raise chunks.damaged(f"its index cannot be decoded: {error}", None, begin) from None
    if first[:1] != _TEXT_1 or fields.get(1) != _VERSION:
        raise chunks.damaged("its index has another version than 1", None, begin)
    if fields.get(2, 0) != header.records - 1:
        raise chunks.damaged("its index does not list all chunks", None, begin)
    return fields.get(3, 0)


def _first_record(header: Header, data: memoryview) -> bytes:
    """Return the first record of a simple chunk, and no bytes for another chunk."""
    if header.kind != SIMPLE or not header.records:
        return b""
    return first_simple_record(data, header.records, header.size)


def _numbers(message: bytes) -> dict[int, int]:
    """Return the fields of a message that are numbers, up to the first other one, by number."""
    fields = {}
    at = 0
    while at < len(message) and message[at : at + 1] in _FIELDS:
        name = message[at] >> 3
        fields[name], at = number(message, at + 1, "a number of the index")
    return fields


def _message(*values: int) -> bytes:
    """Return a message whose fields 1, 2 and so on are numbers."""
    return b"".join(
        tag + put_number(value) for tag, value in zip(_FIELDS[1:], values, strict=False)
    )


class RiegeliWriter:
    """Writes records to a file of the sink, in simple chunks that are compressed with zstd.

    Parameters
    ----------
    file
        A writer of :class:`~fastrec.tables.new_files.NewFiles`.
    level : int, optional
        Level of zstd; 3 by default.
    """

    _most_size, _most_count = _PIECE, _PIECE
    """When a chunk ends: bytes and number of its records."""

    def __init__(self, file: Any, level: int | None) -> None:
        self._level = checked_level(level)
        self._compress = Compressor(self._level)
        self._chunks = ChunkWriter(file)
        self._sizes: list[bytes] = []
        self._values: list[bytes] = []
        self._size = 0

    def write(self, record: Any) -> None:
        """Write one record."""
        data = bytes(record)
        size = put_number(len(data))
        self._sizes.append(size)
        self._values.append(data)
        self._size += len(size) + len(data)
        if self._size >= self._most_size or len(self._values) >= self._most_count:
            self._end_chunk()

    def _end_chunk(self) -> tuple[int, int, int]:
        """Write the chunk; return its position, and the bytes and the number of its records."""
        sizes, values = b"".join(self._sizes), b"".join(self._values)
        packed = encode_simple(self._compress, sizes, values)
        count = len(self._values)
        self._sizes, self._values, self._size = [], [], 0
        return self._chunks.add(SIMPLE, count, len(values), packed), len(values), count

    def close(self) -> None:
        """Write the last chunk."""
        if self._values:
            self._end_chunk()
        self._chunks.flush()

    def abort(self) -> None:
        """Discard the records that were not written."""
        self._sizes, self._values = [], []


class ArrayRecordWriter(RiegeliWriter):
    """Writes records to an array_record file, one per chunk, for random access.

    The index has about 15 bytes for each record, and is held in memory until the file ends.
    """

    _most_count = 1

    def __init__(self, file: Any, level: int | None) -> None:
        super().__init__(file, level)
        self._index = bytearray()
        self._index_sizes = bytearray()
        self._count = 0

    def _end_chunk(self) -> tuple[int, int, int]:
        chunk = super()._end_chunk()
        entry = _message(*chunk)
        self._index += entry
        self._index_sizes += put_number(len(entry))
        self._count += 1
        return chunk

    def close(self) -> None:
        """Write the index and its position."""
        options = (
            f"group_size:1,transpose:false,pad_to_block_boundary:false,zstd:{self._level},"
            "window_log:20,max_parallelism:1"
        ).encode()
        numbers = _message(_VERSION, self._count, self._count)
        numbers += _TEXT_4 + put_number(len(options)) + options
        first = _TEXT_1 + put_number(len(numbers)) + numbers
        sizes = put_number(len(first)) + self._index_sizes
        values = first + self._index
        packed = encode_simple(self._compress, sizes, values)
        begin = self._chunks.add(SIMPLE, self._count + 1, len(values), packed)
        self._chunks.pad()
        end = _message(begin, _MAGIC)
        plain = encode_simple(Compressor(None), put_number(len(end)) * _COPIES, end * _COPIES)
        self._chunks.add(SIMPLE, _COPIES, len(end) * _COPIES, plain)
        self._chunks.pad()
        self._chunks.flush()
