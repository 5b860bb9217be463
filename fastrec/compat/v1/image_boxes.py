# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: drawn by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._tf.dtypes import float32
from .._tf.kernels import philox
from .._tf.ops import boxes as rows
from ._nodes import Tensor
from ._ops import Array
from .constants import convert_to_tensor
from .graph import create_op

__all__ = ["sample_distorted_bounding_box"]


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
