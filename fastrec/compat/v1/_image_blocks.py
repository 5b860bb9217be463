# SPDX-License-Identifier: Apache-2.0
"""Distorting images, for many records at once.

The functions of images take any dimensions in front, so most of this is to see that what differs
from record to record stands where it should. Random numbers are drawn for all records together,
each record's from the place where its own draw would have found them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.kernels import philox
from ._nodes import Operation

__all__ = ["image_kernels"]

Array = np.ndarray[Any, Any]


def _fixed(column: Any) -> bool:
    """Whether all records have the same."""
    return hasattr(column, "value")


def _rows(column: Any, rank: int) -> Array | None:
    """A column of arrays of `rank` dimensions, or None."""
    return column if isinstance(column, np.ndarray) and column.ndim == rank + 1 else None


def _flip(op: Operation, step: Any, inputs: list[Any], count: int) -> list[Any] | None:
    images, mirror = _rows(inputs[0], 3), _rows(inputs[1], 0)
    if images is None or mirror is None:
        return None
    result = images.copy()
    result[mirror] = np.flip(images[mirror], op.attrs["axis"])
    return [result]


def _uniform(op: Operation, step: Any, inputs: list[Any], count: int) -> list[Any] | None:
    """Values of `count` successive draws; None where they cannot be drawn at once."""
    if not all(_fixed(column) for column in inputs):
        return None
    values = [column.value for column in inputs]
    shape = tuple(int(n) for n in values[0])
    if min(shape, default=1) < 1:
        return None
    dtype = op.outputs[0].dtype.numpy
    state = step.resource(op, lambda: philox.Philox(op.attrs["seed"], op.attrs["seed2"]))
    if op.type == "RandomUniform":
        return [philox.uniform_rows(state, count, shape, dtype)]
    low, high = int(values[1]), int(values[2])
    if low >= high:
        return None
    return [philox.uniform_int_rows(state, count, shape, low, high, dtype)]


def _assert(op: Operation, step: Any, inputs: list[Any], count: int) -> list[Any] | None:
    if not all(_fixed(column) for column in inputs):
        return None
    op.kernel(step, *[column.value for column in inputs])
    return []


#: By type of operation.
image_kernels: dict[str, Callable[..., list[Any] | None]] = {
    "Assert": _assert,
    "RandomFlip": _flip,
    "RandomUniform": _uniform,
    "RandomUniformInt": _uniform,
}
