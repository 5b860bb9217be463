# SPDX-License-Identifier: Apache-2.0
"""Sums, means and extremes along dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.ops import reductions as rows
from .._tf.tensor import EagerTensor, Tensor, convert_to_tensor
from .._tf.trace import run
from ._eager import checked


def _axes(axis: Any) -> Any:
    found = axis if isinstance(axis, Tensor) else EagerTensor(np.asarray(axis))
    if isinstance(found, EagerTensor) and not found.array.size:
        return EagerTensor(np.zeros(0, np.int32))
    if not found.dtype.is_integer:
        raise TypeError(f"Cannot convert {axis} to EagerTensor of dtype int32")
    return found


def _reduction(op: Op) -> Callable[..., Any]:
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        if hasattr(input_tensor, "_reduced"):
            return input_tensor._reduced(op, axis, bool(keepdims))
        axes = [] if axis is None else [_axes(axis)]
        wanted = "bool" if op.kinds == "b" and not isinstance(input_tensor, Tensor) else None
        tensor = convert_to_tensor(input_tensor, wanted)
        if op in (rows.STD, rows.VARIANCE) and tensor.dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type <dtype: "
                f"'{tensor.dtype.name}'>."
            )
        checked(op, tensor)
        return run(op, [tensor, *axes], keep_dims=bool(keepdims))

    reduce.__doc__ = f"TensorFlow's ``{op.name}`` over `axis`, or over everything."
    return reduce


reduce_sum = _reduction(rows.SUM)
reduce_prod = _reduction(rows.PROD)
reduce_mean = _reduction(rows.MEAN)
reduce_max = _reduction(rows.MAX)
reduce_min = _reduction(rows.MIN)
reduce_all = _reduction(rows.ALL)
reduce_any = _reduction(rows.ANY)
reduce_logsumexp = _reduction(rows.LOG_SUM_EXP)
reduce_std = _reduction(rows.STD)
reduce_variance = _reduction(rows.VARIANCE)


def _dimension(axis: Any) -> Any:
    found = axis if isinstance(axis, Tensor) else EagerTensor(np.asarray(axis))
    if found.shape.ndims or not found.dtype.is_integer:
        raise TypeError("axis must be int or Tensor with integer datatype")
    return found


def _place_of(op: Op) -> Callable[..., Any]:
    def find(
        input: Any, axis: Any = None, output_type: Any = "int64", name: str | None = None
    ) -> Any:
        tensor = convert_to_tensor(input)
        checked(op, tensor)
        inputs = [tensor, _dimension(0 if axis is None else axis)]
        return run(op, inputs, output_type=as_dtype(output_type))

    find.__doc__ = f"TensorFlow's ``{op.name}`` along `axis`."
    return find


argmax = _place_of(rows.ARG_MAX)
argmin = _place_of(rows.ARG_MIN)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Sums of the elements up to each one, along `axis`."""
    tensor = convert_to_tensor(x)
    checked(rows.CUMSUM, tensor)
    how = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
    return run(rows.CUMSUM, [tensor, convert_to_tensor(axis)], **how)
