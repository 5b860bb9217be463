# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors: rows of different lengths, and rows of these; ``tf.ragged``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, int64
from .._tf.shape import TensorShape
from . import _missing
from ._graph import Graph
from ._nodes import Tensor, operators
from ._ops import Array, invalid, pure
from .constants import constant_value as _known
from .constants import convert_to_tensor
from .constants import placeholder as _placeholder
from .graph import create_op
from .sparse import SparseTensor

__all__ = ["RaggedTensor", "RaggedTensorValue"]


class RaggedTensorValue:
    """Value of a ragged tensor in a session.

    Parameters
    ----------
    values : ndarray or RaggedTensorValue
        The rows, one after the other.
    row_splits : ndarray
        Where each begins, and where the last ends.
    """

    def __init__(self, values: Any, row_splits: Array) -> None:
        self.values, self.row_splits = values, row_splits

    @property
    def flat_values(self) -> Array:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[Array, ...]:
        """The splits, outermost first."""
        inner = self.values
        more = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None for ragged dimensions."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return np.dtype(self.flat_values.dtype)

    def to_list(self) -> list[Any]:
        """Lists within lists."""
        whole = self.values
        rows = whole.to_list() if isinstance(whole, RaggedTensorValue) else whole.tolist()
        ends = self.row_splits.tolist()
        return [rows[a:b] for a, b in pairwise(ends)]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"


