# SPDX-License-Identifier: Apache-2.0
"""``tf.sparse`` of both versions, and indexed slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import DType, as_dtype, int32
from ..methods import Functions, SparseMethods
from ..ops import Op
from ..ops import sparse as of_sparse
from ..ops import sparse_arithmetic as arithmetic
from ..ops.picking import GATHER
from ..ops.segments import LIST_DIFF
from ..tensor import mismatch


class IndexedSlices(NamedTuple):
    """Rows of a large tensor and their indices in it."""

    values: Any
    indices: Any
    dense_shape: Any = None

    @property
    def dtype(self) -> DType:
        """The type of the rows."""
        found: DType = self.values.dtype
        return found


class SparseFunctions(Functions):
    """The functions of ``tf.sparse``."""

    def _sparse(self, value: Any) -> Any:
        if isinstance(value, SparseMethods):
            return value
        if not hasattr(value, "dense_shape"):
            raise TypeError(f"Input must be a SparseTensor, got {value}")
        return self._made(*value)

    def _run(self, op: Op, sparse: Any, name: str | None, *others: Any, **attributes: Any) -> Any:
        return self._call(op, [self._sparse(sparse), *others], name, **attributes)

    def _numbers(self, value: Any) -> Any:
        return self._tensor(np.asarray(value) if isinstance(value, (list, tuple)) else value)

    def to_dense(
        self,
        sp_input: Any,
        default_value: Any = None,
        validate_indices: bool = True,
        name: str | None = None,
    ) -> Any:
        """Convert to a dense tensor; `default_value` (0 or ``b""``) fills missing elements."""
        sparse = self._sparse(sp_input)
        text = sparse.dtype.name == "string"
        if default_value is None or (text and isinstance(default_value, int)):
            default_value = b"" if text else np.zeros((), sparse.dtype.numpy)
        default = self._tensor(default_value, sparse.dtype)
        how = {} if validate_indices else {"validate": False}
        return self._run(of_sparse.TO_DENSE, sparse, name, default, **how)

    def from_dense(self, tensor: Any, name: str | None = None) -> Any:
        """Convert a dense tensor to a sparse one with the elements that are neither 0 nor empty."""
        return self._call(of_sparse.FROM_DENSE, [self._tensor(tensor)], name)

    def eye(
        self,
        num_rows: int,
        num_columns: int | None = None,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Return a sparse identity matrix."""
        count = min(num_rows, num_rows if num_columns is None else num_columns)
        places = np.repeat(np.arange(count, dtype=np.int64)[:, np.newaxis], 2, axis=1)
        sizes = [num_rows, num_rows if num_columns is None else num_columns]
        return self._made(places, self._tensor(np.ones(count, as_dtype(dtype).numpy)), sizes)

    def reorder(self, sp_input: Any, name: str | None = None) -> Any:
        """Sort the values by index; the order of equal indices is preserved."""
        return self._run(of_sparse.REORDER, sp_input, name)

    def reset_shape(self, sp_input: Any, new_shape: Any = None) -> Any:
        """Change the dense shape; by default, to the smallest shape that contains all values."""
        new = [] if new_shape is None else [self._numbers(new_shape)]
        return self._run(of_sparse.RESET_SHAPE, sp_input, None, *new)

    def reshape(self, sp_input: Any, shape: Any, name: str | None = None) -> Any:
        """Reshape a sparse tensor; a size of -1 is computed from the others."""
        return self._run(of_sparse.RESHAPE, sp_input, name, self._numbers(shape))

    def expand_dims(self, sp_input: Any, axis: Any = None, name: str | None = None) -> Any:
        """Insert a dimension of size 1, by default the last."""
        place = -1 if axis is None else int(np.asarray(axis))
        return self._run(of_sparse.EXPAND_DIMS, sp_input, name, axis=place)

    def transpose(self, sp_input: Any, perm: Any = None, name: str | None = None) -> Any:
        """Permute the dimensions of a sparse tensor."""
        order = [] if perm is None else [self._numbers(perm)]
        return self._run(of_sparse.TRANSPOSE, sp_input, name, *order)

    def slice(self, sp_input: Any, start: Any, size: Any, name: str | None = None) -> Any:
        """Slice a sparse tensor from `start`, with the given size."""
        places = [self._numbers(start), self._numbers(size)]
        return self._run(of_sparse.SLICE, sp_input, name, *places)

    def split(
        self,
        sp_input: Any = None,
        num_split: int | None = None,
        axis: Any = None,
        name: str | None = None,
        split_dim: Any = None,
    ) -> list[Any]:
        """Split along a dimension; if the parts cannot be equal, the first ones are longer."""
        place = split_dim if axis is None else axis
        for what, given in (("num_split", num_split), ("axis", place), ("sp_input", sp_input)):
            if given is None:
                raise ValueError(f"{what} is required.")
        where = self._tensor(np.asarray(place, np.int64))
        found = self._run(of_sparse.SPLIT, sp_input, name, where, count=int(num_split or 0))
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def concat(
        self,
        axis: Any,
        sp_inputs: Sequence[Any],
        expand_nonconcat_dims: bool = False,
        name: str | None = None,
        expand_nonconcat_dim: bool = False,
    ) -> Any:
        """Concatenate sparse tensors along an existing dimension."""
        parts = [self._sparse(each) for each in sp_inputs]
        expand = bool(expand_nonconcat_dims or expand_nonconcat_dim)
        place = int(np.asarray(axis))
        return self._call(of_sparse.CONCAT, parts, name, axis=place, expand=expand)

    def retain(self, sp_input: Any, to_retain: Any) -> Any:
        """Keep the values at the positions where `to_retain` is True."""
        return self._run(of_sparse.RETAIN, sp_input, None, self._tensor(to_retain, "bool"))

    def fill_empty_rows(self, sp_input: Any, default_value: Any, name: str | None = None) -> Any:
        """Insert a value in the first column of empty rows, and return which rows were empty."""
        sparse = self._sparse(sp_input)
        default = self._tensor(default_value, sparse.dtype)
        return self._run(of_sparse.FILL_EMPTY_ROWS, sparse, name, default)

    def to_indicator(self, sp_input: Any, vocab_size: int, name: str | None = None) -> Any:
        """Return dense rows of bools that are True at the indices given by each row's values."""
        size = int(np.asarray(vocab_size))
        return self._run(of_sparse.TO_INDICATOR, sp_input, name, size=size)

    def _reduced(
        self, kind: str, sparse: Any, axis: Any, keep: Any, as_sparse: bool, name: str | None
    ) -> Any:
        along = [] if axis is None else [self._tensor(np.atleast_1d(np.asarray(axis, np.int32)))]
        how = {"kind": kind, "keepdims": bool(keep), "as_sparse": bool(as_sparse)}
        return self._run(arithmetic.REDUCE, sparse, name, *along, **how)

    def reduce_sum(
        self,
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        output_is_sparse: bool = False,
        name: str | None = None,
    ) -> Any:
        """Sum the values along dimensions."""
        return self._reduced("Sum", sp_input, axis, keepdims, output_is_sparse, name)

    def reduce_max(
        self,
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        output_is_sparse: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return the largest values along dimensions; missing elements are ignored."""
        return self._reduced("Max", sp_input, axis, keepdims, output_is_sparse, name)

    def add(self, a: Any, b: Any, threshold: Any = 0, thresh: Any = None) -> Any:
        """Add a sparse tensor to another tensor, sparse or dense.

        If both are sparse, elements that both contain are dropped if the magnitude of their sum is
        below `threshold`.
        """
        if not any(hasattr(each, "dense_shape") for each in (a, b)):
            raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add?")
        if not hasattr(a, "dense_shape"):
            a, b = b, a
        one = self._sparse(a)
        if not hasattr(b, "dense_shape"):
            return self._run(arithmetic.ADD_DENSE, one, None, self._tensor(b, one.dtype))
        least, other = self._tensor(threshold if thresh is None else thresh), self._sparse(b)
        if one.dtype != other.dtype:
            raise mismatch("SparseAdd", one.dtype, other.dtype, 4)
        return self._call(arithmetic.ADD, [one, other, least], None)

    def maximum(self, sp_a: Any, sp_b: Any, name: str | None = None) -> Any:
        """Return the elementwise maximum of two sparse tensors."""
        return self._run(arithmetic.MAXIMUM, sp_a, name, self._sparse(sp_b))

    def minimum(self, sp_a: Any, sp_b: Any, name: str | None = None) -> Any:
        """Return the elementwise minimum of two sparse tensors."""
        return self._run(arithmetic.MINIMUM, sp_a, name, self._sparse(sp_b))

    def edit_distance(
        self, hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
    ) -> Any:
        """Return the edit distance of each pair of sequences along the last dimension.

        Parameters
        ----------
        hypothesis, truth : SparseTensor
            Sequences of one type and rank.
        normalize : bool
            Divide by the length of the truth.
        """
        other = self._sparse(truth)
        return self._run(arithmetic.EDIT_DISTANCE, hypothesis, name, other, normalize=normalize)

    def sparse_dense_matmul(
        self,
        sp_a: Any,
        b: Any,
        adjoint_a: bool = False,
        adjoint_b: bool = False,
        name: str | None = None,
    ) -> Any:
        """Multiply a sparse matrix by a dense one."""
        sparse = self._sparse(sp_a)
        how = {"adjoint_a": bool(adjoint_a), "adjoint_b": bool(adjoint_b)}
        return self._run(arithmetic.MATMUL, sparse, name, self._tensor(b, sparse.dtype), **how)

    def _features(self, inputs: Sequence[Any], what: str) -> list[Any]:
        if any(isinstance(each, (list, tuple, np.ndarray)) for each in inputs):
            raise TypeError(f"All inputs must be {what}")
        return [
            self._sparse(each) if hasattr(each, "dense_shape") else self._tensor(each)
            for each in inputs
        ]

    def cross(
        self, inputs: Sequence[Any], name: str | None = None, separator: Any = None
    ) -> Any:  # fmt: skip
        """Return the combinations of the values of each row, joined as strings."""
        parts = self._features(inputs, "Tensor or SparseTensor.")
        between = "_X_" if separator is None else separator
        between = between if isinstance(between, bytes) else between.encode()
        from ...extra.crosses import CROSS  # few programs cross features

        return self._call(CROSS, parts, name, separator=between)

    def cross_hashed(
        self,
        inputs: Sequence[Any],
        num_buckets: int = 0,
        hash_key: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Return the fingerprints of the combinations of the values of each row."""
        parts = self._features(inputs, "SparseTensors")
        how = {"buckets": int(num_buckets), "key": 0xDECAFCAFFE if hash_key is None else hash_key}
        from ...extra.crosses import CROSS_HASHED  # few programs cross features

        return self._call(CROSS_HASHED, parts, name, **how)

    def mask(self, a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
        """Remove the slices with the given indices."""
        numbers = self._tensor(a.indices)
        gone = self._tensor(mask_indices, numbers.dtype)
        kept, places = self._call(LIST_DIFF, [numbers, gone], None, dtype=int32)
        inputs = [self._tensor(a.values), places, self._tensor(np.array(0, np.int32))]
        return IndexedSlices(self._call(GATHER, inputs, name, batch_dims=0), kept, a.dense_shape)

    def map_values(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function to the values of sparse tensors, and keep the indices of the first.

        Raises
        ------
        ValueError
            If no argument is a sparse tensor.
        """
        first = next((each for each in args if isinstance(each, SparseMethods)), None)
        if first is None:
            raise ValueError("No SparseTensor in argument list of map_values")
        given = [each.values if isinstance(each, SparseMethods) else each for each in args]
        return first.with_values(op(*given, **kwargs))
