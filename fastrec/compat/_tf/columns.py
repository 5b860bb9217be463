# SPDX-License-Identifier: Apache-2.0
"""Columns: the values of one component of many elements, stored as an array where possible.

A value is an ndarray, bytes or :class:`fastrec.Bytes` for strings, a :class:`fastrec.Sparse` or a
:class:`fastrec.Ragged`. A column of values is

- an ndarray or a Bytes, whose first dimension counts the values,
- a Ragged, whose rows are arrays of one dimension,
- a :class:`fastrec.columns.Arrays`, whose rows are arrays of varying shape,
- a :class:`VarLen`, whose rows are sparse vectors, or
- a list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec.columns import Arrays, take_rows

from .errors import invalid
from .shape import in_messages
from .tensor import as_array

_SMALL = 1 << 12  # bytes of an array that are copied faster than an operation is called


class VarLen:
    """A column of sparse vectors with consecutive indices from 0; only values are stored."""

    __slots__ = ("rows",)

    def __init__(self, rows: fastrec.Ragged) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice) -> VarLen:
        return VarLen(self.rows[rows])

    def __iter__(self) -> Iterator[fastrec.Sparse]:
        for values in self.rows:
            count = len(values)
            yield fastrec.Sparse(np.arange(count)[:, np.newaxis], values, (count,))

    def batch(self) -> fastrec.Sparse:
        """Return all vectors as one sparse matrix."""
        lengths, values = self.rows.row_lengths, flat_values(self.rows)
        count = len(values)
        indices = np.empty((count, 2), np.int64)
        indices[:, 0] = np.repeat(np.arange(len(lengths)), lengths)
        indices[:, 1] = np.arange(count) - np.repeat(
            self.rows.row_splits[:-1] - self.rows.row_splits[0], lengths
        )
        most = int(lengths.max()) if len(lengths) else 0
        return fastrec.Sparse(indices, values, (len(lengths), most))


class Variants(list[Any]):
    """Several datasets as one value."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of datasets."""
        return (len(self),)

    @property
    def _raw(self) -> Variants:
        return self


def arrays_of(values: np.ndarray[Any, Any], row_splits: np.ndarray[Any, Any]) -> Arrays:
    """Return arrays of consecutive `values`, which differ in their first dimension."""
    shapes = np.empty((len(row_splits) - 1, values.ndim), np.int64)
    shapes[:, 0] = np.diff(row_splits)
    shapes[:, 1:] = values.shape[1:]
    return Arrays(values.reshape(-1), row_splits * math.prod(values.shape[1:]), shapes)


def flat_values(column: Any) -> Any:
    """Return the elements of all rows of a Ragged or an Arrays, concatenated."""
    return column.values[int(column.row_splits[0]) : int(column.row_splits[-1])]


def refilled(column: Any, values: Any) -> Any:
    """Return a Ragged or an Arrays with new elements in place of :func:`flat_values`."""
    splits = column.row_splits - column.row_splits[0]
    if isinstance(column, Arrays):
        return Arrays(values, splits, column.shapes)
    return fastrec.Ragged(values, splits)


def are_numbers(column: Any) -> bool:
    """Return whether a column is a Ragged or an Arrays whose numbers are in one array."""
    rows = isinstance(column, (fastrec.Ragged, Arrays))
    return rows and isinstance(column.values, np.ndarray) and column.values.ndim == 1


def shapes_of(column: Any) -> np.ndarray[Any, Any]:
    """Return the shape of each row of a Ragged or an Arrays."""
    if isinstance(column, Arrays):
        return column.shapes
    lengths: np.ndarray[Any, Any] = column.row_lengths
    return lengths[:, np.newaxis]


def are_alike(columns: Sequence[Any]) -> bool:
    """Return whether all columns consist of rows of numbers with the same shapes."""
    if not columns or not all(map(are_numbers, columns)):
        return False
    shapes = [shapes_of(column) for column in columns]
    return all(np.array_equal(each, shapes[0]) for each in shapes[1:])


def rows_of_shapes(values: np.ndarray[Any, Any], shapes: np.ndarray[Any, Any]) -> Any:
    """Return arrays of the given shapes over consecutive elements; for vectors, a Ragged."""
    splits = np.zeros(len(shapes) + 1, np.int64)
    np.cumsum(np.prod(shapes, axis=1), out=splits[1:])
    if shapes.shape[1] == 1:
        return fastrec.Ragged(values, splits)
    return Arrays(values, splits, shapes)


