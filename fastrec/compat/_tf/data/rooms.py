# SPDX-License-Identifier: Apache-2.0
"""Memory of batches, into which threads put large elements as soon as they are made.

So no element is copied when it is in no cache any more, and the memory of a batch that is gone
becomes that of the next. Elements that differ in size are filled up there.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastrec import _core

from ..columns import column_of
from .streams import Block, Value

__all__ = ["SPARE", "Padded", "Place", "Row", "block_of", "places"]

SPARE = 2  # batches whose memory is used again
_WORTH = 1 << 14  # bytes
_OBJECT = np.dtype(object)

Place = tuple["Row", Value]  # where an element was put, and its parts
Padded = tuple[tuple[int, ...], Any]  # the shape that a part is filled up to, and with what


class Room:
    """Memory of the large parts of one batch, made when the first of them is.

    Parameters
    ----------
    size : int
        Elements of the batch.
    spares : dict
        Memory of earlier batches, by the number of a part.
    padded : dict
        What parts are filled up to, by their number; others are of one shape.
    """

    def __init__(
        self, size: int, spares: dict[int, _core.Spares], padded: Mapping[int, Padded]
    ) -> None:
        self._size, self._spares, self.padded = size, spares, padded
        self._lock = threading.Lock()
        self._arrays: dict[int, Any] = {}

    def array(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Where a part of all elements goes; None if this one does not fit, or is small."""
        with self._lock:
            if number not in self._arrays:
                self._arrays[number] = self._made(number, shape, dtype)
            array = self._arrays[number]
            if array is not None and (array.shape[1:], array.dtype) != (shape, dtype):
                array = self._arrays[number] = None
            return array

    def _made(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        if dtype == _OBJECT or math.prod(shape) * dtype.itemsize < _WORTH:
            return None
        spares = self._spares.setdefault(number, _core.Spares(SPARE))
        return _core.empty((self._size, *shape), dtype, spares)

    def columns(self, values: Sequence[Value]) -> list[Any]:
        """The parts of the elements that were put into the first rows."""
        found = []
        for number, column in enumerate(zip(*values, strict=True)):
            array = self._arrays.get(number)
            found.append(column_of(column) if array is None else array[: len(values)])
        return found


class Row:
    """The place of one element in a batch.

    Parameters
    ----------
    room : Room
    at : int
    """

    def __init__(self, room: Room, at: int) -> None:
        self.room, self.at = room, at
        self._given: dict[int, Any] = {}

    def part(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The memory of a part, all in one; None if it has none there."""
        place = self._given[number] = self._place(number, shape, dtype)
        return place if place is not None and place.flags.c_contiguous else None

    def _place(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        sizes, filler = self.room.padded.get(number, (shape, 0))
        fits = len(shape) == len(sizes) and all(map(operator.le, shape, sizes))
        array = self.room.array(number, sizes if fits else shape, dtype)
        place = None if array is None else array[self.at]
        if place is not None and shape != sizes:
            for size in shape:
                place[size:] = filler
                place = np.moveaxis(place[:size], 0, -1)
        return place

    def put(self, parts: Value) -> Value:
        """Put an element there; its parts, of which those that fit are there now."""
        placed = []
        for number, part in enumerate(parts):
            is_array = type(part) is np.ndarray
            shape, dtype = (part.shape, part.dtype) if is_array else ((), _OBJECT)
            to = self._given.get(number)
            if to is None or part is not to:
                to = self._place(number, shape, dtype)
                if to is not None:
                    to[...] = part
            placed.append(part if to is None else to)
        return tuple(placed)


def places(
    size: int, spares: dict[int, _core.Spares], padded: Mapping[int, Padded]
) -> Iterator[Row]:
    """A place for each of a stream of elements, in batches of `size`; see :class:`Room`."""
    while True:
        room = Room(size, spares, padded)
        for at in range(size):
            yield Row(room, at)


def block_of(placed: Sequence[Place]) -> Block:
    """Elements that follow each other, as columns."""
    room = placed[0][0].room
    values = [value for _, value in placed]
    if all(row.room is room and row.at == at for at, (row, _) in enumerate(placed)):
        return len(values), room.columns(values)
    return len(values), [column_of(column) for column in zip(*values, strict=True)]
