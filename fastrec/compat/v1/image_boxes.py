# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance, painted, and chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._tf.dtypes import float32, int32
from .._tf.kernels import philox
from .._tf.ops import boxes as rows
from ._nodes import Tensor
from ._ops import Array, record
from .constants import convert_to_tensor
from .graph import create_op

__all__ = [
    "crop_and_resize",
    "draw_bounding_boxes",
    "non_max_suppression",
    "sample_distorted_bounding_box",
]


class _Sampled(NamedTuple):
    begin: Tensor
    size: Tensor
    bboxes: Tensor


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> _Sampled:
    """A part of an image by chance: where it begins, its size, and its box."""
    size = convert_to_tensor(image_size)
    inputs = (
        size,
        convert_to_tensor(bounding_boxes, float32),
        convert_to_tensor(min_object_covered, float32),
    )
    how = rows.options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    _, words = rows.words(how["attempts"])

    def kernel(step: Any, *values: Array) -> tuple[Array, ...]:
        state = step.resource(op, lambda: philox.Philox(seed or 0, seed2 or 0))
        found: tuple[Array, ...] = rows.DISTORTED_BOX.kernel(*values, words(state), **how)
        return found

    op = create_op(
        "SampleDistortedBoundingBoxV2",
        inputs,
        [(size.dtype, [3]), (size.dtype, [3]), (float32, [1, 1, 4])],
        kernel,
        name=name or "sample_distorted_bounding_box",
        stateful=True,
    )
    return _Sampled(*op.outputs)


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images with the outlines of boxes."""
    inputs = [convert_to_tensor(images), convert_to_tensor(boxes, float32)]
    if colors is None:
        return record(rows.DRAW_BOXES, inputs, name, "DrawBoundingBoxes")
    return record(rows.DRAW_BOXES, [*inputs, convert_to_tensor(colors, float32)], name)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Parts of images scaled to one size."""
    numbers = box_ind if box_indices is None else box_indices
    inputs = [convert_to_tensor(image), convert_to_tensor(boxes, float32)]
    inputs += [convert_to_tensor(each, int32) for each in (numbers, crop_size)]
    how = {"method": method, "outside": extrapolation_value}
    return record(rows.CROP_AND_RESIZE, inputs, name, None, **how)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes of best score that overlap none of a better one too much."""
    inputs = (
        convert_to_tensor(boxes, float32),
        convert_to_tensor(scores, float32),
        convert_to_tensor(max_output_size, int32),
        convert_to_tensor(iou_threshold, float32),
        convert_to_tensor(score_threshold, float32),
    )
    return record(rows.SUPPRESSED, inputs, name)
