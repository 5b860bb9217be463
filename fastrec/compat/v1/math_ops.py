# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and casts, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.arrays import by_channel
from .._tf.dtypes import DType, as_dtype, bool_, float32, float64, short_name, string
from .._tf.errors import UnimplementedError
from .._tf.kernels.pixels import saturated
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, checked_kind, invalid, pure, same_types
from .constants import convert_to_tensor

__all__ = [
    "abs",
    "add",
    "cast",
    "div",
    "divide",
    "equal",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "identity",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "saturate_cast",
    "subtract",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "truediv",
]


def broadcast_shape(type: str, x: Tensor, y: Tensor) -> TensorShape:
    """The shape of two operands together.

    Raises
    ------
    ValueError
        When they cannot be brought together.
    """
    a, b = x.shape.sizes, y.shape.sizes
    if a is None or b is None:
        return TensorShape(None)
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    sizes: list[int | None] = []
    for m, n in zip(left, right, strict=True):
        if m == 1 or n == 1 or m == n:
            sizes.append(n if m == 1 else m)
        elif m is None or n is None:
            known = n if m is None else m
            sizes.append(None if known == 1 else known)
        else:
            raise ValueError(
                f"Dimensions must be equal, but are {m} and {n} for '{type}' with input shapes: "
                f"{in_messages(x.shape)}, {in_messages(y.shape)}."
            )
    return TensorShape(sizes)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Array, y: Array) -> Any:
        try:
            return function(x, y)
        except ValueError as error:
            if x.shape == y.shape or 1 in (x.size, y.size):
                raise invalid(str(error).rstrip(".")) from None
            shapes = f"{in_messages(x.shape)} vs. {in_messages(y.shape)}"
            raise invalid(f"Incompatible shapes: {shapes}") from None

    return kernel


def _binary(
    type: str, function: Callable[..., Any], x: Any, y: Any, name: str | None, result: Any = None
) -> Tensor:
    first, second = same_types(type, x, y)
    checked_kind(type, first)
    shape = broadcast_shape(type, first, second)
    dtype = result or first.dtype
    return pure(type, _elementwise(function), (first, second), dtype, shape, name)


def _int_division(function: Callable[..., Any]) -> Callable[..., Any]:
    def divide(x: Array, y: Array) -> Any:
        if x.dtype.kind in "iu" and not np.all(y):
            raise invalid("Integer division by zero")
        return function(x, y)

    return divide


def _floored(x: Array, y: Array) -> Any:
    # np.floor_divide of floats subtracts the remainder first, and may give less than the floor of
    # the rounded quotient.
    return np.floor(x / y) if x.dtype.kind == "f" else np.floor_divide(x, y)


