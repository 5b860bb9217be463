# SPDX-License-Identifier: Apache-2.0
"""Crop, pad, flip, brighten, convert and resize images, which are arrays.

The last three dimensions are rows, columns and channels. Other dimensions may precede them, so
that a batch of images is handled like a single image.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrec import _core, _tensor
from fastrec.images.augment import distort

from ..errors import InvalidArgumentError, invalid
from ..ops.arithmetic import POW

Array = np.ndarray[Any, Any]
_CHANNELS = 64  # the maximum for native changes
_WORTH = 1 << 12  # the minimum number of elements for native code
_MULTIPLY = bytes([_tensor.PIXEL_CHANGES.index("multiply")])


def _failed(text: str) -> InvalidArgumentError:
    return invalid(f"assertion failed: [{text}]")


def crop(image: Array, top: int, left: int, height: int, width: int) -> Array:
    """Return a window of `height` by `width` pixels that starts at `top` and `left`.

    Raises
    ------
    InvalidArgumentError
        If the window is empty or exceeds the image.
    """
    for name, first, size, whole in (
        ("height", top, height, image.shape[-3]),
        ("width", left, width, image.shape[-2]),
    ):
        if first < 0:
            raise _failed(f"offset_{name} must be >= 0.")
        if size <= 0:
            raise _failed(f"target_{name} must be > 0.")
        if whole < first + size:
            raise _failed(f"{name} must be >= target + offset.")
    return image[..., top : top + height, left : left + width, :]


def pad(image: Array, top: int, left: int, height: int, width: int) -> Array:
    """Place the image at `top` and `left` in an image of zeros with `height` by `width` pixels.

    Raises
    ------
    InvalidArgumentError
        If the image does not fit.
    """
    rows, columns = image.shape[-3:-1]
    for name, first, size, inner in (
        ("height", top, height, rows),
        ("width", left, width, columns),
    ):
        if first < 0:
            raise _failed(f"offset_{name} must be >= 0")
        if size < first + inner:
            raise _failed(f"{name} must be <= target - offset")
    result = np.zeros((*image.shape[:-3], height, width, image.shape[-1]), dtype=image.dtype)
    result[..., top : top + rows, left : left + columns, :] = image
    return result


def crop_or_pad(image: Array, height: int, width: int, out: Array | None = None) -> Array:
    """Return the centre of the image, padded with zeros where the image is smaller.

    Parameters
    ----------
    out : ndarray, optional
        The destination. Without it, the result may be a view of `image`.

    Raises
    ------
    InvalidArgumentError
        If `height` or `width` is 0 or less.
    """
    rows, columns = image.shape[-3:-1]
    for name, size in (("height", height), ("width", width)):
        if size <= 0:
            raise _failed(f"target_{name} must be > 0.")
    top, left = max((rows - height) // 2, 0), max((columns - width) // 2, 0)
    kept = image[..., top : top + height, left : left + width, :]
    if out is None:
        if kept.shape[-3:-1] == (height, width):
            return kept
        out = np.empty((*image.shape[:-3], height, width, image.shape[-1]), dtype=image.dtype)
    down, right = max((height - rows) // 2, 0), max((width - columns) // 2, 0)
    bottom, end = down + kept.shape[-3], right + kept.shape[-2]
    out[..., :down, :, :] = out[..., bottom:, :, :] = 0
    out[..., down:bottom, :right, :] = out[..., down:bottom, end:, :] = 0
    out[..., down:bottom, right:end, :] = kept
    return out


def flip(image: Array, axis: int) -> Array:
    """Flip an image horizontally for axis -2, and vertically for axis -3."""
    if axis == -2:
        return _tensor.mirror(image)
    if image.dtype.hasobject:
        return np.ascontiguousarray(np.flip(image, axis))
    result = _core.empty(image.shape, image.dtype)
    result[...] = np.flip(image, axis)
    return result


def saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Cast `values` to `dtype`, and clip values out of range to its limits."""
    if "c" not in (values.dtype.kind, dtype.kind):
        values = np.clip(values, *_common_limits(values.dtype, dtype))
    result: Array = values.astype(dtype)
    return result


