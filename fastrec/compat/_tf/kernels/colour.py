# SPDX-License-Identifier: Apache-2.0
"""Colours of images as hue, saturation and value; the last dimension is the channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrec import _tensor

from ..ops.arithmetic import POW
from .pixels import convert, looked_up

__all__ = ["adjust_gamma", "adjust_hue", "adjust_saturation", "hsv_to_rgb", "rgb_to_hsv"]

Array = np.ndarray[Any, Any]


def _planes(image: Array) -> Array:
    """Return the channels as contiguous planes, because NumPy is slow along short dimensions."""
    return np.ascontiguousarray(np.moveaxis(image, -1, 0))


def rgb_to_hsv(rgb: Array) -> Array:
    """Convert floating-point colours to hue, saturation and value, each from 0 to 1."""
    red, green, blue = _planes(rgb)
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    saturation = np.where(value > 0, spread / np.where(value > 0, value, 1), 0)
    norm = 1 / np.where(spread > 0, spread, 1) * (value.dtype.type(1) / value.dtype.type(6))
    hue = np.where(
        red == value,
        norm * (green - blue),
        np.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = np.where(spread > 0, hue, 0)
    hue = np.where(hue < 0, hue + 1, hue)
    return np.stack([hue, saturation, value], axis=-1).astype(rgb.dtype)


def hsv_to_rgb(hsv: Array) -> Array:
    """Convert hue, saturation and value to colours, the inverse of :func:`rgb_to_hsv`."""
    if hsv.dtype == np.float32 and hsv.ndim > 2:
        images = hsv.reshape(-1, *hsv.shape[-3:])
        return _tensor.change_colours(images, "from_hsv").reshape(hsv.shape)
    hue, saturation, value = _planes(hsv)
    place = hue * 6
    ramps = [np.abs(place - 3) - 1, 2 - np.abs(place - 2), 2 - np.abs(place - 4)]
    parts = [((1 - saturation) + saturation * np.clip(ramp, 0, 1)) * value for ramp in ramps]
    return np.stack(parts, axis=-1).astype(hsv.dtype)


def _through_hsv(image: Array, hue: Any, saturation: Any) -> Array:
    kind = image.dtype if image.dtype.kind == "f" else np.dtype(np.float32)
    if kind == np.float32 and image.shape[-1] == 3 and image.ndim > 2:
        change, amount = ("hue", hue) if saturation is None else ("saturation", saturation)
        single = convert(image, kind)
        images = single.reshape(-1, *single.shape[-3:])
        amounts = np.broadcast_to(np.asarray(amount, kind).reshape(-1), len(images))
        found = _tensor.change_colours(images, change, amounts).reshape(image.shape)
        return convert(found, image.dtype)
    hsv = rgb_to_hsv(convert(image, kind))
    if hue is not None:
        hsv[..., 0] = np.mod(hsv[..., 0] + np.asarray(hue, dtype=kind), 1)
    if saturation is not None:
        hsv[..., 1] = np.clip(hsv[..., 1] * np.asarray(saturation, dtype=kind), 0, 1)
    return convert(hsv_to_rgb(hsv), image.dtype)


def adjust_hue(image: Array, delta: Any) -> Array:
    """Shift the hue of every pixel by the fraction `delta` of the colour circle."""
    return _through_hsv(image, delta, None)


def adjust_saturation(image: Array, factor: Any) -> Array:
    """Multiply the saturation of every pixel by `factor`."""
    return _through_hsv(image, None, factor)


def adjust_gamma(image: Array, gamma: Any, gain: Any) -> Array:
    """Compute ``gain * image ** gamma`` for colours from 0 to 1."""
    kind = image.dtype if image.dtype.kind == "f" else np.dtype(np.float32)

    def bent(part: Array) -> Array:
        power = POW.kernel(convert(part, kind), np.asarray(gamma, dtype=kind))
        return convert(power * np.asarray(gain, dtype=kind), image.dtype, saturate=True)

    one = image.dtype == np.uint8 and np.size(gamma) == np.size(gain) == 1
    return looked_up(bent, image) if one else bent(image)
