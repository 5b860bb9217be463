# SPDX-License-Identifier: Apache-2.0
"""Images under projective transforms, filters of their channels, and maxima around pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..specs import TensorSpec, TypeSpec
from . import Array, Op, invalid, known_sizes

__all__ = ["DEPTHWISE", "FILLS", "MAX_POOL", "PROJECTED", "Padding"]

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
    found = _tensor.warp(given, transforms, height, width, mode.lower(), around, bilinear=bilinear)
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


def _lengths(
    sizes: Sequence[int | None],
    counts: Sequence[int | None],
    strides: tuple[int, int],
    steps: tuple[int, int],
    padding: Padding,
) -> list[int | None]:
    """The height and the width of the result, as far as they are known."""
    return [
        None
        if size is None or count is None
        else _line(size, count, strides[n], steps[n], padding, n + 1)[0]
        for n, (size, count) in enumerate(zip(sizes[1:3], counts, strict=False))
    ]


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
    found = _tensor.depthwise(
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
    size = _lengths(sizes, counts, strides, steps, padding)
    outputs = None if None in counts[2:] else counts[2] * counts[3]
    return [TensorSpec([sizes[0], *size, outputs], specs[0].dtype)]


DEPTHWISE = Op("DepthwiseConv2dNative", _filtered, _filtered_spec, kinds="f")


def _largest(
    images: Array, *, sizes: tuple[int, int], strides: tuple[int, int], padding: Padding
) -> Array:
    if images.ndim != 4:
        raise invalid(f"tensor_in must be 4-dimensional: {images.ndim}")
    if images.dtype == _SINGLE:
        return _pooled(images, sizes, strides, padding)
    found, kind = images, images.dtype
    least = np.finfo(kind).min if kind.kind == "f" else np.iinfo(kind).min
    for axis in (1, 2):  # the largest of a window is that of its rows' largest
        count, stride = sizes[axis - 1], strides[axis - 1]
        _check_margin(padding, axis, count)
        given = np.moveaxis(found, axis, 0)
        length, before = _line(len(given), count, stride, 1, padding, axis)
        made = np.full((length, *given.shape[1:]), least, kind)
        for place in range(count):
            skipped = max(0, -((place - before) // stride))  # windows with zeros in this place
            rows = given[skipped * stride + place - before :: stride][: max(0, length - skipped)]
            part = made[skipped : skipped + len(rows)]
            np.fmax(part, rows, out=part)  # TensorFlow passes over what is no number
        found = np.moveaxis(made, 0, axis)
    return np.ascontiguousarray(found)


def _check_margin(padding: Padding, axis: int, count: int) -> None:
    if not isinstance(padding, str) and max(padding[axis]) >= count:
        raise invalid(f"padding {max(padding[axis])} needs to be smaller than the window size")


def _pooled(
    images: Array, sizes: tuple[int, int], strides: tuple[int, int], padding: Padding
) -> Array:
    for axis in (1, 2):
        _check_margin(padding, axis, sizes[axis - 1])
    (height, top), (width, left) = (
        _line(images.shape[n + 1], sizes[n], strides[n], 1, padding, n + 1) for n in range(2)
    )
    how: Any = {"strides": strides, "corner": (top, left)}
    return _tensor.pool(images, sizes, (height, width), **how)


def _largest_spec(
    specs: Sequence[Any],
    _raws: Sequence[Any],
    *,
    sizes: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding,
) -> list[TypeSpec]:
    given = specs[0].shape.sizes or [None] * 4
    lines = _lengths(given, sizes, strides, (1, 1), padding)
    return [TensorSpec([given[0], *lines, given[3]], specs[0].dtype)]


MAX_POOL = Op("MaxPool", _largest, _largest_spec, kinds="uif")
