# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fastrec

from .._tf import errors as _errors
from .._tf.composite import RaggedValue
from .._tf.dtypes import DType, as_dtype
from .._tf.specs import RaggedTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import OPERATORS, EagerTensor, TensorShape, as_array, convert_to_tensor
from .._tf.trace import SYMBOL_WRAPPERS, WRAPPERS, Op, Symbol, run, wrap
from ._ragged_parts import refilled, within_rows

__all__ = ["RaggedTensor"]


def _padded(ragged: fastrec.Ragged, default: Any, shape: tuple[int | None, ...] | None) -> Any:
    """The rows in one array, as long as the longest."""
    nested = isinstance(ragged.values, fastrec.Ragged)
    inner = shape[1:] if shape else None
    flat = _padded(ragged.values, default, inner) if nested else as_array(ragged.values)
    lengths = ragged.row_lengths
    width = int(lengths.max()) if len(lengths) else 0
    if shape and len(shape) > 1 and shape[1] is not None:
        width = shape[1]
    rows = len(lengths) if not shape or shape[0] is None else shape[0]
    tail = flat.shape[1:]
    out = np.empty((rows, width, *tail), flat.dtype)
    out[...] = as_array(default)[()]
    taken = np.minimum(lengths, width)[:rows]
    row = np.repeat(np.arange(len(taken)), taken)
    begins = np.cumsum(taken) - taken
    place = np.arange(int(taken.sum())) - np.repeat(begins, taken)
    out[row, place] = flat[np.repeat(ragged.row_splits[:-1][:rows], taken) + place]
    return out


_RAGGED_VALUES = Op(
    "RaggedValues",
    lambda r: r.values,
    lambda specs, _: [_values_spec(specs[0])],
)
_ROW_SPLITS = Op(
    "RowSplits",
    lambda r: r.row_splits,
    lambda specs, _: [TensorSpec([None], specs[0].row_splits_dtype)],
)


def _values_spec(spec: TypeSpec) -> TypeSpec:
    sizes = spec.shape.sizes
    shape = None if sizes is None else (None, *sizes[2:])
    if spec.ragged_rank == 1:  # type: ignore[attr-defined]
        return TensorSpec(shape, spec.dtype)
    return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1)  # type: ignore[attr-defined]


def _padded_spec(specs: list[TypeSpec], raws: Any, shape: Any) -> list[TypeSpec]:
    return [TensorSpec(specs[0].shape if shape is None else shape, specs[0].dtype)]


_RAGGED_TO_TENSOR = Op("RaggedTensorToTensor", _padded, _padded_spec)


_WITH_FLAT_VALUES = Op(
    "WithFlatValues",
    refilled,
    lambda specs, _: [
        RaggedTensorSpec(
            specs[0].shape, specs[1].dtype, specs[0].ragged_rank, specs[0].row_splits_dtype
        )
    ],
)


def _same_rows(one: fastrec.Ragged, other: fastrec.Ragged) -> fastrec.Ragged:
    if not np.array_equal(one.row_splits, other.row_splits):
        text = "Inputs must have identical ragged splits"
        raise _errors.InvalidArgumentError(None, None, text)
    if isinstance(one.values, fastrec.Ragged) and isinstance(other.values, fastrec.Ragged):
        _same_rows(one.values, other.values)
    return other


_SAME_ROWS = Op("AssertSameRows", _same_rows, lambda specs, _: [specs[1]])


# What TensorFlow gives for a row without values, by reduction and type.
_OF_NONE: dict[str, Callable[[Any], Any]] = {
    "Sum": lambda dtype: dtype.type(0),
    "Prod": lambda dtype: dtype.type(1),
    "Mean": lambda dtype: np.nan if dtype.kind == "f" else 0,
    "Max": lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min,
    "Min": lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max,
}


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    def operate(self: RaggedTensor, *others: Any) -> Any:
        flat = self.flat_values
        given = [self._aligned(other) for other in others]
        if reflected:
            given = [convert_to_tensor(each, flat.dtype) for each in given]
        parts = [*given, flat] if reflected else [flat, *given]
        return self.with_flat_values(OPERATORS[name](*parts))

    return operate