_add, _subtract = by_channel(np.add), by_channel(np.subtract)
_multiply, _divide = by_channel(np.multiply), by_channel(np.true_divide)


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The sum; of strings, one after the other."""
    return _binary("Add", _add, x, y, name)


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The difference."""
    return _binary("Sub", _subtract, x, y, name)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The product."""
    return _binary("Mul", _multiply, x, y, name)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, rounded down."""
    return _binary("FloorDiv", _int_division(_floored), x, y, name)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Remainder of the division, with the sign of the divisor."""
    return _binary("FloorMod", _int_division(np.mod), x, y, name)


mod = floormod


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient; of integers, as floating-point numbers."""
    first, second = same_types("RealDiv", x, y)
    if first.dtype.is_integer:
        wide = float32 if first.dtype.size < 4 else float64
        first, second = cast(first, wide), cast(second, wide)
    return _binary("RealDiv", _divide, first, second, name)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, as Python's ``/``."""
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, as Python 2's ``/``: of integers an integer, rounded down."""
    first, second = same_types("Div", x, y)
    return (floordiv if first.dtype.is_integer else truediv)(first, second, name)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x` to the power of `y`."""
    return _binary("Pow", np.power, x, y, name)


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The greater of each two."""
    return _binary("Maximum", np.maximum, x, y, name)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The lesser of each two."""
    return _binary("Minimum", np.minimum, x, y, name)


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the two are equal, element by element."""
    return _binary("Equal", np.equal, x, y, name, bool_)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the two differ, element by element."""
    return _binary("NotEqual", np.not_equal, x, y, name, bool_)


def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the first is less, element by element."""
    return _binary("Less", np.less, x, y, name, bool_)


def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the first is not greater, element by element."""
    return _binary("LessEqual", np.less_equal, x, y, name, bool_)


def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the first is greater, element by element."""
    return _binary("Greater", np.greater, x, y, name, bool_)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where the first is not less, element by element."""
    return _binary("GreaterEqual", np.greater_equal, x, y, name, bool_)


def _booleans(type: str, function: Callable[..., Any], x: Any, y: Any, name: str | None) -> Tensor:
    return _binary(type, function, _boolean(type, x), _boolean(type, y), name)


def _boolean(type: str, value: Any) -> Tensor:
    if isinstance(value, Tensor) and value.dtype is not bool_:
        raise TypeError(
            f"Input of '{type}' Op has type {value.dtype.name} that does not match expected type "
            f"of bool."
        )
    return convert_to_tensor(value, bool_)


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where both are true, element by element."""
    return _booleans("LogicalAnd", np.logical_and, x, y, name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where either is true, element by element."""
    return _booleans("LogicalOr", np.logical_or, x, y, name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """True where exactly one of the two is true, element by element."""
    return _booleans("LogicalXor", np.logical_xor, x, y, name)


def unary(type: str, function: Callable[..., Any], x: Any, name: str | None = None) -> Tensor:
    """An operation on each element that keeps type and shape."""
    tensor = checked_kind(type, convert_to_tensor(x))
    return pure(type, function, (tensor,), tensor.dtype, tensor.shape, name)


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """True where the value is false, element by element."""
    return unary("LogicalNot", np.logical_not, _boolean("LogicalNot", x), name)


def negative(x: Any, name: str | None = None) -> Tensor:
    """With the other sign."""
    return unary("Neg", np.negative, x, name)


def abs(x: Any, name: str | None = None) -> Tensor:
    """Without the sign."""
    tensor = convert_to_tensor(x)
    if tensor.dtype.is_complex:
        real = tensor.dtype.real_dtype
        return pure("ComplexAbs", np.abs, (tensor,), real, tensor.shape, name)
    return unary("Abs", np.abs, tensor, name)


def identity(input: Any, name: str | None = None) -> Tensor:
    """The same again, as an operation of its own."""
    tensor = convert_to_tensor(input)
    return pure("Identity", lambda x: x, (tensor,), tensor.dtype, tensor.shape, name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`x` with elements of another type.

    Raises
    ------
    UnimplementedError
        From running it: strings are not cast.
    """
    wanted = as_dtype(dtype)
    if hasattr(x, "_with_values"):
        return x._with_values(cast(x.values, wanted, name))  # type: ignore[no-any-return]
    tensor = convert_to_tensor(x)
    if tensor.dtype is wanted:
        return tensor
    source = tensor.dtype

    def kernel(value: Array) -> Any:
        if source is string or wanted is string:
            text = f"Cast {short_name(source)} to {short_name(wanted)} is not supported"
            raise UnimplementedError(None, None, text)
        return cast_array(value, wanted)

    return pure("Cast", kernel, (tensor,), wanted, tensor.shape, name, DstT=wanted)


def cast_array(value: Array, dtype: DType) -> Array:
    """`value` as C casts it."""
    return value.astype(dtype.numpy)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` with elements of another type, the nearest one where it has no equal."""
    tensor, wanted = convert_to_tensor(value), as_dtype(dtype)
    for each in (tensor.dtype, wanted):
        if each.numpy.kind in "bO":
            raise TypeError(f"Cannot find minimum value of {each}.")

    def kernel(x: Array) -> Array:
        return saturated(x, wanted.numpy)

    return pure("SaturateCast", kernel, (tensor,), wanted, tensor.shape, name)


def _to(name: str, default: str) -> Callable[..., Tensor]:
    def convert(x: Any, name: str = default) -> Tensor:
        return cast(x, as_dtype(target), name)

    target = name
    return convert


to_float = _to("float32", "ToFloat")
to_double = _to("float64", "ToDouble")
to_int32 = _to("int32", "ToInt32")
to_int64 = _to("int64", "ToInt64")


def _both_kinds(on_bool: Callable[..., Tensor], symbol: str) -> Callable[..., Tensor]:
    def chosen(x: Any, y: Any) -> Tensor:
        first, second = same_types(symbol, x, y)
        if first.dtype is bool_:
            return on_bool(first, second)
        functions = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
        return _binary("Bitwise", functions[symbol], first, second, None)

    return chosen


def _multiplied(x: Any, y: Any) -> Tensor:
    first, second = same_types("Mul", x, y)
    if first.dtype is bool_:
        return logical_and(first, second)
    return multiply(first, second, "mul")


def _inverted(x: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    if tensor.dtype is bool_:
        return logical_not(tensor)
    return unary("Invert", np.invert, tensor)


def _operator(function: Callable[..., Tensor], type: str) -> Callable[..., Any]:
    def operate(x: Any, y: Any, reflected: bool = False) -> Any:
        return function(x, y)

    return operate


_BINARY: dict[str, Callable[..., Tensor]] = {
    "add": lambda x, y: _binary("AddV2", _add, x, y, "add"),
    "sub": lambda x, y: subtract(x, y, "sub"),
    "mul": lambda x, y: _multiplied(x, y),
    "truediv": lambda x, y: truediv(x, y, "truediv"),
    "floordiv": lambda x, y: floordiv(x, y, "floordiv"),
    "mod": lambda x, y: floormod(x, y, "mod"),
    "pow": lambda x, y: pow(x, y, "pow"),
    "and": _both_kinds(logical_and, "&"),
    "or": _both_kinds(logical_or, "|"),
    "xor": _both_kinds(logical_xor, "^"),
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
}
operators.update({name: _operator(function, name) for name, function in _BINARY.items()})
operators.update({"neg": negative, "abs": abs, "invert": _inverted})
