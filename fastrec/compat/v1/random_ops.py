# SPDX-License-Identifier: Apache-2.0
"""Random numbers: where they are seeded, the ones that TensorFlow draws."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import DType, as_dtype, float32
from .._tf.kernels import philox
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .array_ops import _shape_tensor, shape
from .constants import constant_value, convert_to_tensor, shape_value
from .control_flow import Assert, with_dependencies
from .graph import create_op, get_seed, name_scope
from .indexing import slice
from .math_ops import add, floormod, greater_equal, reduce_all

__all__ = [
    "random_crop",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "stateless_random_uniform",
    "truncated_normal",
]


def _sized(sizes: Array) -> tuple[int, ...]:
    wanted = tuple(int(n) for n in sizes)
    if min(wanted, default=0) < 0:
        raise invalid(f"Dimension {min(wanted)} must be >= 0")
    return wanted


def _drawing(
    type: str,
    inputs: list[Tensor],
    dtype: DType,
    known: Any,
    seed: int | None,
    draw: Callable[..., Any],
    name: str | None,
) -> Tensor:
    """An operation with a generator of its own in each session."""
    seed1, seed2 = get_seed(seed)

    def kernel(step: Any, *values: Any) -> tuple[Any]:
        state = step.resource(op, lambda: philox.Philox(seed1 or 0, seed2 or 0))
        return (draw(state, *values),)

    op = create_op(
        type,
        inputs,
        [(dtype, known)],
        kernel,
        name=name,
        stateful=True,
        attrs={"seed": seed1 or 0, "seed2": seed2 or 0},
    )
    return op.outputs[0]


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from `minval` up to and without `maxval`, each as likely as the others."""
    element = as_dtype(dtype)
    if maxval is None:
        if element.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element}")
        maxval = 1
    with name_scope(name, "random_uniform"):
        sizes = _shape_tensor(shape)
        plain = type(minval) is int and minval == 0 and type(maxval) is int and maxval == 1
        if element.is_integer or not plain:
            low = convert_to_tensor(minval, element, "min")
            high = convert_to_tensor(maxval, element, "max")
        known = shape_value(sizes)
        if element.is_integer:
            return _uniform_int(sizes, low, high, known, seed)

        def draw(state: philox.Philox, wanted: Array) -> Array:
            return philox.uniform(state, _sized(wanted), element.numpy)

        drawn = _drawing("RandomUniform", [sizes], element, known, seed, draw, None)
        return drawn if plain else add(drawn * (high - low), low, "add")


def _uniform_int(sizes: Tensor, low: Tensor, high: Tensor, known: Any, seed: int | None) -> Tensor:
    numpy = low.dtype.numpy
    for limit, tensor in (("minval", low), ("maxval", high)):
        if tensor.shape.ndims:
            raise ValueError(f"{limit} must be a scalar; got a tensor of shape {tensor.shape}")

    def draw(state: philox.Philox, wanted: Array, a: Array, b: Array) -> Array:
        if not np.prod(wanted):
            return np.zeros(_sized(wanted), numpy)
        if not a < b:
            raise invalid(f"Need minval < maxval, got {a} >= {b}")
        return philox.uniform_int(state, _sized(wanted), int(a), int(b), numpy)

    return _drawing("RandomUniformInt", [sizes, low, high], low.dtype, known, seed, draw, None)


def _normal(
    type: str,
    function: Callable[..., Array],
    arguments: tuple[Any, Any, Any],
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    element = as_dtype(dtype)
    with name_scope(name, type):
        sizes = _shape_tensor(arguments[0])
        mean = convert_to_tensor(arguments[1], element, "mean")
        stddev = convert_to_tensor(arguments[2], element, "stddev")

        def draw(state: philox.Philox, wanted: Array) -> Array:
            return function(state, _sized(wanted), element.numpy)

        known = shape_value(sizes)
        drawn = _drawing("RandomStandardNormal", [sizes], element, known, seed, draw, None)
        return add(drawn * stddev, mean, "add")


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers around `mean`."""
    arguments = (shape, mean, stddev)
    return _normal("random_normal", philox.normal, arguments, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers around `mean`, none of them two standard deviations away or more."""
    arguments = (shape, mean, stddev)
    return _normal("truncated_normal", philox.truncated_normal, arguments, dtype, seed, name)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order."""
    seed1, seed2 = get_seed(seed)
    tensor = convert_to_tensor(value)

    def kernel(step: Any, rows: Array) -> tuple[Array]:
        state = step.resource(op, lambda: philox.Philox(seed1 or 0, seed2 or 0))
        return (rows if rows.ndim == 0 else philox.shuffled(state, rows),)

    op = create_op(
        "RandomShuffle",
        (tensor,),
        [(tensor.dtype, tensor.shape)],
        kernel,
        name=name,
        stateful=True,
        attrs={"seed": seed1 or 0, "seed2": seed2 or 0},
    )
    return op.outputs[0]


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Numbers that `seed`, of shape (2,), decides, from `minval` up to and without `maxval`."""
    element = as_dtype(dtype)
    if maxval is None:
        if element.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element}")
        maxval = 1
    with name_scope(name, "stateless_random_uniform"):
        inputs = [_shape_tensor(shape), convert_to_tensor(seed)]
        low = convert_to_tensor(minval, element, "min")
        high = convert_to_tensor(maxval, element, "max")

        def draw(wanted: Array, pair: Array, *limits: Array) -> Array:
            state = philox.scrambled(int(pair[0]), int(pair[1]))
            if not limits:
                return philox.uniform(state, _sized(wanted), element.numpy)
            least, most = int(limits[0]), int(limits[1])
            if not least < most:
                raise invalid(f"Need minval < maxval, got {least} >= {most}")
            return philox.uniform_int(state, _sized(wanted), least, most, element.numpy)

        known = shape_value(inputs[0])
        if element.is_integer:
            inputs += [low, high]
        drawn = pure("StatelessRandomUniformV2", draw, inputs, element, known)
        return drawn if element.is_integer else add(drawn * (high - low), low, "add")


def _surely_fits(whole: Tensor, part: Tensor) -> bool:
    sizes, wanted = constant_value(whole), constant_value(part)
    known = sizes is not None and wanted is not None and sizes.shape == wanted.shape
    return known and bool(np.all(np.asarray(sizes) >= np.asarray(wanted)))


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of `value` of the sizes `size`, from anywhere in it."""
    return _cropped(value, size, functools.partial(random_uniform, seed=seed), name)


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """A part of `value` of the sizes `size`, from the place that `seed`, of two, decides."""
    return _cropped(value, size, functools.partial(stateless_random_uniform, seed=seed), name)


def _cropped(value: Any, size: Any, uniform: Callable[..., Tensor], name: str | None) -> Tensor:
    with name_scope(name, "random_crop"):
        tensor = convert_to_tensor(value, name="value")
        wanted = convert_to_tensor(size, np.int32, "size")
        whole = shape(tensor)
        if not _surely_fits(whole, wanted):
            fits = Assert(
                reduce_all(greater_equal(whole, wanted)),
                ["Need value.shape >= size, got ", whole, wanted],
                summarize=1000,
            )
            whole = with_dependencies([fits], whole)
        limit = whole - wanted + 1
        drawn = uniform(shape(whole), dtype=wanted.dtype, maxval=wanted.dtype.max)
        return slice(tensor, floormod(drawn, limit), wanted, "random_crop")
