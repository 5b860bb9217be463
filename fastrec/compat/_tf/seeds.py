# SPDX-License-Identifier: Apache-2.0
"""Seeds of TensorFlow's random generators, and the numbers drawn one by one."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from .kernels import philox

if TYPE_CHECKING:
    import random

__all__ = [
    "SeedSource",
    "draws",
    "generator",
    "get_seed",
    "graph_seed",
    "in_use",
    "is_looking_ahead",
    "kept_for_run",
    "looking_ahead",
    "running",
    "seeded_by",
    "set_seed",
]

T = TypeVar("T")

_DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1
_BLOCK = 256  # of Philox at a time, four numbers each
_MOST_STARTED = 1024


class _Global:
    """State set by :func:`set_seed`."""

    seed: int | None = None
    looking = False
    generator: random.Random  # of the seeds of operations, once `seed` is given
    started: ClassVar[dict[Any, philox.Philox]] = {}


def set_seed(seed: int | None) -> None:
    """Seed what has no seed of its own; operations that are made after it count from here."""
    import random  # which takes as long as many of these modules

    _Global.seed = None if seed is None else int(seed)
    _Global.generator = random.Random(_Global.seed)
    _Global.started.clear()


def generator(kind: Any, seed: int | None) -> philox.Philox:
    """Generator of an operation outside of data sets; equal seeds continue the same generator."""
    seeds = get_seed(seed)
    if seed is None:
        return philox.Philox(*seeds)
    if len(_Global.started) >= _MOST_STARTED:
        _Global.started.clear()
    return _Global.started.setdefault((kind, seeds), philox.Philox(*seeds))


# What gives the seeds of the operations of a data set that a graph makes.
_given: contextvars.ContextVar[Callable[[int | None], tuple[int, int]] | None]
_given = contextvars.ContextVar("given", default=None)


@contextlib.contextmanager
def seeded_by(pair: Callable[[int | None], tuple[int, int]]) -> Iterator[None]:
    """Context in which operations of data sets get what `pair` gives for their own seed.

    What they draw begins anew with each iteration, as it does where a session runs them.
    """
    token = _given.set(pair)
    try:
        yield
    finally:
        _given.reset(token)


def get_seed(seed: int | None) -> tuple[int, int]:
    """The two seeds of an operation; (0, 0) draws one at random when it starts."""
    if (given := _given.get()) is not None:
        return given(seed)
    return _pair(seed, lambda: _Global.generator.randint(0, _MAX_SEED))


def graph_seed(seed: int | None, number: int) -> tuple[int, int]:
    """The two seeds of an operation in a function, where it is the `number`-th without its own."""
    return _pair(seed, lambda: number)


def _pair(seed: int | None, make: Callable[[], int]) -> tuple[int, int]:
    if _Global.seed is None:
        if seed is None:
            return 0, 0
        pair = _DEFAULT_GRAPH_SEED, int(seed) % _MAX_SEED
    else:
        given = make() if seed is None else int(seed)
        pair = _Global.seed % _MAX_SEED, given % _MAX_SEED
    return (0, _MAX_SEED) if pair == (0, 0) else pair


# What an iteration over a data set has drawn from so far: as in TensorFlow, functions go on drawing
# when a part of it is repeated, and begin anew with the next iteration.
Run = dict[Any, Any]
running: contextvars.ContextVar[Run | None] = contextvars.ContextVar("running", default=None)


# Which use of a data set this is, where it is used several times in an iteration.
_use: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("use", default=())


@contextlib.contextmanager
def in_use(key: Any) -> Iterator[None]:
    """Context in which what is kept for the iteration is kept for this use of it."""
    token = _use.set((*_use.get(), key))
    try:
        yield
    finally:
        _use.reset(token)


def kept_for_run(key: Any, make: Callable[[], T], shared: bool = False) -> T:
    """The object that `make` made for `key` in this iteration.

    Each use of a data set has its own, unless they are `shared`.
    """
    run = running.get()
    if run is None:
        return make()
    key = key if shared else (_use.get(), key)
    found: T = run[key] if key in run else run.setdefault(key, make())  # by threads, too
    return found


@contextlib.contextmanager
def looking_ahead() -> Iterator[None]:
    """Context in which elements are made only to learn their specs: shuffles draw any element, and
    no seeds are used up."""
    before, _Global.looking = _Global.looking, True
    token = running.set(None)
    try:
        yield
    finally:
        running.reset(token)
        _Global.looking = before


def is_looking_ahead() -> bool:
    """Whether :func:`looking_ahead` is in effect."""
    return _Global.looking


def draws(seed: int, seed2: int) -> Iterator[int]:
    """Numbers of 32 bits, one after the other, without end.

    Parameters
    ----------
    seed, seed2 : int
        As :func:`get_seed` gives them; both 0 for seeds of the operating system.
    """
    if seed == 0 and seed2 == 0:
        seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
    for begin in itertools.count(0, _BLOCK):
        numbers = philox.blocks(seed, seed2, np.arange(begin, begin + _BLOCK))
        yield from numbers.reshape(-1).tolist()


class SeedSource:
    """The seeds of each iterator over one shuffled data set.

    Parameters
    ----------
    seed : int or None
    reshuffle : bool
        New ones for each iterator.

    Attributes
    ----------
    given : tuple
        What they depend on, but for chance.
    """

    def __init__(self, seed: int | None, reshuffle: bool) -> None:
        pair = get_seed(seed)
        self.given = (*pair, reshuffle)
        self._reshuffle, self._anew = reshuffle, _given.get() is not None
        self._seeds = draws(*pair)
        if pair == (0, 0) and not reshuffle:  # one order, whichever it is
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
