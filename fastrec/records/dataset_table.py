# SPDX-License-Identifier: Apache-2.0
"""Read the head and the table of a dataset index (see ``csrc/format/FORMAT.md``)."""

from __future__ import annotations

import os
import re
import struct
import zlib
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import IndexMismatchError
from ..storage.ahead import run_all
from ..storage.remote import RemoteFile
from .byte_sources import NamedFile
from .compression import CODECS, Codec
from .framing import FRAME_OVERHEAD

__all__ = ["BAD_NAME", "KINDS", "Head", "Table", "place_name", "refused", "version_kind"]

_MAGIC = b"\x89FRD\r\n\x1a\n"
_HEAD = struct.Struct("<8sIIQQQQQII")
_VERSION = 1
_ROW = 25  # bytes per file in the table, without its name and version
KINDS: tuple[Codec | None, ...] = (None, *CODECS)
_MOST_TABLE = 1 << 32  # maximum size of an inflated table, enough for about 30 million files
_MOST_RATIO = 1032  # maximum compression ratio of zlib
_FIRST_READ = 1 << 20  # bytes read first from a store; contains the table of a few thousand files
_MOST_SIZE = 1 << 57
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
# Matches an empty or absolute name, and a name that leaves the folder of the index.
BAD_NAME = re.compile(rb"(?:\A|\0)[/\0]|(?:\A|[\0/])\.\.[/\0]")


def place_name(place: str | bytes | RemoteFile) -> str:
    """Return the name of a place, for messages."""
    return place.name if isinstance(place, RemoteFile) else os.fsdecode(place)


def refused(name: str, why: str) -> IndexMismatchError:
    """Return the error that a dataset index cannot be used, and why."""
    error = IndexMismatchError(
        f"the dataset index {name!a} is refused: {why}; build it again with fastrec index --dataset"
    )
    error.path = name
    return error


def version_kind(version: str | None) -> Literal["etag", "time"] | None:
    """Return the kind of a version that a dataset index stores; None if it stores none.

    An ETag is quoted. The time of the last modification is in UTC, without fractions of a second.
    """
    if version is not None and version.endswith('"'):
        return "etag"
    return "time" if version is not None and _TIME.fullmatch(version) else None


class Table:
    """The table of files, as columns over one block of memory.

    Attributes
    ----------
    sizes, counts : ndarray of uint64
        Bytes and records of each file.
    begins : ndarray of uint64, shape (files + 1,)
        Start offset of each file's section in the index, and the stop offset of the last section.
    kinds : ndarray of uint8
        Compression of each file.
    """

    def __init__(self, raw: bytes, count: int, name_bytes: int, begin: int) -> None:
        self.raw: bytes = raw
        self._sizes_of_parts = (count, name_bytes, begin)
        parts = np.frombuffer(raw, "<u8", 3 * count).reshape(3, count)
        self.sizes: NDArray[np.uint64] = parts[0]
        self.counts: NDArray[np.uint64] = parts[1]
        starts = np.concatenate([[0], np.cumsum(parts[2])]).astype(np.uint64)
        self.begins: NDArray[np.uint64] = starts + np.uint64(begin)
        self.kinds: NDArray[np.uint8] = np.frombuffer(raw, np.uint8, count, 24 * count)
        self._name_base = _ROW * count
        self._version_base = self._name_base + name_bytes
        self._name_ends = np.flatnonzero(
            np.frombuffer(raw, np.uint8, name_bytes, self._name_base) == 0
        )
        self._version_ends = np.flatnonzero(
            np.frombuffer(raw, np.uint8, -1, self._version_base) == 0
            if len(raw) > self._version_base
            else np.empty(0, bool)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.raw, *self._sizes_of_parts)

    def name_of(self, number: int) -> str:
        """Return the name of a file."""
        return os.fsdecode(self._text(self._name_base, self._name_ends, number))

    def version_of(self, number: int) -> str | None:
        """Return the version of a remote file; None if it is unknown."""
        text = self._text(self._version_base, self._version_ends, number)
        return text.decode("utf-8", "surrogateescape") or None

    def _text(self, base: int, ends: NDArray[np.intp], number: int) -> bytes:
        begin = int(ends[number - 1]) + 1 if number else 0
        return self.raw[base + begin : base + int(ends[number])]

    @classmethod
    def read(cls, place: str | bytes | RemoteFile) -> Table:
        """Read and check the table of an index."""
        name = place_name(place)
        if isinstance(place, RemoteFile):
            size = place.size
            start = run_all([partial(place.read, 0, min(size, _FIRST_READ))])[0]
            head = Head.parse(bytes(start[: _HEAD.size]), size, name)
            end = _HEAD.size + head.table
            data = bytes(start[_HEAD.size : end])
            if end > len(start):
                data += bytes(run_all([partial(place.read, len(start), end)])[0])
        else:
            with NamedFile(place) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(0)
                head = Head.parse(file.read(_HEAD.size), size, name)
                data = file.read(head.table)
        return head.table_of(data, size, name)


