# SPDX-License-Identifier: Apache-2.0
"""Arrays of one value, of numbers in a row, and of an array again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtypes import as_dtype, float32, float64, int32, string
from .._shape import TensorShape, as_shape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, pure, tensors_of
from .array_ops import _shape_tensor
from .constants import constant_value, convert_to_tensor, of_array, shape_value

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
        value = b""
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


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but zeros: of strings, empty ones."""
    return _uniform(shape, 0, dtype, name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but ones."""
    return _uniform(shape, 1, dtype, name or "ones")


def _like(tensor: Any, value: Any, dtype: Any, name: str) -> Tensor:
    given = convert_to_tensor(tensor)
    element = given.dtype if dtype is None else as_dtype(dtype)
    what = b"" if element is string else value

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
    for at, n in enumerate(wanted):
        if n < 0:
            raise invalid(f"Dimension {n} must be >= 0 (size {at})")
    return wanted


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """One value, over and over."""
    shape, element = _shape_tensor(dims), convert_to_tensor(value)

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

    def kernel(first: Array, last: Array, apart: Array) -> Array:
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
        if c:
            count = max(int(np.ceil((b - a) / c)), 0)
    return pure("Range", kernel, tensors, element, [count], name)


def _ranged(*values: Any) -> list[Tensor]:
    from .math_ops import cast

    tensors = [convert_to_tensor(v) for v in values]
    order = [int32, as_dtype("int64"), float32, float64]
    widest = max((t.dtype for t in tensors), key=lambda t: order.index(t) if t in order else 0)
    return [cast(t, widest) for t in tensors]


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """Numbers at equal distances from `start` to `stop`."""
    first, last = tensors_of([start, stop])
    count = convert_to_tensor(num)

    def kernel(a: Array, b: Array, n: Array) -> Array:
        if n <= 0:
            raise invalid(f"Requires num > 0: {n}")
        return np.linspace(a, b, int(n), dtype=a.dtype)

    known = constant_value(count)
    sizes = [None if known is None else int(known)]
    return pure("LinSpace", kernel, (first, last, count), first.dtype, sizes, name)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """An array again and again, along each dimension as often as `multiples` say."""
    empty = isinstance(multiples, (list, tuple)) and not multiples
    times = numbers_of(np.zeros(0, np.int32) if empty else multiples, "multiples", rank=1)
    tensor, value = convert_to_tensor(input), constant_value(times)
    known: Any = None
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
    given, around = convert_to_tensor(tensor), convert_to_tensor(paddings)
    value, sizes = constant_value(around), given.shape.sizes
    known: Any = None
    if value is not None and sizes is not None:
        known = [None if n is None else n + int(p.sum()) for n, p in zip(sizes, value, strict=True)]
    how: Any = modes[mode.upper()]

    def kernel(x: Array, p: Array, filler: Array) -> Array:
        widths = [(int(a), int(b)) for a, b in p]
        if any(a < 0 or b < 0 for a, b in widths):
            raise invalid("Paddings must be non-negative")
        if how == "constant":
            return np.pad(x, widths, constant_values=filler[()])
        return np.pad(x, widths, mode=how)

    filler = convert_to_tensor(b"" if given.dtype is string else constant_values, given.dtype)
    return pure("Pad", kernel, (given, around, filler), given.dtype, known, name)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along some dimensions in the opposite order."""
    given, places = convert_to_tensor(tensor), convert_to_tensor(axis)
    function = lambda x, a: np.flip(x, tuple(int(i) for i in a))  # noqa: E731
    return pure("ReverseV2", function, (given, places), given.dtype, given.shape, name)
