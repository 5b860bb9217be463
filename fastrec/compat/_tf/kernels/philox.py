# SPDX-License-Identifier: Apache-2.0
"""Random numbers, draw for draw as TensorFlow makes them.

The generator is Philox4x32-10: a block of four 32-bit numbers is a function of the two seeds and of
the number of the block. An operation remembers the number of the next block. Whatever it made, it
moves on by 256 blocks an output, as TensorFlow does to have enough for distributions that reject.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from fastrec.batches.shuffle_buffer import random_blocks as blocks

__all__ = [
    "Philox",
    "blocks",
    "classes",
    "normal",
    "scrambled",
    "shuffled",
    "truncated_normal",
    "uniform",
    "uniform_int",
    "uniform_int_rows",
    "uniform_rows",
]

Array = np.ndarray[Any, Any]

PER_OUTPUT = 256


class Philox:
    """The state of one operation: its seeds, and the number of its next block.

    Parameters
    ----------
    seed, seed2 : int
        Both 0 for random seeds.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
        self.seed, self.seed2 = seed & (1 << 64) - 1, seed2 & (1 << 64) - 1
        self.next = 0
        self._lock = threading.Lock()

    def reserve(self, count: int) -> int:
        """Reserve `count` blocks and return the number of the first."""
        with self._lock:
            first = self.next
            self.next += count
            return first

    def words(self, outputs: int, blocks_used: int) -> Array:
        """The words of the first of the blocks that are set aside for some outputs."""
        first = self.reserve(outputs * PER_OUTPUT)
        return self.row(first, blocks_used)

    def row(self, first: int, count: int) -> Array:
        """Some blocks in a row, from number `first` on."""
        return self.blocks(np.arange(first, first + count, dtype=np.uint64))

    def blocks(self, numbers: Array) -> Array:
        """The blocks with some numbers, a row of four ``uint32`` for each."""
        return blocks(self.seed, self.seed2, numbers)


def scrambled(seed: int, seed2: int) -> Philox:
    """The generator of what has no state: one for each pair of seeds."""
    number = np.array([seed & (1 << 64) - 1], np.uint64)
    a, b, c, d = blocks(0x02461E293EC8F720, seed2, number)[0].tolist()
    return Philox(a | b << 32, c | d << 32)


