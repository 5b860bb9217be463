# SPDX-License-Identifier: Apache-2.0
"""Get columns of all records of a dataset: stored with its files or its index, or built now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes
from ..errors import ExampleParseError, warn_caller
from ..records.dataset_index import DatasetIndex
from ..records.paths import PathLike
from ..records.record_files import RecordFiles
from ..records.targets import read_file, write_file
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..threads.cpus import usable_cpus
from ..threads.pipeline import Pipeline
from .column_builder import Column, narrowest
from .column_file import Stamp, dump
from .conditions import Name, Values
from .index_columns import SUFFIX, IndexColumns, column_names, columns_path, mismatch

__all__ = ["ColumnTerms", "columns_of", "joined", "save_dataset_columns"]

_WARN_BYTES = 64 << 20  # missing columns that require reading more bytes cause a warning


class ColumnTerms:
    """The Terms of :mod:`fastrec.parsing.conditions` from stored columns.

    Parameters
    ----------
    columns : mapping of str to Column
        Columns by the text of their name, such as ``"len(tokens)"``.
    count : int
        Number of records.
    """

    def __init__(self, columns: dict[str, Column], count: int) -> None:
        self._columns = columns
        self.count = count

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the number of values in each record."""
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


def columns_of(files: RecordFiles, names: Sequence[Name], option: str) -> dict[str, Column]:
    """Return columns of all records of some files, either stored or built now.

    Parameters
    ----------
    files : RecordFiles
    names : sequence of Name
    option : str
        The option that needs the columns, for messages.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
        As for :meth:`IndexColumns.build`.
    IndexMismatchError
        If stored columns are damaged, belong to another file, or lack a name.
    """
    if files.described is not None:
        stored = _of_dataset(files.described, files.storage)
        if stored is not None:
            stored.require(names)
            return {str(name): stored.columns[str(name)] for name in names}
    parts: list[IndexColumns | None] = [_beside(path, names, files.storage) for path in files.paths]
    missing = [number for number, part in enumerate(parts) if part is None]
    if missing:
        size = sum(_size_of(files.places[number]) for number in missing)
        if size > _WARN_BYTES:
            wanted = ",".join(map(str, names))
            warn_caller(
                f"{option} reads all records of {len(missing)} files, {size >> 20} MiB, before the "
                f"first batch; fastrec index --columns {wanted!a} saves that"
            )
        threads = min(usable_cpus(), len(missing))
        with closing(
            Pipeline(
                (files.paths[number] for number in missing),
                lambda path: IndexColumns._build(path, map(str, names), files.storage),
                threads=threads,
                depth=2 * threads,
            )
        ) as built:
            errors = []
            for number, (part, absent) in zip(missing, built, strict=True):
                parts[number] = part
                errors.append(absent)
        if len(errors) == len(parts) and errors[0] is not None and all(errors):
            raise errors[0]
    return joined([part for part in parts if part is not None], names)


def _stamp_of(index: DatasetIndex) -> Stamp:
    """Return the stamp of the columns of a dataset: the table has the versions of all files."""
    return Stamp(int(index.sizes.sum()), 0, index._checksum)


def _of_dataset(index: DatasetIndex, storage: StorageOptions) -> IndexColumns | None:
    """Return the columns stored next to a dataset index, or None."""
    try:
        saved = read_file(index._beside(SUFFIX), storage)
    except FileNotFoundError:
        return None
    columns = IndexColumns._parse(index.path, saved)
    if columns.stamp != _stamp_of(index) or len(columns) != index.records:
        raise mismatch(index.path, "they were made for another dataset index")
    return columns


def save_dataset_columns(
    path: PathLike, columns: str | Iterable[str], storage: StorageOptions
) -> None:
    """Write the columns of all records of a dataset into one file, next to its index at `path`.

    Columns that are stored next to the record files are used. Other files are read.

    Raises
    ------
    ValueError
        If `columns` names no column.
    OSError, CorruptRecordError, ExampleParseError, IndexMismatchError
        As for :func:`columns_of`.
    """
    names = column_names(columns)
    files = RecordFiles(path, storage_options=storage)
    index = files.described
    assert index is not None
    files.described = None  # otherwise columns of an older index would be used
    compact = {name: _compact(each) for name, each in columns_of(files, names, "columns").items()}
    data = dump(compact, _stamp_of(index), index.records)
    inputs = [path, *files.places]
    write_file(columns_path(path), data, storage, overwrite=True, index=True, inputs=inputs)


def _compact(column: Column) -> Column:
    values = column.values
    values = narrowest(values) if values.dtype.kind == "i" else values.astype(np.float32)
    return Column(values, column.missing, column.labels)


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


def joined(parts: Sequence[IndexColumns], names: Sequence[Name]) -> dict[str, Column]:
    """Return columns of several files, joined to one column per name.

    Raises
    ------
    ExampleParseError
        If a feature holds strings in one file and numbers in another.
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
