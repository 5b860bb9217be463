# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance, painted, and chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from .random import drawn, scrambled_words

__all__ = [
    "crop_and_resize",
    "draw_bounding_boxes",
    "non_max_suppression",
    "sample_distorted_bounding_box",
    "stateless_sample_distorted_bounding_box",
]


def _kernels() -> Any:
    from .._tf.kernels import boxes

    return boxes


def _sampled(
    image_size: Any,
    bounding_boxes: Any,
    words: Any,
    least: Any,
    ratios: Any,
    areas: Any,
    attempts: int,
    whole: bool,
) -> Any:
    size = convert_to_tensor(image_size)
    options = {
        "ratios": tuple(ratios or (0.75, 1.33)),
        "areas": tuple(areas or (0.05, 1.0)),
        "attempts": attempts,
        "whole": whole,
    }

    def infer(specs: list[TypeSpec], *_: Any, **__: Any) -> list[TypeSpec]:
        kind = TensorSpec([3], specs[0].dtype)
        return [kind, kind, TensorSpec([1, 1, 4], "float32")]

    op = Op("SampleDistortedBoundingBoxV2", _kernels().distorted_box, infer)
    boxes, share = convert_to_tensor(bounding_boxes, "float32"), convert_to_tensor(least, "float32")
    return run(op, [size, boxes, share, words], **options)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
    *,
    seeds: tuple[int, int] | None = None,
) -> Any:
    """A part of an image by chance: where it begins, its size, and its box."""
    attempts = 100 if max_attempts is None else int(max_attempts)
    kernels = _kernels()
    count = 4 * (attempts + kernels.DISTORTED_BLOCKS)
    words = drawn(
        "SampleDistortedBoundingBox",
        seed or None,
        TensorSpec([count], "uint32"),
        lambda state: kernels.distorted_words(state, attempts),
        seeds=seeds if seeds is not None or seed else (0, 0),
    )
    return _sampled(
        image_size,
        bounding_boxes,
        words,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        attempts,
        bool(use_image_if_no_bounding_boxes),
    )


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A part of an image, as `seed` decides: where it begins, its size, and its box."""
    attempts = 100 if max_attempts is None else int(max_attempts)
    kernels = _kernels()
    count = 4 * (attempts + kernels.DISTORTED_BLOCKS)
    words = scrambled_words(seed, count, lambda s: kernels.distorted_words(s, attempts))
    return _sampled(
        image_size,
        bounding_boxes,
        words,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        attempts,
        bool(use_image_if_no_bounding_boxes),
    )


def draw_bounding_boxes(
    images: Any, boxes: Any, colors: Any = None, name: str | None = None
) -> Any:
    """Images with the outlines of boxes."""
    tensors = [convert_to_tensor(images), convert_to_tensor(boxes, "float32")]
    if colors is not None:
        tensors.append(convert_to_tensor(colors, "float32"))
    op = Op("DrawBoundingBoxesV2", _kernels().drawn, lambda specs, _: [specs[0]])
    return run(op, tensors)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Parts of images scaled to one size."""
    kernel = _kernels().crop_and_resize
    tensors = [convert_to_tensor(image), convert_to_tensor(boxes, "float32")]
    tensors += [convert_to_tensor(box_indices, "int32"), convert_to_tensor(crop_size, "int32")]
    op = Op(
        "CropAndResize",
        lambda *values: kernel(*values, method, extrapolation_value),
        lambda specs, _: [TensorSpec([None, None, None, specs[0].shape[-1]], "float32")],
    )
    return run(op, tensors)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The numbers of the boxes of best score that overlap none of a better one too much."""
    kernel = _kernels().suppressed
    op = Op(
        "NonMaxSuppressionV3",
        lambda b, s, n, o, t: np.asarray(kernel(b, s, int(n), float(o), float(t))),
        lambda *_: [TensorSpec([None], as_dtype("int32"))],
    )
    limits = [max_output_size, iou_threshold, score_threshold]
    return run(op, [convert_to_tensor(value) for value in (boxes, scores, *limits)])
