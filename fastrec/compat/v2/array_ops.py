# SPDX-License-Identifier: Apache-2.0
"""Create, reshape, join, slice, pad and repeat tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import bool_, int16, int32, int64
from .._tf.ops import picking as rows
from .._tf.tensor import OPERATORS, EagerTensor, Tensor, TensorShape, convert_to_tensor
from .._tf.tracing.recording import Symbol, run
from ._eager import refused_type
from ._faces import arrays, picking

newaxis = None


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a tensor of `value`; a single value fills `shape`."""
    tensor = convert_to_tensor(value, dtype)
    if shape is None:
        return tensor
    sizes = TensorShape(shape).as_list()
    if tensor.array.size == 1:
        return EagerTensor(np.full(sizes, tensor.array.reshape(()), tensor.array.dtype))
    return arrays.reshape(tensor, sizes)


def _is_mask(key: Any) -> bool:
    if isinstance(key, Tensor):
        return key.dtype is bool_
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == bool)


_PLACES = (int16, int32, int64)


def _number(part: Any) -> Any:
    if type(part) is int:
        return part
    if type(part) is EagerTensor and not part.ndim and part.dtype in _PLACES:
        return int(part.array)
    if isinstance(part, Tensor) and part.dtype not in _PLACES:
        raise TypeError(f"{rows.INVALID_INDEX}, got {part!r}")
    if isinstance(part, Symbol):
        return part
    if isinstance(part, (bool, np.bool_)):
        raise refused_type("index", "Index", bool_, ("int16", "int32", "int64"))
    return rows.python_number(part)


def _getitem(tensor: Any, key: Any) -> Any:
    if type(key) is not int and not isinstance(key, (tuple, list)) and _is_mask(key):
        return picking.boolean_mask(tensor, key)
    index, tensors = rows.index_of(key, _number)
    return run(rows.STRIDED_SLICE, [tensor, *tensors], index=index)


OPERATORS["stack"] = arrays.stack
OPERATORS["getitem"] = _getitem
