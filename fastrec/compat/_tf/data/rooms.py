# SPDX-License-Identifier: Apache-2.0
"""Batch memory into which threads write large elements directly.

This avoids a later copy of elements that are no longer in a processor cache. The memory of a
released batch is used again for the next one. Elements that differ in size are padded in place.
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
from .streams import Value

SPARE = 2  # number of released batches to keep for reuse
_WORTH = 1 << 14  # minimum bytes of a part for direct writes
_OBJECT = np.dtype(object)

Place = tuple["Row", Value]  # where an element was written, and its parts
Padded = tuple[tuple[int, ...], Any]  # the padded shape of a part, and the padding value


class Room:
    """Memory of the large parts of one batch, allocated when the first element arrives.

    Parameters
    ----------
    size : int
        Number of elements in the batch.
    spares : dict
        Released memory of earlier batches, by part number.
    padded : dict
        Padded shapes by part number; other parts have one shape.
    """

    def __init__(
        self, size: int, spares: dict[int, _core.Spares], padded: Mapping[int, Padded]
    ) -> None:
        self._size, self._spares, self.padded = size, spares, padded
        self._lock = threading.Lock()
        self._arrays: dict[int, Any] = {}

    def array(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return the batch array of a part; None if the part is small or has another shape."""
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
        """Return the columns of the elements in the first rows."""
        found = []
        for number, column in enumerate(zip(*values, strict=True)):
            array = self._arrays.get(number)
            found.append(column_of(column) if array is None else array[: len(values)])
        return found


class Row:
    """Row of one element in a batch.

    Parameters
    ----------
    room : Room
    at : int
    """

    def __init__(self, room: Room, at: int) -> None:
        self.room, self.at = room, at
        self._given: dict[int, Any] = {}

    def part(self, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return contiguous memory for a part; None if it must be copied later."""
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
        """Write an element's parts to this row; return them as views of it where they fit."""
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
    """Yield rows for consecutive elements, in batches of `size`; see :class:`Room`."""
    while True:
        room = Room(size, spares, padded)
        for at in range(size):
            yield Row(room, at)


def columns_of(placed: Sequence[Place]) -> list[Any]:
    """Return the columns of consecutive elements."""
    room = placed[0][0].room
    values = [value for _, value in placed]
    if all(row.room is room and row.at == at for at, (row, _) in enumerate(placed)):
        return room.columns(values)
    return [column_of(column) for column in zip(*values, strict=True)]
