# SPDX-License-Identifier: Apache-2.0
"""Random numbers that equal TensorFlow's, draw for draw.

The generator is Philox4x32-10: a block of four 32-bit numbers is a function of a key and a counter
of 128 bits. A *start* is the position at which a draw begins: the key, and the lower and upper
half of the counter. Regardless of how many numbers a draw uses, TensorFlow advances the counter of
the operation by 256 blocks for each number, so that distributions with rejection have enough.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

from fastrec import _tensor
from fastrec.batches.shuffle_buffer import random_blocks as blocks

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
        The seeds. If both are 0, the seeds are random.

    Attributes
    ----------
    key : int
    position : int
        The counter of the next block.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
        self.key: int = seed & _HALF
        self.position: int = (seed2 & _HALF) << 64
        self._lock = threading.Lock()

    def reserve(self, count: int) -> int:
        """Reserve `count` blocks and return the number of the first."""
        with self._lock:
            first = self.position
            self.position = first + count & _ALL
            return first

    def start(self, count: int) -> Array:
        """Reserve `count` blocks for a draw and return its start, of shape (3,)."""
        first = self.reserve(count)
        return np.array([self.key, first & _HALF, first >> 64], np.uint64)

    def starts(self, count: int, draws: int) -> Array:
        """Reserve blocks for consecutive draws and return their starts, of shape (draws, 3)."""
        first = self.reserve(count * draws)
        found = np.empty((draws, 3), np.uint64)
        found[:, 0], found[:, 2] = self.key, first >> 64
        found[:, 1] = np.uint64(first & _HALF) + np.arange(draws, dtype=np.uint64) * np.uint64(
            count
        )
        found[found[:, 1] < first & _HALF, 2] += np.uint64(1)
        return found


def scrambled(seed: int, seed2: int) -> Array:
    """Return the start for a pair of seeds in stateless operations."""
    number = np.array([seed & _HALF], np.uint64)
    key, upper = blocks(0x02461E293EC8F720, seed2, number).view(np.uint64)[0]
    return np.array([key, 0, upper], np.uint64)


def drawn(kind: str, starts: Array, shape: Shape, dtype: Any, low: int = 0, size: int = 0) -> Array:
    """Draw numbers from one of ``_tensor.DISTRIBUTIONS``; each start gets an array of a shape.

    Integers are from `low` to below `low` + `size`, or from the whole range of the type if `size`
    is 0.
    """
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    found = _tensor.philox_draw(_CODES[kind], dtype, rows, math.prod(shape), low & _HALF, size)
    return found.reshape((*starts.shape[:-1], *shape))


def uniform(starts: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Draw uniformly distributed numbers from 0 to below 1."""
    if dtype != np.float16:
        return drawn("uniform", starts, shape, dtype)
    words = drawn("integer", starts, shape, np.uint32)
    bits = (words & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(0x3C00)
    return bits.view(np.float16) - np.float16(1)


def normal(kind: str, starts: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Draw numbers with mean 0 and standard deviation 1; `kind` is "normal" or "truncated"."""
    single = drawn(kind, starts, shape, _SINGLE if dtype == np.float16 else dtype)
    return single.astype(dtype, copy=False)


def classes(starts: Array, logits: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Draw class numbers for each row of logits, as TensorFlow's loop over the rows does.

    Several starts share the logits, or each start has its own logits along a leading dimension.
    """
    wide = np.ascontiguousarray(logits, None if logits.dtype == _SINGLE else np.float64)
    wide = wide if wide.ndim == 3 else wide[np.newaxis]
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    found = _tensor.philox_classes(rows, wide, count).astype(dtype, copy=False)
    return found.reshape(*starts.shape[:-1], *found.shape[1:])


def gammas(starts: Array, sizes: Shape, alphas: Array, own: bool = False) -> Array:
    """Draw numbers from gamma distributions: `sizes` for each start and each shape parameter.

    If `own` is True, each start has its own shape parameters.
    """
    rows = np.ascontiguousarray(starts).reshape(-1, 3)
    each = alphas.shape[own:]
    wide = alphas.astype(np.float64).reshape(len(rows) if own else 1, math.prod(each))
    found = _tensor.philox_gammas(rows, wide, math.prod(sizes))
    return found.reshape((*starts.shape[:-1], *sizes, *each)).astype(alphas.dtype)
