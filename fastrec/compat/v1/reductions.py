# SPDX-License-Identifier: Apache-2.0
"""One value of many, and functions of single numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._dtypes import DType, as_dtype, bool_, int64
from .._shape import TensorShape
from ._nodes import Tensor, operators
from ._ops import Array, invalid, pure, tensors_of
from .array_ops import axis_of
from .constants import constant_value, convert_to_tensor
from .math_ops import cast, maximum, minimum, unary

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
    "saturate_cast",
    "sigmoid",
    "sign",
    "sqrt",
    "square",
    "squared_difference",
    "tanh",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
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
        return _reduced(
            type,
            function,
            numbers,
            convert_to_tensor(input_tensor, None if numbers else bool_),
            reduction_indices if axis is None else axis,
            bool(keep_dims if keepdims is None else keepdims),
            name,
        )

    return reduce


def _reduced(
    type: str,
    function: Callable[..., Any],
    numbers: bool,
    tensor: Tensor,
    axis: Any,
    keep: bool,
    name: str | None,
) -> Tensor:
    if numbers and (tensor.dtype is bool_ or tensor.dtype.numpy.kind == "O"):
        raise TypeError(
            f"Value passed to parameter 'input' has DataType {tensor.dtype.name} not in list of "
            f"allowed values: float32, float64, int32, uint8, int16, int8, complex64, int64, "
            f"uint16, complex128, float16, uint32, uint64"
        )
    inputs = [tensor] if axis is None else [tensor, convert_to_tensor(axis)]
    known: Any = None
    if axis is None:
        known = [] if not keep else None
        if keep and tensor.shape.ndims is not None:
            known = [1] * tensor.shape.ndims
    else:
        known = _left(tensor.shape, constant_value(inputs[1]), keep)

    def kernel(x: Array, *axes: Array) -> Any:
        chosen = None if not axes else tuple(axis_of(a, x.ndim) for a in axes[0].reshape(-1))
        return np.asarray(function(x, chosen, keep), dtype=x.dtype)

    return pure(type, kernel, inputs, tensor.dtype, known, name)


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
    return np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _prod(x: Array, axes: Any, keep: bool) -> Any:
    return np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _mean(x: Array, axes: Any, keep: bool) -> Any:
    if x.dtype.kind not in "iu":
        return np.mean(x, axis=axes, keepdims=keep)
    count = x.size // max(1, int(np.prod(_rest(x.shape, axes), dtype=np.int64)))
    total = np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)
    return np.trunc(total / np.float64(count))


def _rest(sizes: tuple[int, ...], axes: Any) -> list[int]:
    return [] if axes is None else [n for i, n in enumerate(sizes) if i not in axes]


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _max(x: Array, axes: Any, keep: bool) -> Any:
    return np.max(x, axis=axes, keepdims=keep, initial=_least(x.dtype))


def _min(x: Array, axes: Any, keep: bool) -> Any:
    return np.min(x, axis=axes, keepdims=keep, initial=_most(x.dtype))


reduce_sum = _reduction("Sum", _sum)
reduce_prod = _reduction("Prod", _prod)
reduce_mean = _reduction("Mean", _mean)
reduce_max = _reduction("Max", _max)
reduce_min = _reduction("Min", _min)
reduce_all = _reduction("All", lambda x, a, k: np.all(x, axis=a, keepdims=k), numbers=False)
reduce_any = _reduction("Any", lambda x, a, k: np.any(x, axis=a, keepdims=k), numbers=False)
reduce_logsumexp = _reduction(
    "LogSumExp", lambda x, a, k: np.logaddexp.reduce(x, axis=a, keepdims=k)
)


def _extreme(type: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    def find(
        input: Any,
        axis: int | None = None,
        name: str | None = None,
        dimension: int | None = None,
        output_type: Any = int64,
    ) -> Tensor:
        tensor, dtype = convert_to_tensor(input), as_dtype(output_type)
        at = dimension if axis is None else axis
        place = 0 if at is None else int(at)
        known = _left(tensor.shape, np.array(place), keep=False)

        def kernel(x: Array) -> Any:
            if not x.shape[axis_of(place, x.ndim)]:
                raise invalid("Reduction axis 0 is empty in shape")
            return np.asarray(function(x, axis=place), dtype=dtype.numpy)

        return pure(type, kernel, (tensor,), dtype, known, name)

    return find


argmax = _extreme("ArgMax", np.argmax)
argmin = _extreme("ArgMin", np.argmin)


def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Sums of what comes before and of the element itself; without it when `exclusive`."""

    def kernel(value: Array) -> Array:
        ordered = np.flip(value, axis) if reverse else value
        result = np.cumsum(ordered, axis, dtype=value.dtype)
        if exclusive:
            result = result - ordered
        return np.flip(result, axis) if reverse else result

    return unary("Cumsum", kernel, x, name)


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
round = _function("Round", np.rint)
sign = _function("Sign", np.sign)
tanh = _function("Tanh", np.tanh)
sigmoid = _function("Sigmoid", lambda x: 1 / (1 + np.exp(-x)))


