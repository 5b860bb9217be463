# SPDX-License-Identifier: Apache-2.0
"""Similarity of images, edges, patches, colour spaces, and selection of boxes by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastrec import _tensor

from .._tf.dtypes import float32, int32
from .._tf.errors import invalid
from .._tf.faces import Faces
from .._tf.faces.images import Images
from .._tf.ops import Array, Op, arithmetic, constant_of, same_spec
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


class CombinedNonMaxSuppression(NamedTuple):
    """The boxes that remain, with their scores and classes, and their number in each image."""

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
_LOWEST = float("-inf")


class Measures(Faces):
    """Rarely used functions of ``tf.image`` for a version."""

    def _mixed(self, name: str, images: Any) -> Any:
        tensor = self._version.checked(MIXED[name], self._tensor(images))
        return self._apply(MIXED[name], [tensor])

    def rgb_to_yuv(self, images: Any) -> Any:
        """Convert images from RGB to YUV."""
        return self._mixed("RgbToYuv", images)

    def yuv_to_rgb(self, images: Any) -> Any:
        """Convert images from YUV to RGB."""
        return self._mixed("YuvToRgb", images)

    def rgb_to_yiq(self, images: Any) -> Any:
        """Convert images from RGB to YIQ, the colour space of NTSC."""
        return self._mixed("RgbToYiq", images)

    def yiq_to_rgb(self, images: Any) -> Any:
        """Convert images from YIQ, the colour space of NTSC, to RGB."""
        return self._mixed("YiqToRgb", images)

    def total_variation(self, images: Any, name: str | None = None) -> Any:
        """Compute the total variation: the sum of absolute differences of adjacent pixels."""
        tensor = self._tensor(images)
        if tensor.shape.ndims not in (3, 4, None):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return self._apply(TOTAL_VARIATION, [tensor], name)

    def _scaled(self, first: Any, second: Any, most: Any) -> list[Any]:
        """Return the images and the largest value, scaled to the range 0 to 1."""
        x, y = self._tensor(first), self._tensor(second)
        largest = self._tensor(most)
        if largest.dtype is not x.dtype:
            largest = self._apply(arithmetic.CAST, [largest], None, DstT=x.dtype)
        convert = Images(self._version).convert_image_dtype
        return [convert(each, float32) for each in (x, y, largest)]

    def psnr(self, a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
        """Compute the peak signal-to-noise ratio of two images, in decibels."""
        return self._apply(PSNR, self._scaled(a, b, max_val), name)

    def ssim(
        self,
        img1: Any,
        img2: Any,
        max_val: Any,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
        return_index_map: bool = False,
    ) -> Any:
        """Compute the structural similarity (SSIM) of pairs of images, or a map by window."""
        how = {"size": int(filter_size), "sigma": float(filter_sigma), "k1": k1, "k2": k2}
        inputs = self._scaled(img1, img2, max_val)
        return self._apply(SSIM, inputs, None, index=bool(return_index_map), **how)

    def ssim_multiscale(
        self,
        img1: Any,
        img2: Any,
        max_val: Any,
        power_factors: Sequence[float] = _POWERS,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> Any:
        """Compute the structural similarity (SSIM) of images at several scales."""
        how = {"size": int(filter_size), "sigma": float(filter_sigma), "k1": k1, "k2": k2}
        inputs = self._scaled(img1, img2, max_val)
        return self._apply(MULTISCALE, inputs, None, powers=tuple(power_factors), **how)

    def sobel_edges(self, image: Any) -> Any:
        """Compute the vertical and horizontal Sobel edges; they add one dimension."""
        return self._apply(SOBEL, [self._version.checked(SOBEL, self._tensor(image))])

    def image_gradients(self, image: Any) -> Any:
        """Compute the differences to the next pixel below and to the next pixel on the right."""
        tensor = self._tensor(image)
        if tensor.shape.ndims != 4:
            raise ValueError(
                f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tensor.shape}."
            )
        return tuple(self._version.apply_all(GRADIENTS, [tensor]))

    def extract_patches(
        self, images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: Any = None
    ) -> Any:
        """Extract patches of images; the values of a patch become the channels of one pixel."""
        if padding not in ("SAME", "VALID"):
            raise self._version.refused_value(PATCHES.name, "padding", padding, ("SAME", "VALID"))
        how = {"sizes": sizes, "strides": strides, "rates": rates}
        for key, value in how.items():
            numbers = [int(each) for each in value]
            if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
                raise ValueError(f"{key} must be [1, rows, columns, 1], got {numbers}")
            how[key] = tuple(numbers[1:3])
        return self._apply(PATCHES, [self._tensor(images)], name, padding=padding, **how)

    def _boxes(self, op: Op, values: Sequence[Any], name: str | None, **how: Any) -> list[Any]:
        kinds = [float32, float32, int32, *[float32] * (len(values) - 3)]
        inputs = [self._given(value, kind) for value, kind in zip(values, kinds, strict=True)]
        found: list[Any] = self._version.apply_all(op, inputs, name, **how)
        return found

    def non_max_suppression_with_scores(
        self,
        boxes: Any,
        scores: Any,
        max_output_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        soft_nms_sigma: Any = 0.0,
        name: str | None = None,
    ) -> Any:
        """Select the indices and scores of the best boxes; overlaps may reduce the scores."""
        values = (boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
        return tuple(self._boxes(WITH_SCORES, values, name))

    def non_max_suppression_overlaps(
        self,
        overlaps: Any,
        scores: Any,
        max_output_size: Any,
        overlap_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        name: str | None = None,
    ) -> Any:
        """Select the indices of the best boxes from a matrix of overlaps."""
        values = (overlaps, scores, max_output_size, overlap_threshold, score_threshold)
        return self._boxes(OF_OVERLAPS, values, name)[0]

    def non_max_suppression_padded(
        self,
        boxes: Any,
        scores: Any,
        max_output_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        pad_to_max_output_size: bool = False,
        name: str | None = None,
        sorted_input: bool = False,
        canonicalized_coordinates: bool = False,
        tile_size: int = 512,
    ) -> Any:
        """Select the indices of the best boxes, pad them with zeros, and return their number."""
        given = self._tensor(boxes)
        if not pad_to_max_output_size and given.shape.ndims not in (2, None):
            raise ValueError(
                f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for "
                "batched input"
            )
        values = (given, scores, max_output_size, iou_threshold, score_threshold)
        ways = {"ordered": sorted_input, "canonical": canonicalized_coordinates}
        how = {"pad": bool(pad_to_max_output_size), "tile": int(tile_size)}
        how |= {key: bool(value) for key, value in ways.items()}
        return tuple(self._boxes(PADDED, values, name, **how))

    def combined_non_max_suppression(
        self,
        boxes: Any,
        scores: Any,
        max_output_size_per_class: Any,
        max_total_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        pad_per_class: bool = False,
        clip_boxes: bool = True,
        name: str | None = None,
    ) -> Any:
        """Select the best boxes of each class of each image."""
        kinds = (float32, float32, int32, int32, float32, float32)
        sizes = (max_output_size_per_class, max_total_size)
        values = (boxes, scores, *sizes, iou_threshold, score_threshold)
        inputs = [self._given(value, kind) for value, kind in zip(values, kinds, strict=True)]
        how = {"pad_per_class": bool(pad_per_class), "clip_boxes": bool(clip_boxes)}
        return CombinedNonMaxSuppression(*self._version.apply_all(BY_CLASS, inputs, name, **how))
