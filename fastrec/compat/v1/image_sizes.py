# SPDX-License-Identifier: Apache-2.0
"""Pictures scaled."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import float32, int32
from .._tf.kernels import pixels
from ._nodes import Tensor
from ._ops import Array, checked_kind, invalid, pure
from .constants import constant_value, convert_to_tensor
from .image_ops import sized

__all__ = [
    "ResizeMethod",
    "resize",
    "resize_bilinear",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """How a picture is scaled."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {0: 0, "bilinear": 0, "BILINEAR": 0, 1: 1, "nearest": 1, "NEAREST": 1}


def _resized(
    image: Any, size: Any, nearest: bool, align: bool, half_pixel: bool, name: str | None
) -> Tensor:
    tensor = checked_kind("Resize", convert_to_tensor(image))
    wanted = convert_to_tensor(size, int32, "size")
    if half_pixel:
        raise NotImplementedError("fastrec.compat.v1 scales pictures without half_pixel_centers")
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    sizes = constant_value(wanted)
    function = pixels.resize_nearest if nearest else pixels.resize_bilinear

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
        return function(x, height, width, align)

    known = sized(tensor, *((None, None) if sizes is None else [int(n) for n in sizes]))
    dtype = tensor.dtype if nearest else float32
    return pure("Resize", kernel, (tensor, wanted), dtype, known, name, nearest=nearest)


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``: ``float32``, except for the nearest neighbour.

    Raises
    ------
    NotImplementedError
        For a method other than bilinear and nearest neighbour, and to keep proportions.
    """
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if tensor.shape.ndims not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = convert_to_tensor(size, int32, "size")
    sizes, have = constant_value(wanted), tensor.shape.sizes
    if sizes is not None and sizes.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if method not in _METHODS or preserve_aspect_ratio:
        raise NotImplementedError(
            "fastrec.compat.v1 scales pictures bilinearly or to the nearest neighbour, to the size "
            "that is given"
        )
    if have is not None and sizes is not None and have[-3:-1] == tuple(sizes.tolist()):
        return tensor
    return _resized(tensor, wanted, _METHODS[method] == 1, align_corners, False, name)


resize = resize_images


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
    return _resized(_stacked(images), size, True, align_corners, half_pixel_centers, name)


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel between the four that are nearest."""
    return _resized(_stacked(images), size, False, align_corners, half_pixel_centers, name)
