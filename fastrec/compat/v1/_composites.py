# SPDX-License-Identifier: Apache-2.0
"""Sparse and ragged tensors of a graph, represented by their component tensors.

An operation on a composite tensor takes its components as inputs. The kernel assembles the value
and splits its results into components.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

import fastrec
from fastrec.columns import Arrays

from .._tf import composite as _eager
from .._tf.arrays import make_array
from .._tf.columns import VarLen, flat_values
from .._tf.dtypes import DType, as_dtype, int64
from .._tf.errors import InvalidArgumentError
from .._tf.methods import Methods, RaggedMethods, SparseMethods
from .._tf.ops import Array, Block, Op
from .._tf.ops import ragged as of_ragged
from .._tf.ops import sparse as of_sparse
from .._tf.ops.ragged import normal
from .._tf.shape import TensorShape
from .._tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import as_array
from ._nodes import Operation, Tensor, operators
from ._ops import record_all
from .constants import constant_value, convert_to_tensor, shape_value
from .graph import Graph


def _tensor(value: Any, dtype: Any = None) -> Tensor:
    return convert_to_tensor(value, None if dtype is None else as_dtype(dtype))


def applied(op: Op, inputs: Sequence[Any], name: str | None = None, **attributes: Any) -> list[Any]:
    """Apply an operation whose inputs and outputs may be composite; return its outputs."""
    given = [spec_of(x) if isinstance(x, COMPOSITES) else x for x in inputs]
    try:
        found = op.infer(given, inputs, **attributes)
    except InvalidArgumentError as error:  # a run would raise it
        raise ValueError(error.message) from None
    if not any(map(_is_composite, [*given, *found])):
        return record_all(op, inputs, name, **attributes)
    parts = [part for x in inputs for part in pieces(x)]
    made = record_all(_of_tensors(op, given, found), parts, name, **attributes)
    return put_together(found, made)


def _applied(op: Op, inputs: Sequence[Any], name: str | None = None, **attributes: Any) -> Any:
    whole = applied(op, inputs, name, **attributes)
    return whole[0] if len(whole) == 1 else tuple(whole)


def _is_composite(spec: Any) -> bool:
    return isinstance(spec, (SparseTensorSpec, RaggedTensorSpec))


class _Parsing:
    """Native parsing that returns composite results as columns of their components."""

    def __init__(self, parsing: Any, specs: Sequence[TypeSpec]) -> None:
        self._parsing, self._specs = parsing, specs
        self.features = parsing.features

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        return _columns_of(self._specs, self._parsing.columns(found))


def _of_tensors(op: Op, given: Sequence[Any], found: Sequence[Any]) -> Op:
    """Wrap `op` so that composite inputs and outputs are replaced by their components."""

    def kernel(*values: Any, **attributes: Any) -> tuple[Any, ...]:
        left = iter(values)
        raws = [_raw(spec, [next(left) for _ in specs_of(spec)]) for spec in given]
        result = op.kernel(*raws, **attributes)
        results = result if isinstance(result, tuple) else (result,)
        return tuple([part for each in results for part in _parts(each)])

    def infer(*_: Any, **__: Any) -> list[TypeSpec]:
        return [TensorSpec(shape, dtype) for spec in found for dtype, shape in specs_of(spec)]

    def block(count: int, *blocks: Block, **attributes: Any) -> Any:
        left = iter(blocks)
        whole = [_raw_block(spec, [next(left) for _ in specs_of(spec)]) for spec in given]
        if op.block is None or None in whole:
            return None
        results = op.block(count, *whole, **attributes)
        if results is None:
            return None
        return _columns_of(found, results if isinstance(results, tuple) else (results,))

    parsing = None if op.parsing is None else _Parsing(op.parsing, found)
    return op.but(kernel=kernel, infer=infer, block=block, parsing=parsing)


def _parts(raw: Any) -> list[Any]:
    """Return components like :func:`parts_of`, but keep strings in their stored form."""
    return parts_of(raw) if isinstance(raw, (fastrec.Sparse, fastrec.Ragged)) else [raw]


def _raw(spec: Any, parts: Sequence[Any]) -> Any:
    if isinstance(spec, SparseTensorSpec):
        return of_sparse.MAKE.kernel(*parts)
    return of_ragged.MAKE.kernel(*parts) if isinstance(spec, RaggedTensorSpec) else parts[0]


def _raw_block(spec: Any, parts: Sequence[Block]) -> Block | None:
    """Assemble a column from columns of components; None if the result is not an array."""
    if not _is_composite(spec):
        return parts[0]
    return None if isinstance(spec, RaggedTensorSpec) else _sparse_block(parts)


def _sparse_block(parts: Sequence[Block]) -> Block | None:
    if not all(part.many for part in parts):
        return None
    indices, rows, sizes = [part.value for part in parts]
    if isinstance(indices, _Indices) and indices.rows is rows and indices.sizes is sizes:
        return Block(VarLen(rows), True)
    if not isinstance(rows, fastrec.Ragged) or not isinstance(indices, Arrays):
        return None
    plain = _Indices(rows)
    alike = (
        np.array_equal(sizes, plain.sizes)
        and np.array_equal(indices.shapes, plain.shapes)
        and np.array_equal(flat_values(indices), plain.values)
    )
    return Block(VarLen(rows), True) if alike else None


class _Indices(Arrays):
    """Consecutive indices of sparse vectors, computed on first use.

    Parameters
    ----------
    rows : fastrec.Ragged
        The vectors.
    """

    __slots__ = ("_made", "rows", "sizes")

    def __init__(self, rows: fastrec.Ragged) -> None:
        self.rows, self.sizes = rows, rows.row_lengths[:, np.newaxis]
        self.row_splits = rows.row_splits - rows.row_splits[0]
        self.shapes = np.hstack([self.sizes, np.ones_like(self.sizes)])
        self._made: Any = None

    @property
    def values(self) -> Any:  # type: ignore[override]
        if self._made is None:
            splits = self.row_splits
            self._made = np.arange(splits[-1]) - np.repeat(splits[:-1], np.diff(splits))
        return self._made


def _columns_of(specs: Sequence[TypeSpec], columns: Sequence[Any]) -> tuple[Any, ...]:
    pairs = zip(specs, columns, strict=True)
    return tuple([part for spec, column in pairs for part in _column_parts(spec, column)])


def _column_parts(spec: TypeSpec | None, column: Any) -> list[Any]:
    """Split a column of values into columns of components."""
    if isinstance(column, VarLen):
        indices = _Indices(column.rows)
        return [indices, column.rows, indices.sizes]
    if not _is_composite(spec):
        return [column]
    return [list(parts) for parts in zip(*map(parts_of, column), strict=True)]


class SparseTensorValue(NamedTuple):
    """Value of a sparse tensor in a session."""

    indices: Any
    values: Any
    dense_shape: Any


class _Composite(Methods):
    """Methods that sparse and ragged tensors of a graph share."""

    graph: Any

    _call, _tensor, _operators = staticmethod(_applied), staticmethod(_tensor), operators

    def get_shape(self) -> TensorShape:
        """Return the static shape, as far as it is known."""
        found: TensorShape = self.shape
        return found

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value, computed by `session` or the default session."""
        return operators["session"]("eval", session, self.graph).run(self, feed_dict)


