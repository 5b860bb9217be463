# SPDX-License-Identifier: Apache-2.0
"""Images cut, filled up, mirrored, made brighter, scaled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, float32, int32
from .._tf.kernels import pixels
from .._tf.ops import Op, geometry
from .._tf.ops import colours as rows
from .._tf.ops.colours import whole
from ._nodes import Tensor
from ._ops import Array, numbers_of, pure, record
from .array_ops import shape
from .constants import convert_to_tensor
from .math_ops import greater, less
from .random_ops import random_uniform

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "pad_to_bounding_box",
    "per_image_standardization",
    "per_image_whitening",
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize_image_with_crop_or_pad",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rot90",
    "transpose_image",
]


def _image(image: Any) -> Tensor:
    return convert_to_tensor(image, name="image")


def _with_pixels(tensor: Tensor) -> Tensor:
    if 0 in (tensor.shape.sizes or ())[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {tensor.shape}")
    return tensor


def _one_image(image: Any) -> Tensor:
    tensor = convert_to_tensor(image, name="image")
    if tensor.shape.ndims is not None and tensor.shape.ndims < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    return tensor


def _cut(op: Op, image: Any, numbers: list[Any], name: str) -> Tensor:
    given = [convert_to_tensor(n, None if isinstance(n, Tensor) else int32) for n in numbers]
    return record(op, [_image(image), *given], name)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crop or pad an image around its centre; padding is zeros."""
    sizes = [target_height, target_width]
    return _cut(geometry.CROP_OR_PAD, image, sizes, "resize_image_with_crop_or_pad")


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of an image."""
    numbers = [offset_height, offset_width, target_height, target_width]
    return _cut(geometry.CROP, image, numbers, "crop_to_bounding_box")


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """An image within a larger one that is zero elsewhere."""
    numbers = [offset_height, offset_width, target_height, target_width]
    return _cut(geometry.PAD, image, numbers, "pad_to_bounding_box")


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of an image, `central_fraction` of each side."""
    return record(geometry.CENTRAL_CROP, [_image(image)], "central_crop", fraction=central_fraction)


# Mirrors.


def flip_left_right(image: Any) -> Tensor:
    """Mirrored, the left on the right."""
    return record(geometry.FLIP_LEFT_RIGHT, [_image(image)])


def flip_up_down(image: Any) -> Tensor:
    """Mirrored, the top at the bottom."""
    return record(geometry.FLIP_UP_DOWN, [_image(image)])


def _random_flip(image: Any, axis: int, seed: int | None, name: str) -> Tensor:
    tensor = _image(image)
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


def transpose_image(image: Any) -> Tensor:
    """Rows as columns."""
    return record(geometry.TRANSPOSE, [_image(image)])


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Turned against the clock, `k` times by a right angle."""
    times = numbers_of(k, "k", rank=0, allowed=("int32",))
    return record(geometry.ROT90, [_image(image), times], name)


# Light.


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """`delta` added to every pixel; of whole numbers, that much of their range."""
    tensor = _scaled(image)
    wanted = tensor.dtype if tensor.dtype.is_floating else float32
    given = (
        convert_to_tensor(delta) if isinstance(delta, Tensor) else convert_to_tensor(delta, wanted)
    )
    return record(rows.ADJUST_BRIGHTNESS, (tensor, given))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The distance of every pixel from the mean of its channel, times a factor."""
    tensor = _scaled(_one_image(images))
    return record(rows.ADJUST_CONTRAST, (tensor, convert_to_tensor(contrast_factor, float32)))


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Made brighter or darker by up to `max_delta`."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """With more or less contrast, by a factor from `lower` up to `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """With a mean of 0 and a deviation of 1."""
    return record(rows.STANDARDIZE, (_with_pixels(_one_image(image)),))


per_image_whitening = per_image_standardization  # its name until version 0.12


def _scaled(image: Any) -> Tensor:
    """A tensor of numbers that an image can be made of."""
    tensor = convert_to_tensor(image, name="image")
    rows.scaled(tensor.dtype)
    return tensor


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """The same image in another type, whose range is 0 to 1 for floating-point types."""
    tensor, wanted = convert_to_tensor(image, name="image"), as_dtype(dtype)
    rows.scaled(wanted, "dtype")
    if _scaled(tensor).dtype is wanted:
        return tensor
    return record(rows.CONVERT, (tensor,), name, dtype=wanted, saturate=saturate)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel of three."""
    return record(rows.RGB_TO_GRAYSCALE, (_scaled(images),), name)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """One channel three times."""
    tensor = convert_to_tensor(images)
    rows.grey_sizes(tensor.shape.sizes)
    return record(rows.GRAYSCALE_TO_RGB, (tensor,), name)