class RaggedTensor:
    """A tensor whose rows have different lengths.

    Parameters
    ----------
    values : Tensor or RaggedTensor
        The rows, one after the other.
    row_splits : Tensor
        Where each begins, and where the last ends.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
        self.row_splits = convert_to_tensor(row_splits)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """One with the innermost values, and the splits outermost first."""
        result = flat_values
        for splits in reversed(list(nested_row_splits)):
            result = cls(result, splits)
        return result

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """One whose rows begin and end at `row_splits`."""
        return cls(values, _places(row_splits))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """One whose rows have those lengths."""
        lengths = _places(row_lengths)

        def kernel(sizes: Array) -> Array:
            return np.concatenate([np.zeros(1, sizes.dtype), np.cumsum(sizes, dtype=sizes.dtype)])

        return cls(values, pure("RowSplits", kernel, (lengths,), lengths.dtype, _more(lengths)))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """One in which each value is in the row that is named for it, in ascending order."""
        rows = _places(value_rowids)
        count = None if nrows is None else convert_to_tensor(nrows, rows.dtype)

        def kernel(ids: Array, *given: Array) -> Array:
            least = int(ids[-1]) + 1 if len(ids) else 0
            total = int(given[0]) if given else least
            if (np.diff(ids, prepend=0) < 0).any() or least > total:
                raise invalid("Arguments to from_value_rowids do not form a valid RowPartition.")
            lengths = np.bincount(ids, minlength=total)
            return np.concatenate([[0], np.cumsum(lengths)]).astype(ids.dtype)

        known = None if count is None else _known(count)
        inputs = [rows] if count is None else [rows, count]
        sizes = [None if known is None else int(known) + 1]
        return cls(values, pure("RowSplits", kernel, inputs, rows.dtype, sizes))

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = int64,
    ) -> RaggedTensor:
        """The rows of a matrix, as long as `lengths` says, or without `padding` at their ends."""
        if ragged_rank != 1:
            raise NotImplementedError("RaggedTensor.from_tensor covers ragged_rank=1")
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        dense, kind = convert_to_tensor(tensor), as_dtype(row_splits_dtype)
        given = [] if lengths is None else [convert_to_tensor(lengths)]
        if padding is not None:
            given = [convert_to_tensor(padding, dense.dtype)]

        def kernel(step: Any, x: Array, *how: Array) -> tuple[Array, Array]:
            width = x.shape[1]
            if padding is not None:
                kept = (x != how[0]).reshape(len(x), width, -1).any(axis=2)
                sizes = np.max(np.where(kept, np.arange(1, width + 1), 0), axis=1, initial=0)
            else:
                sizes = np.minimum(how[0], width) if how else np.full(len(x), width)
            splits = np.concatenate([[0], np.cumsum(sizes)]).astype(kind.numpy)
            return x[np.arange(width) < sizes[:, None]], splits

        rest = None if dense.shape.sizes is None else [None, *dense.shape.sizes[2:]]
        rows = None if dense.shape.sizes is None else dense.shape.sizes[0]
        outputs = [(dense.dtype, rest), (kind, [None if rows is None else rows + 1])]
        op = create_op("RaggedFromTensor", [dense, *given], outputs, kernel, name=name)
        return cls(op.outputs[0], op.outputs[1])

    @classmethod
    def from_sparse(
        cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: Any = int64
    ) -> RaggedTensor:
        """The values of a sparse matrix whose rows have no holes."""
        kind = as_dtype(row_splits_dtype)

        def kernel(indices: Array, sizes: Array) -> Array:
            lengths = np.bincount(indices[:, 0], minlength=int(sizes[0]))
            begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
            if not np.array_equal(indices[:, 1], np.arange(len(indices)) - begins):
                raise invalid("SparseTensor is not right-ragged")
            return np.concatenate([[0], np.cumsum(lengths)]).astype(kind.numpy)

        inputs = (st_input.indices, st_input.dense_shape)
        return cls(st_input.values, pure("RowSplits", kernel, inputs, kind, [None]))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: int,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """One whose rows all have one length."""
        inner = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)

        def kernel(first: Array) -> Array:
            count = len(first) - 1 if isinstance(inner, RaggedTensor) else len(first)
            rows = int(nrows) if not uniform_row_length and nrows is not None else -1
            rows = rows if rows >= 0 else count // max(uniform_row_length, 1)
            return np.arange(rows + 1, dtype=np.int64) * uniform_row_length

        given = inner.row_splits if isinstance(inner, RaggedTensor) else inner
        return cls(inner, pure("RowSplits", kernel, (given,), int64, [None]))

    def __getitem__(self, key: Any) -> Any:
        """Return one row, or a slice of the rows."""
        if not isinstance(key, slice):
            begin, end = self.row_splits[:-1][key], self.row_splits[1:][key]
            return self.values[begin:end]
        if key.step not in (None, 1):
            raise NotImplementedError("rows of a ragged tensor are taken in slices of step 1")
        rest = lambda s: s[key.indices(len(s) - 1)[0] : key.indices(len(s) - 1)[1] + 1]  # noqa: E731
        splits = pure("RowSplits", rest, (self.row_splits,), self.row_splits.dtype, [None])
        return RaggedTensor(self.values[splits[0] : splits[-1]], splits - splits[0])

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits, outermost first."""
        more = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.flat_values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.row_splits.graph

    @property
    def shape(self) -> TensorShape:
        """Static shape; the size of a ragged dimension is unknown."""
        rows = self.row_splits.shape.sizes
        count = None if not rows or rows[0] is None else rows[0] - 1
        return TensorShape([count, None]).concatenate(self.values.shape[1:])

    def _rows(self) -> list[int | None]:
        return [(self.shape.sizes or (None,))[0]]

    def get_shape(self) -> TensorShape:
        """Return the static shape; the size of a ragged dimension is unknown."""
        return self.shape

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        """Return the length of each row."""
        splits = self.row_splits
        return pure("RowLengths", np.diff, (splits,), splits.dtype, self._rows())

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return the offset at which each row begins."""
        return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return the offset at which each row ends."""
        return self.row_splits[1:]

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row that each value is in."""
        splits = self.row_splits

        def kernel(places: Array) -> Array:
            return np.repeat(np.arange(len(places) - 1, dtype=places.dtype), np.diff(places))

        return pure("ValueRowids", kernel, (splits,), splits.dtype, [None], name)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Return the number of rows."""
        kind = self.row_splits.dtype if out_type is None else as_dtype(out_type)
        count = lambda s: np.asarray(len(s) - 1, kind.numpy)  # noqa: E731
        return pure("Nrows", count, (self.row_splits,), kind, [], name)

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """Return the shape of :meth:`to_tensor`."""
        kind = self.row_splits.dtype if out_type is None else as_dtype(out_type)

        def kernel(flat: Array, *splits: Array) -> Array:
            widths = [int(np.diff(each).max(initial=0)) for each in splits]
            whole = np.array([len(splits[0]) - 1, *widths, *flat.shape[1:]], kind.numpy)
            return whole if axis is None else whole[axis]

        rank = self.shape.ndims
        known = [rank] if axis is None else np.arange(rank or 0)[axis].shape
        inputs = [self.flat_values, *self.nested_row_splits]
        return pure("BoundingShape", kernel, inputs, kind, known, name)

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Other values in the same rows."""
        return RaggedTensor(new_values, self.row_splits)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Other innermost values in the same rows."""
        if isinstance(self.values, RaggedTensor):
            new_values = self.values.with_flat_values(new_values)
        return RaggedTensor(new_values, self.row_splits)

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """The rows side by side, `default_value` behind the shorter ones; cut to `shape`."""
        flat = self.flat_values
        filler = b"" if flat.dtype.numpy.kind == "O" else 0
        default = convert_to_tensor(filler if default_value is None else default_value, flat.dtype)
        wanted = None if shape is None else TensorShape(shape).sizes

        def kernel(values: Array, fill: Array, *splits: Array) -> Array:
            whole = padded(values, splits, fill)
            return whole if wanted is None else _cut(whole, wanted, fill)

        inputs = [flat, default, *self.nested_row_splits]
        known = TensorShape([*self._rows(), *[None] * self.ragged_rank])
        known = known.concatenate(flat.shape[1:])
        if wanted is not None:
            known = TensorShape(
                [a if b is None else b for a, b in zip(known.sizes or wanted, wanted, strict=True)]
            )
        return pure("RaggedTensorToTensor", kernel, inputs, flat.dtype, known, name)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The same values in a sparse tensor."""

        def kernel(step: Any, flat: Array, *splits: Array) -> tuple[Array, ...]:
            return sparse_parts(flat, splits)

        flat, rank = self.flat_values, self.shape.ndims
        outputs = [(int64, [None, rank]), (flat.dtype, [None]), (int64, [rank])]
        inputs = [flat, *self.nested_row_splits]
        op = create_op("RaggedTensorToSparse", inputs, outputs, kernel, name=name)
        return SparseTensor(*op.outputs)

    def to_list(self) -> list[Any]:
        """Lists within lists, of a tensor that depends on constants alone."""
        parts, rebuild = self._fetch_parts()
        values = [_known(part) for part in parts]
        if any(value is None for value in values):
            raise ValueError(
                "to_list of a tensor that a session has to compute: run it, and call to_list of "
                "the RaggedTensorValue"
            )
        found: list[Any] = rebuild(*values).to_list()
        return found

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value, from `session` or from the default one."""
        return operators["session"]("eval", session, self.graph).run(self, feed_dict)

    def _fetch_parts(self) -> tuple[list[Tensor], Any]:
        def rebuild(values: Any, *splits: Any) -> Any:
            for each in reversed(splits):
                values = RaggedTensorValue(values, each)
            return values

        return [self.flat_values, *self.nested_row_splits], rebuild

    def _feed_parts(self, value: Any) -> Iterable[tuple[Tensor, Any]]:
        given = [value.flat_values, *value.nested_row_splits]
        return zip(self._fetch_parts()[0], given, strict=True)

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"


