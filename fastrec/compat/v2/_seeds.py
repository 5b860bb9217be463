# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's random numbers: Philox 4x32-10, and which seeds it is started with."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draws", "get_seed", "set_seed"]

_DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1
_ROUNDS = 10
_BLOCK = 256  # counters at a time, of four numbers each
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85


class _Global:
    """What :func:`set_seed` has set."""

    seed: int | None = None
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


def _rounds(counters: list[NDArray[np.uint64]], key: tuple[int, int]) -> NDArray[np.uint64]:
    """Ten rounds of Philox over many counters at once."""
    c0, c1, c2, c3 = counters
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).reshape(-1)


class Draws:
    """Numbers of 32 bits, one after the other.

    Parameters
    ----------
    seed, seed2 : int
        As :func:`get_seed` gives them; both 0 for seeds of the operating system.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
        self._key = (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)
        self._high = (seed2 & 0xFFFFFFFF, seed2 >> 32 & 0xFFFFFFFF)
        self._next = 0
        self._numbers: Iterator[int] = iter(())

    def __call__(self) -> int:
        for number in self._numbers:
            return number
        low = np.arange(self._next, self._next + _BLOCK, dtype=np.uint64)
        self._next += _BLOCK
        counters = [low & _LOW, low >> _HALF]
        counters += [np.full(_BLOCK, half, np.uint64) for half in self._high]
        self._numbers = iter(_rounds(counters, self._key).tolist())
        return next(self._numbers)
