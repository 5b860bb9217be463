# SPDX-License-Identifier: Apache-2.0
"""Columns of an index: values, lengths and sizes of every record of a file.

They are stored next to the record file, in ``train.tfrecord.frcolumns`` (the format is in
``csrc/format/FORMAT.md``), so that subsets, weights and packed rows can be planned before a record
is read.
"""

from __future__ import annotations

import json
import os
import struct
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..errors import ExampleParseError, IndexMismatchError, check_int
from ..records.byte_sources import NamedFile
from ..records.framing import FRAME_OVERHEAD
from ..records.paths import PathLike, beside, is_remote
from ..records.reader import Reader
from ..records.record_files import RecordFiles
from ..records.targets import read_file, write_file
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile, find_files
from ..threads import usable_cpus
from .column_builder import Column, ColumnBuilder
from .where import Name, Values, parse_names

__all__ = [
    "SUFFIX", "Column", "ColumnTerms", "IndexColumns", "columns_of", "columns_path", "joined",
    "names_of",
]  # fmt: skip

SUFFIX = ".frcolumns"

_MAGIC = b"\x89FRV\r\n\x1a\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIII")
_MOST_HEADER_BYTES = 1 << 20
_BLOCK_RECORDS = 4096
_WARN_BYTES = 64 << 20
_PIECES, _PIECE_BYTES = 64, 1 << 12  # of a file, which identify its content
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
        """Stamp a file or an object.

        Raises
        ------
        OSError
            When it cannot be read.
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


class ColumnTerms:
    """Answers of some columns to a condition: the Terms of :mod:`fastrec.parsing.where`.

    Parameters
    ----------
    columns : mapping of str to Column
        By the text of the name, as ``"len(tokens)"``.
    count : int
        Number of records.
    """

    def __init__(self, columns: dict[str, Column], count: int) -> None:
        self._columns = columns
        self.count = count

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the number of values of each record."""
        length = self._columns.get(str(Name(name, "len")))
        if length is not None:
            return length.values.astype(np.int64)
        missing = self._columns[str(Name(name))].missing
        if missing is None:
            return np.ones(self.count, np.int64)
        return (~missing).astype(np.int64)

    def values(self, name: str) -> Values | None:
        """Return the values of all records."""
        return self._of(Name(name))

    def sizes(self, name: str) -> Values | None:
        """Return the size in bytes of each value."""
        return self._of(Name(name, "size"))

    def _of(self, name: Name) -> Values | None:
        values, missing, labels = self._columns[str(name)]
        splits = None
        if missing is not None:
            splits = np.arange(self.count + 1, dtype=np.int64)
            splits[1:] -= np.cumsum(missing)
            values = values[~missing]
        if not len(values):
            return None
        return (values if labels is None else labels.take(values)), splits


def names_of(columns: str | Iterable[str]) -> list[Name]:
    """Return the names that a list, or one text with commas, gives.

    Raises
    ------
    WhereError
        Naming the column where parsing stops.
    ValueError
        When the list is empty.
    """
    texts = [columns] if isinstance(columns, str) else list(columns)
    names = [name for text in texts for name in parse_names(text)]
    if not names:
        raise ValueError("columns must name at least one feature, got none")
    return list(dict.fromkeys(names))


def columns_path(path: PathLike) -> str:
    """Return the path of the columns of a record file."""
    return beside(os.fsdecode(path), SUFFIX)


