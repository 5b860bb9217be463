# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance, painted, cut out, and chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..specs import TensorSpec, TypeSpec
from . import Array, Op, invalid, known_sizes, same_spec
from .draws import Drawing


def _boxes() -> Any:
    """The module of the boxes, which is loaded when it is used."""
    from ..kernels import boxes

    return boxes


def options(ratios: Any, areas: Any, attempts: Any, whole: Any) -> dict[str, Any]:
    """Attributes of `DISTORTED_BOX`, of arguments that may be None."""
    return {
        "ratios": tuple(ratios or (0.75, 1.33)),
        "areas": tuple(areas or (0.05, 1.0)),
        "attempts": 100 if attempts is None else int(attempts),
        "whole": bool(whole),
    }


def _distorted_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    corner = TensorSpec([3], specs[1].dtype)
    return [corner, corner, TensorSpec([1, 1, 4], "float32")]


DISTORTED_BOX = Drawing(
    "SampleDistortedBoundingBoxV2",
    lambda *values, **how: _boxes().distorted_box(*values, **how),
    _distorted_spec,
    blocks=lambda *_, attempts, **__: attempts,
)
DRAW_BOXES = Op("DrawBoundingBoxesV2", lambda *values: _boxes().drawn(*values), same_spec)


def _cropped(
    images: Array, boxes: Array, numbers: Array, size: Array, *, method: str, outside: float
) -> Array:
    if method not in ("bilinear", "nearest"):
        raise invalid(f'method must be "bilinear" or "nearest", got "{method}"')
    for number in numbers[(numbers < 0) | (numbers >= len(images))][:1]:
        raise invalid(f"box_ind must be in [0, {len(images)}), got {number}")
    height, width = map(int, size)
    if images.dtype != np.uint8:
        images = images.astype(np.float32, copy=False)
    how: Any = {"nearest": method == "nearest", "outside": outside}
    return _tensor.crop_boxes(images, boxes, numbers, (height, width), **how)


def _cropped_spec(specs: Sequence[Any], raws: Sequence[Any], **_: Any) -> list[TypeSpec]:
    count, size = (specs[2].shape.sizes or [None])[0], known_sizes(raws[3]) or [None, None]
    channels = (specs[0].shape.sizes or [None])[-1]
    return [TensorSpec([count, *size, channels], "float32")]


CROP_AND_RESIZE = Op("CropAndResize", _cropped, _cropped_spec)


def _suppressed(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Any = -np.inf
) -> Array:
    limits = max(int(most), 0), float(limit), float(least)
    return _tensor.suppress(scores, *limits, boxes=boxes)[0]


SUPPRESSED = Op("NonMaxSuppressionV3", _suppressed, lambda *_: [TensorSpec([None], "int32")])


def _glimpses(
    images: Array,
    size: Array,
    offsets: Array,
    *,
    centered: bool,
    normalized: bool,
    noise: str,
) -> Array:
    """Cut a window out of each image; what is beyond the image is noise."""
    if images.ndim != 4 or size.shape != (2,) or offsets.shape != (len(images), 2):
        raise invalid(
            f"input must be 4-dimensional, size of shape [2] and offsets [{len(images)}, 2], got "
            f"{list(images.shape)}, {list(size.shape)} and {list(offsets.shape)}"
        )
    sides, window = np.array(images.shape[1:3], np.float32), size.astype(np.float32)
    places = offsets.astype(np.float32) * (sides if normalized else np.float32(1))
    if centered:
        places = places / np.float32(2) + sides / np.float32(2)
    corners = np.trunc(places - window / np.float32(2)).astype(np.int64)
    shape = (len(images), *size.tolist(), images.shape[3])
    result = np.zeros(shape, np.float32)
    if noise == "uniform" and images.size:
        result[...] = np.random.default_rng().uniform(images.min(), images.max(), shape)
    elif noise == "gaussian":
        result[...] = np.random.default_rng().standard_normal(shape)
    for image, glimpse, corner in zip(images, result, corners, strict=True):
        begins, ends = np.maximum(corner, 0), np.minimum(corner + size, images.shape[1:3])
        if (begins < ends).all():
            inside = [slice(a - c, b - c) for a, b, c in zip(begins, ends, corner, strict=True)]
            whole = [slice(a, b) for a, b in zip(begins, ends, strict=True)]
            glimpse[tuple(inside)] = image[tuple(whole)]
    return result


def _glimpses_spec(specs: Sequence[Any], raws: Sequence[Any], **_: Any) -> list[TypeSpec]:
    count, _height, _width, channels = specs[0].shape.sizes or [None] * 4
    return [TensorSpec([count, *(known_sizes(raws[1]) or [None, None]), channels], "float32")]


GLIMPSE = Op("ExtractGlimpse", _glimpses, _glimpses_spec, pure=False)
