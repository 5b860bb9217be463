# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and reductions, as ``tf`` and ``tf.math`` have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf.composite import Methods, of_values
from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from .._tf.tensor import OPERATORS, Tensor, convert_to_tensor, mismatch
from .._tf.trace import run
from ._eager import checked
from .reductions import (  # noqa: F401
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)


def _pair(op: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors of one type; what is no tensor takes the type of the other."""
    if not isinstance(x, Tensor) and isinstance(y, Tensor):
        x = convert_to_tensor(x, y.dtype)
    x = convert_to_tensor(x)
    y = y if isinstance(y, Tensor) else convert_to_tensor(y, x.dtype)
    if x.dtype != y.dtype:
        raise mismatch(op, x.dtype, y.dtype)
    return x, y


def _binary(op: Op) -> Callable[..., Any]:
    def function(x: Any, y: Any, name: str | None = None) -> Any:
        if isinstance(x, Methods) or isinstance(y, Methods):
            return of_values(function, x, y)
        tensors = _pair(op.name, x, y)
        checked(op, tensors[0])
        return run(op, tensors)

    function.__doc__ = f"TensorFlow's ``{op.name}`` of two tensors of one type."
    return function


def _unary(op: Op) -> Callable[..., Any]:
    def function(x: Any, name: str | None = None) -> Any:
        if isinstance(x, Methods):
            return of_values(function, x)
        tensor = convert_to_tensor(x)
        checked(op, tensor)
        return run(op, [tensor])

    function.__doc__ = f"TensorFlow's ``{op.name}`` of each element."
    return function


add = _binary(rows.ADD)
subtract = _binary(rows.SUB)
multiply = _binary(rows.MUL)
divide = truediv = _binary(rows.DIV)
floordiv = _binary(rows.FLOOR_DIV)
floormod = mod = _binary(rows.FLOOR_MOD)
truncatediv = _binary(rows.TRUNCATE_DIV)
pow = _binary(rows.POW)
maximum = _binary(rows.MAXIMUM)
minimum = _binary(rows.MINIMUM)
squared_difference = _binary(rows.SQUARED_DIFFERENCE)
equal = _binary(rows.EQUAL)
not_equal = _binary(rows.NOT_EQUAL)
less = _binary(rows.LESS)
less_equal = _binary(rows.LESS_EQUAL)
greater = _binary(rows.GREATER)
greater_equal = _binary(rows.GREATER_EQUAL)
logical_and = _binary(rows.LOGICAL_AND)
logical_or = _binary(rows.LOGICAL_OR)
logical_xor = _binary(rows.LOGICAL_XOR)
bitwise_and = _binary(rows.BITWISE_AND)
bitwise_or = _binary(rows.BITWISE_OR)
bitwise_xor = _binary(rows.BITWISE_XOR)
left_shift = _binary(rows.LEFT_SHIFT)
right_shift = _binary(rows.RIGHT_SHIFT)

abs = _unary(rows.ABS)
ceil = _unary(rows.CEIL)
cos = _unary(rows.COS)
exp = _unary(rows.EXP)
floor = _unary(rows.FLOOR)
identity = stop_gradient = _unary(rows.IDENTITY)
is_finite = _unary(rows.IS_FINITE)
is_inf = _unary(rows.IS_INF)
is_nan = _unary(rows.IS_NAN)
log = _unary(rows.LOG)
log1p = _unary(rows.LOG1P)
logical_not = _unary(rows.LOGICAL_NOT)
negative = _unary(rows.NEG)
rint = _unary(rows.RINT)
round = _unary(rows.ROUND)
rsqrt = _unary(rows.RSQRT)
sigmoid = _unary(rows.SIGMOID)
sign = _unary(rows.SIGN)
sin = _unary(rows.SIN)
sqrt = _unary(rows.SQRT)
square = _unary(rows.SQUARE)
tanh = _unary(rows.TANH)
_invert = _unary(rows.INVERT)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` with elements of another type; floats are cut off where integers are asked for."""
    wanted = as_dtype(dtype)
    tensor = x if hasattr(x, "_raw") else convert_to_tensor(x)
    if hasattr(tensor, "_cast"):
        return tensor._cast(wanted)
    return tensor if tensor.dtype == wanted else run(rows.CAST, [tensor], DstT=wanted)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """`value` with elements of another type, which stop at its limits."""
    tensor, wanted = convert_to_tensor(value), as_dtype(dtype)
    for each in (tensor.dtype, wanted):
        if each.numpy.kind in "bO":
            raise TypeError(f"Cannot find minimum value of {each}.")
    return run(rows.SATURATE_CAST, [tensor], DstT=wanted)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Each element, or the limit that it is beyond."""
    tensor = convert_to_tensor(t)
    clipped = maximum(minimum(tensor, clip_value_max), clip_value_min)
    if not tensor.shape.is_compatible_with(clipped.shape):
        raise ValueError(f"Shapes {tensor.shape} and {clipped.shape} are incompatible")
    return clipped


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Any:
    """The matrix product."""
    tensors = _pair("MatMul", a, b)
    checked(rows.MATMUL, tensors[0])
    turned = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    return run(rows.MATMUL, tensors, **turned)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """The sum of tensors of one shape."""
    if not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor with the same dtype.")
    first = convert_to_tensor(inputs[0])
    tensors = [_pair("AddN", first, each)[1] for each in inputs]
    checked(rows.ADD_N, first)
    return run(rows.ADD_N, tensors)


def _compared(row: Op, unequal: bool) -> Callable[[Any, Any], Any]:
    """``==`` and ``!=``: what is None, or of another shape, is not equal."""
    op = _broadcast_or(row, unequal)

    def compare(x: Any, y: Any) -> Any:
        return unequal if x is None or y is None else run(op, _pair(row.name, x, y))

    return compare


def _broadcast_or(op: Op, otherwise: bool) -> Op:
    def kernel(x: Any, y: Any) -> Any:
        try:
            return op.kernel(x, y)
        except _errors.InvalidArgumentError:
            return np.asarray(otherwise)

    return dataclasses.replace(op, kernel=kernel)


def _logical(
    on_bools: Callable[..., Any], on_bits: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    return lambda x, y: (on_bools if x.dtype.is_bool else on_bits)(x, y)


OPERATORS.update(
    cast=cast,
    add=add,
    subtract=subtract,
    divide=divide,
    floordiv=floordiv,
    floormod=floormod,
    pow=pow,
    matmul=matmul,
    negative=negative,
    abs=abs,
    less=less,
    less_equal=less_equal,
    greater=greater,
    greater_equal=greater_equal,
)
OPERATORS["equal"] = _compared(rows.EQUAL, False)
OPERATORS["not_equal"] = _compared(rows.NOT_EQUAL, True)
OPERATORS["multiply"] = lambda x, y: (
    logical_and if isinstance(x, Tensor) and x.dtype.is_bool else multiply
)(x, y)
OPERATORS["and"] = _logical(logical_and, bitwise_and)
OPERATORS["or"] = _logical(logical_or, bitwise_or)
OPERATORS["xor"] = _logical(logical_xor, bitwise_xor)
OPERATORS["invert"] = lambda x: logical_not(x) if x.dtype.is_bool else _invert(x)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "top_k":  # of a module that is built on this one
        from . import ordering_ops

        return getattr(ordering_ops, name)
    from .._tf.faces.more import IN_MATH

    if name in IN_MATH:
        from . import shared

        return getattr(shared.operations, name)
    from . import _late

    return _late.found("math", name)