class IndexColumns:
    """One number per record for some features of a file: the columns of an index.

    A value (``label``) is an integer, a float, or one of at most 65,536 different strings.
    ``len(tokens)`` is the number of values, or of frames of a feature list. ``size(image)`` is the
    number of bytes of the only value.

    Parameters
    ----------
    path : path
        The record file.
    stamp : Stamp
    columns : dict of str to Column
    count : int
        Records of the file.
    """

    def __init__(
        self, path: PathLike, stamp: Stamp, columns: dict[str, Column], count: int
    ) -> None:
        self.path = os.fspath(path)
        self.stamp = stamp
        self.columns = columns
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<fastrec.IndexColumns of {self.path!a}: {', '.join(self.columns)}>"

    @classmethod
    def build(
        cls, path: PathLike, columns: str | Iterable[str], storage: StorageOptions | None = None
    ) -> IndexColumns:
        """Read and verify every record of a file, and keep the numbers that `columns` names.

        Raises
        ------
        OSError, CorruptRecordError
            When the file cannot be read.
        ExampleParseError
            When a record has several values where a column has one number, a feature has two
            kinds, or no record has a feature.
        """
        built, absent = cls._build(path, columns, StorageOptions.of(storage))
        if absent is not None:
            raise absent
        return built

    @classmethod
    def _build(
        cls, path: PathLike, columns: str | Iterable[str], storage: StorageOptions
    ) -> tuple[IndexColumns, ExampleParseError | None]:
        """Return the columns of a file, and an error if none of its records has a feature."""
        stamp = Stamp.of(path, storage)
        builder = ColumnBuilder(path, names_of(columns))
        for block in Reader(path, storage_options=storage, shards="any").blocks(_BLOCK_RECORDS):
            builder.add(block)
        return cls(path, stamp, builder.finish(), builder.count), builder.absent()

    @classmethod
    def load(
        cls,
        path: PathLike,
        place: PathLike | None = None,
        storage: StorageOptions | None = None,
    ) -> IndexColumns:
        """Load the columns of the record file at `path`, by default from the file next to it.

        Raises
        ------
        OSError
            When they cannot be read.
        IndexMismatchError
            When they are damaged, or belong to another file.
        """
        storage = StorageOptions.of(storage)
        saved = read_file(columns_path(path) if place is None else place, storage)
        loaded = cls._parse(path, saved)
        now = Stamp.of(path, storage)
        sampled = loaded.stamp.sample == now.sample or not (loaded.stamp.sample and now.sample)
        if loaded.stamp.size != now.size or not sampled:
            raise _mismatch(path, "they were made from another file")
        return loaded

    @classmethod
    def _parse(cls, path: PathLike, saved: bytes) -> IndexColumns:
        try:
            return _parsed(cls, path, saved)
        except (ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
            raise _mismatch(path, f"they are damaged ({error})") from None

    def save(self, place: PathLike | None = None, *, overwrite: bool = False) -> None:
        """Write the columns, by default next to the record file, where they replace older ones."""
        write_file(
            columns_path(self.path) if place is None else place,
            self.to_bytes(),
            overwrite=overwrite or place is None,
            inputs=[self.path],
        )

    def to_bytes(self) -> bytes:
        """Return the columns as their file holds them."""
        body, described = bytearray(), []
        for name, (values, missing, labels) in self.columns.items():
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
            **self.stamp._asdict(),
            "records": len(self),
            "crc32c": _core.crc32c(bytes(body)),
            "columns": described,
        }
        header = json.dumps(document, ensure_ascii=True).encode()
        header += b" " * (-(len(header) + _HEAD.size) % 8)
        head = _HEAD.pack(_MAGIC, _VERSION, len(header), _core.crc32c(header))
        return head + header + bytes(body)

    def require(self, names: Sequence[Name]) -> None:
        """Check that columns are there.

        Raises
        ------
        IndexMismatchError
            Naming those that are missing, and the command that adds them.
        """
        if missing := [name for name in map(str, names) if name not in self.columns]:
            wanted = ",".join({**self.columns, **dict.fromkeys(missing)})
            error = IndexMismatchError(
                f"the index of {os.fsdecode(self.path)!a} must have the columns "
                f"{', '.join(missing)}, got {', '.join(self.columns)}; add them with "
                f"fastrec index --columns {wanted!a} {os.fsdecode(self.path)}"
            )
            error.path = os.fsdecode(self.path)
            raise error


def _mismatch(path: PathLike, reason: str) -> IndexMismatchError:
    name = os.fsdecode(path)
    error = IndexMismatchError(
        f"the columns of the index do not match {name!a}: {reason}; build them again with "
        f"fastrec index --columns, or delete {os.fsdecode(columns_path(path))!a}"
    )
    error.path = name
    return error


class _Cursor:
    """Takes arrays from a body, one after the other."""

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


def _parsed(cls: type[IndexColumns], path: PathLike, saved: bytes) -> IndexColumns:
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
    return cls(path, Stamp(*stamp), columns, count)


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


