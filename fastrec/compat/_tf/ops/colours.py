# SPDX-License-Identifier: Apache-2.0
"""Convert images to other types, and change their brightness and colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..specs import TensorSpec, TypeSpec
from . import Array, Block, Op, invalid, same_spec


def _numbers(value: Block) -> Any:
    """Return one number, or a number for each image, in a shape that broadcasts."""
    if not value.many:
        return value.value
    found = np.asarray(value.value)
    return found.reshape(-1, 1, 1, 1) if found.ndim == 1 else None


def changed(
    name: str,
    function: Callable[..., Any],
    infer: Callable[..., list[TypeSpec]] = same_spec,
    *,
    each: bool = True,
) -> Op:
    """Return an operation on numbers and an image, or many images of one size.

    Parameters
    ----------
    each : bool
        Whether each of many images may have its own numbers, of shape (n, 1, 1, 1).
    """

    def kernel(x: Array, *values: Array, **attributes: Any) -> Array:
        return np.asarray(function(x, *values, **attributes))

    def block(count: int, x: Block, *values: Block, **attributes: Any) -> Any:
        if not x.many or not isinstance(x.value, np.ndarray) or x.value.ndim != 4 or not count:
            return None
        if not each and any(value.many for value in values):
            return None
        given = [_numbers(value) for value in values]
        if any(value is None for value in given):
            return None
        return kernel(x.value, *given, **attributes)

    return Op(name, kernel, infer, block)


def scaled(dtype: DType, what: str = "image dtype") -> None:
    """Reject types that are not valid for images."""
    if not (dtype.is_floating or dtype.is_integer):
        raise AttributeError(f"{what} must be either floating point or integer")


def whole(image: Array) -> Array:
    """Return an image, or several, after checking that they have pixels.

    Raises
    ------
    InvalidArgumentError
        If there are fewer than three dimensions, or no pixels.
    """
    if image.ndim < 3:
        raise invalid("'image' must be at least three-dimensional.")
    if 0 in image.shape[-3:]:
        raise invalid(r"assertion failed: [inner 3 dims of \'image.shape\' must be > 0.]")
    return image


def pixels(name: str) -> Callable[..., Array]:
    """Return a function of pixels, whose module is loaded on the first call."""

    def call(*values: Any) -> Array:
        from ..kernels import pixels

        found: Array = getattr(pixels, name)(*values)
        return found

    return call


def _colours(name: str) -> Callable[..., Array]:
    def call(*values: Any) -> Array:
        from ..kernels import colour

        found: Array = getattr(colour, name)(*values)
        return found

    return call


def _of_three(function: Callable[..., Array]) -> Callable[..., Array]:
    def of_colours(x: Array, *numbers: Array) -> Array:
        if x.ndim < 1 or x.shape[-1] != 3:
            channels = x.shape[-1] if x.ndim else 0
            raise invalid(f"input must have 3 channels but instead has {channels} channels.")
        return function(x, *numbers)

    return of_colours


ADJUST_BRIGHTNESS = changed("AdjustBrightness", pixels("adjust_brightness"))
ADJUST_CONTRAST = changed("AdjustContrast", pixels("adjust_contrast"))
ADJUST_GAMMA = changed("AdjustGamma", _colours("adjust_gamma"))
ADJUST_HUE = changed("AdjustHue", _of_three(_colours("adjust_hue")))
ADJUST_SATURATION = changed("AdjustSaturation", _of_three(_colours("adjust_saturation")))
HSV_TO_RGB = changed("HSVToRGB", _of_three(_colours("hsv_to_rgb")))
RGB_TO_HSV = changed("RGBToHSV", _of_three(_colours("rgb_to_hsv")))


def _converted(x: Array, *, dtype: DType, saturate: bool) -> Array:
    return pixels("convert")(x, dtype.numpy, saturate)


def _to_dtype(specs: Sequence[Any], *_: Any, dtype: DType, saturate: bool) -> list[TypeSpec]:
    return [TensorSpec(specs[0].shape, dtype)]


CONVERT = changed("ConvertImage", _converted, _to_dtype)


def _standard(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    half = specs[0].dtype.name == "float16"
    return [TensorSpec(specs[0].shape, "float16" if half else "float32")]


STANDARDIZE = changed("Standardize", lambda x: pixels("standardized")(whole(x)), _standard)


def _with_channels(specs: Sequence[Any], count: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec([*sizes[:-1], count] if sizes else None, specs[0].dtype)]


def _grey(x: Array) -> Array:
    if not x.ndim or x.shape[-1] != 3:
        inner = x.shape[-1] if x.ndim else 1
        raise invalid(
            f"Matrix size-incompatible: In[0]: [{x.size // max(inner, 1)},{inner}], In[1]: [3,1]"
        )
    return pixels("to_grayscale")(x)


def _grey_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is not None and (not sizes or sizes[-1] not in (3, None)):
        raise ValueError(f"Dimensions must be equal, but are {specs[0].shape} and 3 channels")
    return _with_channels(specs, 1)


RGB_TO_GRAYSCALE = changed("RgbToGrayscale", _grey, _grey_spec)


def _coloured(x: Array) -> Array:
    if x.ndim < 2:
        raise invalid("assertion failed: [A grayscale image must be at least two-dimensional.]")
    if x.shape[-1] != 1:
        raise invalid("assertion failed: [Last dimension of a grayscale image should be size 1.]")
    return np.repeat(x, 3, axis=-1)


def grey_sizes(sizes: Sequence[int | None] | None) -> None:
    """Reject an image that is known not to be grey."""
    if sizes is not None and len(sizes) < 2:
        raise ValueError("A grayscale image must be at least two-dimensional.")
    if sizes is not None and sizes[-1] not in (1, None):
        raise ValueError("Last dimension of a grayscale image should be size 1.")


GRAYSCALE_TO_RGB = changed("GrayscaleToRgb", _coloured, lambda specs, *_: _with_channels(specs, 3))
