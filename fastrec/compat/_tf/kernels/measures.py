# SPDX-License-Identifier: Apache-2.0
"""Images compared, their edges and patches, and boxes chosen by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..errors import InvalidArgumentError

__all__ = ["chosen_by_class", "multiscale", "patches", "sobel", "ssim"]

Array = np.ndarray[Any, Any]

_MASKS = np.array(
    [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.int64
)


def _bell(size: int, sigma: float, dtype: Any) -> Array:
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    found: Array = (weights / weights.sum()).astype(dtype)
    return found


def _blurred(x: Array, weights: Array) -> Array:
    """Weighted means of the windows that are wholly inside."""
    for axis in (-3, -2):
        count = x.shape[axis] - len(weights) + 1
        windows = [slice(None)] * x.ndim
        total = np.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)
        for at, weight in enumerate(weights):
            windows[axis] = slice(at, at + count)
            total += x[tuple(windows)] * weight
        x = total
    return x


def _of_channels(
    x: Array, y: Array, most: Any, size: int, sigma: float, k1: float, k2: float
) -> tuple[Array, Array]:
    """The similarity of each window and channel, and its part that is of contrasts."""
    for each in (x, y):
        if min(each.shape[-3:-1]) < size:
            raise InvalidArgumentError(
                None, None, f"assertion failed: an image of {each.shape} is smaller than {size}"
            )
    weights = _bell(size, sigma, x.dtype)
    first, second = (k1 * most) ** 2, (k2 * most) ** 2
    mean_x, mean_y = _blurred(x, weights), _blurred(y, weights)
    products, squares = mean_x * mean_y * 2, mean_x**2 + mean_y**2
    light = (products + first) / (squares + first)
    shared = _blurred(x * y, weights) * 2
    own = _blurred(x**2 + y**2, weights)
    return light, (shared - products + second) / (own - squares + second)


def ssim(
    x: Array, y: Array, most: Array, *, size: int, sigma: float, k1: float, k2: float, index: bool
) -> Array:
    """The structural similarity of images, or of each of their windows."""
    light, contrast = _of_channels(x, y, np.float32(most), size, sigma, k1, k2)
    found = light * contrast
    return np.asarray((found if index else found.mean(axis=(-3, -2))).mean(axis=-1), x.dtype)


def _halved(x: Array) -> Array:
    odd = [n % 2 for n in x.shape[-3:-1]]
    whole = np.pad(x, [(0, 0)] * (x.ndim - 3) + [(0, odd[0]), (0, odd[1]), (0, 0)], "symmetric")
    rows, columns = whole.shape[-3] // 2, whole.shape[-2] // 2
    parts = whole.reshape(*whole.shape[:-3], rows, 2, columns, 2, whole.shape[-1])
    return np.asarray(parts.mean(axis=(-4, -2)), x.dtype)


def multiscale(
    x: Array,
    y: Array,
    most: Array,
    *,
    powers: Sequence[float],
    size: int,
    sigma: float,
    k1: float,
    k2: float,
) -> Array:
    """The structural similarity at several scales, each half of the one before."""
    found = []
    for number in range(len(powers)):
        if number:
            x, y = _halved(x), _halved(y)
        light, contrast = _of_channels(x, y, np.float32(most), size, sigma, k1, k2)
        last = light * contrast if number == len(powers) - 1 else contrast
        found.append(np.maximum(last.mean(axis=(-3, -2)), 0))
    product = np.prod(np.stack(found, -1) ** np.array(powers, x.dtype), axis=-1)
    return np.asarray(product.mean(axis=-1), x.dtype)


def sobel(images: Array) -> Array:
    """The edges from top to bottom and from left to right, as a dimension more."""
    whole = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    rows, columns = images.shape[1:3]
    found = np.zeros((*images.shape, 2), images.dtype)
    for number, mask in enumerate(_MASKS):
        for down, along in np.argwhere(mask):
            part = whole[:, down : down + rows, along : along + columns]
            found[..., number] += images.dtype.type(mask[down, along]) * part
    return found


def patches(
    images: Array,
    *,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> Array:
    """Windows of images, each as the channels of a pixel."""
    spans = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]
    margins = []
    for side, span, stride in zip(images.shape[1:3], spans, strides, strict=True):
        count = -(-side // stride)
        more = max((count - 1) * stride + span - side, 0) if padding == "SAME" else 0
        margins.append((more // 2, more - more // 2))
    whole = np.pad(images, [(0, 0), *margins, (0, 0)])
    if any(side < span for side, span in zip(whole.shape[1:3], spans, strict=True)):
        counts = [
            max(0, (side - span) // stride + 1)
            for side, span, stride in zip(whole.shape[1:3], spans, strides, strict=True)
        ]
        return np.zeros((len(images), *counts, sizes[0] * sizes[1] * images.shape[3]), images.dtype)
    views = np.lib.stride_tricks.sliding_window_view(whole, spans, axis=(1, 2))
    views = views[:, :: strides[0], :: strides[1], :, :: rates[0], :: rates[1]]
    ordered = views.transpose(0, 1, 2, 4, 5, 3)
    found: Array = ordered.reshape(*ordered.shape[:3], math.prod(ordered.shape[3:]))
    return found


def chosen_by_class(
    boxes: Array,
    scores: Array,
    per_class: Array,
    total: Array,
    limit: Array,
    least: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[Array, Array, Array, Array]:
    """The best boxes of each class of each image: boxes, scores, classes and their number."""
    count, classes = len(boxes), scores.shape[2]
    size = int(total)
    if pad_per_class:
        size = min(size, int(per_class) * classes)
    made = np.zeros((count, size, 4), np.float32), np.zeros((count, size), np.float32)
    kinds, valid = np.zeros((count, size), np.float32), np.zeros(count, np.int32)
    for image in range(count):
        picked: list[tuple[float, int, Array]] = []
        for kind in range(classes):
            own = boxes[image, :, kind if boxes.shape[2] > 1 else 0]
            limits = max(int(per_class), 0), float(limit), float(least)
            numbers, marks = _tensor.suppress(scores[image, :, kind], *limits, boxes=own)
            picked += [
                (mark, kind, own[n])
                for mark, n in zip(marks.tolist(), numbers.tolist(), strict=True)
            ]
        picked.sort(key=lambda each: -each[0])
        for place, (score, kind, box) in enumerate(picked[:size]):
            made[0][image, place] = np.clip(box, 0, 1) if clip_boxes else box
            made[1][image, place], kinds[image, place] = score, kind
        valid[image] = min(len(picked), size)
    return *made, kinds, valid