class SparseTensor(_Composite, SparseMethods):
    """Tensor that stores only the elements that differ from a default.

    Parameters
    ----------
    indices : Tensor of int64, shape (n, rank)
        Index of each value.
    values : Tensor of n
        The values.
    dense_shape : Tensor of int64, shape (rank,)
        Shape of the dense tensor.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.indices: Final = convert_to_tensor(indices, int64, "indices")
        self.values: Any = convert_to_tensor(values, name="values")
        self.dense_shape: Final = convert_to_tensor(dense_shape, int64, "dense_shape")
        self._sizes = TensorShape(None)  # the statically known shape
        places = self.indices.shape.with_rank(2)
        places[:1].merge_with(self.values.shape.with_rank(1))
        places[1:].merge_with(self.dense_shape.shape.with_rank(1))

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        """Return a constant for a :class:`SparseTensorValue`; a sparse tensor is returned as is."""
        if isinstance(value, SparseTensor):
            return value
        if not isinstance(value, SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {value}.")
        return cls(*value)

    @property
    def graph(self) -> Graph:
        """The graph of the tensor."""
        return self.values.graph  # type: ignore[no-any-return]

    @property
    def op(self) -> Operation:
        """The operation that returns the values."""
        return self.values.op  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.values.name  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """Static shape of the dense tensor."""
        return shape_value(self.dense_shape).merge_with(self._sizes)

    def with_values(self, new_values: Any) -> SparseTensor:
        """Return a sparse tensor with other values at the same indices."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def _fetch_parts(self) -> tuple[list[Tensor], Any]:
        return [self.indices, self.values, self.dense_shape], SparseTensorValue

    def _feed_parts(self, value: Any) -> Iterable[tuple[Tensor, Any]]:
        return zip((self.indices, self.values, self.dense_shape), value, strict=True)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices}, values={self.values}, "
            f"dense_shape={self.dense_shape})"
        )


