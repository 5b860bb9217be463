# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: decode, crop, mirror, resize and encode images."""

from __future__ import annotations

from typing import Any

from .._tf import naming as _naming
from .._tf.faces import functions_of as _functions_of
from . import _late
from ._faces import images as _images
from .image_sizes import *
from .io import _IMAGES as _codecs
from .random_ops import draws as _draws
from .random_ops import image_functions as _by_chance

__path__: list[str] = []  # submodules are attributes, not files

globals().update(_functions_of(_images) | _codecs | _by_chance)
stateless_sample_distorted_bounding_box = _draws.stateless_sample_distorted_bounding_box
# Older names.
per_image_whitening = _images.per_image_standardization
resize_image_with_crop_or_pad = _images.resize_with_crop_or_pad
transpose_image = _images.transpose
_naming.under_own_names(globals())


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
    source = _draws.of_seed((seed or 0, seed2 or 0))
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
    return _late.found("image", name)
