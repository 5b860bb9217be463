# SPDX-License-Identifier: Apache-2.0
"""Image functions that version 2 has, too; here they add operations to graphs."""

from __future__ import annotations

from typing import ClassVar

from .._tf.faces.images import Images
from ._ops import GRAPHS

__all__ = ["images"]


class _Images(Images):
    """Image functions with version 1's arguments."""

    _orders: ClassVar[dict[str, str]] = {
        "crop_and_resize": "image boxes box_ind=box_indices crop_size method extrapolation_value "
        "name",
        "draw_bounding_boxes": "images boxes name colors",
    }


images = _Images(GRAPHS)