def columns_of(files: RecordFiles, names: Sequence[Name], option: str) -> dict[str, Column]:
    """Return columns of all records of some files: stored columns, or columns built now.

    Parameters
    ----------
    files : RecordFiles
    names : sequence of Name
    option : str
        The option that asks for them, for messages.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
        As for :meth:`IndexColumns.build`.
    IndexMismatchError
        When stored columns are damaged, belong to another file, or lack a name.
    """
    parts: list[IndexColumns | None] = [_beside(path, names, files.storage) for path in files.paths]
    missing = [number for number, part in enumerate(parts) if part is None]
    if missing:
        size = sum(_size_of(files.places[number]) for number in missing)
        if size > _WARN_BYTES:
            wanted = ",".join(map(str, names))
            warnings.warn(
                f"{option} reads all records of {len(missing)} files, {size >> 20} MiB, before the "
                f"first batch; fastrec index --columns {wanted!a} saves that",
                RuntimeWarning,
                stacklevel=2,
            )
        with ThreadPoolExecutor(usable_cpus()) as pool:
            paths = [files.paths[number] for number in missing]
            built = pool.map(
                lambda path: IndexColumns._build(path, map(str, names), files.storage), paths
            )
            errors = []
            for number, (part, absent) in zip(missing, built, strict=True):
                parts[number] = part
                errors.append(absent)
        if len(errors) == len(parts) and errors[0] is not None and all(errors):
            raise errors[0]
    return joined([part for part in parts if part is not None], names)


def _size_of(place: Any) -> int:
    return int(place.size) if isinstance(place, RemoteFile) else os.stat(place).st_size


def _beside(path: PathLike, names: Sequence[Name], storage: StorageOptions) -> IndexColumns | None:
    """Return the stored columns of a file, or None."""
    try:
        columns = IndexColumns.load(path, storage=storage)
    except FileNotFoundError:
        return None
    columns.require(names)
    return columns


def arrow_table(offsets: NDArray[np.uint64], columns: IndexColumns | None) -> Any:
    """Return a table of records: their numbers, offsets, sizes, and columns of an index.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (records + 1,)
        Start of each record, and end of the last.
    columns : IndexColumns or None

    Returns
    -------
    pyarrow.Table
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "Index.table() requires pyarrow: pip install 'fastrec-io[arrow]'"
        ) from error
    count = len(offsets) - 1
    sizes = np.diff(offsets) - np.uint64(FRAME_OVERHEAD)
    arrays: dict[str, Any] = {
        "record": np.arange(count),
        "offset": offsets[:-1].astype(np.int64),
        "size": sizes.astype(np.int64),
    }
    for name, column in {} if columns is None else columns.columns.items():
        array = pa.array(column.values, mask=column.missing)
        if column.labels is not None:
            labels = column.labels.to_list()
            try:
                words = pa.array([label.decode() for label in labels], pa.string())
            except UnicodeDecodeError:
                words = pa.array(labels, pa.binary())
            array = pa.DictionaryArray.from_arrays(array.cast(pa.int32()), words)
        arrays[f"{name} (column)" if name in arrays else name] = array
    return pa.table(arrays)


def joined(parts: Sequence[IndexColumns], names: Sequence[Name]) -> dict[str, Column]:
    """Return some columns of several files as one column each.

    Raises
    ------
    ExampleParseError
        When a feature holds strings in one file and numbers in another.
    """
    result = {}
    for name in names:
        columns = [part.columns[str(name)] for part in parts]
        known = [
            each
            for each in columns
            if len(each.values) and (each.missing is None or not each.missing.all())
        ]
        if len({each.labels is None for each in known}) > 1:
            raise ExampleParseError(
                f"feature {name.name!r} must be of one kind, got strings in some files and "
                "numbers in others"
            )
        result[str(name)] = _concatenated(columns)
    return result


def _concatenated(columns: list[Column]) -> Column:
    missing = None
    if any(column.missing is not None for column in columns):
        parts = [
            np.zeros(len(column.values), np.bool_) if column.missing is None else column.missing
            for column in columns
        ]
        missing = np.concatenate(parts)
    if all(column.labels is None for column in columns):
        values = [column.values for column in columns]
        return Column(np.concatenate(values) if values else np.zeros(0, np.int8), missing)
    codes: dict[bytes, int] = {}
    numbers = []
    for column in columns:
        labels = [] if column.labels is None else column.labels.to_list()
        own = [codes.setdefault(label, len(codes)) for label in labels]
        numbers.append(np.array(own or [0], np.int64)[column.values])
    return Column(np.concatenate(numbers), missing, Bytes.from_list(list(codes)))
