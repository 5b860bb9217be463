# SPDX-License-Identifier: Apache-2.0
"""Images under projective transforms, and filters of their channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _core

from ..specs import TensorSpec, TypeSpec
from . import Array, Op, invalid, known_sizes

__all__ = ["DEPTHWISE", "FILLS", "PROJECTED", "Padding"]

Padding = str | tuple[tuple[int, int], ...]  # "SAME", "VALID", or what is put around

FILLS = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
_SINGLE = np.dtype(np.float32)


def _projected(
    images: Array, transforms: Array, size: Array, fill: Array, *, interpolation: str, mode: str
) -> Array:
    if images.ndim != 4:
        raise invalid("Input images must have rank 4")
    count = len(images)
    if transforms.ndim != 2 or transforms.shape[1] != 8 or len(transforms) not in (1, count):
        raise invalid(
            "Input transform should be num_images x 8 or 1 x 8, got "
            f"{list(transforms.shape)} for {count} images"
        )
    if size.shape != (2,):
        raise invalid(f"output shape must be 1-dimensional and have two elements: {size.shape}")
    height, width = map(int, size)
    if height <= 0 or width <= 0:
        raise invalid(f"new dimensions must be positive: [{height},{width}]")
    bilinear = interpolation == "BILINEAR"
    given = images.astype(_SINGLE, copy=False) if bilinear else images
    around = np.full(images.shape[3], fill).astype(images.dtype).astype(given.dtype, copy=False)
    found = _core.warp(given, transforms, height, width, mode.lower(), around, bilinear=bilinear)
    return found.astype(images.dtype, copy=False)


def _projected_spec(specs: Sequence[Any], raws: Sequence[Any], **_: Any) -> list[TypeSpec]:
    count, _height, _width, channels = specs[0].shape.sizes or [None] * 4
    size = known_sizes(raws[2]) or [None, None]
    return [TensorSpec([count, *size, channels], specs[0].dtype)]


PROJECTED = Op("ImageProjectiveTransformV3", _projected, _projected_spec, kinds="uif")


def _line(
    size: int, count: int, stride: int, step: int, padding: Padding, axis: int
) -> tuple[int, int]:
    """How long the result is along one dimension, and how many zeros come before the image."""
    reach = (count - 1) * step + 1
    if padding == "SAME":
        length = -(-size // stride)
        return length, max((length - 1) * stride + reach - size, 0) // 2
    before, after = (0, 0) if isinstance(padding, str) else padding[axis]
    length = (size + before + after - reach) // stride + 1
    if length < 0:
        raise invalid(
            f"Computed output size would be negative: {length} [input_size: "
            f"{size + before + after}, effective_filter_size: {reach}, stride: {stride}]"
        )
    return length, before


def _filtered(
    images: Array,
    weights: Array,
    *,
    strides: tuple[int, int],
    steps: tuple[int, int],
    padding: Padding,
) -> Array:
    if images.ndim != 4 or weights.ndim != 4:
        raise invalid(f"input and filter must be 4-dimensional: {images.ndim}, {weights.ndim}")
    if images.shape[3] != weights.shape[2]:
        raise invalid(
            f"input and filter must have the same depth: {images.shape[3]} vs {weights.shape[2]}"
        )
    (height, top), (width, left) = (
        _line(images.shape[n + 1], weights.shape[n], strides[n], steps[n], padding, n + 1)
        for n in range(2)
    )
    single, factors = (each.astype(_SINGLE, copy=False) for each in (images, weights))
    found = _core.depthwise(
        single, factors, (height, width), strides=strides, steps=steps, corner=(top, left)
    )
    return found.astype(images.dtype, copy=False)


def _filtered_spec(
    specs: Sequence[Any],
    _raws: Sequence[Any],
    *,
    strides: tuple[int, int],
    steps: tuple[int, int],
    padding: Padding,
) -> list[TypeSpec]:
    sizes, counts = (spec.shape.sizes or [None] * 4 for spec in specs)
    size = [
        None
        if sizes[n + 1] is None or counts[n] is None
        else _line(sizes[n + 1], counts[n], strides[n], steps[n], padding, n + 1)[0]
        for n in range(2)
    ]
    outputs = None if None in counts[2:] else counts[2] * counts[3]
    return [TensorSpec([sizes[0], *size, outputs], specs[0].dtype)]


DEPTHWISE = Op("DepthwiseConv2dNative", _filtered, _filtered_spec, kinds="f")
