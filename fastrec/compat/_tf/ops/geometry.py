# SPDX-License-Identifier: Apache-2.0
"""Change the colours of images; crop, pad, flip, rotate and resize them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import InvalidArgumentError, invalid
from ..shape import TensorShape
from ..specs import TensorSpec, TypeSpec
from . import Array, Block, Op, constant_of, known_sizes, same_spec


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


def pixels(name: str) -> Callable[..., Any]:
    """Return a function of pixels, whose module is loaded on the first call."""

    def call(*values: Any, **options: Any) -> Any:
        from ..kernels import pixels

        return getattr(pixels, name)(*values, **options)

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
ADJUST_GAMMA = changed("AdjustGamma", pixels("adjust_gamma"))
ADJUST_HUE = changed("AdjustHue", _of_three(pixels("adjust_hue")))
ADJUST_SATURATION = changed("AdjustSaturation", _of_three(pixels("adjust_saturation")))
HSV_TO_RGB = changed("HSVToRGB", _of_three(pixels("hsv_to_rgb")))
RGB_TO_HSV = changed("RGBToHSV", _of_three(pixels("rgb_to_hsv")))


def _converted(x: Array, *, dtype: DType, saturate: bool) -> Array:
    found: Array = pixels("convert")(x, dtype.numpy, saturate)
    return found


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
    found: Array = pixels("to_grayscale")(x)
    return found


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


Sizes = Sequence["int | None"]


def known(error: InvalidArgumentError) -> ValueError:
    """Return the error of an assertion that is known to fail before it runs."""
    text = error.message.removeprefix("assertion failed: [").removesuffix("]")
    return ValueError(text.replace("\\'", "'"))


def image_sizes(shape: TensorShape) -> tuple[int | None, ...] | None:
    """Return the sizes of an image, or of several.

    Raises
    ------
    ValueError
        If the shape is known not to be the shape of images.
    """
    sizes = shape.sizes
    if sizes is not None and len(sizes) not in (3, 4):
        raise ValueError(f"'image' (shape {shape}) must have either 3 or 4 dimensions.")
    if 0 in (sizes or ())[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
    return sizes


def _image(x: Array) -> Array:
    if whole(x).ndim > 4:
        raise invalid(f"'image' must have either 3 or 4 dimensions, not {x.ndim}.")
    return x


def _sized(specs: Sequence[Any], size: Sizes, dtype: Any = None) -> list[TypeSpec]:
    """Return the spec of an image after a change of height and width."""
    sizes = specs[0].shape.sizes or (None, None, None)  # like TensorFlow, assume one image
    return [TensorSpec([*sizes[:-3], *size, sizes[-1]], dtype or specs[0].dtype)]


def _box(name: str, kernel: str) -> Op:
    """Return an operation on an image and integers, which end with the target size."""

    def function(x: Array, *numbers: Any) -> Array:
        found: Array = pixels(kernel)(_image(x), *map(int, numbers))
        return found

    def infer(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
        sizes, found = image_sizes(specs[0].shape), [constant_of(raw) for raw in raws[1:]]
        size = [None if n is None else int(n) for n in found[-2:]]
        if all(n is not None for n in found):
            if sizes is not None and None not in sizes:
                _tried(function, sizes, found)
            _positive(*size)
        return _sized(specs, size)

    return changed(name, function, infer, each=False)


def _tried(function: Callable[..., Any], sizes: Any, numbers: Sequence[Any]) -> None:
    """Detect errors early: run the function on an array of zeros with the shape of the image."""
    try:
        function(np.broadcast_to(np.zeros((), np.int8), sizes), *numbers)
    except InvalidArgumentError as error:
        raise known(error) from None


def _positive(*size: int | None) -> None:
    for name, n in zip(("height", "width"), size, strict=True):
        if n is not None and n <= 0:
            raise ValueError(f"target_{name} must be > 0.")


CROP = _box("CropToBoundingBox", "crop")
PAD = _box("PadToBoundingBox", "pad")
_ALIKE = _box("CropOrPad", "crop_or_pad")


def _fitted(count: int, x: Block, *sizes: Block) -> Any:
    """Crop or pad images of any size directly into one column."""
    if not isinstance(x.value, list) or any(size.many for size in sizes):
        assert _ALIKE.block is not None
        return _ALIKE.block(count, x, *sizes)
    (first, *rest), (height, width) = x.value, [int(size.value) for size in sizes]
    if min(height, width) <= 0 or first.ndim != 3:
        return None
    if any((i.ndim, i.shape[-1:], i.dtype) != (3, first.shape[-1:], first.dtype) for i in rest):
        return None
    if not all(image.size for image in x.value):
        return None  # some images are invalid
    column = np.empty((count, height, width, first.shape[-1]), first.dtype)
    for image, place in zip(x.value, column, strict=True):
        pixels("crop_or_pad")(image, height, width, place)
    return column


CROP_OR_PAD = _ALIKE.but(block=_fitted)


def _margins(sizes: Sequence[Any], fraction: float) -> list[Any]:
    if not 0 < fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    return [None if n is None else int((n - n * fraction) / 2) for n in sizes]


def _centre(x: Array, *, fraction: float) -> Array:
    height, width = _image(x).shape[-3:-1]
    top, left = _margins((height, width), fraction)
    return x[..., top : height - top, left : width - left, :]


def _centre_spec(specs: Sequence[Any], *_: Any, fraction: float) -> list[TypeSpec]:
    inner = (image_sizes(specs[0].shape) or (None,) * 3)[-3:-1]
    margins = _margins(inner, fraction)
    if specs[0].shape.sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    return _sized(
        specs, [None if n is None else n - 2 * m for n, m in zip(inner, margins, strict=True)]
    )


CENTRAL_CROP = changed("CentralCrop", _centre, _centre_spec)


def _turned(function: Callable[[Sizes], Sizes]) -> Callable[..., list[TypeSpec]]:
    """Return an inference function for an image whose height and width a function computes."""

    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        sizes = image_sizes(specs[0].shape)
        shape = None if sizes is None else [*sizes[:-3], *function(sizes[-3:-1]), sizes[-1]]
        return [TensorSpec(shape, specs[0].dtype)]

    return infer


def _flip(name: str, axis: int) -> Op:
    return changed(name, lambda x: pixels("flip")(_image(x), axis), _turned(lambda size: size))


FLIP_LEFT_RIGHT = _flip("FlipLeftRight", -2)
FLIP_UP_DOWN = _flip("FlipUpDown", -3)
TRANSPOSE = changed(
    "TransposeImage",
    lambda x: np.swapaxes(_image(x), -3, -2),
    _turned(lambda size: size[::-1]),
)
ROT90 = changed(
    "Rot90",
    lambda x, times: np.rot90(_image(x), int(times), (-3, -2)),
    _turned(lambda size: size if size[0] == size[1] else [None, None]),
    each=False,
)


def new_size(shape: TensorShape, size: Any, keep: bool) -> Sizes:
    """Return the height and width after resizing, as far as they are known.

    Parameters
    ----------
    shape : TensorShape
        The shape before resizing.
    size : tensor
    keep : bool
        Whether `size` is a limit and the aspect ratio is preserved.
    """
    limits, have = known_sizes(size) or [None, None], (shape.sizes or (None,) * 3)[-3:-1]
    if not keep:
        return limits
    if None in limits or None in have:
        return [None, None]
    found: Sizes = pixels("within")(have, limits)
    return found


def _resize(x: Array, size: Array, *, keep: bool, **how: Any) -> Array:
    if size.shape != (2,):
        raise invalid(f"shape_t must be 1-dimensional with 2 elements, not {size.shape}")
    rank, wanted = x.ndim, size.tolist()
    if rank not in (3, 4):
        raise invalid(f"'images' must have either 3 or 4 dimensions, not {rank}.")
    if not x.shape[-3] or not x.shape[-2]:
        raise invalid("input image must be of non-zero size")
    if not x.shape[-1]:
        raise invalid("image must have at least one channel")
    if keep:
        wanted = pixels("within")(x.shape[-3:-1], wanted)
    if min(wanted) <= 0:
        raise invalid("output dimensions must be positive")
    found: Array = pixels("resize")(x, *wanted, **how)
    return found


def _resize_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, method: str, keep: bool, **_: Any
) -> list[TypeSpec]:
    shape, dtype = specs[0].shape, specs[0].dtype if method == "nearest" else "float32"
    if shape.sizes is None:
        return [TensorSpec(None, dtype)]
    return _sized(specs, new_size(shape, raws[1], keep), dtype)


RESIZE = changed("Resize", _resize, _resize_spec, each=False).but(kinds="iuf")


def _with_pad(x: Array, height: Any, width: Any, *, method: str, antialias: bool) -> Array:
    size = int(height), int(width)
    _positive(*size)
    inner, offsets = pixels("fitted")(_image(x).shape[-3:-1], size)
    scaled = pixels("resize")(x, *inner, method, antialias)
    wanted = x.dtype if method == "nearest" else np.float32
    found: Array = pixels("pad")(scaled.astype(wanted, copy=False), *offsets, *size)
    return found


def _with_pad_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, method: str, antialias: bool
) -> list[TypeSpec]:
    image_sizes(specs[0].shape)
    size = [None if n is None else int(n) for n in map(constant_of, raws[1:])]
    _positive(*size)
    return _sized(specs, size, None if method == "nearest" else "float32")


RESIZE_WITH_PAD = changed("ResizeWithPad", _with_pad, _with_pad_spec, each=False)
