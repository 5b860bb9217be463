# SPDX-License-Identifier: Apache-2.0
"""Resize images as ``tf.image.resize`` of both versions of TensorFlow does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

Array = np.ndarray[Any, Any]
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
