# SPDX-License-Identifier: Apache-2.0
"""The order of ``tf.data.Dataset.shuffle``, for any items."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from fastrec.batches.shuffle_buffer import random_blocks, ring_shuffled


def drawn(items: list[int], size: int, seed: int) -> list[int]:
    """As TensorFlow describes it, with a list: the first moves to the place of the one drawn."""
    numbers = iter(random_blocks(seed, 2, np.arange(999)).reshape(-1).tolist())
    rest = iter(items)
    held: list[int] = []
    found: list[int] = []
    while held := held + list(itertools.islice(rest, size - len(held))):
        at = next(numbers) % len(held)
        held[0], held[at] = held[at], held[0]
        found.append(held.pop(0))
    return found


def seeds_of(seed: int) -> Callable[[], tuple[int, int]]:
    return lambda: (seed, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 49, 50, 51, 10**12, 2**62])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_each_item_is_drawn_from_a_ring(size: int, count: int) -> None:
    items = list(range(count))
    for seed in range(5):
        found = list(ring_shuffled(items, size, seeds_of(seed)))
        assert found == drawn(items, size, seed)


def test_the_order_is_the_one_that_tensorflow_gives() -> None:
    """Of ``Dataset.range(9).shuffle(3, seed=1, reshuffle_each_iteration=False)``."""
    found = list(ring_shuffled(range(9), 3, lambda: (87654321, 1)))
    assert found == [0, 3, 2, 4, 5, 7, 6, 8, 1]


def test_an_error_comes_as_it_is_and_the_rest_after_it() -> None:
    numbers = iter(range(30))

    def item() -> int:
        number = next(numbers)
        if number % 7 == 3:
            raise ValueError(number)
        return number

    shuffled = ring_shuffled(iter(item, None), 4, lambda: (1, 2))
    found: list[int] = []
    errors: list[int] = []
    while True:
        try:
            found.append(next(shuffled))
        except StopIteration:
            break
        except ValueError as error:
            errors.append(error.args[0])
    assert errors == [3, 10, 17, 24]
    assert found == drawn([n for n in range(30) if n % 7 != 3], 4, 1)
    assert next(shuffled, None) is None


def test_no_seeds_are_asked_for_before_an_item_is() -> None:
    asked = []

    def seeds() -> tuple[int, int]:
        asked.append(1)
        return 1, 2

    shuffled = ring_shuffled(range(3), 2, seeds)
    assert not asked
    assert sorted(shuffled) == [0, 1, 2]
    assert len(asked) == 1


def test_what_an_error_of_the_seeds_says_is_heard_each_time() -> None:
    def seeds() -> tuple[int, int]:
        raise OSError("no entropy")

    shuffled = ring_shuffled(range(3), 2, seeds)
    for _ in range(2):
        with pytest.raises(OSError, match="no entropy"):
            next(shuffled)


@pytest.mark.parametrize("size", [0, -1])
def test_a_ring_without_room_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ring_shuffled(range(3), size, lambda: (1, 2))


class Item:
    ring: Iterator[Item]


def test_a_ring_that_holds_itself_is_freed() -> None:
    items = [Item(), Item()]
    gone = weakref.ref(items[0])
    for item in items:
        item.ring = ring_shuffled(list(items), 2, lambda: (1, 2))
        next(item.ring)
    del items, item
    gc.collect()
    assert gone() is None
