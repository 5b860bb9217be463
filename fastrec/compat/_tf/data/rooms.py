# SPDX-License-Identifier: Apache-2.0
"""Memory of batches, into which threads put large elements as soon as they are made.

So no element is copied when it is in no cache any more, and the memory of a batch that is gone
becomes that of the next.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastrec import _core

from ..columns import column_of
from .streams import Block, Value

__all__ = ["Place", "Room", "block_of", "places"]

_WORTH = 1 << 14  # bytes
_SPARE = 2  # batches

Place = tuple["Room", int, Value]  # where an element was put, and its parts


class Room:
    """Memory of the large parts of one batch, made when its first element has been.

    Parameters
    ----------
    size : int
        Elements of the batch.
    spares : dict
        Memory of earlier batches, by the number of a part.
    """

    def __init__(self, size: int, spares: dict[int, _core.Spares]) -> None:
        self._size, self._spares = size, spares
        self._lock = threading.Lock()
        self._arrays: list[Any] | None = None

    def put(self, row: int, parts: Value) -> Value:
        """Put an element in its place; its parts, of which those that fit are there now."""
        with self._lock:
            if self._arrays is None:
                self._arrays = [self._array(*each) for each in enumerate(parts)]
        placed = []
        for number, part in enumerate(parts):
            array = self._arrays[number]
            if array is not None:
                if type(part) is np.ndarray and (part.shape, part.dtype) == (
                    array.shape[1:],
                    array.dtype,
                ):
                    array[row] = part
                    part = array[row]
                else:
                    self._arrays[number] = None
            placed.append(part)
        return tuple(placed)

    def _array(self, number: int, part: Any) -> Any:
        if type(part) is not np.ndarray or part.dtype == object or part.nbytes < _WORTH:
            return None
        spares = self._spares.setdefault(number, _core.Spares(_SPARE))
        return _core.empty((self._size, *part.shape), part.dtype, spares)

    def columns(self, values: Sequence[Value]) -> list[Any]:
        """The parts of the elements that were put into the first rows."""
        return [
            column_of(column) if array is None else array[: len(values)]
            for array, column in zip(
                self._arrays or [None] * len(values[0]), zip(*values, strict=True), strict=True
            )
        ]


def places(size: int) -> Iterator[tuple[Room, int]]:
    """A place for each of a stream of elements, in batches of `size`."""
    spares: dict[int, _core.Spares] = {}
    while True:
        room = Room(size, spares)
        for row in range(size):
            yield room, row


def block_of(placed: Sequence[Place]) -> Block:
    """Elements that follow each other, as columns."""
    room = placed[0][0]
    values = [value for _, _, value in placed]
    if all(each is room and row == at for at, (each, row, _) in enumerate(placed)):
        return len(values), room.columns(values)
    return len(values), [column_of(column) for column in zip(*values, strict=True)]
