# SPDX-License-Identifier: Apache-2.0
"""What the modules that define operations share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._dtypes import DType
from .._errors import InvalidArgumentError
from .._shape import TensorShape
from ._nodes import Tensor
from .constants import convert_to_tensor
from .graph import create_op

__all__ = ["invalid", "pure", "same_types", "tensors_of"]

Array = np.ndarray[Any, Any]


def invalid(message: str) -> InvalidArgumentError:
    """What a kernel raises for a value that it cannot work on."""
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


def _typed(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def typed(values: Sequence[Any]) -> bool:
    """Whether any of them is a tensor, or something that stands for one."""
    return any(_typed(value) for value in values)


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
    if dtype is None:
        typed = [value for value in values if _typed(value)]
        if typed:
            dtype = convert_to_tensor(typed[0]).dtype
        elif values:
            first = convert_to_tensor(values[0])
            dtype = first.dtype
    return [convert_to_tensor(value, dtype) for value in values]
