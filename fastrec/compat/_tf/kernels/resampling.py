# SPDX-License-Identifier: Apache-2.0
"""Pictures scaled, as ``tf.image.resize`` of TensorFlow 2 scales them.

But for the nearest pixel, a row of the result is a weighted sum of rows of the picture, and so is a
column of columns: one small matrix for each of the two says everything. The middle of a pixel is
half a pixel from its edge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["METHODS", "fitted", "resize", "within"]

Array = np.ndarray[Any, Any]
_SINGLE = np.float32
_STEPS = 1024  # TensorFlow has the weights of "bicubic" in a table


def _triangle(x: Array) -> Array:
    return np.where(x >= 1, 0, 1 - x)


def _keys(x: Array) -> Array:
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _mitchell(x: Array) -> Array:
    near = (7 / 6 * x - 2) * x * x + 8 / 9
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _gaussian(x: Array) -> Array:
    return np.where(x >= 1.5, 0, np.exp(-2 * x * x))


def _lanczos(radius: float, x: Array) -> Array:
    away = np.maximum(x, 1e-3)
    value = radius * np.sin(np.pi * away) * np.sin(np.pi * away / radius) / (np.pi * away) ** 2
    return np.where(x > radius, 0, np.where(x <= 1e-3, 1, value))


_KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "bilinear": (1, _triangle),
    "bicubic": (2, _keys),
    "mitchellcubic": (2, _mitchell),
    "gaussian": (1.5, _gaussian),
    "lanczos3": (3, functools.partial(_lanczos, 3)),
    "lanczos5": (5, functools.partial(_lanczos, 5)),
}
METHODS = {*_KERNELS, "nearest", "area"}


def _sampled(size: int, wanted: int, method: str, antialias: bool) -> Array:
    """Weights by how far the middles of pixels are from where they are looked for."""
    radius, kernel = _KERNELS[method]
    scale = _SINGLE(size) / _SINGLE(wanted)
    reach = max(scale, _SINGLE(1)) if antialias else _SINGLE(1)
    apart = np.arange(size, dtype=_SINGLE) + _SINGLE(0.5) - _places(size, wanted)[:, None]
    if method == "bicubic" and not antialias:
        apart = np.rint(apart * _STEPS) / _SINGLE(_STEPS)
    weights = kernel(np.abs(apart / reach).astype(np.float64))
    weights[np.abs(apart) > radius * reach] = 0
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _covered(size: int, wanted: int) -> Array:
    """Weights by how much of each pixel lies within one of the result."""
    scale = size / wanted
    begin = np.arange(wanted)[:, None] * scale
    first = np.arange(size)
    overlap = np.minimum(first + 1, begin + scale) - np.maximum(first, begin)
    shares: Array = np.maximum(overlap, 0) / scale
    return shares


@functools.lru_cache(64)
def _weights(size: int, wanted: int, method: str, antialias: bool) -> Array:
    area = method == "area"
    found = _covered(size, wanted) if area else _sampled(size, wanted, method, antialias)
    result = np.ascontiguousarray(found, dtype=_SINGLE)
    result.flags.writeable = False
    return result


def _places(size: int, wanted: int) -> Array:
    """Where the middles of the pixels of the result are, in pixels of the picture."""
    scale = _SINGLE(size) / _SINGLE(wanted)
    return (np.arange(wanted, dtype=_SINGLE) + _SINGLE(0.5)) * scale


def _nearest(image: Array, height: int, width: int) -> Array:
    rows, columns = image.shape[-3:-1]
    down = np.minimum(_places(rows, height).astype(int), rows - 1)
    along = np.minimum(_places(columns, width).astype(int), columns - 1)
    return image[..., down[:, None], along, :]


def _between(size: int, wanted: int) -> tuple[Array, Array, Array]:
    """The two pixels next to each place, and how far it is from the first to the second."""
    at = _places(size, wanted) - _SINGLE(0.5)
    low = np.floor(at)
    first = np.clip(low, 0, size - 1).astype(int)
    return first, np.clip(low + 1, 0, size - 1).astype(int), at - low


def _bilinear(image: Array, height: int, width: int) -> Array:
    """Two weights a pixel: quicker than matrices, and to the bit as TensorFlow adds them up."""
    *front, rows, columns, channels = image.shape
    top, bottom, down = _between(rows, height)
    left, right, along = _between(columns, width)
    lines = image.reshape(*front, rows, columns * channels)
    first, second = ((at[:, None] * channels + np.arange(channels)).ravel() for at in (left, right))
    across = np.repeat(along, channels)

    def mixed(at: Array) -> Array:
        some = np.take(lines, at, -2)
        one, other = (np.take(some, each, -1).astype(_SINGLE) for each in (first, second))
        other -= one
        other *= across
        other += one
        mixture: Array = other
        return mixture

    above, below = mixed(top), mixed(bottom)
    below -= above
    below *= down[:, None]
    below += above
    result: Array = below.reshape(*front, height, width, channels)
    return result


def resize(image: Array, height: int, width: int, method: str, antialias: bool = False) -> Array:
    """A picture, or a stack of them, of another size; ``float32`` unless by the nearest pixels.

    Parameters
    ----------
    image : of shape (..., rows, columns, channels)
    height, width : int
    method : str
        One of `METHODS`.
    antialias : bool
        Look further around where the picture becomes smaller.
    """
    if method == "nearest":
        return _nearest(image, height, width)
    if method == "bilinear" and not antialias:
        return _bilinear(image, height, width)
    rows, columns, channels = image.shape[-3:]
    single = image.astype(_SINGLE, copy=False)
    down = _weights(rows, height, method, antialias)
    tall = down @ single.reshape(*image.shape[:-3], rows, columns * channels)
    tall = tall.reshape(*image.shape[:-3], height, columns, channels)
    result: Array = _weights(columns, width, method, antialias) @ tall
    return result


def within(size: Sequence[int], limits: Sequence[int]) -> list[int]:
    """How large a picture of some size can be within limits, if it keeps its form."""
    scale = min(_SINGLE(limit) / _SINGLE(each) for limit, each in zip(limits, size, strict=True))
    return [int(np.rint(scale * _SINGLE(each))) for each in size]


def fitted(size: Sequence[int], limits: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The size of a picture that keeps its form within limits, and where it begins in them."""
    ratio = max(_SINGLE(each) / _SINGLE(limit) for each, limit in zip(size, limits, strict=True))
    exact = [_SINGLE(each) / ratio for each in size]
    offsets = [
        max(int(np.floor((_SINGLE(limit) - each) / _SINGLE(2))), 0)
        for limit, each in zip(limits, exact, strict=True)
    ]
    return tuple(int(np.floor(each)) for each in exact), tuple(offsets)
