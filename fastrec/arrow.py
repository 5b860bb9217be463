# SPDX-License-Identifier: Apache-2.0
"""Batches and whole record files as Arrow data, for everything that takes Arrow's C interface.

pyarrow, polars, DuckDB, pandas, datafusion and nanoarrow take the objects of this module as they
are; none of them has to be installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastrec

from . import _core

__all__ = ["Optional", "RecordBatch", "Table", "batch", "table"]


@dataclass(frozen=True)
class Optional:
    """A feature with at most one value in each record: a scalar column, null where there is none.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`fastrec.FixedLenFeature`.
    """

    dtype: Any


class RecordBatch:
    """Columns of one length, to be consumed through ``__arrow_c_array__`` any number of times.

    Made by :func:`batch`.
    """

    def __init__(self, columns: Mapping[str, Any], tensors: bool = True) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError(f"columns must be a mapping, got {type(columns).__name__}")
        self.columns = dict(columns)
        self._tensors = tensors
        self._rows = len(next(iter(self.columns.values()))) if self.columns else 0

    def __len__(self) -> int:
        return self._rows

    def _node(self, requested: object) -> _core.ArrowNode:
        return _core.arrow_struct(self.columns, self._rows, requested, self._tensors)

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema_capsule(self._node(None))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _core.arrow_array_capsules(self._node(requested_schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        node = self._node(requested_schema)
        return _core.arrow_stream_capsule(node, [node])

    def __repr__(self) -> str:
        return f"<fastrec.arrow.RecordBatch of {len(self)} rows: {', '.join(self.columns)}>"


def batch(columns: Mapping[str, Any], *, tensors: bool = True) -> RecordBatch:
    """Wrap columns, such as a batch of :class:`fastrec.Batcher`, for consumers of Arrow data.

    ======================================= ====================================================
    column                                  Arrow type
    ======================================= ====================================================
    ndarray, one dimension                  its number type or bool
    ndarray, more dimensions                fixed_size_list, as ``arrow.fixed_shape_tensor``
    ndarray, masked, one dimension          its number type, with nulls
    :class:`fastrec.Bytes`                  large_binary; binary, string or large_string on request
    :class:`fastrec.Ragged`                 large_list; list on request
    :class:`fastrec.Sparse`                 the same, of what a ``VarLenFeature`` reads
    :class:`fastrec.Arrays`                 ``arrow.variable_shape_tensor``
    ======================================= ====================================================

    Memory is shared where the types allow it: bool is packed into bits, and what is asked for in a
    narrower type gets offsets of its own.

    Parameters
    ----------
    columns : mapping of str to column
        Columns with the same number of rows.
    tensors : bool
        False leaves out the extension types, so that arrays are plain lists.

    Raises
    ------
    TypeError, ValueError, OverflowError
        When it is consumed, naming the column: a type that Arrow lacks, rows that differ in number,
        text that is not UTF-8, more elements than the requested type counts.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> columns = {"label": np.array([3, 1]), "word": fastrec.Bytes.from_list([b"a", b"few"])}
    >>> pyarrow.table(batch(columns))["word"].to_pylist()
    [b'a', b'few']
    """
    return RecordBatch(columns, tensors)


class Table:
    """Record files as a table that is read while it is consumed, in bounded memory.

    Made by :func:`table`. ``__arrow_c_stream__`` may be called any number of times; each time the
    files are read from the beginning. ``description`` says what is read, so that other files can be
    read alike.
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any] | None = None,
        *,
        batch_size: int = 8192,
        tensors: bool = True,
        **options: Any,
    ) -> None:
        inferred = features is None
        described = fastrec.infer_features(source, None) if inferred else dict(features or {})
        self._optional = {
            name: feature for name, feature in described.items() if isinstance(feature, Optional)
        }
        if inferred:
            self._optional |= _at_most_one(described)
        self._tensors = tensors
        self.description = {**described, **self._optional}
        self.features = {
            name: fastrec.RaggedFeature(self._optional[name].dtype)
            if name in self._optional
            else feature
            for name, feature in described.items()
        }
        self._batcher = fastrec.Batcher(source, self.features, batch_size=batch_size, **options)

    def batches(self) -> Iterator[RecordBatch]:
        """The record batches, in the order of the files."""
        for columns in self._batcher:
            yield RecordBatch(self._columns(columns), self._tensors)

    def _columns(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: _masked(name, column) if name in self._optional else column
            for name, column in columns.items()
        }

    def _schema(self, requested: object) -> _core.ArrowNode:
        empty = self._columns(fastrec.parse_example([], self.features))
        return _core.arrow_struct(empty, 0, requested, self._tensors)

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema_capsule(self._schema(None))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        nodes = (part._node(requested_schema) for part in self.batches())
        return _core.arrow_stream_capsule(self._schema(requested_schema), nodes)

    def __repr__(self) -> str:
        return f"<fastrec.arrow.Table: {', '.join(self.features)}>"


def table(
    source: Any,
    features: Mapping[str, Any] | None = None,
    *,
    batch_size: int = 8192,
    tensors: bool = True,
    **options: Any,
) -> Table:
    """Read record files as one Arrow stream: every record, verified, in the order of the files.

    Parameters
    ----------
    source : path, glob pattern, list of these
        As for :class:`fastrec.Batcher`.
    features : mapping of str to feature, optional
        What to read; :class:`Optional` beside the features of :func:`fastrec.parse_example`. By
        default what :func:`fastrec.infer_features` finds in all records, and a feature with at
        most one value that some records lack is an :class:`Optional`.
    batch_size : int
        Rows of a record batch.
    tensors : bool
        As for :func:`batch`.
    **options
        Of :class:`fastrec.Batcher`: ``threads``, ``verify``, ``on_error``, ``shard``, ...

    Returns
    -------
    Table
        For ``pyarrow.table(...)``, ``polars.DataFrame(...)``, a name in a query of DuckDB, ...

    Raises
    ------
    FileNotFoundError, CorruptRecordError, ExampleParseError
        The latter two also while it is consumed, where the consumer raises an error of its own
        with their text.

    Examples
    --------
    >>> import os, tempfile, pyarrow
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write({"word": "one", "count": 1})
    ...     writer.write({"word": "two"})
    >>> pyarrow.table(table(path)).to_pylist()
    [{'count': 1, 'word': b'one'}, {'count': None, 'word': b'two'}]
    """
    return Table(source, features, batch_size=batch_size, tensors=tensors, **options)


def _at_most_one(described: Mapping[str, Any]) -> dict[str, Optional]:
    """The inferred features that some records lack and no record has several values of."""
    seen = getattr(described, "stats", {})
    return {
        name: Optional(feature.dtype)
        for name, feature in described.items()
        if isinstance(feature, fastrec.RaggedFeature) and seen[name].most == 1
    }


def _masked(name: str, column: fastrec.Ragged) -> Any:
    """Rows of at most one value, masked where there is none."""
    lengths = column.row_lengths
    if len(lengths) and lengths.max() > 1:
        row = int(np.argmax(lengths > 1))
        raise ValueError(f"feature {name!a} has {lengths[row]} values in a record: not Optional")
    present = lengths == 1
    values = column.values
    if isinstance(values, fastrec.Bytes):
        rows = fastrec.Bytes(values.data, values.offsets[column.row_splits])
        return _core.MaskedBytes(rows, ~present)
    filled = np.zeros(len(lengths), values.dtype)
    filled[present] = values
    return np.ma.MaskedArray(filled, ~present)