def common_size(column: Arrays) -> tuple[int, ...] | None:
    """Return the common sizes of all dimensions except the first; None if they differ."""
    inner = column.shapes[:, 1:]
    if not len(inner) or (inner != inner[0]).any():
        return None
    return tuple(inner[0].tolist())


def rows_of(column: Any) -> Iterator[Any]:
    """Yield the values of a column."""
    if isinstance(column, np.ndarray) and column.ndim == 1:
        if column.dtype == object:
            return iter(column.tolist())
        return (column[i : i + 1].reshape(()) for i in range(len(column)))
    return iter(column)


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a value."""
    if isinstance(value, bytes):
        return ()
    if isinstance(value, fastrec.Sparse):
        return value.dense_shape
    found: tuple[int, ...] = getattr(value, "shape", ())
    return found


def size_of(column: Any) -> int:
    """Return the bytes of a column that are in arrays."""
    if isinstance(column, list):
        return sum(map(size_of, column))
    if type(column) in (fastrec.Ragged, Arrays):  # other columns may create their arrays on demand
        return size_of(column.values)
    return len(column) if isinstance(column, bytes) else getattr(column, "nbytes", 0)


def column_of(values: Sequence[Any]) -> Any:
    """Build a column from values: an array or a Bytes where possible."""
    first = values[0] if values else None
    if isinstance(first, bytes):
        return (
            fastrec.Bytes.from_list(values)
            if all(isinstance(v, bytes) for v in values)
            else list(values)
        )
    if isinstance(first, fastrec.Bytes):
        same = all(isinstance(v, fastrec.Bytes) for v in values)
        return _in_line(values) if same else list(values)
    if any(not isinstance(v, (np.ndarray, np.generic)) for v in values):
        return list(values)
    shape = first.shape if first is not None else ()
    if any(v.shape != shape for v in values):
        same = all(isinstance(v, np.ndarray) for v in values)
        return _in_line(values) if same else list(values)
    if first is not None and first.dtype == object:
        stacked = np.empty((len(values), *shape), object)
        for i, value in enumerate(values):
            stacked[i] = value[()] if value.ndim == 0 else value
        return stacked
    if len(values) == 1:
        return values[0][np.newaxis].copy()  # much faster than `stack`
    return np.stack(values) if values else []


def _in_line(values: Sequence[Any]) -> Any:
    """Return small arrays of varying shape as rows of one array; a list of other values."""
    rank, dtype = len(values[0].shape), getattr(values[0], "dtype", None)
    alike = all(len(v.shape) == rank and getattr(v, "dtype", None) == dtype for v in values)
    if not rank or not alike or (rank > 1 and dtype in (None, object)):
        return list(values)
    if sum(v.nbytes for v in values) > _SMALL * len(values):
        return list(values)
    flat = joined([v if rank == 1 else v.reshape(-1) for v in values])
    return rows_of_shapes(flat, np.array([v.shape for v in values]))


def taken(column: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Return the rows of a column with the given numbers."""
    if isinstance(column, VarLen):
        return VarLen(take_rows(column.rows, rows))
    if isinstance(column, (np.ndarray, fastrec.Bytes, fastrec.Ragged, Arrays)):
        return take_rows(column, rows)
    values = list(rows_of(column))
    return column_of([values[row] for row in rows.tolist()])


def joined(columns: Sequence[Any]) -> Any:
    """Concatenate columns."""
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    kinds = {type(column) for column in columns}
    if kinds == {np.ndarray} and len({column.shape[1:] for column in columns}) == 1:
        return np.concatenate(columns)
    if kinds == {fastrec.Bytes} and len({column.shape[1:] for column in columns}) == 1:
        return _joined_strings(columns)
    if kinds == {fastrec.Ragged}:
        return _joined_rows(columns)
    if kinds == {Arrays} and len({column.shapes.shape[1] for column in columns}) == 1:
        flat = _joined_rows(columns)
        return Arrays(flat.values, flat.row_splits, np.concatenate([c.shapes for c in columns]))
    if kinds == {VarLen}:
        return VarLen(_joined_rows([column.rows for column in columns]))
    return [row for column in columns for row in rows_of(column)] if first is not None else []


