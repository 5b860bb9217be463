# SPDX-License-Identifier: Apache-2.0
"""Resize images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tf.dtypes import int32
from .._tf.naming import named
from .._tf.ops.geometry import RESIZE, new_size
from ._nodes import Tensor
from ._ops import checked_kind, record
from .constants import convert_to_tensor

__all__ = [
    "ResizeMethod",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """Methods for resizing an image."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: "bilinear",
    ResizeMethod.NEAREST_NEIGHBOR: "nearest",
    ResizeMethod.BICUBIC: "bicubic",
    ResizeMethod.AREA: "area",
    "bilinear": "bilinear",
    "nearest": "nearest",
    "bicubic": "bicubic",
    "area": "area",
}


def _size(size: Any) -> Tensor:
    wanted = convert_to_tensor(size, int32, "size")
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return wanted


def _resized(
    image: Any,
    size: Any,
    method: str,
    align: bool,
    half_pixel: bool,
    name: str | None,
    keep: bool = False,
) -> Tensor:
    tensor = checked_kind(RESIZE, convert_to_tensor(image))
    wanted = _size(size)
    if half_pixel and align:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    return record(
        RESIZE,
        (tensor, wanted),
        name,
        method=method,
        antialias=False,
        align=align,
        centers=half_pixel,
        keep=keep,
    )


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize to ``[height, width]``, as ``float32`` except for nearest neighbour."""
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if tensor.shape.ndims not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = _size(size)
    if method not in _METHODS:
        raise ValueError("Resize method is not implemented.")
    found = new_size(tensor.shape, wanted, preserve_aspect_ratio)
    if None not in found and tensor.shape.as_list()[-3:-1] == list(found):
        return tensor
    return _resized(
        tensor, wanted, _METHODS[method], align_corners, False, name, preserve_aspect_ratio
    )


resize = resize_images


def _stacked(images: Any) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims not in (4, None):
        raise ValueError(f"Shape must be rank 4 but is rank {tensor.shape.ndims}")
    return tensor


def _resizing(name: str, method: str, doc: str) -> Callable[..., Tensor]:
    def resize(
        images: Any,
        size: Any,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        return _resized(_stacked(images), size, method, align_corners, half_pixel_centers, name)

    return named(resize, name, doc=f"Resize images to ``[height, width]``; each pixel is {doc}.")


resize_nearest_neighbor = _resizing("resize_nearest_neighbor", "nearest", "its nearest one")
resize_bilinear = _resizing("resize_bilinear", "bilinear", "interpolated between four")
resize_bicubic = _resizing("resize_bicubic", "bicubic", "interpolated between sixteen")
resize_area = _resizing("resize_area", "area", "the mean of the pixels that it covers")
