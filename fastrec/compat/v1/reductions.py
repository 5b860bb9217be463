# SPDX-License-Identifier: Apache-2.0
"""One value of many, and functions of single numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, bool_, int64
from .._tf.kernels.shaping import summed
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, checked_kind, invalid, numbers_of, one_number, pure, tensors_of
from .array_ops import axis_of
from .constants import constant_value, convert_to_tensor
from .math_ops import broadcast_shape, maximum, minimum, subtract, unary

__all__ = [
    "add_n",
    "argmax",
    "argmin",
    "ceil",
    "clip_by_value",
    "cumsum",
    "exp",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "matmul",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "rint",
    "round",
    "sigmoid",
    "sign",
    "sqrt",
    "square",
    "squared_difference",
    "tanh",
    "truncatediv",
]


def _reduction(
    type: str,
    function: Callable[..., Any],
    numbers: bool = True,
) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        if axis is not None and reduction_indices is not None:
            raise ValueError("Cannot specify both 'reduction_indices' and 'axis'.")
        if keepdims is not None and keep_dims is not None:
            raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'.")
        return _reduced(
            type,
            function,
            _reducible(type, input_tensor, numbers),
            reduction_indices if axis is None else axis,
            bool(keep_dims if keepdims is None else keepdims),
            name,
        )

    return reduce


def _reduced(
    type: str,
    function: Callable[..., Any],
    tensor: Tensor,
    axis: Any,
    keep: bool,
    name: str | None,
) -> Tensor:
    inputs = [tensor] if axis is None else [tensor, _axes(axis)]
    known: Any = None
    if axis is None:
        known = [] if not keep else None
        if keep and tensor.shape.ndims is not None:
            known = [1] * tensor.shape.ndims
    else:
        known = _left(tensor.shape, constant_value(inputs[1]), keep)

    def kernel(x: Array, *axes: Array) -> Any:
        chosen = None if not axes else tuple(axis_of(a, x.ndim) for a in axes[0].reshape(-1))
        for a in chosen or ():
            if chosen and chosen.count(a) > 1:
                raise invalid(
                    f"Invalid reduction arguments: Axes contains duplicate dimension: {a}"
                )
        return np.asarray(function(x, chosen, keep), dtype=x.dtype)

    return pure(type, kernel, inputs, tensor.dtype, known, name)


def _reducible(type: str, value: Any, numbers: bool) -> Tensor:
    if numbers:
        return checked_kind(type, convert_to_tensor(value))
    if isinstance(value, Tensor) and value.dtype is not bool_:
        raise TypeError(
            f"Input 'input' of '{type}' Op has type {value.dtype.name} that does not match "
            f"expected type of bool."
        )
    return convert_to_tensor(value, bool_)


def _axes(axis: Any) -> Tensor:
    empty = isinstance(axis, (list, tuple)) and not axis
    tensor = numbers_of(np.zeros(0, np.int32) if empty else axis, "reduction_indices")
    if (tensor.shape.ndims or 0) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {tensor.shape.ndims}")
    return tensor


def _left(shape: TensorShape, axes: Array | None, keep: bool) -> Any:
    sizes = shape.sizes
    if sizes is None or axes is None:
        return None
    rank = len(sizes)
    flat = [int(a) for a in axes.reshape(-1)]
    for a in flat:
        if not -rank <= a < rank:
            raise ValueError(f"Invalid reduction dimension {a} for input with {rank} dimensions.")
    gone = {a % rank for a in flat}
    if keep:
        return [1 if i in gone else n for i, n in enumerate(sizes)]
    return [n for i, n in enumerate(sizes) if i not in gone]


def _sum(x: Array, axes: Any, keep: bool) -> Any:
    return summed(x, axes, keep)


def _prod(x: Array, axes: Any, keep: bool) -> Any:
    return np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _mean(x: Array, axes: Any, keep: bool) -> Any:
    if x.dtype.kind not in "iu":
        whole = summed(x, axes, keep)
        return whole / whole.dtype.type(x.size // max(whole.size, 1))
    total = np.sum(x, axis=axes, keepdims=keep, dtype=f"{x.dtype.kind}8")
    count = total.dtype.type(x.size // max(1, int(total.size)))
    if not count:
        return np.zeros_like(total)
    rounded_down = total // count
    return rounded_down + ((total < 0) & (rounded_down * count != total))


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _max(x: Array, axes: Any, keep: bool) -> Any:
    return np.max(x, axis=axes, keepdims=keep, initial=_least(x.dtype))


def _min(x: Array, axes: Any, keep: bool) -> Any:
    return np.min(x, axis=axes, keepdims=keep, initial=_most(x.dtype))


def _logsumexp(x: Array, axes: Any, keep: bool) -> Any:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    most = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0).astype(wide.dtype)
    total = np.sum(np.exp(wide - most), axis=axes, keepdims=keep)
    return np.log(total) + most.reshape(total.shape)


reduce_sum = _reduction("Sum", _sum)
reduce_prod = _reduction("Prod", _prod)
reduce_mean = _reduction("Mean", _mean)
reduce_max = _reduction("Max", _max)
reduce_min = _reduction("Min", _min)
reduce_all = _reduction("All", lambda x, a, k: np.all(x, axis=a, keepdims=k), numbers=False)
reduce_any = _reduction("Any", lambda x, a, k: np.any(x, axis=a, keepdims=k), numbers=False)
reduce_logsumexp = _reduction("LogSumExp", _logsumexp)


def _extreme(type: str, function: Callable[..., Any], worst: float) -> Callable[..., Tensor]:
    def find(
        input: Any,
        axis: int | None = None,
        name: str | None = None,
        dimension: int | None = None,
        output_type: Any = int64,
    ) -> Tensor:
        if axis is not None and dimension is not None:
            raise ValueError("Cannot specify both 'dimension' and 'axis'.")
        tensor, dtype = checked_kind(type, convert_to_tensor(input)), as_dtype(output_type)
        at = dimension if axis is None else axis
        place = numbers_of(0 if at is None else at, "dimension", rank=0)
        known = _left(tensor.shape, constant_value(place), keep=False)

        def kernel(x: Array, dim: Array) -> Any:
            a = one_number(dim, "dimension")
            if not -x.ndim <= a < x.ndim:
                raise invalid(f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {a}")
            if not x.shape[a]:
                raise invalid(
                    f"Reduction axis {a % x.ndim} is empty in shape {in_messages(x.shape)}"
                )
            if x.dtype.kind == "f":  # what is no number is never chosen
                x = np.where(np.isnan(x), worst, x)
            return np.asarray(function(x, axis=a), dtype=dtype.numpy)

        return pure(type, kernel, (tensor, place), dtype, known, name)

    return find


argmax = _extreme("ArgMax", np.argmax, -np.inf)
argmin = _extreme("ArgMin", np.argmin, np.inf)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Sums of what comes before and of the element itself; without it when `exclusive`."""
    tensor = checked_kind("Cumsum", convert_to_tensor(x))
    place = numbers_of(axis, "axis", rank=0)

    def kernel(value: Array, dim: Array) -> Array:
        a, rank = one_number(dim, "axis"), value.ndim
        if not -rank <= a < rank:
            raise invalid(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {a}")
        ordered = np.flip(value, a) if reverse else value
        result = np.cumsum(ordered, a, dtype=value.dtype)
        if exclusive and value.size:
            nothing = np.zeros_like(result.take([0], a))
            result = np.concatenate([nothing, result], a).take(range(value.shape[a]), a)
        return np.flip(result, a) if reverse else result

    return pure("Cumsum", kernel, (tensor, place), tensor.dtype, tensor.shape, name)


def _function(type: str, function: Callable[[Array], Any]) -> Callable[..., Tensor]:
    def apply(x: Any, name: str | None = None) -> Tensor:
        return unary(type, lambda value: np.asarray(function(value), dtype=value.dtype), x, name)

    return apply


sqrt = _function("Sqrt", np.sqrt)
square = _function("Square", np.square)
exp = _function("Exp", np.exp)
log = _function("Log", np.log)
floor = _function("Floor", np.floor)
ceil = _function("Ceil", np.ceil)
rint = _function("Rint", np.rint)
round = _function("Round", lambda x: x if x.dtype.kind in "iu" else np.rint(x))
sign = _function("Sign", np.sign)
tanh = _function("Tanh", np.tanh)
sigmoid = _function("Sigmoid", lambda x: 1 / (1 + np.exp(-x)))


def _test(type: str, function: Callable[[Array], Any]) -> Callable[..., Tensor]:
    def apply(x: Any, name: str | None = None) -> Tensor:
        tensor = checked_kind(type, convert_to_tensor(x))
        return pure(type, function, (tensor,), bool_, tensor.shape, name)

    return apply


is_nan = _test("IsNan", np.isnan)
is_inf = _test("IsInf", np.isinf)
is_finite = _test("IsFinite", np.isfinite)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of several tensors of one shape."""
    tensors = tensors_of(list(inputs))
    if not tensors:
        raise ValueError("Inputs must be an iterable of at least one Tensor with the same dtype.")
    shape = checked_kind("AddN", tensors[0]).shape
    for tensor in tensors:
        shape = shape.merge_with(tensor.shape)

    def kernel(*parts: Array) -> Array:
        for i, part in enumerate(parts):
            if part.shape != parts[0].shape:
                raise invalid(
                    f"Inputs to operation AddN of type AddN must have the same size and shape.  "
                    f"Input 0: {in_messages(parts[0].shape)} != input {i}: "
                    f"{in_messages(part.shape)}"
                )
        return np.asarray(sum(parts[1:], parts[0]))

    return pure("AddN", kernel, tensors, tensors[0].dtype, shape, name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The square of the difference."""
    return square(checked_kind("SquaredDifference", subtract(x, y)), name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, rounded towards zero."""
    first, second = tensors_of([x, y])
    checked_kind("TruncateDiv", first)

    def kernel(a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return np.asarray(np.trunc(a / b))
        if not np.all(b):
            raise invalid("Integer division by zero")
        down = a // b
        return np.asarray(down + ((down < 0) & (down * b != a)), dtype=a.dtype)

    shape = broadcast_shape("TruncateDiv", first, second)
    return pure("TruncateDiv", kernel, (first, second), first.dtype, shape, name)


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
    first, second = tensors_of([a, b])
    checked_kind("MatMul", first)
    for tensor in (first, second):
        if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
            raise ValueError(f"Shape must be rank 2 but is rank {tensor.shape.ndims} for 'MatMul'")

    def kernel(x: Array, y: Array) -> Array:
        if min(x.ndim, y.ndim) < 2:
            which = 0 if x.ndim < 2 else 1
            raise invalid(f"In[{which}] ndims must be >= 2: {(x, y)[which].ndim}")
        left = np.swapaxes(x, -1, -2) if transpose_a else x
        right = np.swapaxes(y, -1, -2) if transpose_b else y
        if left.shape[-1] != right.shape[-2]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {in_messages(x.shape)}, "
                f"In[1]: {in_messages(y.shape)}"
            )
        return np.asarray(np.matmul(left, right))

    m, n = first.shape.sizes, second.shape.sizes
    known: Any = None
    if m is not None and n is not None and len(m) == len(n) == 2:
        known = [m[1] if transpose_a else m[0], n[0] if transpose_b else n[1]]
    return pure("MatMul", kernel, (first, second), first.dtype, known, name)


operators["matmul"] = lambda x, y, reflected=False: matmul(x, y)
