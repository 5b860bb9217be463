# SPDX-License-Identifier: Apache-2.0
"""Images cut, filled up, scaled and turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import _holds_symbol, convert_to_tensor
from .._tf.trace import Block, Op, Symbol, run
from ._images import pixels, resized, stack_of, turned
from .array_ops import integers

__all__ = [
    "ResizeMethod",
    "central_crop",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "pad_to_bounding_box",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rot90",
    "transpose",
]


class ResizeMethod:
    """Ways to :func:`resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _box(*values: Any) -> list[int]:
    return [int(np.asarray(value)) for value in values]


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Part of an image."""
    box = offset_height, offset_width, target_height, target_width
    if any(isinstance(value, Symbol) for value in box):
        return _cut(image, box)
    top, left, *sizes = _box(offset_height, offset_width, target_height, target_width)
    crop = pixels("crop")
    return resized("CropToBoundingBox", lambda x, h, w: crop(x, top, left, h, w), image, sizes)


def _cut(image: Any, box: tuple[Any, ...]) -> Any:
    """Part of an image, by numbers that each element has of its own."""
    crop = pixels("crop")
    sizes = [None if isinstance(value, Symbol) else int(np.asarray(value)) for value in box[2:]]

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        shape = specs[0].shape.sizes
        return [TensorSpec(shape and [*shape[:-3], *sizes, shape[-1]], specs[0].dtype)]

    op = Op("CropToBoundingBox", lambda x, *where: crop(x, *(int(n) for n in where)), infer)
    return run(op, [convert_to_tensor(value) for value in (image, *box)])


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """An image inside of a larger one of zeros."""
    top, left, *sizes = _box(offset_height, offset_width, target_height, target_width)
    pad = pixels("pad")
    return resized("PadToBoundingBox", lambda x, h, w: pad(x, top, left, h, w), image, sizes)


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """The middle of an image, with zeros around it where it is too small."""
    return resized(
        "ResizeWithCropOrPad", pixels("crop_or_pad"), image, _box(target_height, target_width)
    )


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
    *,
    _legacy: bool | None = None,
) -> Any:
    """An image of another size, in float32 unless by the nearest pixels.

    Parameters
    ----------
    images : of shape (height, width, channels) or (n, height, width, channels)
    size : (height, width)
    method : str
        One of :class:`ResizeMethod`.
    preserve_aspect_ratio : bool
        As large as it can be within `size`, without changing its form.
    antialias : bool
        Take in all pixels where it becomes smaller; bilinear and bicubic otherwise skip some.
    """
    from .._tf.kernels import resampling

    tensor = convert_to_tensor(images)
    kind = str(getattr(method, "value", method)).lower()
    if kind not in resampling.METHODS:
        raise ValueError(f"Resize method {method!r} is not implemented.")
    if tensor.shape.ndims not in (None, 3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    if not isinstance(size, Symbol) and _holds_symbol(size):
        size = convert_to_tensor(size)
    if isinstance(size, Symbol):
        return _of_symbol(tensor, size, kind, preserve_aspect_ratio, antialias)
    if kind != ResizeMethod.NEAREST_NEIGHBOR:
        tensor = _before_cast(tensor)
    given = np.asarray(size)
    if given.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if given.dtype.kind not in "iu":
        raise ValueError("'size' must be a 1-D int32 Tensor")
    sizes = [int(number) for number in given]
    if min(sizes) < 1:
        raise invalid("output dimensions must be positive")
    how: dict[str, Any] = {"method": kind, "antialias": antialias}
    if _legacy is not None:  # version 1's ``align_corners``
        how.update(align=_legacy, centers=False)
    known = tensor.shape.sizes
    if preserve_aspect_ratio:
        if known is None or None in known[-3:-1]:
            return _within(tensor, sizes, how)
        sizes = resampling.within((known[-3], known[-2]), sizes)
    return run(_RESIZE, [tensor], size=tuple(sizes), **how)


def _resized(image: Any, *, size: tuple[int, int], **how: Any) -> Any:
    from .._tf.kernels import resampling

    return resampling.resize(image, *size, **how)


def _resized_spec(
    specs: list[TypeSpec], _: Any, *, size: tuple[int, int], method: str, **__: Any
) -> list[TypeSpec]:
    known = specs[0].shape.sizes
    shape = None if known is None else [*known[:-3], *size, known[-1]]
    return [TensorSpec(shape, specs[0].dtype if method == "nearest" else "float32")]


def _resized_block(_: int, images: Block, **how: Any) -> Any:
    stack = stack_of(images)
    return None if stack is None else _resized(stack, **how)


_RESIZE = Op("Resize", _resized, _resized_spec, _resized_block)


def _before_cast(tensor: Any) -> Any:
    """The bytes that were cast to these floats: scaling makes floats of them on its way."""
    if not isinstance(tensor, Symbol) or tensor.dtype.name != "float32":
        return tensor
    makers = tensor.trace.makers
    node = makers.get(tensor.slot)
    maker = makers.get(node.inputs[0][1]) if node is not None and node.op.name == "Cast" else None
    if node is None or maker is None or not node.inputs[0][0]:
        return tensor
    slot = node.inputs[0][1]
    spec = maker.specs[maker.slots.index(slot)]
    known = spec.reshaped(tensor.shape.sizes)
    return Symbol(tensor.trace, slot, known) if spec.dtype.name == "uint8" else tensor


def _of_symbol(tensor: Any, size: Symbol, kind: str, keep: bool, antialias: bool) -> Any:
    """Images scaled to a size that each element has of its own."""
    from .._tf.kernels import resampling

    def kernel(x: Any, wanted: Any) -> Any:
        height, width = (int(number) for number in wanted)
        if keep:
            height, width = resampling.within(x.shape[-3:-1], [height, width])
        if min(height, width) < 1:
            raise invalid("output dimensions must be positive")
        return resampling.resize(x, height, width, kind, antialias)

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        shape = specs[0].shape.sizes
        dtype = specs[0].dtype if kind == ResizeMethod.NEAREST_NEIGHBOR else "float32"
        return [TensorSpec(shape and [*shape[:-3], None, None, shape[-1]], dtype)]

    return run(Op("ResizeTo", kernel, infer), [tensor, size])


def _within(tensor: Any, sizes: list[int], how: dict[str, Any]) -> Any:
    """Images of sizes that are not known yet, scaled without changing their form."""
    from .._tf.kernels import resampling

    def kernel(x: Any) -> Any:
        height, width = resampling.within(x.shape[-3:-1], sizes)
        return resampling.resize(x, height, width, **how)

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        shape = specs[0].shape.sizes
        dtype = specs[0].dtype if how["method"] == ResizeMethod.NEAREST_NEIGHBOR else "float32"
        return [TensorSpec(shape and [*shape[:-3], None, None, shape[-1]], dtype)]

    return run(Op("ResizeWithin", kernel, infer), [tensor])


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """An image scaled without changing its form, with zeros around it."""
    from .._tf.kernels import resampling

    kind = str(getattr(method, "value", method)).lower()
    sizes = _box(target_height, target_width)
    if min(sizes) <= 0:
        raise ValueError(f"target_{'height' if sizes[0] <= 0 else 'width'} must be > 0.")
    pad = pixels("pad")

    def fitted(x: Any, height: int, width: int) -> Any:
        inner, offsets = resampling.fitted(x.shape[-3:-1], (height, width))
        scaled = resampling.resize(x, inner[0], inner[1], kind, antialias)
        return pad(scaled.astype(wanted), *offsets, height, width)

    tensor = convert_to_tensor(image)
    nearest = kind == ResizeMethod.NEAREST_NEIGHBOR
    wanted = tensor.dtype.numpy if nearest else np.float32
    return resized("ResizeWithPad", fitted, tensor, sizes, None if nearest else "float32")


def central_crop(image: Any, central_fraction: float) -> Any:
    """The middle part of an image."""
    tensor = convert_to_tensor(image)
    if not 0 < central_fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")

    def cut(x: Any) -> Any:
        top, left = (int((n - n * central_fraction) / 2) for n in x.shape[-3:-1])
        return x[..., top : x.shape[-3] - top, left : x.shape[-2] - left, :]

    return turned("CentralCrop", cut, tensor, infer=None)


def flip_left_right(image: Any) -> Any:
    """An image mirrored."""
    return turned("FlipLeftRight", lambda x: pixels("flip")(x, -2), image)


def flip_up_down(image: Any) -> Any:
    """An image upside down."""
    return turned("FlipUpDown", lambda x: pixels("flip")(x, -3), image)


def transpose(image: Any, name: str | None = None) -> Any:
    """Rows as columns."""
    return turned("TransposeImage", lambda x: np.swapaxes(x, -3, -2), image, infer=None)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """An image turned to the left, `k` times by a right angle."""

    def turn(x: Any, times: Any) -> Any:
        return np.rot90(x, int(times), (-3, -2))

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        shape = specs[0].shape.sizes
        if shape is not None and shape[-3] != shape[-2]:
            shape = (*shape[:-3], None, None, shape[-1])
        return [TensorSpec(shape, specs[0].dtype)]

    many = not isinstance(k, Symbol)
    return turned("Rot90", turn, image, integers(k), infer=None if many else infer, many=many)
