# SPDX-License-Identifier: Apache-2.0
"""Sums, means and extremes along dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.kernels.shaping import summed
from .._tf.ops import Block, Op
from .._tf.tensor import Tensor, as_array, convert_to_tensor
from .._tf.trace import run
from ._types import check_type

Array = NDArray[Any]


def _checked_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the first; all of them for None.

    Raises
    ------
    InvalidArgumentError
        For one that is not there, or there twice.
    """
    if axes is None:
        return tuple(range(rank))
    found: list[int] = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
        if axis % rank in found:
            raise invalid(
                f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}"
            )
        found.append(axis % rank)
    return tuple(found)


def _reduction(name: str, function: Callable[..., Any]) -> Any:
    def reduced(array: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(array, axis=axes, keepdims=keepdims))

    def kernel(x: Any, *, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
        array = as_array(x)
        return reduced(array, _checked_axes(axis, array.ndim), keepdims)

    def block(_: int, x: Block, *, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
        if not isinstance(x.value, np.ndarray) or not x.many:
            return None
        axes = _checked_axes(axis, x.value.ndim - 1)
        return reduced(x.value, tuple(a + 1 for a in axes), keepdims)

    op = Op(name, kernel, None, block)

    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        axes = None if axis is None else tuple(np.atleast_1d(np.asarray(axis)).tolist())
        if axes is not None and any(isinstance(a, float) for a in axes):
            raise TypeError(f"Cannot convert {axes[0]} to EagerTensor of dtype int32")
        if hasattr(input_tensor, "_reduced"):
            return input_tensor._reduced(op, axes, bool(keepdims))
        given = isinstance(input_tensor, Tensor)
        tensor = convert_to_tensor(
            input_tensor, "bool" if op.name in ("All", "Any") and not given else None
        )
        if op.name in ("Std", "Variance") and tensor.dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type <dtype: "
                f"'{tensor.dtype.name}'>."
            )
        check_type("Mean" if op.name in ("Std", "Variance") else op.name, tensor)
        return run(op, [tensor], axis=axes, keepdims=bool(keepdims))

    reduce.__doc__ = f"TensorFlow's ``{name}`` over `axis`, or over everything."
    return reduce


def _mean(x: Array, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind not in "iu":
        total = summed(x, axis, keepdims)
        return total / total.dtype.type(x.size // max(total.size, 1))
    total = np.sum(x, axis=axis, keepdims=keepdims)
    count = total.dtype.type(max(x.size // max(total.size, 1), 1))
    return ((total - np.fmod(total, count)) // count).astype(x.dtype)


def _limit(dtype: Any, greatest: bool) -> Any:
    """The largest or least value of a type, infinite ones included."""
    if dtype.kind == "f":
        return np.inf if greatest else -np.inf
    return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min


def _extreme(function: Callable[..., Any], of_none: bool, x: Array, **how: Any) -> Any:
    return function(x, initial=_limit(x.dtype, of_none), **how)


reduce_sum = _reduction("Sum", summed)
reduce_prod = _reduction("Prod", lambda x, **k: np.prod(x, dtype=x.dtype, **k))
reduce_mean = _reduction("Mean", _mean)
reduce_max = _reduction("Max", functools.partial(_extreme, np.max, False))
reduce_min = _reduction("Min", functools.partial(_extreme, np.min, True))
reduce_all = _reduction("All", np.all)
reduce_any = _reduction("Any", np.any)
reduce_std = _reduction("Std", np.std)
reduce_variance = _reduction("Variance", np.var)


def _arg(name: str, function: Callable[..., Any], greatest: bool) -> Callable[..., Any]:
    def kernel(x: Any, axis: int, dtype: Any) -> Any:
        array = as_array(x)
        if not -array.ndim <= axis < array.ndim:
            raise invalid(
                f"Expected dimension in the range [{-array.ndim}, {array.ndim}), but got {axis}"
            )
        if not array.shape[axis]:
            shape = str(list(array.shape)).replace(" ", "")
            raise invalid(f"Reduction axis {axis} is empty in shape {shape}")
        if array.dtype.kind == "f":  # what is no number is never the one
            array = np.where(np.isnan(array), _limit(array.dtype, not greatest), array)
        return np.asarray(function(array, axis=axis)).astype(dtype)

    op = Op(name, kernel)

    def find(
        input: Any, axis: Any = None, output_type: Any = "int64", name: str | None = None
    ) -> Any:
        dtype = as_dtype(output_type).numpy
        along = np.asarray(0 if axis is None else axis)
        if along.ndim or along.dtype.kind not in "iu":
            raise TypeError("axis must be int or Tensor with integer datatype")
        tensor = convert_to_tensor(input)
        check_type(op.name, tensor)
        return run(op, [tensor], axis=int(along), dtype=dtype)

    find.__doc__ = f"TensorFlow's ``{name}`` along `axis`."
    return find


argmax = _arg("ArgMax", np.argmax, True)
argmin = _arg("ArgMin", np.argmin, False)
