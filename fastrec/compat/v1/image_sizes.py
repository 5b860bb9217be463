# SPDX-License-Identifier: Apache-2.0
"""Images scaled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import float32, int32
from .._tf.kernels import resampling
from ._nodes import Tensor
from ._ops import Array, invalid, of_kinds, pure
from .array_ops import shape as shape_of
from .constants import constant_value, convert_to_tensor
from .image_ops import sized

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
    """Methods of resizing an image."""

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


def _resized(
    image: Any, size: Any, method: str, align: bool, half_pixel: bool, name: str | None
) -> Tensor:
    tensor = of_kinds("Resize", "iuf", convert_to_tensor(image))
    wanted = convert_to_tensor(size, int32, "size")
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if half_pixel and align:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    sizes = constant_value(wanted)

    def kernel(x: Array, s: Array) -> Array:
        if s.shape != (2,):
            raise invalid(f"shape_t must be 1-dimensional with 2 elements, not {s.shape}")
        height, width = (int(n) for n in s)
        if height <= 0 or width <= 0:
            raise invalid("output dimensions must be positive")
        if not x.shape[-3] or not x.shape[-2]:
            raise invalid("input image must be of non-zero size")
        if not x.shape[-1]:
            raise invalid("image must have at least one channel")
        return resampling.resize(x, height, width, method, align=align, centers=half_pixel)

    known = sized(tensor, *((None, None) if sizes is None else [int(n) for n in sizes]))
    nearest = method == "nearest"
    dtype = tensor.dtype if nearest else float32
    how = {"method": method, "align": align, "centers": half_pixel}
    return pure("Resize", kernel, (tensor, wanted), dtype, known, name, nearest=nearest, **how)


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``: ``float32``, except for the nearest neighbour."""
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if tensor.shape.ndims not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = convert_to_tensor(size, int32, "size")
    sizes, have = constant_value(wanted), tensor.shape.sizes
    if sizes is not None and sizes.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if method not in _METHODS:
        raise ValueError("Resize method is not implemented.")
    if preserve_aspect_ratio:
        wanted = _within(tensor, wanted)
        sizes = constant_value(wanted)
    if have is not None and sizes is not None and have[-3:-1] == tuple(sizes.tolist()):
        return tensor
    return _resized(tensor, wanted, _METHODS[method], align_corners, False, name)


resize = resize_images


def _within(tensor: Tensor, limits: Tensor) -> Tensor:
    """The size that an image can have within limits, if it keeps its form."""

    def kernel(shape: Array, most: Array) -> Array:
        return np.array(resampling.within(shape[-3:-1].tolist(), most.tolist()), np.int32)

    return pure("SizeWithin", kernel, (shape_of(tensor), limits), int32, [2])


def _stacked(images: Any) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims not in (4, None):
        raise ValueError(f"Shape must be rank 4 but is rank {tensor.shape.ndims}")
    return tensor


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel the nearest of those that there were."""
    return _resized(_stacked(images), size, "nearest", align_corners, half_pixel_centers, name)


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel between the four that are nearest."""
    return _resized(_stacked(images), size, "bilinear", align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel of the sixteen that are nearest."""
    return _resized(_stacked(images), size, "bicubic", align_corners, half_pixel_centers, name)


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel the mean of what it covers."""
    return _resized(_stacked(images), size, "area", align_corners, False, name)
