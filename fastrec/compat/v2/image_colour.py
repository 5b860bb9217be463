# SPDX-License-Identifier: Apache-2.0
"""Images of other types, in another light and of other colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import convert_to_tensor
from ._images import pixels, turned

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


def _colour(name: str) -> Any:
    from .._tf.kernels import colour

    return getattr(colour, name)


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """An image of another type: what is 255 in uint8 is 1.0 in floats."""
    wanted, tensor = as_dtype(dtype), convert_to_tensor(image)
    if tensor.dtype == wanted:
        return tensor
    convert = pixels("convert")

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, wanted)]

    return turned("ConvertImage", lambda x: convert(x, wanted.numpy, saturate), tensor, infer=infer)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """An image with something added to its pixels."""
    return turned("AdjustBrightness", pixels("adjust_brightness"), image, delta)


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """An image whose pixels are further from their mean, or nearer."""
    return turned("AdjustContrast", pixels("adjust_contrast"), images, contrast_factor)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """An image whose colours are turned by `delta` of the circle of hues."""
    return turned("AdjustHue", _colour("adjust_hue"), image, delta)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """An image of more saturation, or less."""
    function = _colour("adjust_saturation")
    return turned("AdjustSaturation", function, image, saturation_factor)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """``gain * image ** gamma``, for colours of 0 to 1."""
    return turned("AdjustGamma", _colour("adjust_gamma"), image, gamma, gain)


def rgb_to_hsv(images: Any, name: str | None = None) -> Any:
    """Hue, saturation and value of floating-point colours."""
    return turned("RGBToHSV", _colour("rgb_to_hsv"), images)


def hsv_to_rgb(images: Any, name: str | None = None) -> Any:
    """The colours of a hue, a saturation and a value."""
    return turned("HSVToRGB", _colour("hsv_to_rgb"), images)


def per_image_standardization(image: Any) -> Any:
    """An image of mean 0 and deviation 1."""

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        half = specs[0].dtype.name == "float16"
        return [TensorSpec(specs[0].shape, "float16" if half else "float32")]

    return turned("PerImageStandardization", pixels("standardized"), image, infer=infer)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """An image without its colours."""
    return turned("RgbToGrayscale", pixels("to_grayscale"), images, infer=_channels(1))


def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """An image of one channel with three."""
    sizes = convert_to_tensor(images).shape.sizes
    if sizes and sizes[-1] not in (1, None):
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return turned("GrayscaleToRgb", lambda x: np.repeat(x, 3, -1), images, infer=_channels(3))


def _channels(count: int) -> Any:
    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        shape = specs[0].shape.sizes
        return [TensorSpec(shape and [*shape[:-1], count], specs[0].dtype)]

    return infer
