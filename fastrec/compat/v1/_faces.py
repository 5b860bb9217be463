# SPDX-License-Identifier: Apache-2.0
"""The functions of images that version 2 has, too: they add operations to graphs."""

from __future__ import annotations

from typing import Any

from .._tf.faces import one_of
from .._tf.faces.images import Images
from ._ops import GRAPHS

__all__ = ["images"]


class _Images(Images):
    """With version 1's arguments."""

    def draw_bounding_boxes(  # type: ignore[override]
        self, images: Any, boxes: Any, name: str | None = None, colors: Any = None
    ) -> Any:
        """Images with the outlines of boxes."""
        return super().draw_bounding_boxes(images, boxes, colors, name)

    def crop_and_resize(  # type: ignore[override]
        self,
        image: Any,
        boxes: Any,
        box_ind: Any = None,
        crop_size: Any = None,
        method: str = "bilinear",
        extrapolation_value: float = 0.0,
        name: str | None = None,
        box_indices: Any = None,
    ) -> Any:
        """Parts of images scaled to one size."""
        numbers = one_of("box_ind", box_ind, "box_indices", box_indices)
        return super().crop_and_resize(
            image, boxes, numbers, crop_size, method, extrapolation_value, name
        )


images = _Images(GRAPHS)
