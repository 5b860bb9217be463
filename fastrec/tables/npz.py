# SPDX-License-Identifier: Apache-2.0
"""Convert between record files and NPZ files: ZIP archives of arrays with one row per record.

Numbers that an Example holds become features: scalars and vectors of int64 and float32. Rows of
other arrays become values in NPY, which keep shape and type, and which
:func:`fastrec.infer_features` recognises. Objects, which require pickle, are refused.
"""

from __future__ import annotations

import contextlib
import errno
import io
import lzma
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..columns import Bytes
from ..errors import CorruptRecordError
from ..parsing.infer import infer_features
from ..parsing.parse import parse_example
from ..records.content.arrays import ArrayHeader, array_header
from .conversion import Conversion, Done, refuse
from .sample_values import features_of, stored_rows

__all__ = ["read_npz", "write_npz"]

_SUFFIX = ".npy"
_LEAST_HEADER = 12  # bytes that state the size of a header
_MOST_HEADER = 1 << 16  # bytes of a header
_BLOCK_BYTES = 4 << 20  # bytes of rows that are converted together, approximately
_BLOCK = 1024  # records that are converted together
_PIECE = 1 << 20  # bytes that are copied at once
_MOST_ROW = (1 << 31) - 1  # bytes of a row, which bounds memory
_SPOOLED = 1 << 22  # bytes of a column in memory, before it goes to a temporary file
_MOST_PADDING = 4  # times the size of strings that an array of fixed-size strings may take
_MOST_EMPTY = 1000  # rows of arrays without elements, whose number no data confirms
_MOST_NAME = 65_531  # bytes of the name of an array, without its suffix
_END = struct.Struct("<4s4xHH8xH")  # the record that ends an archive: signature, counts, comment
_MANY_ENTRIES = 0xFFFF  # stated number of entries if there are at least this many
_DECOMPRESSING = (zlib.error, lzma.LZMAError, RuntimeError)  # RuntimeError: encrypted


# -- NPZ to records --------------------------------------------------------------------------------


class _Member(NamedTuple):
    """An array of an archive: its feature, its name in the archive, and its header."""

    feature: str
    name: str
    header: ArrayHeader

    @property
    def row_bytes(self) -> int:
        """Size of a row, in bytes."""
        dtype = self.header.dtype
        assert dtype is not None
        return int(np.prod(self.header.shape[1:], dtype=object)) * dtype.itemsize


