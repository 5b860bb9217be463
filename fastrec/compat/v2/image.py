# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: decode, encode, crop, flip, adjust and resize images."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of as _functions_of
from ._faces import codecs as _codecs
from ._faces import images as _images
from .image_sizes import *
from .random import draws as _draws
from .random import image_functions as _by_chance

__path__: list[str] = []  # submodules are attributes, not files

globals().update(_functions_of(_images, _codecs) | _by_chance)
stateless_sample_distorted_bounding_box = _draws.stateless_sample_distorted_bounding_box


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
) -> Any:
    """Draw a random part of an image: its start, its size, and its bounding box."""
    source = _draws.of_seed(seed or (0, 0))
    return _draws.distorted_box(
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


def __getattr__(name: str) -> Any:
    from ._late import found

    return found("image", name)
