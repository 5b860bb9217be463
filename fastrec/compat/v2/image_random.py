# SPDX-License-Identifier: Apache-2.0
"""Images changed by chance: for a seed, by TensorFlow's own draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf.ops.colours import changed, pixels
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import convert_to_tensor
from .._tf.trace import Block, Op, run
from ._faces import images
from .random import stateless_uniform, uniform

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_saturation",
]

Uniform = Callable[..., Any]  # of a shape, and of minval, maxval and dtype


def _seeded(seed: Any) -> Uniform:
    return lambda shape, **limits: uniform(shape, seed=seed, **limits)


def _stateless(seed: Any) -> Uniform:
    return lambda shape, **limits: stateless_uniform(shape, seed, **limits)


def _flip(name: str, axis: int, image: Any, draw: Uniform) -> Any:
    tensor = convert_to_tensor(image)
    flip = pixels("flip")
    count = tensor.shape.as_list()[:1] if tensor.shape.ndims == 4 else []

    def change(x: Any, drawn: Any) -> Any:
        if drawn.ndim == 0:
            return flip(x, axis) if drawn < 0.5 else x
        # Of a batch, TensorFlow turns those whose draw rounds to 1.
        chosen = (np.rint(drawn) == 1 if count else drawn < 0.5).reshape(-1)
        turned = x.copy()
        turned[chosen] = flip(x[chosen], axis)
        return turned

    return run(changed(name, change), [tensor, convert_to_tensor(draw(count))])


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """An image that is mirrored half of the time."""
    return _flip("RandomFlipLeftRight", -2, image, _seeded(seed))


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """An image that is upside down half of the time."""
    return _flip("RandomFlipUpDown", -3, image, _seeded(seed))


def stateless_random_flip_left_right(image: Any, seed: Any) -> Any:
    """An image that is mirrored for half of the seeds."""
    return _flip("RandomFlipLeftRight", -2, image, _stateless(seed))


def stateless_random_flip_up_down(image: Any, seed: Any) -> Any:
    """An image that is upside down for half of the seeds."""
    return _flip("RandomFlipUpDown", -3, image, _stateless(seed))


def _span(most: float, limit: float | None = None) -> dict[str, float]:
    if limit is not None and most > limit:
        raise ValueError(f"max_delta must be <= {limit}.")
    if most < 0:
        raise ValueError("max_delta must be non-negative.")
    return {"minval": -most, "maxval": most}


def _between(lower: float, upper: float) -> dict[str, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return {"minval": lower, "maxval": upper}


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """An image with a number of up to `max_delta` added or taken away."""
    return images.adjust_brightness(image, _seeded(seed)([], **_span(max_delta)))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """An image of more contrast, or less."""
    return images.adjust_contrast(image, _seeded(seed)([], **_between(lower, upper)))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """An image whose colours are turned by up to `max_delta` of the circle of hues."""
    return images.adjust_hue(image, _seeded(seed)([], **_span(max_delta, 0.5)))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """An image of more saturation, or less."""
    return images.adjust_saturation(image, _seeded(seed)([], **_between(lower, upper)))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Any:
    """An image with a number of up to `max_delta` added or taken away, as `seed` decides."""
    return images.adjust_brightness(image, _stateless(seed)([], **_span(max_delta)))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Any:
    """An image of more contrast, or less, as `seed` decides."""
    return images.adjust_contrast(image, _stateless(seed)([], **_between(lower, upper)))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Any:
    """An image whose colours are turned, as `seed` decides."""
    return images.adjust_hue(image, _stateless(seed)([], **_span(max_delta, 0.5)))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """An image of more saturation, or less, as `seed` decides."""
    return images.adjust_saturation(image, _stateless(seed)([], **_between(lower, upper)))


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """An image as a JPEG of some quality would have it."""
    limits = {"minval": min_jpeg_quality, "maxval": max_jpeg_quality}
    return images.adjust_jpeg_quality(image, _seeded(seed)([], **limits, dtype="int32"))


def _crop(value: Any, size: Any, draw: Uniform) -> Any:
    sizes = [int(number) for number in np.asarray(size)]
    drawn = draw([len(sizes)], maxval=np.iinfo(np.int32).max, dtype="int32")

    def kernel(x: Any, numbers: Any) -> Any:
        if len(sizes) != x.ndim or any(s > n for s, n in zip(sizes, x.shape, strict=True)):
            text = f"Need value.shape >= size, got  {list(x.shape)} {sizes}"
            raise _errors.InvalidArgumentError(None, None, text)
        limits = zip(numbers.tolist(), x.shape, sizes, strict=True)
        begins = [number % (n - s + 1) for number, n, s in limits]
        return x[tuple(slice(b, b + s) for b, s in zip(begins, sizes, strict=True))]

    def block(count: int, x: Block, numbers: Block) -> Any:
        if not (x.many and numbers.many and isinstance(x.value, np.ndarray)):
            return None
        found = np.empty((count, *sizes), x.value.dtype)
        for row, each, begin in zip(found, x.value, numbers.value, strict=True):
            row[...] = kernel(each, begin)
        return found

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        return [TensorSpec(sizes, specs[0].dtype)]

    return run(Op("RandomCrop", kernel, infer, block), [convert_to_tensor(value), drawn])


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """A part of that size, from a drawn place."""
    return _crop(value, size, _seeded(seed))


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Any:
    """A part of that size, from the place that `seed` decides."""
    return _crop(value, size, _stateless(seed))
