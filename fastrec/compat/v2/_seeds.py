# SPDX-License-Identifier: Apache-2.0
"""Which seeds TensorFlow starts its random numbers with, and these numbers one by one."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Iterator

import numpy as np

from .._kernels import philox

__all__ = ["draws", "get_seed", "is_looking_ahead", "looking_ahead", "set_seed"]

_DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1
_BLOCK = 256  # of Philox at a time, four numbers each


class _Global:
    """What :func:`set_seed` has set."""

    seed: int | None = None
    looking = False
    generator = random.Random()


def set_seed(seed: int) -> None:
    """Seed what has no seed of its own; operations that are made after it count from here."""
    _Global.seed = int(seed)
    _Global.generator = random.Random(_Global.seed)


def get_seed(seed: int | None) -> tuple[int, int]:
    """The two seeds of an operation; (0, 0) draws one at random when it starts."""
    if _Global.seed is None:
        pair = (0, 0) if seed is None else (_DEFAULT_GRAPH_SEED, int(seed))
        unseeded = seed is None
    else:
        own = _Global.generator.randint(0, _MAX_SEED) if seed is None else int(seed)
        pair, unseeded = (_Global.seed, own), False
    return (0, _MAX_SEED) if pair == (0, 0) and not unseeded else pair


@contextlib.contextmanager
def looking_ahead() -> Iterator[None]:
    """While something looks at a first element, which is not yet to be drawn: shuffles then draw
    any, and no seeds are used up."""
    before, _Global.looking = _Global.looking, True
    try:
        yield
    finally:
        _Global.looking = before


def is_looking_ahead() -> bool:
    """Whether somebody does."""
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
