# SPDX-License-Identifier: Apache-2.0
"""Pictures cut, filled up, mirrored, made brighter, scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtypes import as_dtype, float16, float32, int32
from .._kernels import pixels
from .._shape import TensorShape
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .array_ops import shape
from .constants import constant_value, convert_to_tensor
from .math_ops import less
from .random_ops import random_uniform

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "pad_to_bounding_box",
    "per_image_standardization",
    "per_image_whitening",
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rot90",
    "transpose_image",
]


def _picture(image: Any) -> Tensor:
    tensor = convert_to_tensor(image, name="image")
    if tensor.shape.ndims not in (3, 4, None):
        raise ValueError(f"'image' (shape {tensor.shape}) must have either 3 or 4 dimensions.")
    return tensor


def _one_picture(image: Any) -> Tensor:
    tensor = convert_to_tensor(image, name="image")
    if tensor.shape.ndims is not None and tensor.shape.ndims < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    return tensor


def _number(value: Any) -> tuple[Tensor, int | None]:
    tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else int32)
    known = constant_value(tensor)
    return tensor, None if known is None else int(known)


def _sized(tensor: Tensor, height: int | None, width: int | None) -> TensorShape:
    sizes = tensor.shape.sizes
    if sizes is None:  # as TensorFlow has it, one picture then
        return TensorShape([height, width, None])
    return TensorShape([*sizes[:-3], height, width, sizes[-1]])


def _cut(
    type: str,
    function: Callable[..., Array],
    image: Any,
    numbers: list[Any],
    name: str | None,
) -> Tensor:
    """An operation on a picture and some whole numbers, the last two of which are its size."""
    tensor = _picture(image)
    pairs = [_number(n) for n in numbers]
    values = [value for _, value in pairs]
    if tensor.shape.is_fully_defined() and None not in values:
        # What cannot work is found out now; an array of one number stands for the picture.
        sizes = tuple(n or 0 for n in tensor.shape.as_list())
        stand_in = np.broadcast_to(np.zeros((), np.int8), sizes)
        try:
            function(stand_in, *values)
        except Exception as error:
            text = str(error).removeprefix("assertion failed: [").removesuffix("]")
            raise ValueError(text) from None
    elif None not in values:
        for what, size in zip(("height", "width"), values[-2:], strict=True):
            if size is not None and size <= 0:
                raise ValueError(f"target_{what} must be > 0.")

    def kernel(x: Array, *given: Array) -> Array:
        if x.ndim not in (3, 4):
            raise invalid(f"'image' must have either 3 or 4 dimensions, not {x.ndim}.")
        return function(x, *[int(n) for n in given])

    inputs = [tensor, *[t for t, _ in pairs]]
    known = _sized(tensor, *values[-2:])
    return pure(type, kernel, inputs, tensor.dtype, known, name, numbers=values)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """What is around the middle, with zeros where there is nothing."""
    sizes = [target_height, target_width]
    return _cut("CropOrPad", pixels.crop_or_pad, image, sizes, "resize_image_with_crop_or_pad")


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of a picture."""
    numbers = [offset_height, offset_width, target_height, target_width]
    return _cut("CropBox", pixels.crop, image, numbers, "crop_to_bounding_box")


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A picture within a larger one that is zero elsewhere."""
    numbers = [offset_height, offset_width, target_height, target_width]
    return _cut("PadBox", pixels.pad, image, numbers, "pad_to_bounding_box")


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of a picture, `central_fraction` of each side."""
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    tensor = _picture(image)

    def kernel(x: Array) -> Array:
        height, width = x.shape[-3:-1]
        top = int((height - height * central_fraction) / 2)
        left = int((width - width * central_fraction) / 2)
        return x[..., top : height - top, left : width - left, :]

    sizes, known = tensor.shape.sizes, TensorShape(None)
    if sizes is not None:
        cut = [
            None if n is None else n - 2 * int((n - n * central_fraction) / 2) for n in sizes[-3:-1]
        ]
        known = _sized(tensor, *cut)
    return pure("CentralCrop", kernel, (tensor,), tensor.dtype, known, "central_crop")


# Mirrors.


def flip_left_right(image: Any) -> Tensor:
    """Mirrored, the left on the right."""
    tensor = _one_picture(image)
    function = lambda x: pixels.flip(x, -2)  # noqa: E731
    return pure("FlipLeftRight", function, (tensor,), tensor.dtype, tensor.shape)


def flip_up_down(image: Any) -> Tensor:
    """Mirrored, the top at the bottom."""
    tensor = _one_picture(image)
    function = lambda x: pixels.flip(x, -3)  # noqa: E731
    return pure("FlipUpDown", function, (tensor,), tensor.dtype, tensor.shape)


