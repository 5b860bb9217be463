# SPDX-License-Identifier: Apache-2.0
"""One value of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, int64
from .._tf.ops import Op
from .._tf.ops import reductions as rows
from ._nodes import Tensor
from ._ops import checked_kind, numbers_of, operand, record
from .constants import convert_to_tensor

__all__ = [
    "argmax",
    "argmin",
    "cumsum",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


def _reduction(op: Op) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        if axis is not None and reduction_indices is not None:
            raise ValueError("Cannot specify both 'reduction_indices' and 'axis'.")
        if keepdims is not None and keep_dims is not None:
            raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'.")
        along = reduction_indices if axis is None else axis
        if hasattr(input_tensor, "_reduced"):
            keep = bool(keep_dims if keepdims is None else keepdims)
            return input_tensor._reduced(op, along, keep, name)  # type: ignore[no-any-return]
        tensor = operand(op, input_tensor)
        inputs = (tensor,) if along is None else (tensor, _axes(along))
        keep = bool(keep_dims if keepdims is None else keepdims)
        return record(op, inputs, name, keep_dims=keep)

    reduce.__doc__ = f"TensorFlow's ``{op.name}`` over `axis`, or over everything."
    return reduce


def _axes(axis: Any) -> Tensor:
    empty = isinstance(axis, (list, tuple)) and not axis
    tensor = numbers_of(np.zeros(0, np.int32) if empty else axis, "reduction_indices")
    if (tensor.shape.ndims or 0) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {tensor.shape.ndims}")
    return tensor


reduce_all = _reduction(rows.ALL)
reduce_any = _reduction(rows.ANY)
reduce_logsumexp = _reduction(rows.LOG_SUM_EXP)
reduce_max = _reduction(rows.MAX)
reduce_mean = _reduction(rows.MEAN)
reduce_min = _reduction(rows.MIN)
reduce_prod = _reduction(rows.PROD)
reduce_sum = _reduction(rows.SUM)


def _place_of(op: Op) -> Callable[..., Tensor]:
    def find(
        input: Any,
        axis: int | None = None,
        name: str | None = None,
        dimension: int | None = None,
        output_type: Any = int64,
    ) -> Tensor:
        if axis is not None and dimension is not None:
            raise ValueError("Cannot specify both 'dimension' and 'axis'.")
        tensor, along = operand(op, input), dimension if axis is None else axis
        place = numbers_of(0 if along is None else along, "dimension", rank=0)
        return record(op, (tensor, place), name, output_type=as_dtype(output_type))

    find.__doc__ = f"TensorFlow's ``{op.name}`` along `axis`."
    return find


argmax = _place_of(rows.ARG_MAX)
argmin = _place_of(rows.ARG_MIN)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Sums of what comes before and of the element itself; without it when `exclusive`."""
    inputs = checked_kind(rows.CUMSUM, convert_to_tensor(x)), numbers_of(axis, "axis", rank=0)
    return record(rows.CUMSUM, inputs, name, exclusive=bool(exclusive), reverse=bool(reverse))
