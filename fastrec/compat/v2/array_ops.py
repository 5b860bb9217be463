# SPDX-License-Identifier: Apache-2.0
"""Create and index tensors, and define Python's operators on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import bool_, int16, int32, int64
from .._tf.errors import InvalidArgumentError
from .._tf.faces import functions_of
from .._tf.ops import Op
from .._tf.ops import arithmetic as arithmetic
from .._tf.ops import picking as rows
from .._tf.tensor import OPERATORS, EagerTensor, Tensor, TensorShape, convert_to_tensor
from .._tf.tracing.recording import Symbol, run
from ._eager import pair, refused_type
from ._faces import arrays, bitwise, math, picking, products, reductions

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


def _compared(row: Op, unequal: bool) -> Callable[[Any, Any], Any]:
    """Return ``==`` or ``!=``; a tensor is unequal to None and to tensors of other shapes."""
    op = _broadcast_or(row, unequal)

    def compare(x: Any, y: Any) -> Any:
        return unequal if x is None or y is None else run(op, pair(row.name, x, y))

    return compare


def _broadcast_or(op: Op, otherwise: bool) -> Op:
    def kernel(x: Any, y: Any) -> Any:
        try:
            return op.kernel(x, y)
        except InvalidArgumentError:
            return np.asarray(otherwise)

    return op.but(kernel=kernel)


def _logical(
    on_bools: Callable[..., Any], on_bits: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    return lambda x, y: (on_bools if x.dtype.is_bool else on_bits)(x, y)


OPERATORS.update(
    {
        **functions_of(math),
        "equal": _compared(arithmetic.EQUAL, False),
        "not_equal": _compared(arithmetic.NOT_EQUAL, True),
        "multiply": lambda x, y: (
            math.logical_and if isinstance(x, Tensor) and x.dtype.is_bool else math.multiply
        )(x, y),
        "and": _logical(math.logical_and, bitwise.bitwise_and),
        "or": _logical(math.logical_or, bitwise.bitwise_or),
        "xor": _logical(math.logical_xor, bitwise.bitwise_xor),
        "invert": lambda x: (math.logical_not if x.dtype.is_bool else bitwise.invert)(x),
    }
)


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    return (
        reductions.reduce_mean(x, axes, keepdims),
        reductions.reduce_variance(x, axes, keepdims),
    )


def matvec(a: Any, b: Any, transpose_a: bool = False, name: str | None = None, **_: Any) -> Any:
    """Multiply matrices by vectors."""
    letters = "...ji,...j->...i" if transpose_a else "...ij,...j->...i"
    return products.einsum(letters, a, b)