@functools.lru_cache(256)
def _common_limits(source: np.dtype[Any], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest number of `source` that `dtype` can represent."""
    limits = [np.finfo(t) if t.kind == "f" else np.iinfo(t) for t in (source, dtype)]
    most = min(int(each.max) for each in limits)
    low, high = source.type(max(int(each.min) for each in limits)), source.type(most)
    if int(high) > most:  # as a float32, the largest 32-bit integer is rounded up by one
        high = np.nextafter(high, source.type(0))
    return low, high


def convert(image: Array, dtype: np.dtype[Any], saturate: bool = False) -> Array:
    """Convert an image to another type; floating-point types have the range 0 to 1."""
    source = image.dtype
    if source == dtype:
        return image
    if source.kind in "iu" and dtype.kind in "iu":
        return _convert_whole(image, dtype, saturate)
    if source.kind in "fV" and dtype.kind in "fV":
        return image.astype(dtype)
    if source.kind in "iu":
        scale = np.asarray(1.0 / np.iinfo(source).max, dtype=dtype)
        if source == np.uint8 and dtype == np.float32 and image.ndim > 2 and image.size >= _WORTH:
            return _scaled(image, scale)
        if source == np.uint8 and dtype == np.float16 and image.size >= _WORTH:
            return _tensor.to_halves(image.astype(np.float32) * scale.astype(np.float32))
        scaled: Array = image.astype(dtype) * scale
        return scaled
    scaled = image * np.asarray(np.iinfo(dtype).max + 0.5, dtype=source)
    return saturated(scaled, dtype) if saturate else scaled.astype(dtype)


def _scaled(image: Array, scale: Array) -> Array:
    """Convert bytes to floats and multiply them by a number, in one pass."""
    channels = image.shape[-1]
    rows = image if image.ndim == 3 else image.reshape(-1, *image.shape[-2:])
    if channels > _CHANNELS:
        rows = image.reshape(-1, 1, 1)
    values = np.full((1, rows.shape[-1]), scale, np.float32)
    return _tensor.change_pixels(rows, _MULTIPLY, values).reshape(image.shape)


def _convert_whole(image: Array, dtype: np.dtype[Any], saturate: bool) -> Array:
    most, own = int(np.iinfo(dtype).max), int(np.iinfo(image.dtype).max)
    if own > most:
        scaled = image // image.dtype.type((own + 1) // (most + 1))
        return saturated(scaled, dtype) if saturate else scaled.astype(dtype)
    wide = saturated(image, dtype) if saturate else image.astype(dtype)
    factor = (most + 1) // (own + 1)
    result: Array = wide * dtype.type(factor)
    return result


def looked_up(function: Callable[[Array], Array], image: Array) -> Array:
    """Apply a function from bytes to bytes to an image; use a table for large images."""
    if image.size < _WORTH:
        return function(image)
    table = function(np.arange(256, dtype=np.uint8))
    found = bytearray(image.data if image.flags.c_contiguous else image.tobytes())
    return np.frombuffer(found.translate(table.data), np.uint8).reshape(image.shape)


def adjust_brightness(image: Array, delta: Any) -> Array:
    """Add `delta`, on a scale from 0 to 1, to every pixel, and clip overflows."""
    if image.dtype.kind == "f":
        result: Array = image + np.asarray(delta, dtype=image.dtype)
        return result
    single = np.dtype(np.float32)

    def lit(part: Array) -> Array:
        light = convert(part, single) + np.asarray(delta, dtype=single)
        return convert(light, image.dtype, saturate=True)

    one = image.dtype == np.uint8 and np.size(delta) == 1
    return looked_up(lit, image) if one else lit(image)


def _distorted(image: Array, **steps: Any) -> Array:
    """Apply native steps in ``float32`` to images with any number of leading dimensions."""
    single = image.astype(np.float32, copy=False)
    if not image.size:
        return single.copy()
    images = single.reshape(-1, *image.shape[-3:])
    return distort(images, **steps).reshape(image.shape)


def adjust_contrast(image: Array, factor: Any) -> Array:
    """Multiply the distance of every pixel from the mean of its channel by `factor`."""
    whole = image.dtype.kind != "f"
    single = convert(image, np.dtype(np.float32)) if whole else image
    result = _distorted(single, contrast=np.asarray(factor).reshape(-1))
    return convert(result, image.dtype, saturate=True)


def standardized(image: Array) -> Array:
    """Scale each image to mean 0 and deviation 1; a nearly constant image gets a smaller one."""
    return _distorted(image, standardize=True)


def to_grayscale(image: Array) -> Array:
    """Convert three channels to one, weighted by perceived brightness."""
    single = convert(image, np.dtype(np.float32)) if image.dtype.kind != "f" else image
    if single.dtype == np.float32 and single.shape[-1] == 3:
        images = single.reshape(-1, 1, *single.shape[-2:])
        found = _tensor.change_colours(images, "grey").reshape(*single.shape[:-1], 1)
        return convert(found, image.dtype)
    weights = np.array([0.2989, 0.5870, 0.1140], dtype=single.dtype)
    grey = (single * weights).sum(axis=-1, keepdims=True, dtype=single.dtype)
    return convert(grey, image.dtype)


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


_SINGLE = np.float32
METHODS = {
    "area",
    "bicubic",
    "bilinear",
    "gaussian",
    "lanczos3",
    "lanczos5",
    "mitchellcubic",
    "nearest",
}


def _nearest(image: Array, height: int, width: int, align: bool, centers: bool) -> Array:
    picked = []
    for size, wanted in ((image.shape[-3], height), (image.shape[-2], width)):
        align = align and wanted > 1
        scale = _SINGLE(size - align) / _SINGLE(wanted - align)
        at = (np.arange(wanted, dtype=_SINGLE) + _SINGLE(0.5 if centers else 0)) * scale
        # Halves are rounded away from zero, as in C.
        whole = np.floor(at + _SINGLE(0.5)) if align else np.floor(at)
        picked.append(np.minimum(whole.astype(np.int64), size - 1))
    found: Array = np.take(np.take(image, picked[0], -3), picked[1], -2)
    return found


def resize(
    image: Array,
    height: int,
    width: int,
    method: str,
    antialias: bool = False,
    *,
    align: bool = False,
    centers: bool = True,
) -> Array:
    """Resize an image or a stack of images; the result is ``float32`` unless `method` is nearest.

    Parameters
    ----------
    image : of shape (..., rows, columns, channels)
    height, width : int
    method : str
        One of `METHODS`.
    antialias : bool
        Whether the filter is widened when the image is scaled down.
    align, centers : bool
        ``align_corners`` and ``half_pixel_centers`` of version 1.
    """
    if method == "nearest":
        return _nearest(image, height, width, align, centers)
    if (height, width) == image.shape[-3:-1] and method in ("bilinear", "area"):
        return image.astype(_SINGLE, copy=False)  # every pixel stays where it is
    single = image if image.dtype == np.uint8 else image.astype(_SINGLE, copy=False)
    found = _tensor.resize(
        single.reshape(-1, *image.shape[-3:]),
        height,
        width,
        method,
        antialias=antialias,
        align_corners=align,
        half_pixel_centers=centers,
    )
    return found.reshape(*image.shape[:-3], height, width, image.shape[-1])


def within(size: Sequence[int], limits: Sequence[int]) -> list[int]:
    """Return the largest size within `limits` that keeps the aspect ratio of `size`."""
    scale = min(_SINGLE(limit) / _SINGLE(each) for limit, each in zip(limits, size, strict=True))
    return [int(np.rint(scale * _SINGLE(each))) for each in size]


def fitted(size: Sequence[int], limits: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the size of an image that keeps its aspect ratio within limits, and its offset."""
    ratio = max(_SINGLE(each) / _SINGLE(limit) for each, limit in zip(size, limits, strict=True))
    exact = [_SINGLE(each) / ratio for each in size]
    offsets = [
        max(int(np.floor((_SINGLE(limit) - each) / _SINGLE(2))), 0)
        for limit, each in zip(limits, exact, strict=True)
    ]
    return tuple(int(np.floor(each)) for each in exact), tuple(offsets)
