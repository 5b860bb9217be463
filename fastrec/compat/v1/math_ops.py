# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, casts, reductions, and Python's operators on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from .._tf.dtypes import as_dtype, bool_, int64
from .._tf.faces import Version, one_of
from .._tf.faces.math import Activations, Bitwise, Math, Matrices
from .._tf.faces.picking import Ordering
from .._tf.faces.reductions import Reductions
from .._tf.faces.segments import Pixels, Segments
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from ._nodes import Tensor, operators
from ._ops import GRAPHS, same_types
from .constants import convert_to_tensor


class _Math(Math):
    """Arithmetic with the functions that only version 1 has."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.add: Final = self._binary(rows.ADD, "Add")
        for name, target in _TARGETS.items():
            setattr(self, name, self._to(target, name))

    def div(self, x: Any, y: Any, name: str | None = None) -> Any:
        """Divide as Python 2's ``/``: the quotient of integers is an integer, rounded down."""
        first, second = same_types("Div", x, y)
        return (self.floordiv if first.dtype.is_integer else self.truediv)(first, second, name)

    def _to(self, target: str, name: str) -> Callable[..., Any]:
        default = "".join(map(str.capitalize, name.split("_")))

        def convert(x: Any, name: str = default) -> Any:
            return self.cast(x, target, name)

        return convert


_TARGETS = {
    "to_double": "float64",
    "to_float": "float32",
    "to_int32": "int32",
    "to_int64": "int64",
}


class _Reductions(Reductions):
    """Reductions with version 1's arguments."""

    def _axes(self, axis: Any) -> list[Any]:
        found = super()._axes(axis)
        for tensor in found:
            if (tensor.shape.ndims or 0) > 1:
                raise ValueError(f"Shape must be at most rank 1 but is rank {tensor.shape.ndims}")
        return found

    def _place_of(self, op: Op) -> Callable[..., Any]:
        find = super()._place_of(op)

        def found(
            input: Any,
            axis: Any = None,
            name: str | None = None,
            dimension: Any = None,
            output_type: Any = int64,
        ) -> Any:
            along = one_of("dimension", dimension, "axis", axis)
            return find(input, along, as_dtype(output_type), name)

        return found


class _Activations(Activations):
    """Activation functions with version 1's arguments."""

    _orders: ClassVar[dict[str, str]] = {
        "log_softmax": "logits axis name dim=axis",
        "softmax": "logits axis name dim=axis",
    }


math: Final = _Math(GRAPHS)
reductions: Final = _Reductions(GRAPHS)
segments: Final = Segments(GRAPHS)
bitwise: Final = Bitwise(GRAPHS)
matrices: Final = Matrices(GRAPHS)
activations: Final = _Activations(GRAPHS)
pixels: Final = Pixels(GRAPHS)
ordering: Final = Ordering(GRAPHS)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    mean = reductions.reduce_mean(x, axes, keepdims=True)
    variance = reductions.reduce_mean(math.square(x - mean), axes, keepdims=keep)
    return mean if keep else reductions.reduce_mean(x, axes), variance


def _both_kinds(on_bool: Callable[..., Any], on_bits: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(x: Any, y: Any, name: str | None = None) -> Any:
        first, second = same_types("Bitwise", x, y)
        return (on_bool if first.dtype is bool_ else on_bits)(first, second)

    return chosen


def _inverted(x: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    found: Tensor = (math.logical_not if tensor.dtype is bool_ else bitwise.invert)(tensor)
    return found


def _multiplied(x: Any, y: Any, name: str) -> Any:
    first, second = same_types("Mul", x, y)
    if first.dtype is bool_:
        return math.logical_and(first, second)
    return math.multiply(first, second, name)


def _operator(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    def operate(x: Any, y: Any, reflected: bool = False) -> Any:
        return function(x, y, name=name)

    return operate


_NAMED = {
    "add": math._binary(rows.ADD),
    "subtract": math.subtract,
    "multiply": _multiplied,
    "divide": math.truediv,
    "floordiv": math.floordiv,
    "floormod": math.floormod,
    "pow": math.pow,
}
_BARE = {
    "and": _both_kinds(math.logical_and, bitwise.bitwise_and),
    "or": _both_kinds(math.logical_or, bitwise.bitwise_or),
    "xor": _both_kinds(math.logical_xor, bitwise.bitwise_xor),
    "less": math.less,
    "less_equal": math.less_equal,
    "greater": math.greater,
    "greater_equal": math.greater_equal,
    "matmul": math.matmul,
}
operators.update({name: _operator(function, name) for name, function in _NAMED.items()})
operators.update({name: _operator(function, None) for name, function in _BARE.items()})
operators.update(
    {"cast": math.cast, "negative": math.negative, "abs": math.abs, "invert": _inverted}
)
