# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance, painted, and chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._tf.dtypes import float32, int32
from .._tf.kernels import boxes, philox
from ._nodes import Tensor
from ._ops import Array, pure
from .constants import convert_to_tensor, shape_value
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
    attempts = 100 if max_attempts is None else max_attempts

    def kernel(step: Any, sizes: Array, given: Array, least: Array) -> tuple[Array, ...]:
        state = step.resource(op, lambda: philox.Philox(seed or 0, seed2 or 0))
        return boxes.distorted_box(
            sizes,
            given,
            least[()],
            boxes.distorted_words(state, attempts),
            ratios=aspect_ratio_range or (0.75, 1.33),
            areas=area_range or (0.05, 1.0),
            attempts=attempts,
            whole=bool(use_image_if_no_bounding_boxes),
        )

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
    tensor, given = convert_to_tensor(images), convert_to_tensor(boxes, float32)
    inputs = [tensor, given]
    if colors is not None:
        inputs.append(convert_to_tensor(colors, float32))
    return pure("DrawBoundingBoxes", _drawn, tuple(inputs), tensor.dtype, tensor.shape, name)


_drawn = boxes.drawn


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
    tensor = convert_to_tensor(image)
    size = convert_to_tensor(crop_size, int32)
    numbers = convert_to_tensor(box_ind if box_indices is None else box_indices, int32)

    def kernel(x: Array, b: Array, n: Array, s: Array) -> Array:
        return _cropped(x, b, n, s, method, extrapolation_value)

    channels = None if tensor.shape.sizes is None else tensor.shape.sizes[-1]
    known = [numbers.shape.num_elements(), *shape_value(size).as_list(), channels]
    inputs = (tensor, convert_to_tensor(boxes, float32), numbers, size)
    return pure("CropAndResize", kernel, inputs, float32, known, name)


_cropped = boxes.crop_and_resize


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes of best score that overlap none of a better one too much."""

    def kernel(b: Array, s: Array, most: Array, overlap: Array, score: Array) -> Array:
        return _suppressed(b, s, int(most), float(overlap), float(score))

    inputs = (
        convert_to_tensor(boxes, float32),
        convert_to_tensor(scores, float32),
        convert_to_tensor(max_output_size, int32),
        convert_to_tensor(iou_threshold, float32),
        convert_to_tensor(score_threshold, float32),
    )
    return pure("NonMaxSuppressionV3", kernel, inputs, int32, [None], name)


_suppressed = boxes.suppressed
