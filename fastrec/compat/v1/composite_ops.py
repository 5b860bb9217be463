# SPDX-License-Identifier: Apache-2.0
"""``tf.sparse`` and ``tf.ragged``, and placeholders of their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import int64
from .._tf.faces.ragged import RaggedFunctions, parts_of_lists
from .._tf.faces.sparse import SparseFunctions
from .._tf.ops.sparse import dense_array
from .._tf.shape import TensorShape
from ._composites import RaggedTensor, RaggedTensorValue, SparseTensor, ragged_of
from ._nodes import Tensor
from ._ops import pure
from .constants import convert_to_tensor, shape_value
from .constants import placeholder as _placeholder

sparse_functions: Final = SparseFunctions(SparseTensor)
ragged_functions: Final = RaggedFunctions(RaggedTensor)
sparse_tensor_to_dense: Final = sparse_functions.to_dense


def sparse_placeholder(
    dtype: Any, shape: Sequence[Any] | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor whose value is fed to each run."""
    stem = name or "Placeholder"
    rank = None if shape is None else len(shape)
    sizes: Any = _placeholder(int64, [rank], f"{stem}/shape")
    if shape is not None and None not in shape:
        sizes = make_array(list(shape), int64)
    return SparseTensor(
        _placeholder(int64, [None, rank], f"{stem}/indices"),
        _placeholder(dtype, [None], f"{stem}/values"),
        sizes,
    )


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the dense array with given values at given indices."""
    values, sizes = convert_to_tensor(sparse_values), convert_to_tensor(output_shape)
    if values.dtype.name == "string" and isinstance(default_value, int):
        default_value = b""
    default = convert_to_tensor(default_value, values.dtype)
    inputs = [convert_to_tensor(sparse_indices), sizes, values, default]

    def kernel(i: Any, s: Any, v: Any, d: Any) -> Any:
        return dense_array(i, s, np.asarray(v), d, validate_indices)

    return pure("SparseToDense", kernel, inputs, values.dtype, shape_value(sizes), name)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Return the :class:`RaggedTensorValue` of nested lists."""
    flat, splits = parts_of_lists(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
    for each in reversed(splits):
        flat = RaggedTensorValue(flat, each)
    return flat


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """Return a ragged tensor whose value is fed to each run."""
    sizes = None if value_shape is None else TensorShape(value_shape).sizes
    flat = _placeholder(dtype, [None, *(sizes or ())], name)
    return ragged_of(flat, *[_placeholder(int64, [None]) for _ in range(ragged_rank)])