def _places(value: Any) -> Tensor:
    """Offsets, lengths or row numbers; ``int64`` unless they have a type of their own."""
    typed = isinstance(value, Tensor) or getattr(value, "dtype", None) in (np.int32, np.int64)
    return convert_to_tensor(value, None if typed else int64)


def _more(lengths: Tensor) -> list[int | None]:
    sizes = lengths.shape.sizes
    return [None if not sizes or sizes[0] is None else sizes[0] + 1]


def padded(values: Array, splits: Sequence[Array], fill: Array) -> Array:
    """The rows side by side, `fill` behind the shorter ones."""
    for each in reversed(splits):
        lengths = np.diff(each)
        width = int(lengths.max(initial=0))
        whole = np.full((len(lengths), width, *values.shape[1:]), fill[()], dtype=values.dtype)
        whole[np.arange(width) < lengths[:, None]] = values[: int(each[-1])]
        values = whole
    return values


def _cut(whole: Array, wanted: Sequence[int | None], fill: Array) -> Array:
    sizes = [n if w is None else w for n, w in zip(whole.shape, wanted, strict=True)]
    result = np.full(sizes, fill[()], dtype=whole.dtype)
    both = tuple(slice(min(a, b)) for a, b in zip(sizes, whole.shape, strict=True))
    result[both] = whole[both]
    return result