class _Archive:
    """The arrays of an NPZ file, which are read row by row, side by side."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.members: list[_Member] = []
        with self._archive() as archive:
            self._check_directory(archive)
            for name in archive.namelist():
                self.members.append(self._member(archive, name))
        counts = {each.feature: each.header.shape[0] for each in self.members}
        if len(counts) < len(self.members):
            raise self._damaged("two arrays have the same name")
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{count} in {name!a}" for name, count in counts.items())
            raise ValueError(f"{path!a}: all arrays must have the same number of rows, got {text}")
        self.count: int = next(iter(counts.values()), 0)
        if self.count > _MOST_EMPTY and not any(each.row_bytes for each in self.members):
            raise ValueError(
                f"{path!a}: arrays without elements must have at most {_MOST_EMPTY} rows, got "
                f"{self.count}; save an array with elements, too"
            )

    @contextlib.contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        """Open the archive; errors about its content become errors of fastrec."""
        with open(self._path, "rb") as raw:
            try:
                with zipfile.ZipFile(raw) as archive:
                    yield archive
            except (zipfile.BadZipFile, NotImplementedError, EOFError, *_DECOMPRESSING) as error:
                raise self._damaged(str(error)) from None
            except OSError as error:
                if error.errno not in (None, errno.EINVAL):  # of bz2, and of a negative offset
                    raise
                raise self._damaged(str(error)) from None

    def _check_directory(self, archive: zipfile.ZipFile) -> None:
        """Raise unless the directory has the stated entries: a damaged length hides others."""
        with open(self._path, "rb") as file:
            file.seek(-_END.size, os.SEEK_END)
            signature, _, stated, comment = _END.unpack(file.read(_END.size))
        count = len(archive.infolist())
        if signature != b"PK\5\6" or comment or any(each.comment for each in archive.infolist()):
            raise self._damaged("it has a comment, which NumPy does not write")
        if min(count, _MANY_ENTRIES) != stated:
            raise self._damaged(f"its directory states {stated} arrays, and has {count}")

    def _member(self, archive: zipfile.ZipFile, name: str) -> _Member:
        feature = name.removesuffix(_SUFFIX)
        with archive.open(name) as file:
            header = array_header("npy", _header_bytes(file))
        if header is None:
            raise self._damaged(f"{name!a} is not an array in NPY")
        if header.dtype is None or header.dtype.kind not in "biufcSU":
            raise ValueError(
                f"{self._path!a}: the array {feature!a} has elements of {header.name}, which "
                "cannot be stored: save numbers or fixed-size strings"
            )
        if not header.shape or (header.fortran_order and len(header.shape) > 1):
            problem = (
                "no rows" if not header.shape else "columns in place of rows (Fortran's order)"
            )
            raise ValueError(f"{self._path!a}: the array {feature!a} has {problem}")
        member = _Member(feature, name, header)
        if member.row_bytes > _MOST_ROW:
            raise ValueError(
                f"{self._path!a}: a row of the array {feature!a} has {member.row_bytes} bytes, "
                f"more than a record may have ({_MOST_ROW})"
            )
        return member

    def blocks(self) -> Iterator[dict[str, Any]]:
        """Yield columns of some rows at a time, by feature."""
        row_bytes = sum(each.row_bytes for each in self.members)
        rows = max(1, min(_BLOCK, _BLOCK_BYTES // max(row_bytes, 1)))
        with self._archive() as archive:
            files = [archive.open(each.name) for each in self.members]
            for file in files:
                _header_bytes(file)
            for start in range(0, self.count, rows):
                count = min(rows, self.count - start)
                yield {
                    each.feature: self._column(each, file, start, count)
                    for each, file in zip(self.members, files, strict=True)
                }
            if any(file.read(1) for file in files):
                raise self._damaged("an array is longer than its header states")

    def _column(self, member: _Member, file: Any, start: int, count: int) -> Any:
        size = count * member.row_bytes
        data = file.read(size)
        if len(data) < size:
            raise self._damaged(f"the array {member.feature!a} is truncated")
        array = np.frombuffer(data, member.header.dtype).reshape(count, *member.header.shape[1:])
        if array.dtype.kind == "U" and array.dtype.itemsize:
            codes = array.view(f"{array.dtype.str[0]}u4").reshape(count, -1)
            odd = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))
            if odd.any():
                row = int(odd.any(axis=1).argmax())
                raise self._damaged(
                    f"row {start + row} of the array {member.feature!a} has the code point "
                    f"0x{codes[row][odd[row]][0]:X}, which is not a character"
                )
        return stored_rows(array)

    def _damaged(self, text: str) -> CorruptRecordError:
        error = CorruptRecordError(f"{self._path!a} is not a whole NPZ file: {text}")
        error.path = self._path
        return error


def _header_bytes(file: Any) -> bytes:
    """Read the header of an array in NPY; what follows is its elements."""
    head: bytes = file.read(_LEAST_HEADER)
    is_first = head[6:7] == b"\1"
    size = int.from_bytes(head[8:10] if is_first else head[8:12], "little")
    rest = (10 if is_first else 12) + size - len(head)
    rest_bytes: bytes = file.read(min(max(rest, 0), _MOST_HEADER))
    return head + rest_bytes


def read_npz(job: Conversion) -> Done:
    """Write the rows of NPZ files to record files; return their number and the paths."""
    refuse("a source that is not an NPZ file", features=job.features)
    job.check_sources("an NPZ file")
    archives = [_Archive(os.fsdecode(path)) for path in job.paths]
    total = sum(archive.count for archive in archives)
    with job.record_writer() as sink:
        for archive in archives:
            for columns in archive.blocks():
                sink.write_batch(columns)
                job.report(sink.count, total)
    return sink.count, list(sink.paths)


# -- Records to NPZ --------------------------------------------------------------------------------


class _Column:
    """An array that grows in a temporary file, because its header states its size."""

    def __init__(self, name: str) -> None:
        size = len(name.encode("utf-8", "replace"))
        if "\0" in name or any("\ud800" <= char < "\ue000" for char in name) or size > _MOST_NAME:
            raise ValueError(
                f"a feature in NPZ must have a name of UTF-8 without NUL, at most {_MOST_NAME} "
                f"bytes long, got {name[:80]!a} of {size} bytes; name other features"
            )
        self._name = name
        self._file = tempfile.SpooledTemporaryFile(_SPOOLED, prefix="fastrec-")  # noqa: SIM115
        self._kind: tuple[Any, tuple[int, ...]] | None = None
        self._longest = self._total = self._rows = 0

    def add(self, values: Any) -> None:
        """Add rows.

        Raises
        ------
        ValueError
            If the rows differ in shape or type.
        """
        if isinstance(values, Bytes) and len(values.shape) == 1:
            self._add_strings(values.to_list())
            return
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufc":
            raise self._refused("values of different number or size")
        kind = values.dtype, values.shape[1:]
        if self._kind not in (None, kind):
            raise self._refused(f"arrays of {self._kind} and of {kind}")
        self._kind = kind
        self._rows += len(values)
        self._file.write(np.ascontiguousarray(values).tobytes())

    def _add_strings(self, values: list[bytes]) -> None:
        for value in values:
            if value.endswith(b"\0"):
                raise self._refused("bytes that end in a zero, which strings of NumPy lose")
            self._file.write(struct.pack("<I", len(value)) + value)
            self._longest = max(self._longest, len(value))
            self._total += len(value)
        self._rows += len(values)

    def _refused(self, text: str) -> ValueError:
        return ValueError(
            f"feature {self._name!a} has {text}: NPZ cannot store it; name other features, or "
            "convert to Parquet or tar"
        )

    def write(self, archive: zipfile.ZipFile) -> None:
        """Write the array as a member of an archive."""
        if self._kind is None:
            most = _MOST_PADDING * self._total + (_BLOCK << 6)
            if self._longest * self._rows > most:
                raise self._refused(f"bytes of very different sizes, up to {self._longest}")
            self._kind = np.dtype(f"S{max(self._longest, 1)}"), ()
        dtype, shape = self._kind
        header = io.BytesIO()
        fields = {"descr": dtype.str, "fortran_order": False, "shape": (self._rows, *shape)}
        np.lib.format.write_array_header_2_0(header, fields)
        self._file.seek(0)
        member = zipfile.ZipInfo(self._name + _SUFFIX)
        with archive.open(member, "w", force_zip64=True) as file:
            file.write(header.getvalue())
            if dtype.kind == "S":
                for _ in range(self._rows):
                    (size,) = struct.unpack("<I", self._file.read(4))
                    file.write(self._file.read(size).ljust(dtype.itemsize, b"\0"))
            else:
                while data := self._file.read(_PIECE):
                    file.write(data)

    def close(self) -> None:
        """Discard the rows."""
        self._file.close()


class _Sink(io.RawIOBase):
    """A new file, as the ZIP module writes it."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write_frames(data, 0)
        return memoryview(data).nbytes