class RaggedTensor(RaggedValue):
    """Rows of differing length; made by parsing, and by :meth:`from_row_splits` and its like."""

    __slots__ = ()

    def _aligned(self, other: Any) -> Any:
        """The values that go with those of this one: of the same rows, or one for all."""
        if isinstance(other, RaggedTensor):
            found: RaggedTensor = run(_SAME_ROWS, [self, other])
            return found.flat_values
        if len(other.shape) if hasattr(other, "shape") else np.ndim(other):
            raise NotImplementedError(
                "of a ragged tensor and a dense one, only scalars are covered"
            )
        return other

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Other innermost values in the same rows."""
        found: RaggedTensor = run(_WITH_FLAT_VALUES, [self, convert_to_tensor(new_values)])
        return found

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Other values in the same rows, where these are not nested."""
        return self.with_flat_values(new_values)

    def _reduced(self, op: Op, along: list[Any], keepdims: bool) -> Any:
        """All values, or each row's, made one by a reduction."""
        if op.name == "Mean" and self.dtype.is_integer:
            return self._cast(as_dtype("float64"))._reduced(op, along, keepdims)
        if not along:
            return run(op, [self.flat_values], keep_dims=False)
        axes = tuple(np.asarray(along[0]).reshape(-1).tolist())
        if axes not in ((1,), (-1,)) or self.ragged_rank != 1 or keepdims:
            raise NotImplementedError("ragged tensors are reduced along axis 1 of 2, or altogether")

        def kernel(ragged: fastrec.Ragged) -> Any:
            if op.name in _OF_NONE:
                rows = [as_array(row) for row in ragged]
                none = _OF_NONE[op.name](as_array(ragged.values).dtype)
                found = [op.kernel(r, keep_dims=False) if len(r) else none for r in rows]
                return np.array(found, as_array(ragged.values).dtype)
            return np.array([op.kernel(as_array(row), keep_dims=False) for row in ragged])

        def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
            return [TensorSpec([specs[0].shape[0]], specs[0].dtype)]

        return run(Op(f"Ragged{op.name}", kernel, infer), [self])

    def _cast(self, dtype: DType) -> Any:
        from .math_ops import cast

        return self.with_flat_values(cast(self.flat_values, dtype))

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", True)
    __floordiv__, __mod__ = _operator("floordiv"), _operator("floormod")
    __pow__ = _operator("pow")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __neg__, __abs__ = _operator("negative"), _operator("abs")
    __and__, __or__, __invert__ = _operator("and"), _operator("or"), _operator("invert")

    def __eq__(self, other: object) -> Any:
        return _operator("equal")(self, other)

    def __ne__(self, other: object) -> Any:
        return _operator("not_equal")(self, other)

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def from_row_splits(
        values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``."""
        splits = np.asarray(row_splits)
        splits = (
            splits
            if splits.dtype == np.int32 and hasattr(row_splits, "dtype")
            else splits.astype(np.int64)
        )
        raw = values._raw if isinstance(values, RaggedTensor) else convert_to_tensor(values).array
        if (
            len(splits) == 0
            or splits[0] != 0
            or (np.diff(splits) < 0).any()
            or splits[-1] != len(raw)
        ):
            text = "Arguments to from_row_splits do not form a valid RaggedTensor"
            raise _errors.InvalidArgumentError(None, None, text)
        return RaggedTensor._of(fastrec.Ragged(raw, splits))

    @staticmethod
    def from_row_lengths(
        values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of those lengths."""
        splits = np.concatenate([[0], np.cumsum(np.asarray(row_lengths, np.int64))])
        return RaggedTensor.from_row_splits(values, splits)

    @staticmethod
    def from_value_rowids(
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Each value in the row that is named for it, in order."""
        rows = np.asarray(value_rowids, np.int64)
        count = (int(rows[-1]) + 1 if len(rows) else 0) if nrows is None else int(nrows)
        if (np.diff(rows, prepend=0) < 0).any() or (len(rows) and rows[-1] >= count):
            raise _errors.InvalidArgumentError(
                None, None, "Arguments to from_value_rowids do not form a valid RowPartition."
            )
        return RaggedTensor.from_row_lengths(values, np.bincount(rows, minlength=count))

    @staticmethod
    def from_tensor(
        tensor: Any, lengths: Any = None, padding: Any = None, name: str | None = None, **_: Any
    ) -> Any:
        """The rows of a matrix, as long as `lengths` says, or without `padding` at their ends."""
        array = convert_to_tensor(tensor).array
        width = array.shape[1]
        if lengths is not None:
            sizes = np.asarray(lengths, np.int64)
        elif padding is not None:
            kept = array != as_array(convert_to_tensor(padding, as_dtype(array.dtype)).raw)
            sizes = np.max(np.where(kept, np.arange(1, width + 1), 0), axis=1, initial=0)
        else:
            sizes = np.full(len(array), width)
        return RaggedTensor.from_row_lengths(
            EagerTensor(array[np.arange(width) < sizes[:, np.newaxis]]), sizes
        )

    @staticmethod
    def from_sparse(st_input: Any, name: str | None = None, **_: Any) -> Any:
        """The values of a sparse matrix whose rows have no holes."""
        sparse = st_input._raw
        rows, columns = sparse.indices[:, 0], sparse.indices[:, 1]
        lengths = np.bincount(rows, minlength=sparse.dense_shape[0])
        if not np.array_equal(
            columns, np.concatenate([np.arange(n) for n in lengths] or [columns])
        ):
            raise ValueError("SparseTensor is not right-ragged")
        return RaggedTensor.from_row_lengths(wrap(sparse.values), lengths)

    @property
    def ragged_rank(self) -> int:
        """Number of dimensions whose rows differ in length."""
        found: int = self._spec.ragged_rank  # type: ignore[attr-defined]
        return found

    @property
    def values(self) -> Any:
        """The rows one after the other."""
        return run(_RAGGED_VALUES, [self])

    @property
    def row_splits(self) -> Any:
        """Offsets at which rows begin, and the end of the last."""
        return run(_ROW_SPLITS, [self])

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        values = self.values
        while isinstance(values, RaggedTensor):
            values = values.values
        return values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """Offsets at which rows begin and end, for each ragged dimension."""
        values, found = self, []
        while isinstance(values, RaggedTensor):
            found.append(values.row_splits)
            values = values.values
        return tuple(found)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the number of values in each row."""
        if axis != 1:
            raise NotImplementedError("the lengths of rows are those along axis 1")
        splits = self.row_splits
        return splits[1:] - splits[:-1]

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        return (
            self.row_lengths().shape[0]
            if isinstance(self._raw, Symbol)
            else wrap(np.asarray(len(self._raw), np.int64))
        )

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """The shape of :meth:`to_tensor`."""
        return wrap(
            np.array(
                _padded(self._raw, b"" if self.dtype.name == "string" else 0, None).shape, np.int64
            )
        )

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """All rows in one array, filled up with `default_value` to the longest, or to `shape`."""
        if default_value is None:
            default_value = b"" if self.dtype.name == "string" else 0
        default = convert_to_tensor(default_value, self.dtype)
        sizes = None if shape is None else TensorShape(shape).sizes
        return run(_RAGGED_TO_TENSOR, [self, default], shape=sizes)

    def to_sparse(self, name: str | None = None) -> Any:
        """The values, and where they are."""
        from .._tf.columns import VarLen

        return wrap(VarLen(self._raw).batch())

    def to_list(self) -> list[Any]:
        """Nested lists."""
        found: list[Any] = self._raw.to_list()
        return found

    def numpy(self) -> Any:
        """An ndarray of rows; of objects where the rows differ in length."""
        rows = [
            as_array(row) if not isinstance(row, fastrec.Ragged) else wrap(row).numpy()
            for row in self._raw
        ]
        if rows and len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        array = np.empty(len(rows), object)
        for i, row in enumerate(rows):
            array[i] = row
        return array

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            first, rest = key[0], key[1:]
            found = self[first]
            if not rest:
                return found
            if not isinstance(first, slice):
                return found[rest if len(rest) > 1 else rest[0]]
            if len(rest) > 1:
                raise NotImplementedError("slices of more than two dimensions of a ragged tensor")
            return wrap(within_rows(found._raw, rest[0]))
        return wrap(self._raw[key if isinstance(key, slice) else int(key)])

    def __iter__(self) -> Iterator[Any]:
        return (wrap(row) for row in self._raw)

    def __repr__(self) -> str:
        if isinstance(self._raw, Symbol):
            return f"tf.RaggedTensor(shape={self.shape}, dtype={self.dtype.name})"
        return f"<tf.RaggedTensor {self.to_list()}>"


WRAPPERS[fastrec.Ragged] = RaggedTensor._of
SYMBOL_WRAPPERS[RaggedTensorSpec] = RaggedTensor._of
