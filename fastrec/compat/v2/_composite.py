# SPDX-License-Identifier: Apache-2.0
"""Sparse and ragged tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import fastrec

from .. import _errors
from .._dtypes import DType, as_dtype
from ._specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ._tensor import EagerTensor, TensorShape, as_array, convert_to_tensor
from ._trace import SYMBOL_WRAPPERS, WRAPPERS, Op, Symbol, run, wrap

__all__ = ["RaggedTensor", "SparseTensor"]


class _Composite:
    """A value of several arrays, or the symbol for one."""

    __slots__ = ("_raw",)
    _raw: Any
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _of(cls, raw: Any) -> Any:
        made = cls.__new__(cls)
        made._raw = raw
        return made

    @property
    def _spec(self) -> TypeSpec:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._spec.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._spec.shape

    def get_shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self.shape

    def __reduce__(self) -> Any:
        return type(self)._of, (self._raw,)


def _dtype_of(values: Any) -> DType:
    return as_dtype("string") if isinstance(values, fastrec.Bytes) else as_dtype(values.dtype)


def _part(name: str, pick: Any, spec: Any) -> Op:
    return Op(name, pick, lambda specs, _: [spec(specs[0])])


_INDICES = _part(
    "SparseIndices", lambda s: s.indices, lambda s: TensorSpec([None, s.shape.ndims], "int64")
)
_VALUES = _part("SparseValues", lambda s: s.values, lambda s: TensorSpec([None], s.dtype))
_DENSE_SHAPE = _part(
    "SparseShape",
    lambda s: np.array(s.dense_shape, np.int64),
    lambda s: TensorSpec([s.shape.ndims], "int64"),
)


def _dense(sparse: fastrec.Sparse, default: Any) -> Any:
    try:
        return sparse.to_dense(as_array(default)[()])
    except IndexError as error:
        bad = next(
            (n, i)
            for n, i in enumerate(sparse.indices.tolist())
            if any(not 0 <= a < b for a, b in zip(i, sparse.dense_shape, strict=True))
        )
        raise _errors.InvalidArgumentError(
            None,
            None,
            f"indices[{bad[0]}] = {bad[1]} is out of bounds: need 0 <= index < "
            f"{list(sparse.dense_shape)}",
        ) from error


_TO_DENSE = Op(
    "SparseToDense", _dense, lambda specs, _: [TensorSpec(specs[0].shape, specs[0].dtype)]
)
_SPARSE_CAST = Op(
    "SparseCast",
    lambda s, dtype: fastrec.Sparse(s.indices, s.values.astype(dtype), s.dense_shape),
    lambda specs, _, dtype: [SparseTensorSpec(specs[0].shape, dtype)],
)


class SparseTensor(_Composite):
    """Values, and where they are in an array that is mostly empty.

    Parameters
    ----------
    indices : int64 of shape (n, rank)
    values : of shape (n,)
    dense_shape : int64 of shape (rank,)
    """

    __slots__ = ()

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        where = convert_to_tensor(indices, "int64" if not hasattr(indices, "dtype") else None).array
        shape = tuple(int(size) for size in np.asarray(dense_shape))
        where = where.astype(np.int64).reshape(-1, len(shape))
        self._raw = fastrec.Sparse(where, convert_to_tensor(values).array, shape)

    @property
    def _spec(self) -> TypeSpec:
        if isinstance(self._raw, Symbol):
            return self._raw.spec
        return SparseTensorSpec(self._raw.dense_shape, _dtype_of(self._raw.values))

    @property
    def indices(self) -> Any:
        """Where the values are, of shape (n, rank)."""
        return run(_INDICES, [self])

    @property
    def values(self) -> Any:
        """The values."""
        return run(_VALUES, [self])

    @property
    def dense_shape(self) -> Any:
        """The shape, as a tensor."""
        return run(_DENSE_SHAPE, [self])

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other values at the same places."""
        op = Op(
            "SparseWithValues",
            lambda s, v: fastrec.Sparse(s.indices, v, s.dense_shape),
            lambda specs, _: [SparseTensorSpec(specs[0].shape, specs[1].dtype)],
        )
        found: SparseTensor = run(op, [self, convert_to_tensor(new_values)])
        return found

    def to_dense(self, default_value: Any = None) -> Any:
        """The whole array, `default_value` (0 or ``b""``) where there is no value."""
        if default_value is None:
            default_value = b"" if self.dtype.name == "string" else 0
        return run(_TO_DENSE, [self, convert_to_tensor(default_value, self.dtype)])

    def numpy(self) -> Any:
        """The whole array."""
        return self.to_dense().numpy()

    def _cast(self, dtype: DType) -> Any:
        return run(_SPARSE_CAST, [self], dtype=dtype.numpy)

    def __repr__(self) -> str:
        if isinstance(self._raw, Symbol):
            return f"SparseTensor(shape={self.shape}, dtype={self.dtype.name})"
        shape = self.dense_shape
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={shape})"