class RaggedTensorValue:
    """Value of a ragged tensor in a session.

    Parameters
    ----------
    values : ndarray or RaggedTensorValue
        The concatenated rows.
    row_splits : ndarray
        Start of each row, and the end of the last.
    """

    def __init__(self, values: Any, row_splits: Array) -> None:
        self.values: Final = values
        self.row_splits: Final = row_splits

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
        """Return the rows as nested lists."""
        whole = self.values
        rows = whole.to_list() if isinstance(whole, RaggedTensorValue) else whole.tolist()
        return [rows[a:b] for a, b in pairwise(self.row_splits.tolist())]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"


class RaggedTensor(_Composite, RaggedMethods):
    """A tensor whose rows have different lengths.

    Parameters
    ----------
    values : Tensor or RaggedTensor
        The concatenated rows.
    row_splits : Tensor
        Start of each row, and the end of the last.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values: Any = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
        self.row_splits: Any = convert_to_tensor(row_splits)

    @classmethod
    def _of(
        cls, kind: str, values: Any, where: Any, nrows: Any = None, validate: bool = True
    ) -> Any:
        inner = values if isinstance(values, RaggedTensor) else _tensor(values)
        return cls(inner, super()._of(kind, inner, where, nrows, validate).row_splits)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.flat_values.dtype  # type: ignore[no-any-return]

    @property
    def graph(self) -> Graph:
        """The graph of the tensor."""
        return self.row_splits.graph  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """Static shape; the size of a ragged dimension is unknown."""
        rows = self.row_splits.shape.sizes
        count = None if not rows or rows[0] is None else rows[0] - 1
        return TensorShape([count, None]).concatenate(self.values.shape[1:])

    def _made(self, values: Any) -> RaggedTensor:
        return RaggedTensor(values, self.row_splits)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Return a ragged tensor with other innermost values and the same rows."""
        if isinstance(self.values, RaggedTensor):
            return self._made(self.values.with_flat_values(new_values))
        whole = new_values if isinstance(new_values, RaggedTensor) else _tensor(new_values)
        self.values.shape[:1].merge_with(whole.shape[:1])
        return self._made(whole)

    def to_list(self) -> list[Any]:
        """Return the rows of a constant ragged tensor as nested lists."""
        parts, rebuild = self._fetch_parts()
        values = [constant_value(part) for part in parts]
        if any(value is None for value in values):
            raise ValueError(
                "to_list of a tensor that a session has to compute: run it, and call to_list of "
                "the RaggedTensorValue"
            )
        found: list[Any] = rebuild(*values).to_list()
        return found

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


COMPOSITES = (SparseTensor, RaggedTensor)
_CLASSES = {SparseTensorSpec: SparseTensor, RaggedTensorSpec: RaggedTensor}


