# SPDX-License-Identifier: Apache-2.0
"""Random numbers, draw for draw as TensorFlow makes them.

The generator is Philox4x32-10: a block of four 32-bit numbers is a function of a key and of a
counter of 128 bits. A *start* is where a draw begins: the key, and the counter's lower and upper
half. Whatever a draw uses, TensorFlow moves its operation's counter on by 256 blocks for each
number, to have enough for distributions that reject.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

from fastrec import _tensor
from fastrec.batches.shuffle_buffer import random_blocks as blocks

__all__ = [
    "PER_OUTPUT",
    "Philox",
    "blocks",
    "classes",
    "drawn",
    "gammas",
    "normal",
    "scrambled",
    "uniform",
]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

PER_OUTPUT = 256

_HALF, _ALL = (1 << 64) - 1, (1 << 128) - 1
_CODES = {name: code for code, name in enumerate(_tensor.DISTRIBUTIONS)}
_SINGLE = np.dtype(np.float32)


class Philox:
    """The state of one operation.

    Parameters
    ----------
    seed, seed2 : int
        Both 0 for random seeds.

    Attributes
    ----------
    key : int
    position : int
        Of the next block: the counter.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
        self.key, self.position = seed & _HALF, (seed2 & _HALF) << 64
        self._lock = threading.Lock()

    def reserve(self, count: int) -> int:
        """Reserve `count` blocks and return the number of the first."""
        with self._lock:
            first = self.position
            self.position = first + count & _ALL
            return first

    def start(self, count: int) -> Array:
        """The start of a draw that is to have `count` blocks, of shape (3,)."""
        first = self.reserve(count)
        return np.array([self.key, first & _HALF, first >> 64], np.uint64)

    def starts(self, count: int, draws: int) -> Array:
        """The starts of as many draws, one after the other: of shape (draws, 3)."""
        first = self.reserve(count * draws)
        found = np.empty((draws, 3), np.uint64)
        found[:, 0], found[:, 2] = self.key, first >> 64
        found[:, 1] = np.uint64(first & _HALF) + np.arange(draws, dtype=np.uint64) * np.uint64(
            count
        )
        found[found[:, 1] < first & _HALF, 2] += np.uint64(1)
        return found


def scrambled(seed: int, seed2: int) -> Array:
    """The start of what has no state: one for each pair of seeds."""
    number = np.array([seed & _HALF], np.uint64)
    key, upper = blocks(0x02461E293EC8F720, seed2, number).view(np.uint64)[0]
    return np.array([key, 0, upper], np.uint64)


def drawn(kind: str, starts: Array, shape: Shape, dtype: Any, low: int = 0, size: int = 0) -> Array:
    """Numbers of one of ``_tensor.DISTRIBUTIONS`` for each start, each draw of a shape.

    Whole numbers are `low` and up to `size` more; any of the type for a size of 0.
    """
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    found = _tensor.philox_draw(_CODES[kind], dtype, rows, math.prod(shape), low & _HALF, size)
    return found.reshape((*starts.shape[:-1], *shape))


def uniform(starts: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Numbers from 0 up to and without 1."""
    if dtype != np.float16:
        return drawn("uniform", starts, shape, dtype)
    words = drawn("integer", starts, shape, np.uint32)
    bits = (words & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(0x3C00)
    return bits.view(np.float16) - np.float16(1)


def normal(kind: str, starts: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Numbers around 0 with a standard deviation of 1: ``"normal"``, or ``"truncated"``."""
    single = drawn(kind, starts, shape, _SINGLE if dtype == np.float16 else dtype)
    return single.astype(dtype, copy=False)


def classes(starts: Array, logits: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Numbers of classes for each row of logits, as TensorFlow's loop over the rows draws them.

    Several starts have logits of their own, of one dimension more, or all the same.
    """
    wide = np.ascontiguousarray(logits, None if logits.dtype == _SINGLE else np.float64)
    wide = wide if wide.ndim == 3 else wide[np.newaxis]
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    found = _tensor.philox_classes(rows, wide, count).astype(dtype, copy=False)
    return found.reshape(*starts.shape[:-1], *found.shape[1:])


def gammas(starts: Array, sizes: Shape, alphas: Array, own: bool = False) -> Array:
    """Numbers of gamma distributions: for each start `sizes` of each of the shape parameters.

    Each start has shape parameters of its own where `own`.
    """
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    each = alphas.shape[own:]
    wide = alphas.astype(np.float64).reshape(len(rows) if own else 1, math.prod(each))
    found = _tensor.philox_gammas(rows, wide, math.prod(sizes))
    return found.reshape((*starts.shape[:-1], *sizes, *each)).astype(alphas.dtype)
