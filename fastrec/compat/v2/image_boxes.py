# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance, painted, and chosen."""

from __future__ import annotations

from typing import Any

from .._tf.ops import boxes as rows
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


def _sampled(image_size: Any, boxes: Any, least: Any, words: Any, how: dict[str, Any]) -> Any:
    tensors = [convert_to_tensor(each, "float32") for each in (boxes, least)]
    return run(rows.DISTORTED_BOX, [convert_to_tensor(image_size), *tensors, words], **how)


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
    how = rows.options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    spec, words = rows.words(how["attempts"])
    random = drawn(
        "SampleDistortedBoundingBox",
        seed or None,
        spec,
        words,
        seeds=seeds if seeds is not None or seed else (0, 0),
    )
    return _sampled(image_size, bounding_boxes, min_object_covered, random, how)


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
    how = rows.options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    spec, words = rows.words(how["attempts"])
    random = scrambled_words(seed, spec, words)
    return _sampled(image_size, bounding_boxes, min_object_covered, random, how)


def draw_bounding_boxes(
    images: Any, boxes: Any, colors: Any = None, name: str | None = None
) -> Any:
    """Images with the outlines of boxes."""
    tensors = [convert_to_tensor(images), convert_to_tensor(boxes, "float32")]
    if colors is not None:
        tensors.append(convert_to_tensor(colors, "float32"))
    return run(rows.DRAW_BOXES, tensors)


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
    tensors = [convert_to_tensor(image), convert_to_tensor(boxes, "float32")]
    tensors += [convert_to_tensor(box_indices, "int32"), convert_to_tensor(crop_size, "int32")]
    return run(rows.CROP_AND_RESIZE, tensors, method=method, outside=extrapolation_value)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The numbers of the boxes of best score that overlap none of a better one too much."""
    values = boxes, scores, max_output_size, iou_threshold, score_threshold
    return run(rows.SUPPRESSED, [convert_to_tensor(value) for value in values])
