# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged``: tensors whose rows vary in length."""

from __future__ import annotations

from typing import Any, Final

from .._tf.dtypes import int64
from .._tf.faces.ragged import RaggedFunctions, parts_of_lists
from .._tf.shape import TensorShape
from ._composites import RaggedTensor, RaggedTensorValue, ragged_of
from .constants import placeholder as _placeholder

functions: Final = RaggedFunctions(RaggedTensor)


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
