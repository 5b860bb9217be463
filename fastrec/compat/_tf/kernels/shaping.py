# SPDX-License-Identifier: Apache-2.0
"""Kernels that reshape, join and reduce arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _core, _tensor

from ..errors import InvalidArgumentError

__all__ = ["joined", "new_sizes", "reduced", "room", "summed"]

Array = np.ndarray[Any, Any]
_WORTH = 1 << 12  # the minimum number of elements for native code
_FOLDED = 1 << 8
_LARGE = 1 << 17  # the minimum number of elements for reused memory
_SHORT = 8  # NumPy adds fewer numbers than this one after another


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def new_sizes(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Return the shape for reshaping an array of `shape`; one size of `wanted` may be -1.

    If the array is empty and `wanted` contains a 0, only sizes above 0 determine the size for -1.

    Raises
    ------
    InvalidArgumentError
        If the number of elements differs, with TensorFlow's message.
    """
    unknown = -1
    for at, size in enumerate(wanted):
        if size < -1:
            raise _invalid(f"Size {at} must be non-negative, not {size}")
        if size == -1 and unknown >= 0:
            raise _invalid(f"Only one input size may be -1, not both {unknown} and {at}")
        if size == -1:
            unknown = at
    sizes, count = list(wanted), math.prod(shape)
    values = f"Input to reshape is a tensor with {count} values, but the requested shape"
    if unknown >= 0:
        product = math.prod([size for size in wanted if size > 0])
        rest = math.prod([size for size in shape if size]) if 0 in wanted else count
        sizes[unknown] = rest // product
        if rest % product:
            raise _invalid(f"{values} requires a multiple of {product}")
    if math.prod(sizes) != count:
        raise _invalid(f"{values} has {math.prod(sizes)}")
    return sizes


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """Concatenate arrays along a dimension; a short last dimension is joined natively."""
    first = arrays[0]
    if (
        first.ndim >= 2
        and (first.ndim == 3 or first.shape[-1] > 1)  # NumPy joins single columns faster
        and axis in (-1, first.ndim - 1)
        and first.size >= _WORTH
        and first.dtype != object
        and all(each.ndim == first.ndim and each.dtype == first.dtype for each in arrays)
        and all(each.shape[:-1] == first.shape[:-1] for each in arrays)
    ):
        return _tensor.join_channels(list(arrays))
    shape = list(first.shape)
    shape[axis] = sum([each.shape[axis] for each in arrays])
    return np.concatenate(arrays, axis, room(shape, first.dtype))


def room(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return an uninitialized array; large arrays reuse memory, which is faster."""
    if dtype.kind == "O" or math.prod(shape) < _LARGE:
        return np.empty(shape, dtype)
    return _core.empty(tuple(shape), dtype)


def reduced(
    function: np.ufunc, x: Array, axis: tuple[int, ...] | None, keepdims: bool, **how: Any
) -> Array:
    """Return the result of ``function.reduce``, reducing one of several axes at a time.

    NumPy iterates along the last axis, which is slow if that axis is as short as channels are.
    """
    last = x.ndim - 1
    if axis is None or last < 1 or x.size < _FOLDED or x.shape[last] >= _SHORT:
        return np.asarray(function.reduce(x, axis, keepdims=keepdims, **how))
    total: Any = x
    if axis == (last,):
        parts = np.moveaxis(x, last, 0)
        dtype = how.get("dtype", x.dtype)
        total = parts[0].astype(dtype)
        for part in parts[1:]:
            function(total, part, out=total, dtype=dtype)
        return np.expand_dims(total, last) if keepdims else np.asarray(total)
    if last in axis:
        return np.asarray(function.reduce(x, axis, keepdims=keepdims, **how))
    for done, each in enumerate(sorted(axis)):
        place = each if keepdims else each - done
        total = function.reduce(total, place, keepdims=keepdims, **how)
    return np.asarray(total)


def summed(x: Array, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
    """Return sums in the type of `x`."""
    return reduced(np.add, x, axis, keepdims, dtype=x.dtype)
