# SPDX-License-Identifier: Apache-2.0
"""Iterators over iterators. Random numbers come from NumPy's global generator."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["cycle", "sample_iterators", "shuffle_iterator"]

T = TypeVar("T")


def cycle(iterator_fn: Callable[[], Iterable[T]]) -> Iterator[T]:
    """Yield the elements of one iterator after the other, until one is empty."""
    empty = False
    while not empty:
        empty = True
        for element in iterator_fn():
            empty = False
            yield element


def sample_iterators(
    iterators: Sequence[Callable[[], Iterable[Any]]],
    ratios: Sequence[float],
    infinite: bool = True,
) -> Iterator[Any]:
    """Yield elements from randomly selected iterators.

    Parameters
    ----------
    iterators : list of callable
        Functions that create iterators.
    ratios : list of float
        The relative frequency of each iterator.
    infinite : bool
        Whether to restart an iterator at its end; otherwise it is no longer selected.
    """
    streams: list[Iterator[Any]] = [cycle(make) if infinite else iter(make()) for make in iterators]
    weights = np.array(ratios)
    weights = weights / weights.sum()
    while streams:
        choice = np.random.choice(len(weights), p=weights)  # noqa: NPY002
        try:
            element = next(streams[choice])
        except StopIteration:
            del streams[choice]
            weights = np.delete(weights, choice)
            if streams:
                weights = weights / weights.sum()
            continue
        yield element


def shuffle_iterator(iterator: Iterable[T], queue_size: int) -> Iterator[T]:
    """Draw each element from a buffer of `queue_size` that the iterator refills.

    Raises
    ------
    TypeError, ValueError
        If `queue_size` is not an integer, or less than 1.
    """
    if operator.index(queue_size) < 1:
        raise ValueError(f"queue_size has to be at least 1, not {queue_size}")
    iterator = iter(iterator)
    buffer: list[T] = []
    for element in iterator:
        buffer.append(element)
        if len(buffer) == queue_size:
            break
    else:
        warnings.warn(
            f"Number of elements in the iterator is less than the queue size (N={queue_size}).",
            stacklevel=2,
        )
    while buffer:
        index = np.random.randint(len(buffer))  # noqa: NPY002
        item = buffer[index]
        try:
            buffer[index] = next(iterator)
        except StopIteration:
            buffer.pop(index)
        yield item
