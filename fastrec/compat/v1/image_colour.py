# SPDX-License-Identifier: Apache-2.0
"""Images with other hues, saturations and gammas."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import float32
from .._tf.ops import Op
from .._tf.ops import colours as rows
from ._nodes import Tensor
from ._ops import record
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


def _coloured(op: Op, image: Any, *numbers: Any) -> Tensor:
    inputs = [convert_to_tensor(image, name="image")]
    return record(op, inputs + [convert_to_tensor(n, float32) for n in numbers])


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
    return _coloured(rows.RGB_TO_HSV, _floating(images))


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The colours that have a hue, a saturation and a value."""
    return _coloured(rows.HSV_TO_RGB, _floating(images))


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Every colour turned by `delta` of the circle of hues."""
    return _coloured(rows.ADJUST_HUE, image, delta)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The saturation of every colour, times a factor."""
    return _coloured(rows.ADJUST_SATURATION, image, saturation_factor)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, for colours of 0 to 1."""
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return _coloured(rows.ADJUST_GAMMA, image, gamma, gain)


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
