# SPDX-License-Identifier: Apache-2.0
"""Random numbers; with a seed, they equal TensorFlow's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tf.faces.draws import Draws
from .._tf.faces.image_draws import functions
from ._draws import drawn
from ._nodes import Tensor
from ._ops import GRAPHS
from .array_ops import _shape_tensor
from .graph import name_scope

__all__ = ["draws", "image_draws", "multinomial", "sample_distorted_bounding_box"]

draws = Draws(GRAPHS, drawn, _shape_tensor, name_scope)
image_draws = SimpleNamespace(**functions(GRAPHS, draws))


def multinomial(
    logits: Any,
    num_samples: int,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Draw class numbers, as ``tf.random.categorical`` does."""
    found: Tensor = draws.categorical(logits, num_samples, output_dtype, seed, name)
    return found


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Draw a random part of an image: its start, its size, and its bounding box."""
    source = draws.of_seed((seed or 0, seed2 or 0))
    return draws.distorted_box(
        source,
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )
