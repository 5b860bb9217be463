# SPDX-License-Identifier: Apache-2.0
"""Arrays of one value, of numbers in a row, and of an array again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, float32, float64, int32, string
from .._tf.errors import InvalidArgumentError
from .._tf.shape import TensorShape, as_shape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, pure, tensors_of
from .array_ops import _shape_tensor
from .constants import constant_value, convert_to_tensor, of_array, shape_value
from .math_ops import cast

__all__ = [
    "broadcast_to",
    "fill",
    "linspace",
    "ones",
    "ones_like",
    "pad",
    "range",
    "reverse",
    "tile",
    "zeros",
    "zeros_like",
]

_SMALL = 1000  # elements, up to which an array of one value is a constant


def _uniform(sizes: Any, value: Any, dtype: Any, name: str) -> Tensor:
    element = as_dtype(dtype)
    if element is string:
        value = _text(value)
    shape = _shape_tensor(sizes) if isinstance(sizes, Tensor) else None
    if shape is None:
        known = as_shape(sizes) if not isinstance(sizes, (list, tuple)) else None
        if known is None and not any(isinstance(n, Tensor) for n in sizes):
            known = TensorShape(sizes)
        if known is not None and known.is_fully_defined() and (known.num_elements() or 0) < _SMALL:
            sizes_known: Any = known.as_list()
            filled = np.full(sizes_known, value, dtype=element.numpy)
            return of_array(filled, name)
        shape = _shape_tensor(sizes)
    return fill(shape, convert_to_tensor(value, element), name)


def _text(value: int) -> bytes:
    if value:
        raise TypeError(f"Expected string, but got {value} of type 'int'.")
    return b""


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but zeros: of strings, empty ones."""
    return _uniform(shape, 0, dtype, name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but ones."""
    return _uniform(shape, 1, dtype, name or "ones")


def _like(tensor: Any, value: Any, dtype: Any, name: str) -> Tensor:
    given = convert_to_tensor(tensor)
    element = given.dtype if dtype is None else as_dtype(dtype)
    what = _text(value) if element is string else value

    def kernel(x: Array) -> Array:
        return np.full(x.shape, what, dtype=element.numpy)

    return pure(
        "ZerosLike" if value == 0 else "OnesLike", kernel, (given,), element, given.shape, name
    )


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros in the shape of another tensor."""
    return _like(tensor, 0, dtype, name or "zeros_like")


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones in the shape of another tensor."""
    return _like(tensor, 1, dtype, name or "ones_like")


def _checked_sizes(sizes: Array) -> list[int]:
    wanted = [int(n) for n in sizes]
    for n in wanted:
        if n < 0:
            raise invalid(f"Dimension {n} must be >= 0")
    return wanted


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """One value, over and over."""
    shape, element = _shape_tensor(dims), convert_to_tensor(value)
    for tensor, rank in (shape, 1), (element, 0):
        if tensor.shape.ndims not in (rank, None):
            raise ValueError(
                f"Shape must be rank {rank} but is rank {tensor.shape.ndims} for 'Fill'"
            )

    def kernel(sizes: Array, x: Array) -> Array:
        return np.full(_checked_sizes(sizes), x[()], dtype=x.dtype)

    return pure("Fill", kernel, (shape, element), element.dtype, shape_value(shape), name)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """Numbers from `start` up to and without `limit`, `delta` apart; from 0 when one is given."""
    if limit is None:
        start, limit = 0, start
    if dtype is not None:
        tensors = [convert_to_tensor(v, dtype) for v in (start, limit, delta)]
    else:
        tensors = _ranged(start, limit, delta)
    element = tensors[0].dtype
    if any(t.shape.ndims not in (0, None) for t in tensors) or element.numpy.kind not in "iuf":
        raise ValueError("start, limit and delta must each be one number")

    def kernel(first: Array, last: Array, apart: Array) -> Array:
        if first.ndim or last.ndim or apart.ndim:
            raise invalid("start, limit and delta must each be one number")
        if apart == 0:
            raise invalid("Requires delta != 0: 0")
        if (last - first) * np.sign(apart) < 0:
            way, sign = ("<=", ">") if apart > 0 else (">=", "<")
            raise invalid(f"Requires start {way} limit when delta {sign} 0: {first}/{last}")
        numbers: Any = (first, last, apart)
        result: Array = np.arange(*numbers, dtype=element.numpy)
        return result

    known = [constant_value(t) for t in tensors]
    count = None
    if all(v is not None for v in known):
        a, b, c = (v.item() for v in known if v is not None)
        if c and not np.isfinite((b - a) / c):
            raise ValueError("Requires ((limit - start) / delta) <= 9223372036854775807")
        if c:
            count = max(int(np.ceil((b - a) / c)), 0)
    return pure("Range", kernel, tensors, element, [count], name)


def _ranged(*values: Any) -> list[Tensor]:
    tensors = [convert_to_tensor(v) for v in values]
    order = [int32, as_dtype("int64"), float32, float64]
    widest = max((t.dtype for t in tensors), key=lambda t: order.index(t) if t in order else 0)
    return [cast(t, widest) for t in tensors]


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """Numbers at equal distances from `start` to `stop`."""
    first, last = tensors_of([start, stop])
    if first.dtype.is_integer:
        first, last = cast(first, float64), cast(last, float64)
    count = numbers_of(num, "num", rank=0)

    def kernel(a: Array, b: Array, n: Array) -> Array:
        if n < 0:
            raise invalid(f"Requires num >= 0: {n}")
        return np.linspace(a, b, int(n), dtype=a.dtype)

    known = constant_value(count)
    sizes = TensorShape([None if known is None else max(int(known), 0)])
    shape = sizes.concatenate(first.shape)
    return pure("LinSpace", kernel, (first, last, count), first.dtype, shape, name)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """An array again and again, along each dimension as often as `multiples` say."""
    empty = isinstance(multiples, (list, tuple)) and not multiples
    times = numbers_of(np.zeros(0, np.int32) if empty else multiples, "multiples", rank=1)
    tensor, value = convert_to_tensor(input), constant_value(times)
    known: Any = None if tensor.shape.ndims is None else [None] * tensor.shape.ndims
    if value is not None:
        sizes = tensor.shape.with_rank(len(value)).as_list()
        known = [
            None if n is None or m < 0 else n * int(m) for n, m in zip(sizes, value, strict=True)
        ]

    def kernel(x: Array, m: Array) -> Array:
        if m.size != x.ndim:
            raise invalid(
                f"Expected multiples argument to be a vector of length {x.ndim} but got length "
                f"{m.size}"
            )
        for i, n in enumerate(m):
            if n < 0:
                raise invalid(f"Expected multiples[{i}] >= 0, but got {n}")
        return np.tile(x, [int(n) for n in m])

    return pure("Tile", kernel, (tensor, times), tensor.dtype, known, name)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """An array repeated along dimensions of size 1, and along new ones in front."""
    tensor, sizes = convert_to_tensor(input), _shape_tensor(shape)

    def kernel(x: Array, s: Array) -> Array:
        try:
            return np.broadcast_to(x, [int(n) for n in s])
        except ValueError:
            raise invalid(
                f"Incompatible shapes: {in_messages(x.shape)} vs. {in_messages(s.tolist())}"
            ) from None

    return pure("BroadcastTo", kernel, (tensor, sizes), tensor.dtype, shape_value(sizes), name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """More elements before and after, as many along each dimension as `paddings` say."""
    modes = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    if mode.upper() not in modes:
        raise ValueError(
            f"Value of argument `mode` expected to be one of CONSTANT, REFLECT, or "
            f"SYMMETRIC. Received `mode` = {mode}"
        )
    given, around = convert_to_tensor(tensor), numbers_of(paddings, "paddings", rank=2)
    value, sizes = constant_value(around), given.shape.sizes
    known: Any = None if sizes is None else [None] * len(sizes)
    if value is not None and sizes is not None:
        known = [None if n is None else n + int(p.sum()) for n, p in zip(sizes, value, strict=True)]
    how: Any = modes[mode.upper()]

    def kernel(x: Array, p: Array, filler: Array) -> Array:
        if p.shape != (x.ndim, 2):
            raise invalid(
                f"The first dimension of paddings must be the rank of inputs{in_messages(p.shape)} "
                f"{in_messages(x.shape)}"
            )
        if (p < 0).any():
            raise invalid("Paddings must be non-negative")
        return _padded(x, p, filler) if how == "constant" else _mirrored(x, p, how)

    nothing = isinstance(constant_values, int) and not constant_values
    if nothing:  # of whatever type
        constant_values = np.zeros((), given.dtype.numpy) if given.dtype is not string else b""
    filler = convert_to_tensor(constant_values, given.dtype)
    return pure("Pad", kernel, (given, around, filler), given.dtype, known, name)


def _padded(x: Array, around: Array, filler: Array) -> Array:
    sizes = [n + int(p.sum()) for n, p in zip(x.shape, around, strict=True)]
    result = np.full(sizes, filler[()], dtype=x.dtype)
    inner = tuple(slice(int(p[0]), int(p[0]) + n) for n, p in zip(x.shape, around, strict=True))
    result[inner] = x
    return result


def _mirrored(x: Array, around: Array, how: str) -> Array:
    for n, (a, b) in zip(x.shape, around, strict=True):
        if max(a, b) > n:
            raise invalid(
                f"paddings must be no greater than the dimension size: {a}, {b} greater than {n}"
            )
        if how == "reflect" and max(a, b) >= n:
            raise invalid(
                f"paddings must be less than the dimension size: {a}, {b} not less than {n}"
            )
    widths = [(int(a), int(b)) for a, b in around]
    return np.pad(x, widths, mode=how) if x.ndim else x  # type: ignore[call-overload]


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along some dimensions in the opposite order."""
    empty = isinstance(axis, (list, tuple)) and not axis
    given = convert_to_tensor(tensor)
    places = numbers_of(np.zeros(0, np.int32) if empty else axis, "axis", rank=1)
    value = constant_value(places)
    if value is not None and given.shape.ndims is not None:
        try:
            _dimensions(value, given.shape.ndims)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None

    def kernel(x: Array, a: Array) -> Array:
        return np.flip(x, _dimensions(a, x.ndim))

    return pure("ReverseV2", kernel, (given, places), given.dtype, given.shape, name)


def _dimensions(axes: Array, rank: int) -> tuple[int, ...]:
    found: list[int] = []
    for i, axis in enumerate(axes.reshape(-1)):
        if not -rank <= axis < rank:
            raise invalid(f"'axis'[{i}] = {axis} is out of valid range [0, {rank - 1}")
        found.append(int(axis) % rank)
        if found.count(found[-1]) > 1:
            raise invalid(f"axis {found[-1]} specified more than once.")
    return tuple(found)
