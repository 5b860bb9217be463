# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's shuffle buffer for objects of any type, and its random numbers."""

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

GRAPH_SEED = 87654321  # TensorFlow's value if only the operation has a seed


def _random_pair() -> tuple[int, int]:
    return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")


class ShuffleBuffer(Generic[T]):
    """TensorFlow's ``RandomShuffleQueue``, with the same draws, for objects of any type.

    The content of TensorFlow's queue at a draw depends on the timing of its threads. Here, the
    caller controls it: the same puts and takes return the same objects. If TensorFlow's queue had
    the same content, they are also the same as in TensorFlow.

    Parameters
    ----------
    capacity : int or None
        Maximum number of objects; None for no limit.
    min_after_dequeue : int
        Minimum number of objects to keep until the buffer is closed.
    seed : int, (int, int) or None
        TensorFlow's seed of the operation, or the pair of the graph's and the operation's seeds, or
        None to draw a random seed.

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
            If the buffer is full or closed.
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
            If an object cannot be drawn now.
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
            If there is not enough space for all of them, or the buffer is closed.
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
        """Draw `count` objects, the same ones as with `count` calls of :meth:`take`.

        Raises
        ------
        IndexError
            If `count` objects cannot be drawn now.
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
        """Declare that no more objects follow, so that all can be taken."""
        self._closed = True

    def shuffle(self, items: Iterable[T]) -> Iterator[T]:
        """Pass `items` through the buffer, which is full before each draw and closed at the end.

        Yields
        ------
        object
            Each of the items, and each object that was in the buffer before, once.
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
    """Return TensorFlow's random numbers: blocks of four, each a function of its block number.

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
    """Yield items in the order of ``tf.data.Dataset.shuffle``: each is drawn from a full ring.

    An error of `items` is raised unchanged, and iteration can continue after it.

    Parameters
    ----------
    items : iterable
    size : int
        Number of items in the ring.
    seeds : callable
        Returns TensorFlow's pair of seeds for one iteration; called before the first item.

    Raises
    ------
    ValueError
        If `size` is less than 1.

    Examples
    --------
    >>> list(ring_shuffled(range(9), 3, lambda: (1, 2)))
    [2, 3, 0, 5, 6, 4, 7, 8, 1]
    """
    if size < 1:
        raise ValueError(f"a ring must have at least 1 item, got {size}")
    return _core.ShuffleRing(items, size, seeds)
