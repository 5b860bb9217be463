# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors, and what they have in common with ragged ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec

from . import errors as _errors
from .columns import VarLen
from .dtypes import DType, as_dtype
from .specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .tensor import TensorShape, as_array, convert_to_tensor
from .trace import SYMBOL_WRAPPERS, WRAPPERS, Block, Op, Symbol, run

__all__ = ["Composite", "RaggedValue", "SparseTensor", "dtype_of", "part_of"]


class Composite:
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


def dtype_of(values: Any) -> DType:
    return as_dtype("string") if isinstance(values, fastrec.Bytes) else as_dtype(values.dtype)


def part_of(name: str, pick: Any, spec: Any) -> Op:
    return Op(name, pick, lambda specs, _: [spec(specs[0])])


_INDICES = part_of(
    "SparseIndices", lambda s: s.indices, lambda s: TensorSpec([None, s.shape.ndims], "int64")
)
_VALUES = part_of("SparseValues", lambda s: s.values, lambda s: TensorSpec([None], s.dtype))
_DENSE_SHAPE = part_of(
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


def _dense_block(_: int, sparse: Block, default: Block) -> Any:
    """Vectors without holes are their values, whatever would be in the holes."""
    return sparse.value.rows if isinstance(sparse.value, VarLen) and sparse.many else None


_TO_DENSE = Op(
    "SparseToDense",
    _dense,
    lambda specs, _: [TensorSpec(specs[0].shape, specs[0].dtype)],
    _dense_block,
)
_SPARSE_CAST = Op(
    "SparseCast",
    lambda s, dtype: fastrec.Sparse(s.indices, s.values.astype(dtype), s.dense_shape),
    lambda specs, _, dtype: [SparseTensorSpec(specs[0].shape, dtype)],
)


class SparseTensor(Composite):
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
        return SparseTensorSpec(self._raw.dense_shape, dtype_of(self._raw.values))

    @property
    def indices(self) -> Any:
        """Positions of the values, of shape (n, rank)."""
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


class RaggedValue(Composite):
    """Rows of differing length, of which the elements of data sets have no more to know."""

    __slots__ = ()

    @property
    def _spec(self) -> TypeSpec:
        if isinstance(self._raw, Symbol):
            return self._raw.spec
        flat, depth = self._raw.values, 1
        while isinstance(flat, fastrec.Ragged):
            flat, depth = flat.values, depth + 1
        shape = (len(self._raw), *[None] * depth, *flat.shape[1:])
        return RaggedTensorSpec(shape, dtype_of(flat), depth, self._raw.row_splits.dtype)


# Version 2, where it is imported, has a class with more to it.
WRAPPERS[fastrec.Ragged] = RaggedValue._of
SYMBOL_WRAPPERS[RaggedTensorSpec] = RaggedValue._of
WRAPPERS[fastrec.Sparse] = SparseTensor._of
SYMBOL_WRAPPERS[SparseTensorSpec] = SparseTensor._of
