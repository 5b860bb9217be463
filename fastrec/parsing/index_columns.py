# SPDX-License-Identifier: Apache-2.0
"""Columns of an index: values, lengths and sizes of every record of a file.

Subsets, weights and packed rows are planned from these columns before records are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ExampleParseError, IndexMismatchError
from ..records.framing import FRAME_OVERHEAD
from ..records.output_rules import is_index
from ..records.paths import DATASET_SUFFIX, PathLike, beside
from ..records.reader import Reader
from ..records.targets import read_file, write_file
from ..storage.options import StorageOptions
from .column_builder import Column, ColumnBuilder
from .column_file import Stamp, dump, load
from .conditions import Name, WhereError
from .where import parse_names

__all__ = [
    "SUFFIX",
    "IndexColumns",
    "arrow_table",
    "column_names",
    "columns_path",
    "mismatch",
    "names_of",
]

SUFFIX = ".frcolumns"

_BLOCK_RECORDS = 4096  # records that are parsed in one call


def names_of(columns: str | Iterable[str]) -> list[Name]:
    """Return the names in a list, or in one text with commas.

    Raises
    ------
    WhereError
        With the column of the text at which parsing stops.
    ValueError
        If the list is empty.
    """
    texts = [columns] if isinstance(columns, str) else list(columns)
    names = [name for text in texts for name in parse_names(text)]
    if not names:
        raise ValueError("columns must name at least one feature, got none")
    return list(dict.fromkeys(names))


def column_names(columns: str | Iterable[str]) -> list[Name]:
    """Return the names in the argument `columns` of a function, like :func:`names_of`."""
    try:
        return names_of(columns)
    except WhereError as error:
        raise WhereError(f"columns must be features: {error}") from None


def columns_path(path: PathLike) -> str:
    """Return the path of the column file of a record file."""
    return beside(os.fsdecode(path), SUFFIX)


class IndexColumns:
    """One number per record for some features of a file: the columns of an index.

    A value (``label``) is an integer, a float, or one of at most 65,536 different strings.
    ``len(tokens)`` is the number of values, or of frames of a feature list. ``size(image)`` is the
    size of the feature's only value, in bytes.

    Parameters
    ----------
    path : path
        The record file.
    stamp : Stamp
    columns : dict of str to Column
    count : int
        Number of records in the file.
    """

    def __init__(
        self, path: PathLike, stamp: Stamp, columns: dict[str, Column], count: int
    ) -> None:
        self.path: str | bytes | Any = os.fspath(path)
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
        """Read and verify every record of a file, and collect the columns that `columns` names.

        Raises
        ------
        OSError, CorruptRecordError
            If the file cannot be read.
        ExampleParseError
            If a record has several values for a column of single values, a feature has two kinds,
            or a feature is absent from all records.
        """
        built, absent = cls._build(path, columns, StorageOptions.of(storage))
        if absent is not None:
            raise absent
        return built

    @classmethod
    def _build(
        cls, path: PathLike, columns: str | Iterable[str], storage: StorageOptions
    ) -> tuple[IndexColumns, ExampleParseError | None]:
        """Return the columns of a file, and an error if all its records lack a feature."""
        stamp = Stamp.of(path, storage)
        names = column_names(columns)
        builder = ColumnBuilder(path, names)
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
            If the columns cannot be read.
        IndexMismatchError
            If the columns are damaged, or belong to another file.
        """
        storage = StorageOptions.of(storage)
        saved = read_file(columns_path(path) if place is None else place, storage)
        loaded = cls._parse(path, saved)
        now = Stamp.of(path, storage)
        sampled = loaded.stamp.sample == now.sample or not (loaded.stamp.sample and now.sample)
        if loaded.stamp.size != now.size or not sampled:
            raise mismatch(path, "they were made from another file")
        return loaded

    @classmethod
    def _parse(cls, path: PathLike, saved: bytes) -> IndexColumns:
        try:
            stamp, columns, count = load(saved)
        except ValueError as error:
            raise mismatch(path, f"they are damaged ({error})") from None
        return cls(path, stamp, columns, count)

    def save(self, place: PathLike | None = None, *, overwrite: bool = False) -> None:
        """Write the columns, by default next to the record file, replacing older columns there."""
        target = columns_path(self.path) if place is None else place
        overwrite = overwrite or (place is None and is_index(target))
        write_file(target, self.to_bytes(), overwrite=overwrite, index=True, inputs=[self.path])

    def to_bytes(self) -> bytes:
        """Return the columns in the format of the column file."""
        return dump(self.columns, self.stamp, len(self))

    def require(self, names: Sequence[Name]) -> None:
        """Check that the columns with these names exist.

        Raises
        ------
        IndexMismatchError
            With the missing names, and the command that adds them.
        """
        if missing := [name for name in map(str, names) if name not in self.columns]:
            wanted = ",".join({**self.columns, **dict.fromkeys(missing)})
            name = os.fsdecode(self.path)
            target = f"--overwrite --dataset {name} FILES" if _is_dataset(name) else name
            error = IndexMismatchError(
                f"the index of {name!a} must have the columns {', '.join(missing)}, got "
                f"{', '.join(self.columns)}; add them with fastrec index --columns {wanted!a} "
                f"{target}"
            )
            error.path = os.fsdecode(self.path)
            raise error


def _is_dataset(name: str) -> bool:
    return name.partition("?")[0].endswith(DATASET_SUFFIX)


def mismatch(path: PathLike, reason: str) -> IndexMismatchError:
    """Return the error about columns that are damaged or belong to another file."""
    name = os.fsdecode(path)
    option = "--dataset --columns" if _is_dataset(name) else "--columns"
    error = IndexMismatchError(
        f"the columns of the index do not match {name!a}: {reason}; build them again with "
        f"fastrec index {option}, or delete {os.fsdecode(columns_path(path))!a}"
    )
    error.path = name
    return error


def arrow_table(offsets: NDArray[np.uint64], columns: IndexColumns | None) -> Any:
    """Return a table of records: numbers, offsets, sizes, and columns of an index.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (records + 1,)
        Start offset of each record, then the end of the last.
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