class Head:
    """The head of an index, 64 bytes long."""

    def __init__(self, count: int, raw: int, names: int, table: int, crc: int) -> None:
        self.count: int = count
        self.raw: int = raw
        self.names: int = names
        self.table: int = table
        self.crc: int = crc

    def pack(self) -> bytes:
        """Return the head as bytes, with its checksum."""
        fields = (_MAGIC, _VERSION, 0, self.count, self.raw, self.names, self.table, 0, self.crc)
        packed = _HEAD.pack(*fields, 0)[:-4]
        return packed + struct.pack("<I", _core.crc32c(packed))

    @classmethod
    def parse(cls, data: bytes, size: int, name: str) -> Head:
        """Parse the head of an index of `size` bytes.

        Raises
        ------
        IndexMismatchError
        """
        if len(data) < _HEAD.size or not data.startswith(_MAGIC):
            raise refused(name, "it does not begin as one")
        if _core.crc32c(data[:-4]) != struct.unpack_from("<I", data, _HEAD.size - 4)[0]:
            raise refused(name, "the checksum of its head is wrong")
        _, version, _, count, raw, names, table, _, crc, _ = _HEAD.unpack(data)
        if version != _VERSION:
            raise refused(name, f"it has version {version}, this fastrec reads {_VERSION}")
        if table > size - _HEAD.size:
            raise refused(name, f"it has {size} bytes, {_HEAD.size + table} are needed")
        if raw > min(_MOST_TABLE, _MOST_RATIO * table + 64):
            raise refused(name, f"its table cannot have {raw} bytes")
        if names > raw or count > raw // _ROW or _ROW * count > raw - names:
            raise refused(name, f"its table of {raw} bytes cannot have {count} files")
        return cls(count, raw, names, table, crc)

    def table_of(self, data: bytes, size: int, name: str) -> Table:
        """Inflate and check the table.

        Raises
        ------
        IndexMismatchError
        """
        if len(data) != self.table or _core.crc32c(data) != self.crc:
            raise refused(name, "the checksum of its table is wrong")
        inflate = zlib.decompressobj()
        try:
            raw = inflate.decompress(data, self.raw + 1)
        except zlib.error as error:
            raise refused(name, f"its table cannot be inflated ({error})") from None
        if len(raw) != self.raw or not inflate.eof or inflate.unused_data:
            raise refused(name, f"its table does not have {self.raw} bytes")
        names = raw[_ROW * self.count : _ROW * self.count + self.names]
        versions = raw[_ROW * self.count + self.names :]
        for texts in names, versions:
            if texts.count(b"\0") != self.count or (texts and texts[-1]):
                raise refused(name, f"its table does not have the texts of {self.count} files")
        if (bad := BAD_NAME.search(names)) is not None:
            text = names[max(0, bad.start() - 20) : bad.end() + 40].strip(b"\0").split(b"\0")[0]
            raise refused(name, f"the file name {os.fsdecode(text)!a} leads out of its folder")
        columns = np.frombuffer(raw, "<u8", 3 * self.count).reshape(3, self.count)
        if self.count and (columns >= _MOST_SIZE // self.count).any():
            raise refused(name, "a size or a count in its table is out of range")
        table = Table(raw, self.count, self.names, _HEAD.size + self.table)
        if int(table.begins[-1]) != size:
            raise refused(name, f"it has {size} bytes, {int(table.begins[-1])} are needed")
        plain = table.kinds == 0
        if (table.kinds >= len(KINDS)).any():
            raise refused(name, "a compression in its table is not known")
        if (table.counts[plain] > table.sizes[plain] // np.uint64(FRAME_OVERHEAD)).any():
            raise refused(name, "a file cannot have that number of records")
        return table