def _joined_strings(columns: Sequence[fastrec.Bytes]) -> fastrec.Bytes:
    data, offsets, end = [], [np.zeros(1, np.int64)], 0
    for column in columns:
        begin = int(column.offsets[0])
        data.append(column.data[begin : column.offsets[-1]])
        offsets.append(column.offsets[1:] - begin + end)
        end += len(data[-1])
    rows = sum(map(len, columns))
    return fastrec.Bytes(
        np.concatenate(data), np.concatenate(offsets), (rows, *columns[0].shape[1:])
    )


def _joined_rows(columns: Sequence[Any]) -> fastrec.Ragged:
    splits, values, end = [np.zeros(1, np.int64)], [], 0
    for column in columns:
        begin, stop = int(column.row_splits[0]), int(column.row_splits[-1])
        values.append(column.values[begin:stop])
        splits.append(column.row_splits[1:] - begin + end)
        end += stop - begin
    return fastrec.Ragged(joined(values), np.concatenate(splits))


def padded_strings(
    strings: fastrec.Bytes, lengths: np.ndarray[Any, Any], width: int, filler: bytes
) -> fastrec.Bytes:
    """Pad rows of strings to `width`. Empty padding needs no memory."""
    ends = np.cumsum(lengths)
    places = (ends - lengths)[:, np.newaxis] + np.arange(width)
    if filler:
        places[places >= ends[:, np.newaxis]] = len(strings)
        found = joined([strings, fastrec.Bytes.from_list([filler])]).take(places.reshape(-1))
        return fastrec.Bytes(found.data, found.offsets, places.shape)
    places = np.minimum(places, ends[:, np.newaxis])
    offsets = strings.offsets[np.append(places.reshape(-1), len(strings))]
    return fastrec.Bytes(strings.data, offsets, places.shape)


def batch_of(column: Any, component: int = 0, fused: bool = False) -> Any:
    """Batch the values of a column: one value with one more dimension.

    If TensorFlow fuses a map and its batch, its message differs; `fused` selects that message.

    Raises
    ------
    InvalidArgumentError
        If the shapes differ, with TensorFlow's message.
    """
    if isinstance(column, VarLen):
        return column.batch()
    if isinstance(column, fastrec.Ragged):
        lengths = column.row_lengths
        if (lengths == lengths[0]).all():
            values = column.values[int(column.row_splits[0]) : int(column.row_splits[-1])]
            shape = (len(lengths), int(lengths[0]))
            if isinstance(values, fastrec.Bytes):
                return fastrec.Bytes(values.data, values.offsets, shape)
            return values.reshape(*shape, *values.shape[1:])
        column = list(column)
    if isinstance(column, Arrays):
        if (column.shapes == column.shapes[0]).all():
            return flat_values(column).reshape(len(column), *column.shapes[0])
        column = list(column)
    if not isinstance(column, list):
        return column
    if isinstance(column[0], fastrec.Sparse):
        return _batch_sparse(column)
    if isinstance(column[0], fastrec.Ragged):
        splits = np.zeros(len(column) + 1, np.int64)
        np.cumsum([len(each) for each in column], out=splits[1:])
        return fastrec.Ragged(_joined_rows(column), splits)
    if not isinstance(column[0], (np.ndarray, np.generic, bytes, fastrec.Bytes)):
        return Variants(column)
    _check_alike(column, component, fused)
    return column_of([as_array(value) for value in column])


def _check_alike(column: Sequence[Any], component: int, fused: bool) -> None:
    first = shape_of(column[0])
    for number, value in enumerate(column):
        if shape_of(value) != first:
            here, there = in_messages(shape_of(value)), in_messages(first)
            text = (
                f"Cannot batch tensors with different shapes in component {component}. First "
                f"element had shape {there} and element {number} had shape {here}."
            )
            if fused:
                text = (
                    "Cannot add tensor to the batch: number of elements does not match. Shapes "
                    f"are: [tensor]: {here}, [batch]: {there}"
                )
            raise invalid(text)


def _batch_sparse(column: Sequence[fastrec.Sparse]) -> fastrec.Sparse:
    counts = [len(each.indices) for each in column]
    rows = np.repeat(np.arange(len(column)), counts)[:, np.newaxis]
    indices = np.hstack([rows, np.concatenate([each.indices for each in column])])
    most = np.max([each.dense_shape for each in column], axis=0)
    return fastrec.Sparse(
        indices, joined([each.values for each in column]), (len(column), *most.tolist())
    )