def _depth(ragged: fastrec.Ragged) -> int:
    return 1 + (_depth(ragged.values) if isinstance(ragged.values, fastrec.Ragged) else 0)


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


class RaggedTensor(_Composite):
    """Rows of differing length; made by parsing, and by :meth:`from_row_splits` and its like."""

    __slots__ = ()

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

    @property
    def _spec(self) -> TypeSpec:
        if isinstance(self._raw, Symbol):
            return self._raw.spec
        flat = self._raw.flat_values
        depth = _depth(self._raw)
        shape = (len(self._raw), *[None] * depth, *flat.shape[1:])
        return RaggedTensorSpec(shape, _dtype_of(flat), depth, self._raw.row_splits.dtype)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions have rows of differing length."""
        found: int = self._spec.ragged_rank  # type: ignore[attr-defined]
        return found

    @property
    def values(self) -> Any:
        """The rows one after the other."""
        return run(_RAGGED_VALUES, [self])

    @property
    def row_splits(self) -> Any:
        """Where rows begin and end."""
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
        """Where rows begin and end, of each ragged dimension."""
        values, found = self, []
        while isinstance(values, RaggedTensor):
            found.append(values.row_splits)
            values = values.values
        return tuple(found)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """How many values each row has."""
        splits = self.row_splits
        return splits[1:] - splits[:-1]

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """How many rows there are."""
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
        from ._columns import VarLen

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
            return found[rest if len(rest) > 1 else rest[0]] if rest else found
        return wrap(self._raw[key if isinstance(key, slice) else int(key)])

    def __iter__(self) -> Iterator[Any]:
        return (wrap(row) for row in self._raw)

    def __repr__(self) -> str:
        if isinstance(self._raw, Symbol):
            return f"tf.RaggedTensor(shape={self.shape}, dtype={self.dtype.name})"
        return f"<tf.RaggedTensor {self.to_list()}>"


def ragged_constant(pylist: Any, dtype: Any = None, **_: Any) -> Any:
    """A ragged tensor of nested lists."""
    if any(isinstance(item, (list, tuple)) for row in pylist for item in row):
        lengths = [len(row) for row in pylist]
        inner = ragged_constant([item for row in pylist for item in row], dtype)
        return RaggedTensor.from_row_lengths(inner, lengths)
    flat = [item for row in pylist for item in row]
    values = (
        convert_to_tensor(flat, dtype)
        if flat
        else EagerTensor(np.zeros(0, as_dtype(dtype or "float32").numpy))
    )
    return RaggedTensor.from_row_lengths(values, [len(row) for row in pylist])


WRAPPERS[fastrec.Sparse] = SparseTensor._of
WRAPPERS[fastrec.Ragged] = RaggedTensor._of
SYMBOL_WRAPPERS[SparseTensorSpec] = SparseTensor._of
SYMBOL_WRAPPERS[RaggedTensorSpec] = RaggedTensor._of
