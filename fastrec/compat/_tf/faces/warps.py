# SPDX-License-Identifier: Apache-2.0
"""Images under projective transforms, filters of their channels, and maxima around pixels."""

from __future__ import annotations

from typing import Any

from ..dtypes import float32
from ..ops import warps as rows
from . import Faces

__all__ = ["Warps"]


def _two(name: str, values: Any) -> tuple[int, int]:
    """The numbers of rows and columns; those of images and channels have to be 1."""
    several = [values, values] if isinstance(values, int) else [int(value) for value in values]
    if len(several) == 4:
        if several[0] != 1 or several[3] != 1:
            raise ValueError(f"{name} of images and channels must be 1, got {several}")
        several = several[1:3]
    if len(several) != 2 or min(several) < 1:
        raise ValueError(f"{name} must be positive, of rows and columns, got {values}")
    return several[0], several[1]


class Warps(Faces):
    """The functions, for one of the versions."""

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
        """Images of which each pixel comes from where a projective transform says."""
        op = rows.PROJECTED
        for attribute, value, allowed in (
            ("interpolation", interpolation.upper(), ("NEAREST", "BILINEAR")),
            ("fill_mode", fill_mode.upper(), rows.FILLS),
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
        """The same, with zeros around."""
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
        """Each channel of images weighted by filters of its own; version 1 says `rate`."""
        if data_format not in (None, "NHWC"):
            raise NotImplementedError(f"data_format {data_format}: channels are the last dimension")
        steps = dilations if rate is None else rate
        how = {
            "strides": _two("strides", strides),
            "steps": (1, 1) if steps is None else _two("dilations", steps),
            "padding": _padding(padding),
        }
        images, weights = self._version.pair(rows.DEPTHWISE.name, input, filter)
        return self._apply(
            rows.DEPTHWISE, [self._version.checked(rows.DEPTHWISE, images), weights], name, **how
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
        """The largest numbers of windows of images."""
        if data_format not in (None, "NHWC"):
            raise NotImplementedError(f"data_format {data_format}: channels are the last dimension")
        how = {
            "sizes": _two("ksize", ksize),
            "strides": _two("strides", strides),
            "padding": _padding(padding),
        }
        images = self._version.checked(rows.MAX_POOL, self._tensor(input))
        return self._apply(rows.MAX_POOL, [images], name, **how)

    max_pool2d = max_pool


def _padding(padding: Any) -> rows.Padding:
    """A name, or what is put before and after each dimension of images."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f'padding must be "SAME", "VALID" or a list, got "{padding}"')
        return padding.upper()
    found = tuple((int(before), int(after)) for before, after in padding)
    if len(found) != 4 or min(min(each) for each in found) < 0 or found[0] + found[3] != (0,) * 4:
        raise ValueError(f"padding must be of rows and columns, and not negative, got {padding}")
    return found
