# SPDX-License-Identifier: Apache-2.0
"""Resize images."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.ops import geometry
from .._tf.tensor import _holds_symbol, convert_to_tensor
from .._tf.tracing.recording import Symbol, run
from ._eager import EAGER, in_integers


class ResizeMethod:
    """Methods of :func:`resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


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
    """Resize images, to float32 except for the nearest neighbour.

    Parameters
    ----------
    images : of shape (height, width, channels) or (n, height, width, channels)
    size : (height, width)
    method : str
        One of :class:`ResizeMethod`.
    preserve_aspect_ratio : bool
        Whether to keep the aspect ratio, with the largest size within `size`.
    antialias : bool
        Whether to use all pixels for reductions; bilinear and bicubic otherwise skip some.
    """
    tensor, kind = convert_to_tensor(images), _method(method)
    if tensor.shape.ndims not in (None, 3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    size = in_integers(size)
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
    """Return the bytes that were cast to these floats, because resizing converts them itself."""
    if not isinstance(tensor, Symbol) or tensor.dtype.name != "float32":
        return tensor
    makers = tensor.recording.makers
    node = makers.get(tensor.slot)
    maker = makers.get(node.inputs[0][1]) if node is not None and node.op.name == "Cast" else None
    if node is None or maker is None or not node.inputs[0][0]:
        return tensor
    slot = node.inputs[0][1]
    spec = maker.specs[maker.slots.index(slot)]
    known = spec.reshaped(tensor.shape.sizes)
    return Symbol(tensor.recording, slot, known) if spec.dtype.name == "uint8" else tensor


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Resize an image with its aspect ratio, and pad it with zeros."""
    inputs = [convert_to_tensor(each) for each in (image, target_height, target_width)]
    how = {"method": _method(method), "antialias": antialias}
    return EAGER.apply_asserted(geometry.RESIZE_WITH_PAD, inputs, **how)
