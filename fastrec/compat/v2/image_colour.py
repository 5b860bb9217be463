# SPDX-License-Identifier: Apache-2.0
"""Images of other types, in another light and of other colours."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import as_dtype
from .._tf.ops import colours as rows
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "convert_image_dtype",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "per_image_standardization",
    "rgb_to_grayscale",
    "rgb_to_hsv",
]


def _scaled(image: Any) -> Any:
    tensor = convert_to_tensor(image)
    rows.scaled(tensor.dtype)
    return tensor


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """An image of another type: what is 255 in uint8 is 1.0 in floats."""
    wanted, tensor = as_dtype(dtype), _scaled(image)
    rows.scaled(wanted, "dtype")
    if tensor.dtype == wanted:
        return tensor
    return run(rows.CONVERT, [tensor], dtype=wanted, saturate=saturate)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """An image with something added to its pixels."""
    return run(rows.ADJUST_BRIGHTNESS, [_scaled(image), convert_to_tensor(delta)])


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """An image whose pixels are further from their mean, or nearer."""
    return run(rows.ADJUST_CONTRAST, [_scaled(images), convert_to_tensor(contrast_factor)])


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """An image whose colours are turned by `delta` of the circle of hues."""
    return run(rows.ADJUST_HUE, [convert_to_tensor(image), convert_to_tensor(delta)])


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """An image of more saturation, or less."""
    inputs = [convert_to_tensor(image), convert_to_tensor(saturation_factor)]
    return run(rows.ADJUST_SATURATION, inputs)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """``gain * image ** gamma``, for colours of 0 to 1."""
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return run(rows.ADJUST_GAMMA, [convert_to_tensor(each) for each in (image, gamma, gain)])


def rgb_to_hsv(images: Any, name: str | None = None) -> Any:
    """Hue, saturation and value of floating-point colours."""
    return run(rows.RGB_TO_HSV, [convert_to_tensor(images)])


def hsv_to_rgb(images: Any, name: str | None = None) -> Any:
    """The colours of a hue, a saturation and a value."""
    return run(rows.HSV_TO_RGB, [convert_to_tensor(images)])


def per_image_standardization(image: Any) -> Any:
    """An image of mean 0 and deviation 1."""
    return run(rows.STANDARDIZE, [convert_to_tensor(image)])


def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """An image without its colours."""
    return run(rows.RGB_TO_GRAYSCALE, [_scaled(images)])


def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """An image of one channel with three."""
    tensor = convert_to_tensor(images)
    rows.grey_sizes(tensor.shape.sizes)
    return run(rows.GRAYSCALE_TO_RGB, [tensor])