def _random_flip(image: Any, axis: int, seed: int | None, name: str) -> Tensor:
    tensor = _one_picture(image)
    several = tensor.shape.ndims == 4
    drawn = random_uniform([shape(tensor)[0]] if several else [], 0, 1.0, seed=seed)
    mirror = less(drawn, 0.5)

    def kernel(x: Array, m: Array) -> Array:
        if m.ndim == 0:
            return pixels.flip(x, axis) if m else x
        return np.where(m[:, None, None, None], pixels.flip(x, axis), x)

    return pure(name, kernel, (tensor, mirror), tensor.dtype, tensor.shape, axis=axis)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored, the left on the right, or not: each half of the time."""
    return _random_flip(image, -2, seed, "RandomFlip")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Mirrored, the top at the bottom, or not: each half of the time."""
    return _random_flip(image, -3, seed, "RandomFlip")


def transpose_image(image: Any) -> Tensor:
    """Rows as columns."""
    tensor = _picture(image)
    sizes = tensor.shape.sizes
    known = None if sizes is None else [*sizes[:-3], sizes[-2], sizes[-3], sizes[-1]]
    function = lambda x: np.swapaxes(x, -3, -2)  # noqa: E731
    return pure("TransposeImage", function, (tensor,), tensor.dtype, known)


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Turned against the clock, `k` times by a right angle."""
    tensor = _picture(image)
    sizes = tensor.shape.sizes
    known = None if sizes is None else [*sizes[:-3], None, None, sizes[-1]]
    function = lambda x: np.rot90(x, k, axes=(-3, -2))  # noqa: E731
    return pure("Rot90", function, (tensor,), tensor.dtype, known, name)


# Light.


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """`delta` added to every pixel; of whole numbers, that much of their range."""
    tensor = convert_to_tensor(image, name="image")
    wanted = tensor.dtype if tensor.dtype.is_floating else float32
    given = (
        convert_to_tensor(delta) if isinstance(delta, Tensor) else convert_to_tensor(delta, wanted)
    )
    inputs = (tensor, given)
    return pure("AdjustBrightness", pixels.adjust_brightness, inputs, tensor.dtype, tensor.shape)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The distance of every pixel from the mean of its channel, times a factor."""
    tensor = _one_picture(images)
    factor = convert_to_tensor(contrast_factor, float32)
    inputs = (tensor, factor)
    return pure("AdjustContrast", pixels.adjust_contrast, inputs, tensor.dtype, tensor.shape)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Made brighter or darker by up to `max_delta`."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """With more or less contrast, by a factor from `lower` up to `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """With a mean of 0 and a deviation of 1."""
    tensor = _one_picture(image)
    dtype = float16 if tensor.dtype is float16 else float32
    return pure("Standardize", pixels.standardized, (tensor,), dtype, tensor.shape)


per_image_whitening = per_image_standardization  # its name until version 0.12


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """The same picture in another type, whose range is 0 to 1 for floating-point types."""
    tensor, wanted = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if tensor.dtype is wanted:
        return tensor
    if not (wanted.is_floating or wanted.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    function = lambda x: pixels.convert(x, wanted.numpy, saturate)  # noqa: E731
    return pure("ConvertImage", function, (tensor,), wanted, tensor.shape, name)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel of three."""
    tensor = convert_to_tensor(images)
    known = tensor.shape[:-1].concatenate([1]) if tensor.shape.ndims else None
    return pure("RgbToGray", pixels.to_grayscale, (tensor,), tensor.dtype, known, name)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """One channel three times."""
    tensor = convert_to_tensor(images)
    known = tensor.shape[:-1].concatenate([3]) if tensor.shape.ndims else None
    function = lambda x: np.repeat(x, 3, axis=-1)  # noqa: E731
    return pure("GrayToRgb", function, (tensor,), tensor.dtype, known, name)


# Sizes.


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
    tensor = convert_to_tensor(image)
    wanted = convert_to_tensor(size, int32, "size")
    if half_pixel:
        raise NotImplementedError("fastrec.compat.v1 scales pictures without half_pixel_centers")
    if wanted.shape.ndims is not None and wanted.shape != TensorShape([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    sizes = constant_value(wanted)
    function = pixels.resize_nearest if nearest else pixels.resize_bilinear

    def kernel(x: Array, s: Array) -> Array:
        height, width = (int(n) for n in s)
        if height <= 0 or width <= 0:
            raise invalid("output dimensions must be positive")
        if not x.shape[-3] or not x.shape[-2]:
            raise invalid("input image must be of non-zero size")
        return function(x, height, width, align)

    known = _sized(tensor, *((None, None) if sizes is None else [int(n) for n in sizes]))
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


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel the nearest of those that there were."""
    return _resized(images, size, True, align_corners, half_pixel_centers, name)


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Scaled to ``[height, width]``, each pixel between the four that are nearest."""
    return _resized(images, size, False, align_corners, half_pixel_centers, name)
