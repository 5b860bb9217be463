# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's shuffle buffer for anything, and its random numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from .. import _core
from ..arguments import check_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ShuffleBuffer", "random_blocks", "ring_shuffled"]

T = TypeVar("T")

GRAPH_SEED = 87654321  # TensorFlow's, where only the operation has a seed


def _random_pair() -> tuple[int, int]:
    return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")


class ShuffleBuffer(Generic[T]):
    """TensorFlow's ``RandomShuffleQueue``, draw for draw, for objects of any kind.

    TensorFlow's queue holds whatever its threads have enqueued at the moment of a draw. Here the
    caller decides: the same puts and takes give the same objects, and where TensorFlow's queue had
    the same contents, the same as TensorFlow.

    Parameters
    ----------
    capacity : int or None
        Objects that fit; None for any number.
    min_after_dequeue : int
        Objects that have to stay behind until the buffer is closed.
    seed : int, (int, int) or None
        TensorFlow's seed of the operation; or the pair of the graph's and the operation's; or
        None to draw one at random.

    Examples
    --------
    >>> list(ShuffleBuffer(10, seed=7).shuffle(range(10)))
    [7, 1, 5, 6, 4, 3, 2, 0, 9, 8]
    """

    def __init__(
        self,
        capacity: int | None,
        min_after_dequeue: int = 0,
        seed: int | tuple[int, int] | None = None,
    ) -> None:
        check_types(ShuffleBuffer.__init__, locals())
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity must be at least 1, or None for no limit, got {capacity}")
        if min_after_dequeue < 0:
            raise ValueError(f"min_after_dequeue {min_after_dequeue} must be >= 0")
        if capacity is not None and min_after_dequeue >= capacity:
            raise ValueError(f"min_after_dequeue {min_after_dequeue} must be < capacity {capacity}")
        if seed is None:
            pair = _random_pair()
        else:
            pair = (GRAPH_SEED, seed) if isinstance(seed, int) else seed
        self.capacity = capacity
        self.min_after_dequeue = min_after_dequeue
        self._queue = _core.ShuffleQueue(*pair)
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def full(self) -> bool:
        """Whether the buffer is full."""
        return self.capacity is not None and len(self._queue) >= self.capacity

    @property
    def ready(self) -> bool:
        """Whether an object can be taken."""
        return len(self._queue) > (0 if self._closed else self.min_after_dequeue)

    def put(self, item: T) -> None:
        """Add an object.

        Raises
        ------
        ValueError
            When the buffer is full or closed.
        """
        if self._closed:
            raise ValueError("the shuffle buffer is closed")
        if self.full:
            raise ValueError(f"the shuffle buffer is full: its capacity is {self.capacity}")
        self._queue.put(item)

    def take(self) -> T:
        """Draw an object.

        Raises
        ------
        IndexError
            When none may be drawn now.
        """
        if not self.ready:
            least = 0 if self._closed else self.min_after_dequeue
            raise IndexError(f"{len(self)} objects are in the shuffle buffer, {least} must stay")
        return self._queue.take()  # type: ignore[no-any-return]

    def put_many(self, items: Iterable[T]) -> None:
        """Add objects: all of them, or none.

        Raises
        ------
        ValueError
            When they do not all fit, or the buffer is closed.
        """
        check_types(ShuffleBuffer.put_many, locals())
        if self._closed:
            raise ValueError("the shuffle buffer is closed")
        new = list(items)
        if self.capacity is not None and len(self._queue) + len(new) > self.capacity:
            raise ValueError(
                f"the shuffle buffer cannot hold {len(new)} more: its capacity is {self.capacity}"
            )
        self._queue.put_many(new)

    def take_many(self, count: int) -> list[T]:
        """Draw `count` objects: the same ones as by so many calls of :meth:`take`.

        Raises
        ------
        IndexError
            When so many may not be drawn now.
        """
        check_types(ShuffleBuffer.take_many, locals())
        least = 0 if self._closed else self.min_after_dequeue
        if count < 0:
            raise ValueError(f"count must be at least 0, got {count}")
        if len(self) - count < least:
            raise IndexError(
                f"{len(self)} objects are in the shuffle buffer, {least} must stay: "
                f"{count} cannot be drawn"
            )
        return self._queue.take_many(count)

    def close(self) -> None:
        """Say that no more objects come, so that all can be taken."""
        self._closed = True

    def shuffle(self, items: Iterable[T]) -> Iterator[T]:
        """Pass `items` through: the buffer is filled to its capacity before each draw, then closed.

        Yields
        ------
        object
            Each of the items, and of what was in the buffer before, once.
        """
        check_types(ShuffleBuffer.shuffle, locals())
        return self._shuffled(items)

    def _shuffled(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            if self.full:
                yield self.take()
            self.put(item)
        self.close()
        while self.ready:
            yield self.take()


def random_blocks(seed: int, seed2: int, numbers: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
    """Random numbers as TensorFlow makes them: blocks of four, each a function of its number.

    Parameters
    ----------
    seed, seed2 : int
        TensorFlow's pair of seeds, of the graph and of the operation.
    numbers : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of uint32, shape (n, 4)

    Examples
    --------
    >>> random_blocks(0, 0, np.array([0], np.uint64))[0].tolist()
    [1713891541, 3781805453, 3159862348, 2600524760]
    """
    return _core.philox_blocks(seed, seed2, np.ascontiguousarray(numbers, np.uint64))


def ring_shuffled(
    items: Iterable[T], size: int, seeds: Callable[[], tuple[int, int]]
) -> Iterator[T]:
    """The order of ``tf.data.Dataset.shuffle``: each item drawn from a ring, which is full before.

    An error of `items` comes as it is, and iterating goes on after it.

    Parameters
    ----------
    items : iterable
    size : int
        Items in the ring.
    seeds : callable
        Gives TensorFlow's pair of seeds of one iteration; called when the first item is wanted.

    Raises
    ------
    ValueError
        When `size` is not at least 1.

    Examples
    --------
    >>> list(ring_shuffled(range(9), 3, lambda: (1, 2)))
    [2, 3, 0, 5, 6, 4, 7, 8, 1]
    """
    if size < 1:
        raise ValueError(f"a ring must have at least 1 item, got {size}")
    return _core.ShuffleRing(items, size, seeds)
