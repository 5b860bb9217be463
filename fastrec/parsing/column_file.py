# SPDX-License-Identifier: Apache-2.0
"""Read and write the column file of an index, ``train.tfrecord.frcolumns`` (see FORMAT.md)."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int
from ..columns import Bytes
from ..records.byte_sources import NamedFile
from ..records.paths import PathLike, is_remote
from ..storage.options import StorageOptions
from ..storage.remote import find_files
from .column_builder import Column
from .where import parse_names

__all__ = ["Stamp", "dump", "load"]

_MAGIC = b"\x89FRV\r\n\x1a\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIII")
_MOST_HEADER_BYTES = 1 << 20  # bytes of a header, checked before memory is allocated
_PIECES, _PIECE_BYTES = 64, 1 << 12  # number and size of the pieces that identify a file's content
_DTYPES = ("|i1", "<i2", "<i4", "<i8", "<f4")


class Stamp(NamedTuple):
    """Identity of the record file that columns were made from."""

    size: int
    """Bytes of the file."""
    mtime_ns: int
    """Modification time, in nanoseconds since 1970; 0 for an object in a store."""
    sample: int
    """CRC32C of 64 pieces of 4 KiB, or of all of a shorter file; 0 for an object in a store."""

    @classmethod
    def of(cls, path: PathLike, storage: StorageOptions) -> Stamp:
        """Return the stamp of a file or an object.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        if is_remote(path, storage):
            return cls(find_files([os.fsdecode(path)], storage)[0].size, 0, 0)
        with NamedFile(path) as file:
            status = os.fstat(file.fileno())
            return cls(status.st_size, status.st_mtime_ns, _sample_crc32c(file, status.st_size))


def _sample_crc32c(file: NamedFile, size: int) -> int:
    last = max(size - _PIECE_BYTES, 0)
    crc = 0
    for place in sorted({last * number // (_PIECES - 1) for number in range(_PIECES)}):
        file.seek(place)
        crc = _core.crc32c(file.read(_PIECE_BYTES), crc)
    return crc


def dump(columns: Mapping[str, Column], stamp: Stamp, count: int) -> bytes:
    """Return the content of the column file for some columns of `count` records."""
    body, described = bytearray(), []
    for name, (values, missing, labels) in columns.items():
        entry: dict[str, Any] = {"name": name, "dtype": values.dtype.newbyteorder("<").str}
        entry["missing"] = missing is not None
        parts = [values.astype(entry["dtype"])]
        if missing is not None:
            parts.append(np.packbits(missing, bitorder="little"))
        if labels is not None:
            entry["labels"] = [len(labels), labels.nbytes]
            parts += [labels.offsets - labels.offsets[0], np.frombuffer(
                b"".join(labels.to_list()), np.uint8)]  # fmt: skip
        for part in parts:
            body += part.tobytes()
            body += bytes(-len(body) % 8)
        described.append(entry)
    document = {
        **stamp._asdict(),
        "records": count,
        "crc32c": _core.crc32c(bytes(body)),
        "columns": described,
    }
    header = json.dumps(document, ensure_ascii=True).encode()
    header += b" " * (-(len(header) + _HEAD.size) % 8)
    head = _HEAD.pack(_MAGIC, _VERSION, len(header), _core.crc32c(header))
    return head + header + bytes(body)


class _Cursor:
    """A cursor that takes consecutive arrays from a buffer."""

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self._place = 0

    def take(self, dtype: str, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize * count
        if size > len(self._body) - self._place:
            raise ValueError("the body is too short")
        array = np.frombuffer(self._body, dtype, count, self._place)
        self._place += size + -size % 8
        return array

    def end(self) -> None:
        if self._place != len(self._body):
            raise ValueError("the body is too long")


def load(saved: bytes) -> tuple[Stamp, dict[str, Column], int]:
    """Return the stamp, the columns, and the number of records in a column file.

    Raises
    ------
    ValueError
        If the file is damaged, or has another version.
    """
    try:
        return _parsed(saved)
    except (KeyError, TypeError, RecursionError, struct.error) as error:
        raise ValueError(str(error)) from None


def _parsed(saved: bytes) -> tuple[Stamp, dict[str, Column], int]:
    magic, version, size, crc = _HEAD.unpack(saved[: _HEAD.size])
    if magic != _MAGIC or version != _VERSION:
        raise ValueError("not columns of this version")
    header = saved[_HEAD.size : _HEAD.size + size]
    if size > _MOST_HEADER_BYTES or len(header) != size or _core.crc32c(header) != crc:
        raise ValueError("checksum of the header")
    document = json.loads(header)
    body = memoryview(saved)[_HEAD.size + size :]
    if _core.crc32c(body) != document["crc32c"]:
        raise ValueError("checksum of the body")
    numbers = [document[field] for field in ("records", *Stamp._fields)]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError("a number is out of range")
    count, *stamp = numbers
    cursor, columns = _Cursor(body), {}
    for entry in document["columns"]:
        [name] = parse_names(entry["name"])
        columns[str(name)] = _column(cursor, entry, count)
    cursor.end()
    return Stamp(*stamp), columns, count


def _column(cursor: _Cursor, entry: dict[str, Any], count: int) -> Column:
    if entry["dtype"] not in _DTYPES:
        raise ValueError("an unknown dtype")
    values = cursor.take(entry["dtype"], count)
    missing = None
    if entry["missing"]:
        bits = cursor.take("<u1", (count + 7) // 8)
        missing = np.unpackbits(bits, count=count, bitorder="little").view(np.bool_)
    labels = None
    if "labels" in entry:
        label_count, size = (check_int("labels", each, 0, 2**40) for each in entry["labels"])
        offsets = cursor.take("<i8", label_count + 1)
        labels = Bytes(cursor.take("<u1", size), offsets)
        if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
            raise ValueError("offsets of labels")
        if values.dtype.kind != "i" or np.any((values < 0) | (values >= label_count)):
            raise ValueError("a label that is not there")
    return Column(values, missing, labels)
