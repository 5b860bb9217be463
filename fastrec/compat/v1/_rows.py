# SPDX-License-Identifier: Apache-2.0
"""Storage of a queue's elements, and the order in which they leave it.

A *token* represents an element: the number of its slot if all elements have one known shape, and
the element itself otherwise. Orders handle only tokens.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from fastrec import ShuffleBuffer, _core

Array = np.ndarray[Any, Any]
Row = tuple[Array, ...]
Shape = tuple[int | None, ...]

_FIRST_SLOTS = 16
# A small queue reserves all of its memory immediately, because unused memory costs nothing.
_RESERVED_SLOTS, _RESERVED_BYTES = 1 << 14, 1 << 26
_FEW_ROWS = 4
_SPARE = 2  # batches whose memory is reused


def row_bytes(dtypes: Sequence[np.dtype[Any]], shapes: Sequence[Sequence[int]]) -> int:
    """Return the size in bytes of an element with these components."""
    parts = zip(dtypes, shapes, strict=True)
    return sum(dtype.itemsize * math.prod(shape) for dtype, shape in parts)


class Rows(Protocol):
    """A store of elements. Only `gather` and `copy` may run in several threads at the same time."""

    def put(self, row: Row, given: bool = False) -> Any:
        """Store a copy of an element and return its token.

        `given` means that the caller no longer modifies it, so that it may be stored without a
        copy.
        """

    def put_many(self, columns: Row, start: int, stop: int, given: bool = False) -> Sequence[Any]:
        """Store elements `start` to `stop` of a batch, as :meth:`put` does."""

    def copy(self, token: Any) -> Row:
        """Return a copy of a stored element."""

    def gather(self, tokens: Sequence[Any]) -> Row:
        """Return several stored elements as one batch."""

    def drop(self, tokens: Sequence[Any]) -> None:
        """Release elements."""


class Slabs:
    """Elements of one known shape: an array ``[slots, *shape]`` for each component.

    Parameters
    ----------
    dtypes, shapes : sequence
        Dtypes and shapes of the components.
    expected : int
        Expected number of elements.
    """

    def __init__(
        self,
        dtypes: Sequence[np.dtype[Any]],
        shapes: Sequence[tuple[int, ...]],
        expected: int = 0,
    ) -> None:
        self._dtypes, self._shapes = dtypes, shapes
        self._slabs = [np.empty((0, *shape), dtype) for dtype, shape in self._components()]
        self._free: list[int] = []
        self._slots = 0
        size = max(1, row_bytes(dtypes, shapes))
        self._first = min(expected, _RESERVED_SLOTS, _RESERVED_BYTES // size)

    def _components(self) -> Iterable[tuple[np.dtype[Any], tuple[int, ...]]]:
        return zip(self._dtypes, self._shapes, strict=True)

    def _claim(self, count: int) -> list[int]:
        if count > len(self._free):
            self._grow(count - len(self._free))
        claimed = self._free[len(self._free) - count :]
        del self._free[len(self._free) - count :]
        return claimed

    def _grow(self, least: int) -> None:
        slots = max(_FIRST_SLOTS, self._first, 2 * self._slots, self._slots + least)
        larger = [np.empty((slots, *shape), dtype) for dtype, shape in self._components()]
        for new, old in zip(larger, self._slabs, strict=True):
            new[: self._slots] = old
        # Free slots are in descending order, so that slots are taken from the front.
        self._free[:0] = range(slots - 1, self._slots - 1, -1)
        self._slabs, self._slots = larger, slots

    def put(self, row: Row, given: bool = False) -> int:
        if not self._free:
            self._grow(1)
        slot = self._free.pop()
        for slab, value in zip(self._slabs, row, strict=True):
            slab[slot, ...] = value
        return slot

    def put_many(self, columns: Row, start: int, stop: int, given: bool = False) -> list[int]:
        slots = self._claim(stop - start)
        for slab, column in zip(self._slabs, columns, strict=True):
            slab[slots] = column[start:stop]
        return slots

    def copy(self, token: int) -> Row:
        return tuple([slab[token, ...].copy() for slab in self._slabs])

    def gather(self, tokens: Sequence[int]) -> Row:
        # Existing arrays keep these elements even if their slots are used again.
        slots = np.fromiter(tokens, np.intp, len(tokens))
        return tuple([slab.take(slots, axis=0) for slab in self._slabs])

    def drop(self, tokens: Sequence[int]) -> None:
        for slab in self._slabs:
            if slab.dtype.kind == "O":
                slab[list(tokens)] = None
        self._free.extend(tokens)


class Loose:
    """Elements of varying shape: tuples of arrays. The token of an element is its tuple."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._dtypes = dtypes

    def put(self, row: Row, given: bool = False) -> Row:
        return tuple([np.array(v, dtype) for v, dtype in zip(row, self._dtypes, strict=True)])

    def put_many(self, columns: Row, start: int, stop: int, given: bool = False) -> list[Row]:
        return [self.put(tuple([c[i, ...] for c in columns])) for i in range(start, stop)]

    def copy(self, token: Row) -> Row:
        return token

    def gather(self, tokens: Sequence[Row]) -> Row:
        raise NotImplementedError  # queues refuse such batches earlier

    def drop(self, tokens: Sequence[Row]) -> None:
        pass


