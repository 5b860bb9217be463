# SPDX-License-Identifier: Apache-2.0
"""Similarity of images, edges, patches, colour spaces, and selection of boxes by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from .._tf.dtypes import float32, int32
from .._tf.errors import invalid
from .._tf.ops import Array, Op, constant_of, same_spec
from .._tf.specs import TensorSpec, TypeSpec
from .boxes import suppressed_by_tiles

_MASKS = np.array(
    [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.int64
)


def _bell(size: int, sigma: float, dtype: Any) -> Array:
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    found: Array = (weights / weights.sum()).astype(dtype)
    return found


def _blurred(x: Array, weights: Array) -> Array:
    """Return the weighted means of all windows that are entirely inside the image."""
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
    """Return the similarity of each window and channel, and its contrast component."""
    for each in (x, y):
        if min(each.shape[-3:-1]) < size:
            raise invalid(f"assertion failed: an image of {each.shape} is smaller than {size}")
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
    """Return the structural similarity of images, or of each window."""
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
    """Return the structural similarity at several scales; each halves the previous one."""
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
    """Return the vertical and horizontal Sobel edges, with one more dimension."""
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
    """Return patches of images; the values of a patch become the channels of one pixel."""
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
    """Return boxes, scores, classes and the number of the best boxes by class, for each image."""
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


_MATRICES: dict[str, list[list[float]]] = {
    "RgbToYuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "YuvToRgb": [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]],
    "RgbToYiq": [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "YiqToRgb": [
        [1, 1, 1],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ],
}


def _mixed(name: str, matrix: list[list[float]]) -> Op:
    def kernel(x: Array) -> Array:
        if not x.ndim or x.shape[-1] != 3:
            raise invalid(f"{name} requires 3 channels, got {list(x.shape)}")
        return np.asarray(x @ np.array(matrix, x.dtype))

    return Op(name, kernel, same_spec, kinds="f")


MIXED = {name: _mixed(name, matrix) for name, matrix in _MATRICES.items()}


def _variation(x: Array) -> Array:
    if x.ndim not in (3, 4):
        raise invalid("'images' must be either 3 or 4-dimensional.")
    down, along = np.diff(x, axis=-3), np.diff(x, axis=-2)
    axes = (-3, -2, -1)
    return np.asarray(np.abs(down).sum(axes, x.dtype) + np.abs(along).sum(axes, x.dtype), x.dtype)


def _of_each(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else sizes[:-3], specs[0].dtype)]


TOTAL_VARIATION = Op("TotalVariation", _variation, _of_each)


def _compared(specs: Sequence[Any], dropped: int) -> list[TypeSpec]:
    sizes = [spec.shape.sizes for spec in specs[:2]]
    for each in sizes:
        if each is not None and len(each) < 3:
            raise ValueError(f"images must have at least 3 dimensions, got {list(each)}")
    if None in sizes:
        return [TensorSpec(None, float32)]
    x, y = sizes
    if not specs[0].shape[-3:].is_compatible_with(specs[1].shape[-3:]):
        raise ValueError(f"The last 3 dimensions must be equal, got {x} and {y}")
    whole = x if len(x) >= len(y) else y
    return [TensorSpec(whole[:-dropped], float32)]


def _checked(kernel: Callable[..., Array]) -> Callable[..., Array]:
    def checked(x: Array, y: Array, *rest: Any, **how: Any) -> Array:
        if min(x.ndim, y.ndim) < 3 or x.shape[-3:] != y.shape[-3:]:
            raise invalid(f"images must be of one shape, got {list(x.shape)} and {list(y.shape)}")
        return kernel(x, y, *rest, **how)

    return checked


def _psnr(x: Array, y: Array, most: Array) -> Array:
    error = ((x - y) ** 2).mean(axis=(-3, -2, -1), dtype=np.float32)
    largest = 20 * np.log(most) / np.log(np.float32(10))
    return np.asarray(largest - np.float32(10 / np.log(10)) * np.log(error), np.float32)


def _map_spec(specs: Sequence[Any], *_: Any, index: bool, **__: Any) -> list[TypeSpec]:
    return [TensorSpec(None, float32)] if index else _compared(specs, 3)


PSNR = Op("Psnr", _checked(_psnr), lambda specs, *_: _compared(specs, 3))
SSIM = Op("Ssim", _checked(lambda *x, **how: ssim(*x, **how)), _map_spec)
MULTISCALE = Op(
    "SsimMultiscale",
    _checked(lambda *x, **how: multiscale(*x, **how)),
    lambda specs, *_, **__: _compared(specs, 3),
)


def _sobel_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else [*sizes, 2], specs[0].dtype)]


SOBEL = Op("SobelEdges", lambda x: sobel(x), _sobel_spec, kinds="f")


def _gradients(x: Array) -> tuple[Array, Array]:
    down, along = np.zeros_like(x), np.zeros_like(x)
    down[:, :-1] = x[:, 1:] - x[:, :-1]
    along[:, :, :-1] = x[:, :, 1:] - x[:, :, :-1]
    return down, along


GRADIENTS = Op("ImageGradients", _gradients, lambda specs, *_: [specs[0], specs[0]])


def _patches_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec([None if sizes is None else sizes[0], None, None, None], specs[0].dtype)]


PATCHES = Op("ExtractImagePatches", lambda x, **how: patches(x, **how), _patches_spec)


def _with_scores(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Array, sigma: Array
) -> tuple[Array, Array]:
    limits = max(int(most), 0), float(limit), float(least), float(sigma)
    return _tensor.suppress(scores, *limits, boxes=boxes)


def _of_overlaps(overlaps: Array, scores: Array, most: Array, limit: Array, least: Array) -> Array:
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
        raise invalid("overlaps must be square")
    limits = max(int(most), 0), float(limit), float(least)
    return _tensor.suppress(scores, *limits, overlaps=overlaps)[0]


def _padded(
    boxes: Array, scores: Array, most: Array, *limits: Array, pad: bool, **how: Any
) -> tuple[Array, Array]:
    outer, count = boxes.shape[:-2], boxes.shape[-2]
    if boxes.shape[-1:] != (4,) or scores.shape != (*outer, count):
        raise invalid(f"scores of {list(boxes.shape)} boxes have shape {list(scores.shape)}")
    found, sizes = suppressed_by_tiles(
        boxes.reshape(-1, count, 4),
        scores.reshape(-1, count),
        max(int(most), 0),
        *map(float, limits),
        **how,
    )
    if not pad:
        return found[0, : sizes[0]], sizes.reshape(outer)
    return found.reshape(*outer, found.shape[1]), sizes.reshape(outer)


_SOME = TensorSpec([None], int32)
WITH_SCORES = Op(
    "NonMaxSuppressionV5", _with_scores, lambda *_: [_SOME, TensorSpec([None], float32)]
)
OF_OVERLAPS = Op("NonMaxSuppressionWithOverlaps", _of_overlaps, lambda *_: [_SOME])


def _padded_spec(specs: Sequence[Any], raws: Any, *, pad: bool, **_: Any) -> list[TypeSpec]:
    most, sizes = constant_of(raws[2]) if pad else None, specs[0].shape.sizes
    if sizes is None:
        return [TensorSpec(None, int32)] * 2
    chosen = [*sizes[:-2], None if most is None else int(most)]
    return [TensorSpec(chosen, int32), TensorSpec(sizes[:-2], int32)]


PADDED = Op("NonMaxSuppressionPadded", _padded, _padded_spec)


def _by_class(boxes: Array, scores: Array, *rest: Array, **how: Any) -> tuple[Array, ...]:
    if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[2] not in (1, scores.shape[2]):
        raise invalid(
            f"boxes must be [batch, boxes, 1 or classes, 4], got {list(boxes.shape)} with scores "
            f"of {list(scores.shape)}"
        )
    found: tuple[Array, ...] = chosen_by_class(boxes, scores, *rest, **how)
    return found


def _by_class_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, pad_per_class: bool, **_: Any
) -> list[TypeSpec]:
    count = (specs[0].shape.sizes or [None])[0]
    total, each = constant_of(raws[3]), constant_of(raws[2])
    classes = (specs[1].shape.sizes or [None])[-1]
    size = None if total is None else int(total)
    if size is not None and pad_per_class:
        known = each is not None and classes is not None
        size = min(size, int(each) * classes) if known and each is not None else None
    rows = TensorSpec([count, size], float32)
    return [TensorSpec([count, size, 4], float32), rows, rows, TensorSpec([count], int32)]


BY_CLASS = Op("CombinedNonMaxSuppression", _by_class, _by_class_spec)
