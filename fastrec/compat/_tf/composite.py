# SPDX-License-Identifier: Apache-2.0
"""Eager sparse and ragged tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

import fastrec

from .dtypes import DType, as_dtype
from .methods import RaggedMethods, SparseMethods
from .ops import Op
from .ops import ragged as of_ragged
from .ops import sparse as of_sparse
from .ops.ragged import normal
from .specs import RaggedTensorSpec, SparseTensorSpec, TypeSpec
from .tensor import OPERATORS, TensorShape, as_array, convert_to_tensor
from .tracing.recording import SYMBOL_WRAPPERS, WRAPPERS, Symbol, run, wrap


def _kept(method: Callable[[Any], Any]) -> property:
    """Return a property that computes a part of an eager tensor once, as the same object."""

    def part(self: Any) -> Any:
        name = method.__name__
        found = self._parts.get(name)
        if found is None:
            found = method(self)
            if not isinstance(self._raw, Symbol):
                self._parts[name] = found
        return found

    return property(part, doc=method.__doc__)


class Composite(ABC):
    """A value that consists of several arrays, or the symbol for one."""

    __slots__ = ("_parts", "_raw")
    _parts: dict[str, Any]
    _raw: Any
    _operators = OPERATORS
    _tensor = staticmethod(convert_to_tensor)

    @staticmethod
    def _call(op: Op, inputs: Sequence[Any], name: str | None = None, **attributes: Any) -> Any:
        return run(op, inputs, **attributes)

    @classmethod
    def _from(cls, raw: Any) -> Any:
        made = cls.__new__(cls)
        made._raw, made._parts = raw, {}
        return made

    @property
    @abstractmethod
    def _spec(self) -> TypeSpec:
        """Return the type of the tensor."""

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._spec.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._spec.shape

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self.shape

    def __reduce__(self) -> Any:
        return type(self)._from, (self._raw,)


def _dtype_of(values: Any) -> DType:
    return as_dtype("string") if isinstance(values, fastrec.Bytes) else as_dtype(values.dtype)


class SparseTensor(Composite, SparseMethods):
    """Values and their indices in an array that is mostly empty.

    Parameters
    ----------
    indices : int64 of shape (n, rank)
    values : of shape (n,)
    dense_shape : int64 of shape (rank,)
    """

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        parts = [convert_to_tensor(each) for each in (indices, values, dense_shape)]
        self._raw, self._parts = run(of_sparse.MAKE, parts)._raw, {}

    @property
    def _spec(self) -> TypeSpec:
        if isinstance(self._raw, Symbol):
            return self._raw.spec
        return SparseTensorSpec(self._raw.dense_shape, _dtype_of(self._raw.values))

    @_kept
    def indices(self) -> Any:
        """The indices of the values, of shape (n, rank)."""
        return run(of_sparse.INDICES, [self])

    @_kept
    def values(self) -> Any:
        """The values."""
        return run(of_sparse.VALUES, [self])

    @_kept
    def dense_shape(self) -> Any:
        """The shape, as a tensor."""
        return run(of_sparse.DENSE_SHAPE, [self])

    def numpy(self) -> Any:
        """Return the whole array."""
        found: Any = self._raw.to_dense()
        return found

    def __repr__(self) -> str:
        if isinstance(self._raw, Symbol):
            return f"SparseTensor(shape={self.shape}, dtype={self.dtype.name})"
        shape = self.dense_shape
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={shape})"


class RaggedTensor(Composite, RaggedMethods):
    """Rows of varying length, created by parsing, :meth:`from_row_splits` and similar methods."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def _spec(self) -> TypeSpec:
        if isinstance(self._raw, Symbol):
            return self._raw.spec
        flat, depth = self._raw.values, 1
        while isinstance(flat, fastrec.Ragged):
            flat, depth = flat.values, depth + 1
        shape = (len(self._raw), *[None] * depth, *flat.shape[1:])
        return RaggedTensorSpec(shape, _dtype_of(flat), depth, self._raw.row_splits.dtype)

    @property
    def ragged_rank(self) -> int:
        found: int = self._spec.ragged_rank  # type: ignore[attr-defined]
        return found

    @_kept
    def values(self) -> Any:
        """The concatenated rows."""
        return run(of_ragged.VALUES, [self])

    @_kept
    def row_splits(self) -> Any:
        """The start of each row, and the end of the last."""
        return run(of_ragged.ROW_SPLITS, [self])

    @_kept
    def _lengths(self) -> Any:
        return super().row_lengths()

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the number of values in each row."""
        return self._lengths if axis == 1 else super().row_lengths(axis)

    def to_list(self) -> list[Any]:
        """Return nested lists."""
        found: list[Any] = self._raw.to_list()
        return found

    def numpy(self) -> Any:
        """Return an ndarray of rows, with dtype object if the rows differ in length."""
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

    def __iter__(self) -> Iterator[Any]:
        return (wrap(normal(row) if isinstance(row, fastrec.Ragged) else row) for row in self._raw)

    def __eq__(self, other: object) -> Any:
        return self._operate("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._operate("not_equal", other)

    def __repr__(self) -> str:
        if isinstance(self._raw, Symbol):
            return f"tf.RaggedTensor(shape={self.shape}, dtype={self.dtype.name})"
        return f"<tf.RaggedTensor {self.to_list()}>"


RaggedTensorSpec.value_type, SparseTensorSpec.value_type = RaggedTensor, SparseTensor
WRAPPERS[fastrec.Ragged] = RaggedTensor._from
SYMBOL_WRAPPERS[RaggedTensorSpec] = RaggedTensor._from
WRAPPERS[fastrec.Sparse] = SparseTensor._from
SYMBOL_WRAPPERS[SparseTensorSpec] = SparseTensor._from
