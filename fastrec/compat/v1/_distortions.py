# SPDX-License-Identifier: Apache-2.0
"""A chain of what distorts images, done in one pass over each of a block.

Casts, random crops, flips, brightness, contrast and standardisation are put off: each gives a
column that remembers what is to be done to which images. When the pixels are read, all of
it is done while an image is in the nearest cache, with the results of one step after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastrec.images.augment import distort

from .._tf.ops.draws import crop_begins
from ._nodes import Operation

__all__ = ["Distorted", "put_off"]

Array = np.ndarray[Any, Any]

_ORDER = ("size", "mirror", "brightness", "contrast", "standardize")  # as `distort` has it


class Distorted:
    """A column of ``float32`` images, of which the last steps are yet to be done.

    Parameters
    ----------
    source : ndarray of uint8 or float32, shape (n, height, width, channels)
    steps : arguments of :func:`fastrec.images.augment.distort`
    """

    __slots__ = ("_done", "_source", "_steps")

    def __init__(self, source: Array, **steps: Any) -> None:
        self._source, self._steps = source, steps
        self._done: Array | None = None

    @property
    def size(self) -> tuple[int, ...]:
        """Height, width and channels."""
        return tuple(self._steps.get("size", self._source.shape[1:]))

    def array(self) -> Array:
        """The pixels."""
        if self._done is None:
            self._done = distort(self._source, **self._steps)
        return self._done

    def then(self, **step: Any) -> Distorted:
        """The same images with one step more."""
        first = min(_ORDER.index(name) for name in step if name in _ORDER)
        if self._done is not None or any(name in self._steps for name in _ORDER[first:]):
            return Distorted(self.array(), **step)
        return Distorted(self._source, **self._steps, **step)


def _images(column: Any, *also: type) -> Distorted | None:
    """A column of ``float32`` images, or of such a type; None for anything else."""
    if isinstance(column, Distorted):
        return column
    types = (np.float32, *also)
    if not isinstance(column, np.ndarray) or column.ndim != 4 or column.dtype not in types:
        return None
    return Distorted(column) if column.size else None


def _numbers(column: Any, count: int) -> Array | None:
    """One number for each image; None where there are others."""
    value = column.value if hasattr(column, "value") else column
    if not isinstance(value, np.ndarray):
        return None
    shape = () if hasattr(column, "value") else (count,)
    return value if value.shape == shape else None


def _cast(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    if op.outputs[0].dtype.numpy != np.float32:
        return None
    return _images(inputs[0], np.uint8)


def _slice(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    images, size = _images(inputs[0]), inputs[2]
    if images is None or not hasattr(size, "value") or size.value.shape != (3,):
        return None
    starts = np.asarray(getattr(inputs[1], "value", inputs[1]), np.int64)
    return _part(images, size.value, starts)


def _part(images: Distorted, size: Array, starts: Array) -> Distorted | None:
    room = np.subtract(images.size, size)
    if starts.shape[-1:] != (3,) or (size < 1).any():
        return None
    if (starts < 0).any() or (starts > room).any():
        return None  # an error of some of them
    return images.then(size=tuple(size.tolist()), starts=starts)


def _crop(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    images, size, numbers = _images(inputs[0]), inputs[1], inputs[2]
    if images is None or not hasattr(size, "value") or not isinstance(numbers, np.ndarray):
        return None
    starts = crop_begins(images.size, size.value.tolist(), numbers)
    return _part(images, size.value, starts.astype(np.int64))


def _flip(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    images, drawn = _images(inputs[0]), _numbers(inputs[1], count)
    return None if images is None or drawn is None else images.then(mirror=drawn < 0.5)


def _changed(name: str) -> Callable[[Operation, list[Any], int], Distorted | None]:
    def kernel(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
        images, numbers = _images(inputs[0]), _numbers(inputs[1], count)
        if images is None or numbers is None:
            return None
        return images.then(**{name: numbers})

    return kernel


def _standardize(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    images = _images(inputs[0], np.uint8)
    return None if images is None else images.then(standardize=True)


_KERNELS: dict[str, Callable[[Operation, list[Any], int], Distorted | None]] = {
    "AdjustBrightness": _changed("brightness"),
    "AdjustContrast": _changed("contrast"),
    "Cast": _cast,
    "RandomCrop": _crop,
    "RandomFlipLeftRight": _flip,
    "Slice": _slice,
    "Standardize": _standardize,
}


def put_off(op: Operation, inputs: list[Any], count: int) -> Distorted | None:
    """Deferred results of `op` for each of `count` records; None where they cannot be deferred."""
    kernel = _KERNELS.get(op.type)
    return None if kernel is None else kernel(op, inputs, count)