def _as_float32(words: Array) -> Array:
    bits = (words & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
    return bits.view(np.float32) - np.float32(1)


def _as_float64(words: Array) -> Array:
    pairs = words.reshape(-1, 2).astype(np.uint64)
    bits = (pairs[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32) | pairs[:, 1]
    return (bits | np.uint64(0x3FF0000000000000)).view(np.float64) - 1.0


def _as_float16(words: Array) -> Array:
    bits = (words & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(0x3C00)
    return bits.view(np.float16) - np.float16(1)


_UNIFORM: dict[str, Callable[[Array], Array]] = {
    "float16": _as_float16,
    "float32": _as_float32,
    "float64": _as_float64,
}


def uniform(state: Philox, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers from 0 up to and without 1."""
    if not shape and dtype == np.float32:  # what distorting an image draws
        word = int(state.words(1, 1)[0, 0])
        return np.array((word & 0x7FFFFF) / 0x800000, dtype=np.float32)
    count = math.prod(shape)
    per_block = 2 if dtype.name == "float64" else 4
    words = state.words(count, -(-count // per_block)).reshape(-1)
    return _UNIFORM[dtype.name](words)[:count].reshape(shape)


def uniform_int(state: Philox, shape: tuple[int, ...], low: int, high: int, dtype: Any) -> Array:
    """Whole numbers from `low` up to and without `high`."""
    count = math.prod(shape)
    wide = np.dtype(dtype).itemsize == 8
    words = state.words(count, -(-count // (2 if wide else 4))).reshape(-1)
    return _bounded(words, low, high, np.dtype(dtype))[:count].reshape(shape)


def _bounded(words: Array, low: int, high: int, dtype: np.dtype[Any]) -> Array:
    if dtype.itemsize == 8:
        pairs = words.reshape(-1, 2).astype(np.uint64)
        words = pairs[:, 0] | pairs[:, 1] << np.uint64(32)
    drawn = words % words.dtype.type(high - low)
    bits = drawn + np.asarray(low, dtype=dtype).view(words.dtype)
    result: Array = bits.view(dtype)
    return result


def _words_of_rows(state: Philox, rows: int, count: int, per_row: int) -> Array:
    """The words that `rows` draws of `count` outputs would get, `per_row` blocks for each."""
    apart = count * PER_OUTPUT
    first = state.reserve(rows * apart)
    starts = first + np.arange(rows, dtype=np.uint64) * np.uint64(apart)
    numbers = starts[:, None] + np.arange(per_row, dtype=np.uint64)
    return state.blocks(numbers.reshape(-1)).reshape(rows, -1)


def uniform_rows(state: Philox, rows: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Results of `rows` successive calls of :func:`uniform`."""
    count = math.prod(shape)
    per_row = -(-count // (2 if dtype.name == "float64" else 4))
    words = _words_of_rows(state, rows, count, per_row)
    drawn = _UNIFORM[dtype.name](words.reshape(-1)).reshape(rows, -1)
    return drawn[:, :count].reshape(rows, *shape)


def uniform_int_rows(
    state: Philox, rows: int, shape: tuple[int, ...], low: int, high: int, dtype: Any
) -> Array:
    """Results of `rows` successive calls of :func:`uniform_int`."""
    count = math.prod(shape)
    wide = np.dtype(dtype).itemsize == 8
    words = _words_of_rows(state, rows, count, -(-count // (2 if wide else 4)))
    flat = _bounded(words.reshape(-1), low, high, np.dtype(dtype)).reshape(rows, -1)
    return flat[:, :count].reshape(rows, *shape)


def _box_muller(x0: Array, x1: Array) -> tuple[Array, Array]:
    """Two normal numbers of two words each, computed as single-precision functions would be."""
    u1 = np.maximum(_as_float32(x0), np.float32(1e-7))
    v1 = (2.0 * np.pi * _as_float32(x1).astype(np.float64)).astype(np.float32).astype(np.float64)
    log = np.log(u1.astype(np.float64)).astype(np.float32)
    u2 = np.sqrt((np.float32(-2) * log).astype(np.float64)).astype(np.float32)
    return np.sin(v1).astype(np.float32) * u2, np.cos(v1).astype(np.float32) * u2


def _box_muller_double(words: Array) -> Array:
    u = _as_float64(words).reshape(-1, 2)
    u1 = np.maximum(u[:, 0], 1e-7)
    radius, angle = np.sqrt(-2.0 * np.log(u1)), 2 * np.pi * u[:, 1]
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=-1).reshape(-1)


def normal(state: Philox, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers around 0 with a standard deviation of 1."""
    count = math.prod(shape)
    per_block = 2 if dtype.name == "float64" else 4
    words = state.words(count, -(-count // per_block))
    if dtype.name == "float64":
        drawn = _box_muller_double(words)
    else:
        pairs = [_box_muller(words[:, 2 * i], words[:, 2 * i + 1]) for i in (0, 1)]
        drawn = np.stack([pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]], -1).reshape(-1)
    return drawn[:count].reshape(shape).astype(dtype)


def truncated_normal(state: Philox, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The same, without those that are 2 or more away from 0."""
    count = math.prod(shape)
    group = 2 if dtype.name == "float64" else 4
    first = state.reserve(count * PER_OUTPUT)
    result = np.empty(-(-count // group) * group, dtype=dtype)
    starts = first + np.arange(result.size // group, dtype=np.uint64) * np.uint64(
        group * PER_OUTPUT // 4
    )
    filled = np.zeros(starts.size, dtype=np.int64)
    for turn in range(group * PER_OUTPUT // 4):
        open_ = np.flatnonzero(filled < group)
        if not open_.size:
            break
        words = state.blocks(starts[open_] + np.uint64(turn))
        for drawn in _candidates(words, group):
            good = (np.abs(drawn) < 2) & (filled[open_] < group)
            rows = open_[good]
            result[rows * group + filled[rows]] = drawn[good]
            filled[rows] += 1
    return result[:count].reshape(shape)


def _candidates(words: Array, group: int) -> list[Array]:
    if group == 2:
        pair = _box_muller_double(words).reshape(-1, 2)
        return [pair[:, 0], pair[:, 1]]
    return [*_box_muller(words[:, 0], words[:, 1]), *_box_muller(words[:, 2], words[:, 3])]


def shuffled(state: Philox, value: Array) -> Array:
    """The rows of `value` in random order."""
    count = len(value)
    if count <= 1:
        return value
    needed = (count - 1 + 3) // 4
    first = state.reserve(needed)
    words = state.row(first, needed)
    order = list(range(count))
    for i, word in zip(range(count - 1), words.reshape(-1).tolist(), strict=False):
        j = i + word % (count - i)
        order[i], order[j] = order[j], order[i]
    return value[order]


def classes(state: Philox, logits: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Numbers of classes for each row of logits, as TensorFlow's loop over the rows draws them."""
    rows = len(logits)
    first = state.reserve(2 * rows * (-(-count // 4) * 4) * PER_OUTPUT)
    words = state.row(first, -(-2 * rows * count // 4) + 1).reshape(-1)
    drawn = _as_float64(words[: 2 * rows * count]).reshape(rows, count)
    wide = logits.astype(np.float64)
    finite = np.isfinite(wide)
    most = np.max(np.where(finite, wide, -np.inf), axis=1, keepdims=True, initial=-np.inf)
    sums = np.cumsum(np.where(finite, np.exp(wide - most), 0), axis=1)
    found = np.empty((rows, count), dtype)
    for row, edges, numbers in zip(found, sums, drawn, strict=True):
        row[:] = np.searchsorted(edges, numbers * edges[-1], side="right")
    return found
