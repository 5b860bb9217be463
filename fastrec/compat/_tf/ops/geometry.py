# SPDX-License-Identifier: Apache-2.0
"""Crop, pad, flip, rotate and resize images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from ..shape import TensorShape
from ..specs import TensorSpec, TypeSpec
from . import Array, Block, Op, constant_of, invalid, known_sizes
from .colours import changed, pixels, whole

Sizes = Sequence["int | None"]


def _resampling() -> Any:
    """Return the module for resizing, which is loaded on first use."""
    from ..kernels import resampling

    return resampling


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
        return pixels(kernel)(_image(x), *map(int, numbers))

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
    found: Sizes = _resampling().within(have, limits)
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
        wanted = _resampling().within(x.shape[-3:-1], wanted)
    if min(wanted) <= 0:
        raise invalid("output dimensions must be positive")
    found: Array = _resampling().resize(x, *wanted, **how)
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
    inner, offsets = _resampling().fitted(_image(x).shape[-3:-1], size)
    scaled = _resampling().resize(x, *inner, method, antialias)
    wanted = x.dtype if method == "nearest" else np.float32
    return pixels("pad")(scaled.astype(wanted, copy=False), *offsets, *size)


def _with_pad_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, method: str, antialias: bool
) -> list[TypeSpec]:
    image_sizes(specs[0].shape)
    size = [None if n is None else int(n) for n in map(constant_of, raws[1:])]
    _positive(*size)
    return _sized(specs, size, None if method == "nearest" else "float32")


RESIZE_WITH_PAD = changed("ResizeWithPad", _with_pad, _with_pad_spec, each=False)
