# SPDX-License-Identifier: Apache-2.0
"""``tf.sparse``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.composite import SparseTensor
from .._tf.tensor import as_array, convert_to_tensor

__all__ = ["SparseTensor", "from_dense", "reorder", "to_dense"]


def to_dense(
    sp_input: SparseTensor,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """The whole array, `default_value` (0 or ``b""``) where there is no value."""
    return sp_input.to_dense(default_value)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements that are not 0 or empty, and where they are."""
    array = as_array(convert_to_tensor(tensor).array)
    where = np.argwhere(array != (b"" if array.dtype == object else 0))
    return SparseTensor(where, array[tuple(where.T)], array.shape)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Values by where they are, row by row."""
    indices, values = sp_input.indices.numpy(), sp_input.values.numpy()
    order = np.lexsort(indices.T[::-1])
    return SparseTensor(indices[order], values[order], sp_input.dense_shape)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"fastrec.compat.v2.sparse has no {name!r}; docs/compat-v2.md says what is covered"
    )
