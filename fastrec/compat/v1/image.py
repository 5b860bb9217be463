# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: images decoded, cut, mirrored, scaled and encoded."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of as _functions_of
from . import _late
from ._faces import images as _images
from .image_boxes import *
from .image_colour import *
from .image_ops import *
from .image_sizes import *
from .io import _IMAGES as _codecs
from .random_ops import random_crop as random_crop
from .random_ops import stateless_random_crop as stateless_random_crop

globals().update(_functions_of(_images) | _codecs)
# Older names.
per_image_whitening = _images.per_image_standardization
resize_image_with_crop_or_pad = _images.resize_with_crop_or_pad
transpose_image = _images.transpose


def __getattr__(name: str) -> Any:
    return _late.found("image", name)
