# SPDX-License-Identifier: Apache-2.0
"""Products, grids, histograms and checks that preprocessing uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.shape import TensorShape
from ._nodes import Operation, Tensor
from ._ops import Array, pure
from .constants import constant_value, convert_to_tensor
from .control_flow import Assert
from .filled_ops import linspace, reverse
from .math_ops import add, floordiv, unary
from .reductions import reduce_all

__all__ = [
    "add_n",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_non_negative",
    "assert_positive",
    "assert_rank",
    "case",
    "cos",
    "einsum",
    "floor_div",
    "histogram_fixed_width",
    "lin_space",
    "meshgrid",
    "reverse_v2",
    "sin",
    "sparse_to_indicator",
    "tensordot",
]


lin_space = linspace
reverse_v2 = reverse
floor_div = floordiv


def sin(x: Any, name: str | None = None) -> Tensor:
    """The sine of each element."""
    return unary("Sin", np.sin, x, name)


def cos(x: Any, name: str | None = None) -> Tensor:
    """The cosine of each element."""
    return unary("Cos", np.cos, x, name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of tensors."""
    total = convert_to_tensor(inputs[0])
    for each in inputs[1:]:
        total = add(total, each)
    return total


def einsum(equation: str, *inputs: Any, **_: Any) -> Tensor:
    """The sum that an equation of indices says."""
    tensors = [convert_to_tensor(each) for each in inputs]
    dtype = tensors[0].dtype

    def kernel(*arrays: Array) -> Array:
        found: Array = np.einsum(equation, *arrays).astype(dtype.numpy)
        return found

    _before, arrow, after = equation.replace(" ", "").partition("->")
    known = [None] * len(after) if arrow and "." not in after else None
    return pure("Einsum", kernel, tensors, dtype, known)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sums of products along dimensions of both."""
    one = convert_to_tensor(a)
    other = convert_to_tensor(b, one.dtype)
    along: Any = axes if isinstance(axes, int) else np.asarray(axes).tolist()
    known: Any = None
    if one.shape.ndims is not None and other.shape.ndims is not None:
        shapes = [np.zeros([n or 1 for n in t.shape.sizes or ()], bool) for t in (one, other)]
        try:
            known = [None] * np.tensordot(shapes[0], shapes[1], along).ndim
        except ValueError:
            known = None

    def kernel(x: Array, y: Array) -> Array:
        return np.tensordot(x, y, along)

    return pure("Tensordot", kernel, (one, other), one.dtype, known, name)


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinates of a grid, a tensor for each dimension."""
    way: Any = indexing
    tensors = [convert_to_tensor(each) for each in args]

    def part(number: int) -> Tensor:
        def kernel(*arrays: Array) -> Array:
            return np.meshgrid(*arrays, indexing=way)[number]

        return pure("Meshgrid", kernel, tensors, tensors[number].dtype, [None] * len(tensors))

    return [part(number) for number in range(len(tensors))]


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Number of values in each of `nbins` equal parts of a range."""
    tensor, wanted, bins = convert_to_tensor(values), as_dtype(dtype), int(nbins)

    def kernel(x: Array, limits: Array) -> Array:
        low, high = limits.astype(np.float64)
        places = np.floor((x.astype(np.float64) - low) / (high - low) * bins)
        numbers = np.clip(places, 0, bins - 1).astype(np.int64).reshape(-1)
        return np.bincount(numbers, minlength=bins).astype(wanted.numpy)

    limits = convert_to_tensor(value_range, tensor.dtype)
    return pure("HistogramFixedWidth", kernel, (tensor, limits), wanted, [bins], name)


def sparse_to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """Boolean rows that mark the numbers below `vocab_size` in each row of a sparse tensor."""

    def kernel(indices: Array, values: Array, shape: Array) -> Array:
        result = np.zeros((*shape[:-1].tolist(), vocab_size), bool)
        result[(*indices[:, :-1].T, values)] = True
        return result

    sizes = sp_input.shape.sizes
    known = TensorShape(None if sizes is None else [*sizes[:-1], vocab_size])
    inputs = (sp_input.indices, sp_input.values, sp_input.dense_shape)
    return pure("SparseToIndicator", kernel, inputs, as_dtype("bool"), known, name)


def _comparison(name: str, sign: str, function: Callable[..., Any]) -> Callable[..., Operation]:
    def check(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        one = convert_to_tensor(x)
        other = convert_to_tensor(y, one.dtype)

        def kernel(a: Array, b: Array) -> Array:
            return np.asarray(function(a, b).all())

        holds = pure("Compared", kernel, (one, other), as_dtype("bool"), [])
        text = f"{message or ''} Condition x {sign} y did not hold element-wise:".strip()
        found: Operation = Assert(holds, [text, *(data or [one, other])], summarize, name)
        return found

    check.__doc__ = f"An operation that refuses elements for which ``x {sign} y`` does not hold."
    check.__name__ = name
    return check


assert_equal = _comparison("assert_equal", "==", np.equal)
assert_greater = _comparison("assert_greater", ">", np.greater)
assert_greater_equal = _comparison("assert_greater_equal", ">=", np.greater_equal)
assert_less = _comparison("assert_less", "<", np.less)
assert_less_equal = _comparison("assert_less_equal", "<=", np.less_equal)


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
