# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and casts, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._tf.dtypes import as_dtype, bool_
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from ._nodes import Tensor, operators
from ._ops import binary, checked_kind, record, same_types, tensors_of, unary
from .constants import convert_to_tensor

__all__ = [
    "abs",
    "add",
    "add_n",
    "cast",
    "ceil",
    "clip_by_value",
    "cos",
    "div",
    "divide",
    "equal",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "identity",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "rint",
    "round",
    "saturate_cast",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tanh",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "truediv",
    "truncatediv",
]


add = binary(rows.ADD, "Add")
subtract = binary(rows.SUB)
multiply = binary(rows.MUL)
divide = truediv = binary(rows.DIV)
floordiv = binary(rows.FLOOR_DIV)
floormod = mod = binary(rows.FLOOR_MOD)
truncatediv = binary(rows.TRUNCATE_DIV)
pow = binary(rows.POW)
maximum = binary(rows.MAXIMUM)
minimum = binary(rows.MINIMUM)
squared_difference = binary(rows.SQUARED_DIFFERENCE)
equal = binary(rows.EQUAL)
not_equal = binary(rows.NOT_EQUAL)
less = binary(rows.LESS)
less_equal = binary(rows.LESS_EQUAL)
greater = binary(rows.GREATER)
greater_equal = binary(rows.GREATER_EQUAL)
logical_and = binary(rows.LOGICAL_AND)
logical_or = binary(rows.LOGICAL_OR)
logical_xor = binary(rows.LOGICAL_XOR)

abs = unary(rows.ABS)
ceil = unary(rows.CEIL)
cos = unary(rows.COS)
exp = unary(rows.EXP)
floor = unary(rows.FLOOR)
identity = unary(rows.IDENTITY)
is_finite = unary(rows.IS_FINITE)
is_inf = unary(rows.IS_INF)
is_nan = unary(rows.IS_NAN)
log = unary(rows.LOG)
logical_not = unary(rows.LOGICAL_NOT)
negative = unary(rows.NEG)
rint = unary(rows.RINT)
round = unary(rows.ROUND)
sigmoid = unary(rows.SIGMOID)
sign = unary(rows.SIGN)
sin = unary(rows.SIN)
sqrt = unary(rows.SQRT)
square = unary(rows.SQUARE)
tanh = unary(rows.TANH)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, as Python 2's ``/``: of integers an integer, rounded down."""
    first, second = same_types("Div", x, y)
    return (floordiv if first.dtype.is_integer else truediv)(first, second, name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`x` with elements of another type."""
    wanted = as_dtype(dtype)
    if hasattr(x, "_cast"):
        return x._cast(wanted)  # type: ignore[no-any-return]
    tensor = convert_to_tensor(x)
    if tensor.dtype is wanted:
        return tensor
    return record(rows.CAST, (tensor,), name, DstT=wanted)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` with elements of another type, the nearest one where it has no equal."""
    tensor, wanted = convert_to_tensor(value), as_dtype(dtype)
    for each in (tensor.dtype, wanted):
        if each.numpy.kind in "bO":
            raise TypeError(f"Cannot find minimum value of {each}.")
    return record(rows.SATURATE_CAST, (tensor,), name, DstT=wanted)


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """Limit values to a minimum and a maximum."""
    below = minimum(t, clip_value_max)
    clipped = maximum(below, clip_value_min, name)
    for made in (below, clipped):
        convert_to_tensor(t).shape.assert_is_compatible_with(made.shape)
    return clipped


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of matrices."""
    inputs = tensors_of([a, b])
    checked_kind(rows.MATMUL, inputs[0])
    return record(
        rows.MATMUL, inputs, name, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b)
    )


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of several tensors of one shape."""
    tensors = tensors_of(list(inputs))
    if not tensors:
        raise ValueError("Inputs must be an iterable of at least one Tensor with the same dtype.")
    checked_kind(rows.ADD_N, tensors[0])
    return record(rows.ADD_N, tensors, name)


def _to(target: str, default: str) -> Callable[..., Tensor]:
    def convert(x: Any, name: str = default) -> Tensor:
        return cast(x, as_dtype(target), name)

    return convert


to_float = _to("float32", "ToFloat")
to_double = _to("float64", "ToDouble")
to_int32 = _to("int32", "ToInt32")
to_int64 = _to("int64", "ToInt64")


def _both_kinds(on_bool: Callable[..., Tensor], op: Op) -> Callable[..., Tensor]:
    on_bits = binary(op)

    def chosen(x: Any, y: Any, name: str | None = None) -> Tensor:
        first, second = same_types(op.name, x, y)
        return (on_bool if first.dtype is bool_ else on_bits)(first, second)

    return chosen


def _inverted(x: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    return logical_not(tensor) if tensor.dtype is bool_ else _invert(tensor)


def _multiplied(x: Any, y: Any, name: str) -> Tensor:
    first, second = same_types("Mul", x, y)
    if first.dtype is bool_:
        return logical_and(first, second)
    return multiply(first, second, name)


def _operator(function: Callable[..., Tensor], name: str | None) -> Callable[..., Any]:
    def operate(x: Any, y: Any, reflected: bool = False) -> Any:
        return function(x, y, name=name)

    return operate


_invert = unary(rows.INVERT)
_NAMED = {
    "add": binary(rows.ADD),
    "subtract": subtract,
    "multiply": _multiplied,
    "divide": truediv,
    "floordiv": floordiv,
    "floormod": floormod,
    "pow": pow,
}
_BARE = {
    "and": _both_kinds(logical_and, rows.BITWISE_AND),
    "or": _both_kinds(logical_or, rows.BITWISE_OR),
    "xor": _both_kinds(logical_xor, rows.BITWISE_XOR),
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "matmul": matmul,
}
operators.update({name: _operator(function, name) for name, function in _NAMED.items()})
operators.update({name: _operator(function, None) for name, function in _BARE.items()})
operators.update({"cast": cast, "negative": negative, "abs": abs, "invert": _inverted})