def _test(type: str, function: Callable[[Array], Any]) -> Callable[..., Tensor]:
    def apply(x: Any, name: str | None = None) -> Tensor:
        tensor = convert_to_tensor(x)
        return pure(type, function, (tensor,), bool_, tensor.shape, name)

    return apply


is_nan = _test("IsNan", np.isnan)
is_inf = _test("IsInf", np.isinf)
is_finite = _test("IsFinite", np.isfinite)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of several tensors of one shape."""
    tensors = tensors_of(list(inputs))
    shape = tensors[0].shape
    for tensor in tensors:
        shape = shape.merge_with(tensor.shape)
    return pure(
        "AddN", lambda *parts: sum(parts[1:], parts[0]), tensors, tensors[0].dtype, shape, name
    )


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The square of the difference."""
    return square(convert_to_tensor(x) - y, name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient of integers, rounded towards zero."""
    first, second = tensors_of([x, y])

    def kernel(a: Array, b: Array) -> Array:
        if not np.all(b):
            raise invalid("Integer division by zero")
        return np.asarray((np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b), dtype=a.dtype)

    shape = first.shape if second.shape.ndims == 0 else TensorShape(None)
    return pure("TruncateDiv", kernel, (first, second), first.dtype, shape, name)


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """What is too small made the minimum, what is too large the maximum."""
    return maximum(minimum(t, clip_value_max), clip_value_min, name)


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of matrices."""
    first, second = tensors_of([a, b])

    def kernel(x: Array, y: Array) -> Array:
        left = np.swapaxes(x, -1, -2) if transpose_a else x
        right = np.swapaxes(y, -1, -2) if transpose_b else y
        if left.shape[-1] != right.shape[-2]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {list(x.shape)}, In[1]: {list(y.shape)}"
            )
        return np.asarray(np.matmul(left, right))

    m, n = first.shape.sizes, second.shape.sizes
    known: Any = None
    if m is not None and n is not None and len(m) == len(n) == 2:
        known = [m[1] if transpose_a else m[0], n[0] if transpose_b else n[1]]
    return pure("MatMul", kernel, (first, second), first.dtype, known, name)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` with elements of another type, the nearest one where it has no equal."""
    tensor, wanted = convert_to_tensor(value), as_dtype(dtype)

    def kernel(x: Array) -> Array:
        return saturated(x, wanted)

    return pure("SaturateCast", kernel, (tensor,), wanted, tensor.shape, name)


def saturated(x: Array, wanted: DType) -> Array:
    """`x` with elements of type `wanted`, the nearest one where it has no equal."""
    if wanted.numpy.kind in "iu":
        limits = np.iinfo(wanted.numpy)
        low, high = limits.min, limits.max
        if x.dtype.kind in "iu":
            own = np.iinfo(x.dtype)
            low, high = max(low, own.min), min(high, own.max)
        x = np.clip(x, x.dtype.type(low), x.dtype.type(high))
    result: Array = x.astype(wanted.numpy)
    return result


def _to(name: str, default: str) -> Callable[..., Tensor]:
    def convert(x: Any, name: str = default) -> Tensor:
        return cast(x, as_dtype(target), name)

    target = name
    return convert


to_float = _to("float32", "ToFloat")
to_double = _to("float64", "ToDouble")
to_int32 = _to("int32", "ToInt32")
to_int64 = _to("int64", "ToInt64")
operators["matmul"] = lambda x, y, reflected=False: matmul(x, y)
