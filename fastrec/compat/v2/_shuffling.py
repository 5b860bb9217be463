# SPDX-License-Identifier: Apache-2.0
"""The draws of ``tf.data.Dataset.shuffle``: the same elements in the same order for a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from ._seeds import draws, get_seed, is_looking_ahead

__all__ = ["SeedSource", "shuffled"]

T = TypeVar("T")


class SeedSource:
    """The seeds of each iterator over one shuffled data set.

    Parameters
    ----------
    seed : int or None
    reshuffle : bool
        New ones for each iterator.
    """

    def __init__(self, seed: int | None, reshuffle: bool) -> None:
        pair = get_seed(seed)
        self._seeds = draws(*pair) if reshuffle else None
        if pair == (0, 0) and not reshuffle:  # one order, whichever it is
            numbers = draws(0, 0)
            pair = (next(numbers) | 1, next(numbers))
        self._pair = pair

    def __call__(self) -> Iterator[int]:
        if self._seeds is None or is_looking_ahead():
            return draws(*self._pair)
        first = next(self._seeds)
        return draws(first, next(self._seeds))


def shuffled(items: Iterator[T], size: int, numbers: Iterator[int]) -> Iterator[T]:
    """Each item from a ring of `size`, which is filled before each draw."""
    ring: list[Any] = []
    for item in items:
        ring.append(item)
        if len(ring) == size:
            break
    start, count = 0, len(ring)
    ended = count < size
    # The ring is as TensorFlow's: the one drawn changes places with the first, whose place the
    # next item takes.
    while count:
        where = (start + next(numbers) % count) % size
        found, ring[where] = ring[where], ring[start]
        ring[start] = None
        yield found
        if not ended:
            for item in items:
                ring[start] = item
                break
            else:
                ended = True
        if ended:
            count -= 1
        start = (start + 1) % size
