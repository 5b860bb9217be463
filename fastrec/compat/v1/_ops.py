# SPDX-License-Identifier: Apache-2.0
"""Helpers of the modules that define operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import DType
from .._tf.errors import InvalidArgumentError
from .._tf.shape import TensorShape
from ._nodes import Tensor
from .constants import convert_to_tensor
from .graph import create_op

__all__ = [
    "checked_kind",
    "invalid",
    "numbers_of",
    "one_number",
    "pure",
    "same_types",
    "tensors_of",
]

Array = np.ndarray[Any, Any]


def invalid(message: str) -> InvalidArgumentError:
    """Return the error of a kernel for an invalid value."""
    return InvalidArgumentError(None, None, message)


def pure(
    type: str,
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    dtype: DType,
    shape: Any,
    name: str | None = None,
    **attrs: Any,
) -> Tensor:
    """An operation of one output, which is `function` of the inputs and nothing else."""

    numpy = dtype.numpy

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        result = function(*values)
        return (result if isinstance(result, np.ndarray) else np.asarray(result, numpy),)

    known = shape if isinstance(shape, TensorShape) else TensorShape(shape)
    op = create_op(type, inputs, [(dtype, known)], kernel, name=name, attrs=attrs)
    return op.outputs[0]


def same_types(type: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one type: that of the first which has a type of its own.

    Raises
    ------
    TypeError
        When each has a type of its own, and these differ.
    """
    if _typed(y) and not _typed(x):
        second, first = _pair(y, x)
    else:
        first, second = _pair(x, y)
    if first.dtype is not second.dtype:
        raise TypeError(
            f"Input 'y' of '{type}' Op has type {second.dtype.name} that does not match type "
            f"{first.dtype.name} of argument 'x'."
        )
    return first, second


#: Which kinds of elements an operation is there for, as NumPy's letters, where it is not for all.
_KINDS = {
    **dict.fromkeys(("Add", "AddV2"), "iufcO"),
    **dict.fromkeys(("Sub", "Mul", "RealDiv", "FloorDiv", "TruncateDiv", "Square"), "iufc"),
    **dict.fromkeys(("Cumsum", "AddN", "Sum", "Prod", "Mean", "MatMul"), "iufc"),
    **dict.fromkeys(("FloorMod", "Maximum", "Minimum", "Max", "Min", "Resize"), "iuf"),
    **dict.fromkeys(("Less", "LessEqual", "Greater", "GreaterEqual"), "iuf"),
    **dict.fromkeys(("Pow", "Neg", "Sign"), "ifc"),
    **dict.fromkeys(("Sqrt", "Exp", "Log", "Sigmoid", "Tanh"), "fc"),
    **dict.fromkeys(("Floor", "Ceil", "Rint", "IsNan", "IsInf", "IsFinite", "LogSumExp"), "f"),
    **dict.fromkeys(("ArgMax", "ArgMin"), "iufb"),
    **dict.fromkeys(("Bitwise", "Invert"), "iu"),
    "SquaredDifference": "ifc",
    "Abs": "if",
    "Round": "iufc",
}


def checked_kind(type: str, tensor: Tensor) -> Tensor:
    """`tensor` itself, which an operation of this type can be given.

    Raises
    ------
    TypeError
        When it cannot: the square root of a whole number is none.
    """
    kinds = _KINDS.get(type)
    if kinds is not None and tensor.dtype.numpy.kind not in kinds:
        allowed = [t.name for t in DType.by_name.values() if t.numpy.kind in kinds]
        raise TypeError(
            f"Value passed to parameter 'x' has DataType {tensor.dtype.name} not in list of "
            f"allowed values: {', '.join(allowed)}"
        )
    return tensor


def numbers_of(
    value: Any,
    parameter: str,
    rank: int | None = None,
    allowed: Sequence[str] = ("int32", "int64"),
) -> Tensor:
    """`value` as a tensor of places or sizes.

    Raises
    ------
    TypeError
        For elements of another type.
    ValueError
        When it is known to have another rank.
    """
    tensor = convert_to_tensor(value)
    if tensor.dtype.name not in allowed:
        raise TypeError(
            f"Value passed to parameter '{parameter}' has DataType {tensor.dtype.name} not in list "
            f"of allowed values: {', '.join(allowed)}"
        )
    if rank is not None and tensor.shape.ndims not in (rank, None):
        raise ValueError(
            f"Shape must be rank {rank} but is rank {tensor.shape.ndims} for '{parameter}'"
        )
    return tensor


def one_number(value: Array, parameter: str) -> int:
    """The only element of an array.

    Raises
    ------
    InvalidArgumentError
        When it has more, or none.
    """
    if value.size != 1:
        raise invalid(f"{parameter} must be a tensor with a single value.")
    return int(value.reshape(-1)[0])


def _typed(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _pair(leader: Any, follower: Any) -> tuple[Tensor, Tensor]:
    leading = convert_to_tensor(leader)
    try:
        return leading, convert_to_tensor(follower, leading.dtype)
    except (TypeError, ValueError):
        return leading, convert_to_tensor(follower)


def tensors_of(values: Sequence[Any], dtype: DType | None = None) -> list[Tensor]:
    """Some values as tensors of one type, which the first tensor among them has.

    Raises
    ------
    TypeError
        When their types differ.
    """
    types = [convert_to_tensor(value).dtype for value in values if _typed(value)]
    if any(each is not types[0] for each in types):
        names = ", ".join(each.name for each in types)
        raise TypeError(f"Tensors in list have types [{names}] that don't all match.")
    if dtype is None and values:
        dtype = types[0] if types else convert_to_tensor(values[0]).dtype
    return [convert_to_tensor(value, dtype) for value in values]