class _Shard:
    """The columns of one new file."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rows: int = 0
        self._columns = {name: _Column(name) for name in names}

    def add(self, columns: Mapping[str, Any], start: int, stop: int) -> None:
        """Add some rows of columns."""
        for name, column in self._columns.items():
            column.add(columns[name][start:stop])
        self.rows += stop - start

    def write(self, file: Any) -> None:
        """Write the file."""
        with zipfile.ZipFile(_Sink(file), "w") as archive:
            for column in self._columns.values():
                column.write(archive)

    def close(self) -> None:
        """Discard the columns."""
        for column in self._columns.values():
            column.close()


def write_npz(job: Conversion) -> Done:
    """Write record files to NPZ files; return the number of records and the paths."""
    job.refuse_compression("compression and level are not supported for NPZ")
    job.check_suffix("an NPZ file")
    files, most = job.new_files(), job.shard_records
    features = features_of(job, "NPZ", infer_features)
    done, shard = 0, _Shard(list(features))
    try:
        file = files.add()
        for block in job.reader().blocks(_BLOCK):
            columns = parse_example(block, features)
            start = 0
            while start < len(block):
                if shard.rows == most:
                    shard.write(file)
                    shard.close()
                    shard, file = _Shard(list(features)), files.add()
                room = len(block) - start if most is None else most - shard.rows
                stop = min(len(block), start + room)
                shard.add(columns, start, stop)
                start = stop
            done += len(block)
            job.report(done)
        shard.write(file)
        files.close()
    except BaseException:
        files.abort()
        raise
    finally:
        shard.close()
    return done, files.paths