def class_of(spec: TypeSpec) -> type[Any]:
    """Return the tensor class for a spec."""
    return _CLASSES.get(type(spec), Tensor)


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse tensor."""
    return isinstance(value, SparseTensor)


def pieces(value: Any) -> list[Tensor]:
    """Return the components of a composite tensor; a dense tensor is its only component."""
    found: list[Tensor] = value._fetch_parts()[0] if isinstance(value, COMPOSITES) else [value]
    return found


def spec_of(value: Any) -> TypeSpec:
    """Return the spec of a dense or composite tensor."""
    sizes = value.shape.sizes
    if isinstance(value, RaggedTensor):
        splits = value.row_splits.dtype
        return RaggedTensorSpec(sizes, value.dtype, value.ragged_rank, splits)
    sparse = isinstance(value, SparseTensor)
    return (SparseTensorSpec if sparse else TensorSpec)(sizes, value.dtype)


def specs_of(spec: Any) -> list[tuple[Any, Any]]:
    """Return the types and shapes of the components that a spec describes."""
    if isinstance(spec, SparseTensorSpec):
        rank = spec.shape.ndims
        return [(int64, [None, rank]), (spec.dtype, [None]), (int64, [rank])]
    sizes = spec.shape.sizes
    if isinstance(spec, RaggedTensorSpec):
        inner = () if sizes is None else sizes[spec.ragged_rank + 1 :]
        first = None if sizes is None or sizes[0] is None else sizes[0] + 1
        rest = [(spec.row_splits_dtype, [None])] * (spec.ragged_rank - 1)
        return [(spec.dtype, [None, *inner]), (spec.row_splits_dtype, [first]), *rest]
    return [(spec.dtype, sizes)]


def outputs_of(specs: Iterable[Any]) -> list[tuple[DType, TensorShape]]:
    """Return the types and shapes of the components that several specs describe."""
    parts = [part for spec in specs for part in specs_of(spec)]
    return [(as_dtype(dtype), TensorShape(shape)) for dtype, shape in parts]


def put_together(specs: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Assemble tensors with these specs from the components of all of them."""
    left = iter(tensors)
    found: list[Any] = []
    for spec in specs:
        parts = [next(left) for _ in specs_of(spec)]
        if isinstance(spec, SparseTensorSpec):
            found.append(SparseTensor(*parts))
            found[-1]._sizes = TensorShape(spec.shape.sizes)
        elif isinstance(spec, RaggedTensorSpec):
            found.append(ragged_of(*parts))
        else:
            found.append(parts[0])
    return found


def ragged_of(flat: Any, *splits: Any) -> Any:
    """Assemble a ragged tensor from its components without checks."""
    for each in reversed(splits):
        flat = RaggedTensor(flat, each)
    return flat


def parts_of(raw: Any) -> list[Any]:
    """Return the component values of a composite value."""
    if isinstance(raw, fastrec.Sparse):
        return [raw.indices, as_array(raw.values), np.array(raw.dense_shape, np.int64)]
    splits = []
    while isinstance(raw, fastrec.Ragged):
        raw = normal(raw)
        splits.append(np.asarray(raw.row_splits))
        raw = raw.values
    return [as_array(raw), *splits]


def eager(value: Any, parts: Sequence[Any]) -> Any:
    """Assemble components of a value like `value` for a dataset."""
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        indices, values, shape = parts
        made = of_sparse.MAKE.kernel(indices, make_array(values), shape)
        return _eager.SparseTensor._from(made)
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return _eager.RaggedTensor._from(of_ragged.MAKE.kernel(make_array(parts[0]), *parts[1:]))
    return parts[0]


def _parts_block(_: int, whole: Block) -> Any:
    plain = whole.many and isinstance(whole.value, VarLen)
    return tuple(_column_parts(None, whole.value)) if plain else None


_TAKE = Op(
    "Parts",
    lambda raw: tuple(parts_of(raw)),
    lambda specs, _: [TensorSpec(shape, dtype) for dtype, shape in specs_of(specs[0])],
    _parts_block,
)
_MAKE_SPARSE = of_sparse.MAKE.but(block=lambda _, *parts: _sparse_block(parts))


def make_op(value: SparseTensor | RaggedTensor) -> Op:
    """Return the operation that assembles a composite tensor like `value` in a dataset."""
    return _MAKE_SPARSE if isinstance(value, SparseTensor) else of_ragged.MAKE


def take_op() -> Op:
    """Return the operation that splits a composite tensor into components in a dataset."""
    return _TAKE
