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
from ..records.content.messages import wire_fields
from ..records.zstd import checked_level
from .riegeli_blocks import BLOCK, ChunkReader, ChunkWriter
from .riegeli_chunks import SIMPLE, Compressor, encode_simple, put_number

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
            end = record = 0
            while end < chunks.size:
                for chunk in chunks.chunks(end, record):
                    begin, end, _, count, *_ = chunk
                    if begin < self._end:
                        yield from chunks.records(chunk, record)
                        record += count
                        if end > self._end:
                            text = f"a chunk goes on after {self._end}, where the index begins"
                            raise chunks.damaged(text, record, begin)
            if record != self.count:
                raise chunks.damaged(f"its index states {self.count} records", record, end)
        finally:
            chunks.close()


def _counted(chunks: ChunkReader) -> int:
    """Return the number of records that the headers of all chunks state."""
    end = count = 0
    while end < chunks.size:
        found = chunks.chunks(end, count, headers=True)
        count += sum(chunk[3] for chunk in found)
        end = found[-1][1]
    return count


def _index_position(chunks: ChunkReader) -> int | None:
    """Return where the index begins; None without one."""
    begin = chunks.size - BLOCK
    if begin < BLOCK or begin % BLOCK:
        return None
    try:
        fields = _fields(_first_record(chunks, begin, "its end"))
    except FastrecError:
        return None
    position = fields.get(1, 0)
    return position if fields.get(2) == _MAGIC and 0 < position < begin else None


def _index_count(chunks: ChunkReader, begin: int) -> int:
    """Return the number of records that the index at a position states."""
    first = _fields(_first_record(chunks, begin, "its index")).get(1)
    if not isinstance(first, memoryview):
        text = "its index cannot be decoded: its first record does not begin with a message"
        raise chunks.damaged(text, None, begin)
    fields = _fields(first)
    if fields.get(1) != _VERSION:
        raise chunks.damaged("its index has another version than 1", None, begin)
    if fields.get(2, 0) != chunks.chunks(begin, None)[0][3] - 1:
        raise chunks.damaged("its index does not list all chunks", None, begin)
    count: int = fields.get(3, 0)
    return count


def _first_record(chunks: ChunkReader, begin: int, name: str) -> bytes:
    """Return the first record of a simple chunk, and no bytes for another chunk."""
    chunk = chunks.chunks(begin, None)[0]
    if chunk[2] != SIMPLE or not chunk[3]:
        return b""
    return chunks.records(chunk, None, name=name, first=True)[0]


def _fields(message: bytes | memoryview) -> dict[int, Any]:
    """Return the fields of a message, by number; none if it is malformed."""
    return {number: value for number, _, value in wire_fields(message) or ()}


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
