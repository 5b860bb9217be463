# SPDX-License-Identifier: Apache-2.0
"""Seeds of TensorFlow's random generators, and streams of random numbers."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from fastrec.batches.shuffle_buffer import random_blocks

from .kernels import philox

if TYPE_CHECKING:
    import random

T = TypeVar("T")

_DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1
_BLOCK = 256  # number of Philox blocks, of four numbers each, that are generated together
_MOST_STARTED = 1024


class _Global:
    """The state that :func:`set_seed` sets."""

    seed: int | None = None
    generator: random.Random  # generator of operations' seeds if `seed` is set
    started: ClassVar[dict[Any, philox.Philox]] = {}


def set_seed(seed: int | None) -> None:
    """Set the global seed, and restart the count of operations without their own seed."""
    import random  # importing random takes as long as many of these modules

    _Global.seed = None if seed is None else int(seed)
    _Global.generator = random.Random(_Global.seed)
    _Global.started.clear()


def generator(kind: Any, seed: int | None) -> philox.Philox:
    """Return the generator of an operation outside datasets; equal seeds share one generator."""
    seeds = get_seed(seed)
    if seed is None:
        return philox.Philox(*seeds)
    if len(_Global.started) >= _MOST_STARTED:
        _Global.started.clear()
    return _Global.started.setdefault((kind, seeds), philox.Philox(*seeds))


# The function that supplies seeds to the operations of a dataset that a graph creates.
_given: contextvars.ContextVar[Callable[[int | None], tuple[int, int]] | None]
_given = contextvars.ContextVar("given", default=None)


@contextlib.contextmanager
def holding(variable: contextvars.ContextVar[T], value: T) -> Iterator[T]:
    """Let a context variable have a value within the context; return the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def seeded_by(pair: Callable[[int | None], tuple[int, int]]) -> AbstractContextManager[Any]:
    """Let operations of datasets take their seeds from `pair` within the context.

    Their streams restart with each iteration, as in a session.
    """
    return holding(_given, pair)


def get_seed(seed: int | None) -> tuple[int, int]:
    """Return the two seeds of an operation; (0, 0) draws random seeds when it starts."""
    if (given := _given.get()) is not None:
        return given(seed)
    return _pair(seed, lambda: _Global.generator.randint(0, _MAX_SEED))


def graph_seed(seed: int | None, number: int) -> tuple[int, int]:
    """Return the two seeds of the `number`-th operation without its own seed in a function."""
    return _pair(seed, lambda: number)


def _pair(seed: int | None, make: Callable[[], int]) -> tuple[int, int]:
    return combined(_Global.seed, seed, make) or (0, 0)


def combined(
    whole: int | None, seed: int | None, make: Callable[[], int]
) -> tuple[int, int] | None:
    """Return the two seeds of an operation; None if neither seed is set.

    Parameters
    ----------
    whole, seed : int, optional
        The seed of the graph or program, and that of the operation.
    make : callable
        Returns the seed of an operation without a seed, if `whole` is set.
    """
    if whole is None:
        return None if seed is None else (_DEFAULT_GRAPH_SEED, int(seed) % _MAX_SEED)
    given = make() if seed is None else int(seed)
    pair = whole % _MAX_SEED, given % _MAX_SEED
    return (0, _MAX_SEED) if pair == (0, 0) else pair  # (0, 0) would mean that no seed is set


# Generators of the current iteration over a dataset. As in TensorFlow, a function continues its
# stream when a part of the dataset is repeated, and restarts it with the next iteration.
Run = dict[Any, Any]
running: contextvars.ContextVar[Run | None] = contextvars.ContextVar("running", default=None)


# The current use of a dataset that occurs several times in an iteration.
_use: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("use", default=())


def in_use(key: Any) -> AbstractContextManager[Any]:
    """Keep the iteration's objects separately for this use of a dataset, within the context."""
    return holding(_use, (*_use.get(), key))


def kept_for_run(key: Any, make: Callable[[], T], shared: bool = False) -> T:
    """Return the object that `make` created for `key` in this iteration.

    Each use of a dataset has separate objects unless they are `shared`.
    """
    run = running.get()
    if run is None:
        return make()
    key = key if shared else (_use.get(), key)
    # Several threads may call this.
    found: T = run[key] if key in run else run.setdefault(key, make())
    return found


_looking: contextvars.ContextVar[bool] = contextvars.ContextVar("looking", default=False)


@contextlib.contextmanager
def looking_ahead() -> Iterator[None]:
    """Create elements only to learn their specs, within the context of this thread.

    Each element is computed only when it is requested. Shuffles may return any element, and seeds
    are not consumed.
    """
    with holding(_looking, True), holding(running, None):
        yield


def is_looking_ahead() -> bool:
    """Return whether :func:`looking_ahead` is active."""
    return _looking.get()


def draws(seed: int, seed2: int) -> Iterator[int]:
    """Yield 32-bit random numbers without end.

    Parameters
    ----------
    seed, seed2 : int
        The pair from :func:`get_seed`; if both are 0, the operating system supplies the seeds.
    """
    if seed == 0 and seed2 == 0:
        seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
    for begin in itertools.count(0, _BLOCK):
        numbers = random_blocks(seed, seed2, np.arange(begin, begin + _BLOCK))
        yield from numbers.reshape(-1).tolist()


class SeedSource:
    """The seeds of each iterator over one shuffled dataset.

    Parameters
    ----------
    seed : int or None
    reshuffle : bool
        Whether each iterator has new seeds.

    Attributes
    ----------
    given : tuple
        The arguments that determine the seeds.
    """

    def __init__(self, seed: int | None, reshuffle: bool) -> None:
        pair = get_seed(seed)
        self.given = (*pair, reshuffle)
        self._reshuffle, self._anew = reshuffle, _given.get() is not None
        self._seeds = draws(*pair)
        if pair == (0, 0) and not reshuffle:  # one random order for all iterators
            numbers = draws(0, 0)
            pair = (next(numbers) | 1, next(numbers))
        self._pair = pair

    def __call__(self) -> tuple[int, int]:
        if not self._reshuffle or is_looking_ahead():
            return self._pair
        seeds = self._seeds
        if self._anew:
            seeds = kept_for_run(self, lambda: draws(*self._pair), shared=True)
        return next(seeds), next(seeds)
