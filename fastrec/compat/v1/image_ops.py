# SPDX-License-Identifier: Apache-2.0
"""Images mirrored, and made brighter, by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.kernels import pixels
from .._tf.ops import geometry
from .._tf.ops.colours import whole
from ._faces import images
from ._nodes import Tensor
from ._ops import Array, pure
from .array_ops import shape
from .constants import convert_to_tensor
from .math_ops import greater, less
from .random_ops import random_uniform

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_up_down",
]


def _random_flip(image: Any, axis: int, seed: int | None, name: str) -> Tensor:
    tensor = convert_to_tensor(image)
    geometry.image_sizes(tensor.shape)
    several = tensor.shape.ndims == 4
    drawn = random_uniform([shape(tensor)[0]] if several else [], 0, 1.0, seed=seed)
    # TensorFlow compares for one image, and rounds for several.
    mirror = greater(drawn, 0.5) if several else less(drawn, 0.5)

    def kernel(x: Array, m: Array) -> Array:
        whole(x)
        if m.ndim == 0:
            return pixels.flip(x, axis) if m else x
        return np.where(m[:, None, None, None], pixels.flip(x, axis), x)

    return pure(name, kernel, (tensor, mirror), tensor.dtype, tensor.shape, axis=axis)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored, the left on the right, or not: each half of the time."""
    return _random_flip(image, -2, seed, "RandomFlip")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored, the top at the bottom, or not: each half of the time."""
    return _random_flip(image, -3, seed, "RandomFlip")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Made brighter or darker by up to `max_delta`."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return images.adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """With more or less contrast, by a factor from `lower` up to `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return images.adjust_contrast(image, random_uniform([], lower, upper, seed=seed))
