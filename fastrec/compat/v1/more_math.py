# SPDX-License-Identifier: Apache-2.0
"""Products, grids, histograms and checks that preprocessing uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import arithmetic as rows
from ._nodes import Operation, Tensor
from ._ops import pure, record, record_all, same_types
from .array_ops import linspace, reverse
from .constants import constant_value, convert_to_tensor
from .control_flow import Assert
from .math_ops import equal, floordiv, greater, greater_equal, less, less_equal
from .reductions import reduce_all

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
    "einsum",
    "floor_div",
    "histogram_fixed_width",
    "lin_space",
    "meshgrid",
    "reverse_v2",
    "tensordot",
]


lin_space = linspace
reverse_v2 = reverse
floor_div = floordiv


def einsum(equation: str, *inputs: Any, **_: Any) -> Tensor:
    """The sum that an equation of indices says."""
    tensors = [convert_to_tensor(each) for each in inputs]
    return record(rows.EINSUM, tensors, equation=equation)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sums of products along dimensions of both."""
    along: Any = axes if isinstance(axes, int) else np.asarray(axes).tolist()
    return record(rows.TENSORDOT, same_types("Tensordot", a, b), name, axes=along)


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinates of a grid, a tensor for each dimension."""
    tensors = [convert_to_tensor(each) for each in args]
    return record_all(rows.MESHGRID, tensors, name, indexing=indexing)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Number of values in each of `nbins` equal parts of a range."""
    tensor = convert_to_tensor(values)
    inputs = tensor, convert_to_tensor(value_range, tensor.dtype)
    return record(rows.HISTOGRAM, inputs, name, nbins=int(nbins), dtype=as_dtype(dtype))


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
