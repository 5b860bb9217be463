# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.tensor import EagerTensor, convert_to_tensor
from ._ragged import RaggedTensor

__all__ = ["RaggedTensor", "boolean_mask", "constant", "map_flat_values", "stack"]


def constant(pylist: Any, dtype: Any = None, **_: Any) -> Any:
    """A ragged tensor of nested lists."""
    if any(isinstance(item, (list, tuple)) for row in pylist for item in row):
        lengths = [len(row) for row in pylist]
        inner = constant([item for row in pylist for item in row], dtype)
        return RaggedTensor.from_row_lengths(inner, lengths)
    flat = [item for row in pylist for item in row]
    values = (
        convert_to_tensor(flat, dtype)
        if flat
        else EagerTensor(np.zeros(0, as_dtype(dtype or "float32").numpy))
    )
    return RaggedTensor.from_row_lengths(values, [len(row) for row in pylist])


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the flat values of ragged tensors; the rows are those of the first."""
    found = [arg for arg in args if isinstance(arg, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)
    first = found[0]
    flat = [first._aligned(arg) if isinstance(arg, RaggedTensor) else arg for arg in args]
    return first.with_flat_values(op(*flat, **kwargs))


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values of each row of a matrix for which `mask` is True."""
    kept = np.asarray(mask)
    return RaggedTensor.from_row_lengths(convert_to_tensor(data).array[kept], kept.sum(axis=1))


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Vectors of differing length as the rows of a ragged tensor."""
    if axis != 0:
        raise NotImplementedError("ragged.stack is covered for axis=0")
    rows = [convert_to_tensor(value).array for value in values]
    return RaggedTensor.from_row_lengths(np.concatenate(rows), [len(row) for row in rows])


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"fastrec.compat.v2.ragged has no {name!r}; docs/compat-v2.md says what is covered"
    )
