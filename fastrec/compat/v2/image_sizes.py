# SPDX-License-Identifier: Apache-2.0
"""Images cut, filled up, scaled and turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.errors import InvalidArgumentError
from .._tf.ops import geometry
from .._tf.tensor import _holds_symbol, convert_to_tensor
from .._tf.trace import Op, Symbol, run
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


def _changed(op: Op, image: Any, *numbers: Any, **attributes: Any) -> Any:
    try:
        return run(op, [convert_to_tensor(each) for each in (image, *numbers)], **attributes)
    except InvalidArgumentError as error:  # as of a graph that cannot be built
        raise geometry.known(error) from None


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Part of an image."""
    box = offset_height, offset_width, target_height, target_width
    return _changed(geometry.CROP, image, *box)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """An image inside of a larger one of zeros."""
    box = offset_height, offset_width, target_height, target_width
    return _changed(geometry.PAD, image, *box)


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """The middle of an image, with zeros around it where it is too small."""
    return _changed(geometry.CROP_OR_PAD, image, target_height, target_width)


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
    tensor, kind = convert_to_tensor(images), _method(method)
    if tensor.shape.ndims not in (None, 3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = convert_to_tensor(size if _holds_symbol(size) else np.asarray(size))
    if wanted.shape.sizes not in (None, (None,), (2,)):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if not wanted.dtype.is_integer:
        raise ValueError("'size' must be a 1-D int32 Tensor")
    if kind != ResizeMethod.NEAREST_NEIGHBOR and not isinstance(wanted, Symbol):
        tensor = _before_cast(tensor)
    align, keep = bool(_legacy), bool(preserve_aspect_ratio)
    how = {"antialias": antialias, "align": align, "centers": _legacy is None}
    return run(geometry.RESIZE, [tensor, wanted], method=kind, keep=keep, **how)


def _method(method: Any) -> str:
    from .._tf.kernels import resampling

    kind = str(getattr(method, "value", method)).lower()
    if kind not in resampling.METHODS:
        raise ValueError(f"Resize method {method!r} is not implemented.")
    return kind


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


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """An image scaled without changing its form, with zeros around it."""
    how = {"method": _method(method), "antialias": antialias}
    return _changed(geometry.RESIZE_WITH_PAD, image, target_height, target_width, **how)


def central_crop(image: Any, central_fraction: float) -> Any:
    """The middle part of an image."""
    return _changed(geometry.CENTRAL_CROP, image, fraction=central_fraction)


def flip_left_right(image: Any) -> Any:
    """An image mirrored."""
    return _changed(geometry.FLIP_LEFT_RIGHT, image)


def flip_up_down(image: Any) -> Any:
    """An image upside down."""
    return _changed(geometry.FLIP_UP_DOWN, image)


def transpose(image: Any, name: str | None = None) -> Any:
    """Rows as columns."""
    return _changed(geometry.TRANSPOSE, image)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """An image turned to the left, `k` times by a right angle."""
    return _changed(geometry.ROT90, image, integers(k))
