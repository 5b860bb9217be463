# SPDX-License-Identifier: Apache-2.0
"""Images with other hues, saturations and gammas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tf.dtypes import float32
from .._tf.kernels import colour
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .constants import convert_to_tensor
from .random_ops import random_uniform

__all__ = [
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "hsv_to_rgb",
    "random_hue",
    "random_saturation",
    "rgb_to_hsv",
]


def _coloured(type: str, function: Callable[..., Array], image: Any, *numbers: Any) -> Tensor:
    tensor = convert_to_tensor(image, name="image")

    def kernel(x: Array, *given: Array) -> Array:
        if x.ndim < 1 or x.shape[-1] != 3:
            channels = x.shape[-1] if x.ndim else 0
            raise invalid(f"input must have 3 channels but instead has {channels} channels.")
        return function(x, *given)

    inputs = [tensor, *[convert_to_tensor(n, float32) for n in numbers]]
    return pure(type, kernel, inputs, tensor.dtype, tensor.shape)


def _floating(images: Any) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    if not tensor.dtype.is_floating:
        raise TypeError(
            f"Value passed to parameter 'images' has DataType {tensor.dtype.name} not in list of "
            f"allowed values: float16, float32, float64"
        )
    return tensor


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of floating-point colours."""
    return _coloured("RGBToHSV", colour.rgb_to_hsv, _floating(images))


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The colours that have a hue, a saturation and a value."""
    return _coloured("HSVToRGB", colour.hsv_to_rgb, _floating(images))


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Every colour turned by `delta` of the circle of hues."""
    return _coloured("AdjustHue", colour.adjust_hue, image, delta)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The saturation of every colour, times a factor."""
    return _coloured("AdjustSaturation", colour.adjust_saturation, image, saturation_factor)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, for colours of 0 to 1."""
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    tensor = convert_to_tensor(image, name="image")
    inputs = (tensor, convert_to_tensor(gamma, float32), convert_to_tensor(gain, float32))
    return pure("AdjustGamma", colour.adjust_gamma, inputs, tensor.dtype, tensor.shape)


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Every colour turned by up to `max_delta` of the circle of hues."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """With more or less saturation, by a factor from `lower` up to `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))
