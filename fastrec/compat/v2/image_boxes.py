# SPDX-License-Identifier: Apache-2.0
"""Boxes of images, drawn by chance."""

from __future__ import annotations

from typing import Any

from .._tf.ops import boxes as rows
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from .random import drawn, scrambled_words

__all__ = [
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
