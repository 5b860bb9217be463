# SPDX-License-Identifier: Apache-2.0
"""Projective transforms, convolution and pooling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from .._tf.dtypes import float32
from .._tf.errors import invalid
from .._tf.faces import Faces
from .._tf.ops import Array, Op, known_sizes
from .._tf.specs import TensorSpec, TypeSpec

Padding = str | tuple[tuple[int, int], ...]  # "SAME", "VALID", or explicit padding

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
    """Return the length of the result along one dimension, and the padding before the image."""
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
    """Return the static height and width of the result."""
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
    for axis in (1, 2):  # the maximum of a window is the maximum of the maxima of its rows
        count, stride = sizes[axis - 1], strides[axis - 1]
        _check_margin(padding, axis, count)
        given = np.moveaxis(found, axis, 0)
        length, before = _line(len(given), count, stride, 1, padding, axis)
        made = np.full((length, *given.shape[1:]), least, kind)
        for place in range(count):
            # Skip windows whose element at this position is padding.
            skipped = max(0, -((place - before) // stride))
            rows = given[skipped * stride + place - before :: stride][: max(0, length - skipped)]
            part = made[skipped : skipped + len(rows)]
            np.fmax(part, rows, out=part)  # TensorFlow ignores NaN
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


def _two(name: str, values: Any) -> tuple[int, int]:
    """Return the values for rows and columns; the values for batch and channels must be 1."""
    several = [values, values] if isinstance(values, int) else [int(value) for value in values]
    if len(several) == 4:
        if several[0] != 1 or several[3] != 1:
            raise ValueError(f"{name} of images and channels must be 1, got {several}")
        several = several[1:3]
    if len(several) != 2 or min(several) < 1:
        raise ValueError(f"{name} must be positive, of rows and columns, got {values}")
    return several[0], several[1]


class Warps(Faces):
    """Rarely used operations on images for a version."""

    def ImageProjectiveTransformV3(
        self,
        images: Any,
        transforms: Any,
        output_shape: Any,
        fill_value: Any,
        interpolation: str,
        fill_mode: str = "CONSTANT",
        name: str | None = None,
    ) -> Any:
        """Apply a projective transform, which maps each output pixel to its source position."""
        op = PROJECTED
        for attribute, value, allowed in (
            ("interpolation", interpolation.upper(), ("NEAREST", "BILINEAR")),
            ("fill_mode", fill_mode.upper(), FILLS),
        ):
            if value not in allowed:
                raise self._version.refused_value(op.name, attribute, value, allowed)
        inputs = [
            self._version.checked(op, self._tensor(images)),
            self._tensor(transforms, float32),
            self._version.integers(output_shape, "output_shape"),
            self._tensor(fill_value, float32),
        ]
        return self._apply(
            op, inputs, name, interpolation=interpolation.upper(), mode=fill_mode.upper()
        )

    def ImageProjectiveTransformV2(
        self,
        images: Any,
        transforms: Any,
        output_shape: Any,
        interpolation: str,
        fill_mode: str = "CONSTANT",
        name: str | None = None,
    ) -> Any:
        """Apply a projective transform with a fill value of 0."""
        return self.ImageProjectiveTransformV3(
            images, transforms, output_shape, 0.0, interpolation, fill_mode, name
        )

    def depthwise_conv2d(
        self,
        input: Any,
        filter: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        dilations: Any = None,
        name: str | None = None,
        *,
        rate: Any = None,
    ) -> Any:
        """Filter each channel separately; version 1 calls `dilations` `rate`."""
        if data_format not in (None, "NHWC"):
            raise NotImplementedError(f"data_format {data_format}: channels are the last dimension")
        steps = dilations if rate is None else rate
        how = {
            "strides": _two("strides", strides),
            "steps": (1, 1) if steps is None else _two("dilations", steps),
            "padding": _padding(padding),
        }
        images, weights = self._version.pair(DEPTHWISE.name, input, filter)
        return self._apply(
            DEPTHWISE, [self._version.checked(DEPTHWISE, images), weights], name, **how
        )

    def max_pool(
        self,
        input: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Return the maximum of each window of images."""
        if data_format not in (None, "NHWC"):
            raise NotImplementedError(f"data_format {data_format}: channels are the last dimension")
        how = {
            "sizes": _two("ksize", ksize),
            "strides": _two("strides", strides),
            "padding": _padding(padding),
        }
        images = self._version.checked(MAX_POOL, self._tensor(input))
        return self._apply(MAX_POOL, [images], name, **how)

    max_pool2d = max_pool


def _padding(padding: Any) -> Padding:
    """Return the name of a padding, or the padding before and after each dimension of images."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f'padding must be "SAME", "VALID" or a list, got "{padding}"')
        return padding.upper()
    found = tuple((int(before), int(after)) for before, after in padding)
    if len(found) != 4 or min(min(each) for each in found) < 0 or found[0] + found[3] != (0,) * 4:
        raise ValueError(f"padding must be of rows and columns, and not negative, got {padding}")
    return found
