# SPDX-License-Identifier: Apache-2.0
"""Checks and choices that preprocessing uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from ._nodes import Operation, Tensor
from ._ops import pure, same_types
from .constants import constant_value, convert_to_tensor
from .control_flow import Assert
from .math_ops import equal, greater, greater_equal, less, less_equal, reduce_all

__all__ = [
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_non_negative",
    "assert_positive",
    "assert_rank",
    "case",
]


def _comparison(name: str, sign: str, compare: Callable[..., Tensor]) -> Callable[..., Operation]:
    def check(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        one, other = same_types(name or sign, x, y)
        holds = reduce_all(compare(one, other))
        text = f"{message or ''} Condition x {sign} y did not hold element-wise:".strip()
        found: Operation = Assert(holds, [text, *(data or [one, other])], summarize, name)
        return found

    check.__doc__ = f"An operation that refuses elements for which ``x {sign} y`` does not hold."
    check.__name__ = name
    return check


assert_equal = _comparison("assert_equal", "==", equal)
assert_greater = _comparison("assert_greater", ">", greater)
assert_greater_equal = _comparison("assert_greater_equal", ">=", greater_equal)
assert_less = _comparison("assert_less", "<", less)
assert_less_equal = _comparison("assert_less_equal", "<=", less_equal)


def assert_positive(x: Any, data: Any = None, message: str | None = None, **_: Any) -> Operation:
    """An operation that refuses elements that are not above 0."""
    return assert_greater(x, np.zeros((), convert_to_tensor(x).dtype.numpy), data, message=message)


def assert_non_negative(
    x: Any, data: Any = None, message: str | None = None, **_: Any
) -> Operation:
    """An operation that refuses elements below 0."""
    zero = np.zeros((), convert_to_tensor(x).dtype.numpy)
    return assert_greater_equal(x, zero, data, message=message)


def assert_rank(x: Any, rank: int, message: str | None = None, **_: Any) -> Operation:
    """An operation that refuses a tensor of another number of dimensions."""
    tensor = convert_to_tensor(x)
    if tensor.shape.ndims not in (None, rank):
        raise ValueError(
            f"{message or ''} Tensor {tensor.name} must have rank {rank}. Received rank "
            f"{tensor.shape.ndims}, shape {tensor.shape}".strip()
        )
    right = pure("RankIs", lambda a: np.asarray(a.ndim == rank), (tensor,), as_dtype("bool"), [])
    found: Operation = Assert(reduce_all(right), [message or f"rank must be {rank}"])
    return found


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first condition that holds."""
    from .control_flow import cond

    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)

    def chosen(number: int) -> Any:
        if number == len(pairs) - 1 and default is None:
            return pairs[number][1]()
        if number == len(pairs):
            assert default is not None
            return default()
        pred, function = pairs[number]
        known = constant_value(convert_to_tensor(pred))
        if known is not None:
            return function() if known else chosen(number + 1)
        return cond(pred, function, lambda: chosen(number + 1))

    return chosen(0)
