# SPDX-License-Identifier: Apache-2.0
"""Index tensors with Python's square brackets, and slice them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import bool_, int16, int32, int64
from .._tf.ops import picking as rows
from ._nodes import Tensor, operators
from ._ops import integers, record
from .array_ops import arrays, picking
from .constants import constant_value, convert_to_tensor

__all__ = ["newaxis", "slice", "strided_slice"]

newaxis = None
_slice = slice
_PLACES = (int16, int32, int64)


def _number(item: Any) -> Any:
    if isinstance(item, Tensor) or hasattr(item, "_as_graph_element"):
        tensor = convert_to_tensor(item)
        if tensor.dtype not in _PLACES or tensor.shape.ndims not in (0, None):
            raise TypeError(f"{rows.INVALID_INDEX}, got {item!r}")
        value = constant_value(tensor)
        return tensor if value is None or value.ndim else int(value)
    if hasattr(item, "value") and hasattr(item, "__index__"):  # a Dimension
        return None if item.value is None else int(item)
    return rows.python_number(item)


def _is_mask(key: Any) -> bool:
    if isinstance(key, np.ndarray):
        return bool(key.dtype.kind == "b")
    return isinstance(key, Tensor) and key.dtype is bool_


def _getitem(tensor: Any, key: Any, name: str | None = None) -> Tensor:
    given = convert_to_tensor(tensor)
    if _is_mask(key):
        masked: Tensor = picking.boolean_mask(given, key)
        return masked
    index, tensors = rows.index_of(key, _number)
    return record(rows.STRIDED_SLICE, [given, *tensors], name or "strided_slice", index=index)


operators["getitem"] = _getitem


def _listed(value: Any) -> list[Any]:
    tensor = integers(value, "begin", None, 1, ("int16", "int32", "int64"))
    found = constant_value(tensor)
    return arrays.unstack(tensor) if found is None else [int(n) for n in found]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return ``input_[begin[0]:end[0]:strides[0], ...]``; bits of the masks modify single axes."""
    first, last = _listed(begin), _listed(end)
    steps = [1] * len(first) if strides is None else _listed(strides)
    if not len(first) == len(last) == len(steps):
        raise ValueError("begin, end and strides must be of the same length")
    key: list[Any] = []
    for i in range(len(first)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if not isinstance(steps[i], Tensor) and steps[i] <= 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            key.append(first[i])
        else:
            start = None if begin_mask & bit else first[i]
            stop = None if end_mask & bit else last[i]
            key.append(_slice(start, stop, steps[i]))
    return _getitem(input_, tuple(key), name or "StridedSlice")


slice: Callable[..., Tensor] = picking.slice
