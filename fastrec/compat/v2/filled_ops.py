# SPDX-License-Identifier: Apache-2.0
"""Tensors of one number, of numbers in a row, and of ones among zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Block, Op, run
from ._types import invalid_type
from .array_ops import constant, shape, sizes_of

__all__ = ["fill", "one_hot", "ones", "ones_like", "range_", "zeros", "zeros_like"]


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """A tensor of one value."""
    tensor = convert_to_tensor(value)
    op = Op("Fill", lambda sizes, x: np.full(np.asarray(sizes).tolist(), x, as_array(x).dtype))
    return run(op, [sizes_of(dims), tensor])


def zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Zeros, or empty strings."""
    wanted = as_dtype(dtype)
    if wanted.is_bool or wanted.name == "string":
        return fill(shape, constant(False if wanted.is_bool else b""))
    return fill(shape, constant(0, wanted))


def ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Ones."""
    return fill(shape, constant(True if as_dtype(dtype).is_bool else 1, dtype))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros of the shape of a tensor."""
    tensor = convert_to_tensor(input)
    return zeros(shape(tensor), dtype or tensor.dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Ones of the shape of a tensor."""
    tensor = convert_to_tensor(input)
    return ones(shape(tensor), dtype or tensor.dtype)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Any:
    """Numbers from `start` up to `limit`."""
    begin, end = (0, start) if limit is None else (start, limit)
    parts = [convert_to_tensor(part) for part in (begin, end, delta)]
    wanted = (
        as_dtype(dtype)
        if dtype is not None
        else max(
            (part.dtype for part in parts),
            key=lambda d: ["int32", "int64", "float32", "float64"].index(d.name),
        )
    )
    op = Op(
        "Range",
        lambda a, b, c: _ranged(a, b, c).astype(wanted.numpy),
        lambda *_: [TensorSpec([None], wanted)],
    )
    return run(op, parts)


def _ranged(begin: Any, end: Any, step: Any) -> Any:
    if not step:
        raise invalid("Requires delta != 0")
    if step > 0 and begin > end:
        raise invalid(f"Requires start <= limit when delta > 0: {begin}/{end}")
    if step < 0 and begin < end:
        raise invalid(f"Requires start >= limit when delta < 0: {begin}/{end}")
    return np.arange(begin, end, step)


def _hot(indices: Any, *, depth: int, on: Any, off: Any, axis: int, dtype: Any) -> Any:
    hot = np.equal(np.expand_dims(indices, -1), np.arange(depth))
    return np.moveaxis(np.where(hot, on, off).astype(dtype), -1, axis)


def _hot_block(_: int, indices: Block, **attributes: Any) -> Any:
    if not isinstance(indices.value, np.ndarray) or attributes["axis"] != -1:
        return None
    return _hot(indices.value, **attributes)


_ONE_HOT = Op("OneHot", _hot, None, _hot_block)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """`on_value` (1) at each index along a new dimension of `depth`, `off_value` (0) elsewhere."""
    given = next((v for v in (on_value, off_value) if v is not None), None)
    wanted = (
        as_dtype(dtype)
        if dtype is not None
        else (as_dtype("float32") if given is None else convert_to_tensor(given).dtype)
    )
    on, off = (1 if on_value is None else on_value), (0 if off_value is None else off_value)
    if np.asarray(depth).dtype.kind not in "iu":
        raise TypeError(f"Cannot convert {depth} to EagerTensor of dtype int32")
    if int(depth) < 0:
        raise invalid(f"depth must be non-negative, got: {int(depth)}")
    values = {"on": convert_to_tensor(on, wanted), "off": convert_to_tensor(off, wanted)}
    attributes = {"depth": int(depth), **{key: each.array for key, each in values.items()}}
    axis = -1 if axis is None else axis
    tensor = convert_to_tensor(indices)
    if not tensor.dtype.is_integer:
        raise invalid_type("TI", tensor.dtype, "uint8, int8, int32, int64")
    return run(_ONE_HOT, [tensor], axis=axis, dtype=wanted.numpy, **attributes)
