# SPDX-License-Identifier: Apache-2.0
"""Read and write bagz files: records without frames, and a table of their ends.

All records follow each other. Then comes the table of their end offsets, 64-bit numbers; the last
one is also the offset of the table. In a file whose name ends in ``.bagz``, each record is
compressed with zstd, unless it is empty; in one that ends in ``.bag``, none is. The format lacks a
signature and checksums.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import CorruptRecordError, FastrecError, TruncatedFileError
from ..records import zstd
from ..records.byte_sources import NamedFile
from ..records.content import file_content
from ..records.inflate import expanded_zstd

__all__ = ["BagzReader", "BagzWriter"]

_END = 8  # bytes of an entry of the table
_ENTRIES = 1 << 16  # entries that are read at once
_PIECE = 1 << 20  # bytes of records that are read at once, and of the table that are copied
_SPOOLED = 1 << 24  # bytes of the table in memory, before it goes to a temporary file
_EXAMINED = 1 << 14  # bytes that are read to name another format
_LIMITS = "limits."  # what the name of a separate table begins with


class BagzReader:
    """The records of a bagz file, in order.

    Parameters
    ----------
    path : str
        A local file. Its table may be in another file of the same folder, ``limits.NAME``.
    is_compressed : bool
        Whether records are compressed.

    Attributes
    ----------
    count : int
        Number of records.

    Raises
    ------
    OSError
    CorruptRecordError, TruncatedFileError
        If the table does not match the file.
    """

    def __init__(self, path: str, *, is_compressed: bool) -> None:
        self._path, self._expand = path, _expanded if is_compressed else bytes
        size = os.stat(path).st_size
        self._limits, self._start = path, 0
        folder, name = os.path.split(path)
        separate = os.path.join(folder, _LIMITS + name)
        self._table_name = "its table"
        if os.path.exists(separate):
            if self._has_table(size):
                raise self._damaged(
                    f"it ends in a table, and {separate!a} is another one; delete the table that "
                    "belongs to other records"
                )
            self._table_name = f"its table {separate!a}"
            self._limits, self._records_size = separate, size
            table = os.stat(separate).st_size
        elif size == 0:
            self._records_size = table = 0
        else:
            self._start = self._records_size = self._last(path, size)
            table = size - self._start
        if table % _END:
            raise self._damaged(
                f"{self._table_name} has {table} bytes, which is not a multiple of {_END}"
            )
        self.count: int = table // _END
        end = self._last(self._limits, self._start + table) if self.count else 0
        if end != self._records_size:
            raise self._damaged(
                f"the last record of {self._table_name} ends at {end}, not at the end of the "
                f"records, {self._records_size}"
            )

    def _has_table(self, size: int) -> bool:
        """Return whether the file ends in a table of ascending ends."""
        try:
            start = self._last(self._path, size)
        except FastrecError:
            return False
        if (size - start) % _END:
            return False
        before = 0
        with NamedFile(self._path) as file:
            file.seek(start)
            for at in range(start, size, _PIECE):
                ends = np.frombuffer(_exactly(file, min(_PIECE, size - at)), "<u8")
                if (np.diff(ends, prepend=np.uint64(before)).view(np.int64) < 0).any():
                    return False
                before = int(ends[-1])
        return True

    def _last(self, path: str, size: int) -> int:
        """Return the last entry of a table; raise unless the records of the file can end there."""
        if size < _END:
            raise self._damaged(f"it has {size} bytes, fewer than an entry of a table")
        with NamedFile(path) as file:
            file.seek(size - _END)
            end = int.from_bytes(_exactly(file, _END), "little")
        if path == self._path and end > size - _END:
            raise self._damaged(f"its last 8 bytes state {end} bytes of records, it has {size}")
        return end

    def __iter__(self) -> Iterator[bytes]:
        """Yield the records."""
        with NamedFile(self._path) as file, NamedFile(self._limits) as limits:
            limits.seek(self._start)
            begin, number = 0, 0
            held = memoryview(b"")  # bytes from `begin` on
            while number < self.count:
                entries = min(_ENTRIES, self.count - number)
                for end in np.frombuffer(_exactly(limits, entries * _END), "<u8").tolist():
                    if not begin <= end <= self._records_size:
                        text = f"record {number} ends at {end}, after {begin} bytes of records"
                        raise self._damaged(text, number, begin)
                    size = end - begin
                    if size > len(held):
                        rest = min(max(size, _PIECE), self._records_size - begin) - len(held)
                        held = memoryview(bytes(held) + _exactly(file, rest))
                        if size > len(held):
                            error = TruncatedFileError(f"{self._path!a} shrank while it was read")
                            raise self._located(error, number, begin)
                    try:
                        yield self._expand(held[:size])
                    except FastrecError as error:
                        text = f"record {number}: {error}"
                        raise self._damaged(text, number, begin) from None
                    held, begin, number = held[size:], end, number + 1

    def _damaged(self, text: str, record: int | None = None, offset: int = 0) -> FastrecError:
        with NamedFile(self._path) as file:
            content = file_content(_exactly(file, _EXAMINED))
        if record is None and content.name not in ("empty", "data of an unknown format"):
            text += f"; it looks like {content}"
        error = CorruptRecordError(f"{self._path!a} is not a whole bagz file: {text}")
        return self._located(error, record, offset)

    def _located(self, error: Any, record: int | None, offset: int) -> FastrecError:
        error.path, error.record, error.offset = self._path, record, offset
        return error  # type: ignore[no-any-return]


def _exactly(file: NamedFile, size: int) -> bytes:
    """Return `size` bytes, or fewer at the end of a file."""
    data = b""
    while len(data) < size and (more := file.read(size - len(data))):
        data = data + more if data else more
    return data


def _expanded(record: memoryview) -> bytes:
    data = bytes(record)
    return expanded_zstd(data, _MOST_RECORD) if data else data


_MOST_RECORD = (1 << 31) - 1  # bytes of a record, which bounds memory


class BagzWriter:
    """Writes records to a file of the sink; the table is collected outside of memory.

    Parameters
    ----------
    file
        A writer of :class:`~fastrec.tables.new_files.NewFiles`.
    level : int, optional
        Level of zstd.
    is_compressed : bool
        Whether to compress records.
    """

    def __init__(self, file: Any, level: int | None, *, is_compressed: bool) -> None:
        self._file = file
        self._compress = None
        if is_compressed:
            self._compress = zstd.library().compressor(zstd.checked_level(level))
        elif level is not None:
            raise ValueError(
                "level requires compression, which a bag file lacks; name the target .bagz"
            )
        self._table = tempfile.SpooledTemporaryFile(_SPOOLED, prefix="fastrec-")  # noqa: SIM115
        self._size = 0
        self._held: list[bytes] = []
        self._held_size = 0

    def write(self, record: Any) -> None:
        """Write one record."""
        data = bytes(record)
        if data and self._compress is not None:
            data = self._compress(data)
        self._size += len(data)
        self._table.write(struct.pack("<Q", self._size))
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size >= _PIECE:
            self._flush()

    def _flush(self) -> None:
        self._file.write_frames(b"".join(self._held), 0)
        self._held, self._held_size = [], 0

    def close(self) -> None:
        """Write the table, which ends the file."""
        self._flush()
        self._table.seek(0)
        while data := self._table.read(_PIECE):
            self._file.write_frames(data, 0)
        self.abort()

    def abort(self) -> None:
        """Discard the table."""
        self._table.close()