class Apart(Loose):
    """Large elements of one known shape, stored separately to avoid copies."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]], shapes: Sequence[tuple[int, ...]]) -> None:
        super().__init__(dtypes)
        self._shapes = shapes
        self._spares = [_core.Spares(_SPARE) for _ in shapes]

    def put(self, row: Row, given: bool = False) -> Row:
        if not given:
            return super().put(row)
        parts = zip(row, self._dtypes, strict=True)
        return tuple([v if _is_whole(v, dtype) else np.array(v, dtype) for v, dtype in parts])

    def put_many(self, columns: Row, start: int, stop: int, given: bool = False) -> list[Row]:
        # A view of one row would keep the whole batch in memory.
        if not given or len(columns[0]) > _FEW_ROWS:
            return super().put_many(columns, start, stop)
        parts = zip(columns, self._dtypes, strict=True)
        ready = [np.asarray(column[start:stop], dtype) for column, dtype in parts]
        return [tuple([column[i, ...] for column in ready]) for i in range(stop - start)]

    def copy(self, token: Row) -> Row:
        return tuple([value.copy() for value in token])

    def gather(self, tokens: Sequence[Row]) -> Row:
        parts = zip(self._shapes, self._dtypes, self._spares, strict=True)
        batch = tuple([_room((len(tokens), *shape), dtype, own) for shape, dtype, own in parts])
        for i, row in enumerate(tokens):
            for places, value in zip(batch, row, strict=True):
                places[i] = value
        return batch


def _is_whole(value: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether an array of this type keeps little other memory alive."""
    memory = value if value.base is None else value.base
    return value.dtype == dtype and getattr(memory, "nbytes", sys.maxsize) <= value.nbytes * 1.01


def _room(shape: tuple[int, ...], dtype: np.dtype[Any], spares: _core.Spares) -> Array:
    return np.empty(shape, dtype) if dtype.hasobject else _core.empty(shape, dtype, spares)


class Padded(Loose):
    """Elements with dimensions of unknown size, which are padded to the largest in a batch."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]], shapes: Sequence[Shape]) -> None:
        super().__init__(dtypes)
        self._shapes = shapes

    def gather(self, tokens: Sequence[Row]) -> Row:
        numbers = range(len(self._shapes))
        return tuple([self._component(i, [row[i] for row in tokens]) for i in numbers])

    def _component(self, number: int, values: list[Array]) -> Array:
        dtype, shape = self._dtypes[number], self._shapes[number]
        if not values:
            return np.empty((0, *(size or 0 for size in shape)), dtype)
        if None not in shape:
            return np.stack(values)
        largest = np.array([value.shape for value in values]).max(axis=0)
        batch = np.full((len(values), *largest), b"" if dtype.kind == "O" else 0, dtype)
        for place, value in zip(batch, values, strict=True):
            place[tuple(slice(size) for size in value.shape)] = value
        return batch


class Order(Protocol):
    """The order in which tokens leave a queue."""

    def __len__(self) -> int: ...

    def put(self, tokens: Iterable[Any]) -> None:
        """Add tokens."""

    def take(self, count: int) -> list[Any]:
        """Remove and return the next `count` tokens, which must be available."""

    def restore(self, tokens: list[Any]) -> None:
        """Put taken tokens back, in the order of their removal."""


class Fifo:
    """First in, first out."""

    def __init__(self) -> None:
        self._tokens: deque[Any] = deque()
        self.put = self._tokens.extend

    def __len__(self) -> int:
        return len(self._tokens)

    def take(self, count: int) -> list[Any]:
        next_one = self._tokens.popleft
        return [next_one() for _ in range(count)]

    def restore(self, tokens: list[Any]) -> None:
        self._tokens.extendleft(reversed(tokens))


class Shuffled:
    """Random order, with TensorFlow's draws for the same pair of seeds."""

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._buffer: ShuffleBuffer[Any] = ShuffleBuffer(None, seed=seeds if any(seeds) else None)

    def __len__(self) -> int:
        return len(self._buffer)

    def put(self, tokens: Iterable[Any]) -> None:
        self._buffer.put_many(tokens)

    def take(self, count: int) -> list[Any]:
        return self._buffer.take_many(count)

    def restore(self, tokens: list[Any]) -> None:
        self._buffer.put_many(reversed(tokens))


class _Ranked:
    """A token that is compared by its priority alone, as in TensorFlow's heap."""

    __slots__ = ("priority", "token")

    def __init__(self, priority: int, token: Any) -> None:
        self.priority, self.token = priority, token

    def __lt__(self, other: _Ranked) -> bool:
        return self.priority < other.priority


class Heap:
    """Lowest priority first. Equal priorities have the order of a plain binary heap."""

    def __init__(self) -> None:
        self._ranked: list[_Ranked] = []

    def __len__(self) -> int:
        return len(self._ranked)

    def rank(self, priorities: Iterable[int], tokens: Iterable[Any]) -> list[_Ranked]:
        """Return tokens with priorities, which only this order uses."""
        return [_Ranked(p, token) for p, token in zip(priorities, tokens, strict=True)]

    def put(self, tokens: Iterable[_Ranked]) -> None:
        for each in tokens:
            heapq.heappush(self._ranked, each)

    def take(self, count: int) -> list[_Ranked]:
        return [heapq.heappop(self._ranked) for _ in range(count)]

    restore = put