def sparse_parts(flat: Array, splits: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Indices, values and shape of the sparse array with the values of ragged rows."""
    sizes = [len(splits[0]) - 1]
    columns = [np.arange(sizes[0], dtype=np.int64)]
    for each in splits:
        lengths = np.diff(each)
        sizes.append(int(lengths.max(initial=0)))
        begins = np.repeat(each[:-1], lengths)
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(np.arange(int(each[-1]), dtype=np.int64) - begins)
    inner = int(np.prod(flat.shape[1:]))
    if flat.ndim > 1:
        columns = [np.repeat(column, inner) for column in columns]
        within = np.indices(flat.shape[1:]).reshape(flat.ndim - 1, -1)
        columns += [np.tile(row, len(flat)) for row in within]
    shape = np.array([*sizes, *flat.shape[1:]], np.int64)
    return np.stack(columns, axis=1), flat.reshape(-1), shape


# As tf.ragged has them.


def _levels(pylist: Any) -> int:
    """Number of dimensions that nested lists have."""
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        return 0
    return 1 + max([_levels(item) for item in pylist], default=0)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Return the :class:`RaggedTensorValue` of nested lists."""
    deep = _levels(pylist)
    inner: tuple[Any, ...] = (
        () if inner_shape is None else tuple(TensorShape(inner_shape).as_list())
    )
    rank = ragged_rank if ragged_rank is not None else max(deep - 1 - len(inner), 0)
    if not deep:
        raise ValueError("Invalid pylist=: expected a list of lists")
    splits, values = [], list(pylist)
    for _ in range(rank):
        if any(not isinstance(row, (list, tuple, np.ndarray)) for row in values):
            raise ValueError(
                f"pylist has scalar values depth {deep}, but ragged_rank={rank} requires scalar "
                f"value depth greater than {rank}"
            )
        lengths = [len(row) for row in values]
        kind = as_dtype(row_splits_dtype).numpy
        splits.append(np.concatenate([[0], np.cumsum(lengths)]).astype(kind))
        values = [item for row in values for item in row]
    wanted = None if dtype is None else as_dtype(dtype)
    flat: Any = make_array(values, wanted) if values else np.zeros((0, *inner), _empty(wanted))
    for each in reversed(splits):
        flat = RaggedTensorValue(flat, each)
    return flat


def _empty(wanted: DType | None) -> np.dtype[Any]:
    return np.dtype(np.float32) if wanted is None else wanted.numpy


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """A ragged tensor of nested lists."""
    value = constant_value(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
    if not isinstance(value, RaggedTensorValue):
        return convert_to_tensor(value)
    return RaggedTensor.from_nested_row_splits(value.flat_values, value.nested_row_splits)


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor whose value is given to each run."""
    sizes = None if value_shape is None else TensorShape(value_shape).sizes
    flat = _placeholder(dtype, [None, *(sizes or ())], name)
    splits = [_placeholder(int64, [None]) for _ in range(ragged_rank)]
    return RaggedTensor.from_nested_row_splits(flat, splits)


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the flat values of ragged tensors; the rows are those of the first."""
    found = [arg for arg in args if isinstance(arg, RaggedTensor)]
    flat = [arg.flat_values if isinstance(arg, RaggedTensor) else arg for arg in args]
    result = op(*flat, **kwargs)
    return found[0].with_flat_values(result) if found else result


def __getattr__(name: str) -> Any:
    raise _missing.error("ragged", name)
