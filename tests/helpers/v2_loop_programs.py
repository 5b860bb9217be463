# SPDX-License-Identifier: Apache-2.0
"""Functions of a row of numbers and how many of them count, which loop over these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_RANDOM = np.random.default_rng(0)
ROWS = _RANDOM.integers(-5, 9, (40, 20)).astype(np.int32)
LENGTHS = _RANDOM.integers(0, 21, 40).astype(np.int32)


def _uncounted(tf: Any, v: Any, n: Any) -> Any:
    """A number of rounds that only the rounds tell."""
    begin = [tf.cast(n, tf.int64) + 1, tf.constant(0)]
    step = lambda m, c: (tf.where(m % 2 == 0, m // 2, 3 * m + 1), c + 1)  # noqa: E731
    return tf.while_loop(lambda m, c: m > 1, step, begin)


def _longest(tf: Any, v: Any, n: Any) -> Any:
    best, now, last = 0, 0, -1
    for i in tf.range(n):
        if v[i] > 0:
            now += 1
            last = i
        else:
            now = 0
        best = tf.maximum(best, now)
    return best, now, last


def _written(tf: Any, v: Any, n: Any) -> Any:
    """Numbers of the few rounds that do anything."""
    array, count = tf.TensorArray(tf.int32, 0, dynamic_size=True), 0
    for i in tf.range(n):
        if v[i] <= 5:
            continue
        array = array.write(count, v[i] * i)
        count += 1
    return tf.reduce_sum(array.stack()), count


def _pairs(tf: Any, v: Any, n: Any) -> Any:
    found, count = tf.zeros([20, 20], tf.int32), 0
    for i in tf.range(n):
        for j in tf.range(i):
            if v[i] + v[j] == 7:
                found = tf.tensor_scatter_nd_update(found, [[i, j]], [i * j + count])
                count += 1
    return found, count


def _left_over(tf: Any, v: Any, n: Any) -> Any:
    """Variables of a loop that the next round and what follows use."""
    i, total, before = tf.constant(-1), tf.constant(0), tf.constant(7)
    for i in tf.range(n):
        if tf.equal(v[i], 3):
            total += before + i
        before = v[i]
    return i, total, before


def _two_counters(tf: Any, v: Any, n: Any) -> Any:
    def step(i: Any, j: Any, s: Any) -> Any:
        return i + 1, j + 2, tf.cond(v[i] > 2, lambda: s * 31 + tf.cast(j, tf.int32), lambda: s)

    begin = [tf.constant(0), tf.constant(-7, tf.int64), tf.constant(1)]
    return tf.while_loop(lambda i, j, s: i < n, step, begin)


def _shifted(tf: Any, v: Any, n: Any) -> Any:
    begin = [tf.constant(each) for each in range(4)]
    return tf.while_loop(lambda i, *_: i < n, lambda i, a, b, c: (i + 1, b, v[i], a), begin)


def _parts(tf: Any, v: Any, n: Any) -> Any:
    """Vectors of other lengths in each round."""

    def step(i: Any, row: Any) -> Any:
        return i + 3, tf.concat([row, v[:i], v[i : i + 2], tf.range(i, 2 * i + 3, 2)], 0)

    begin, shapes = [tf.constant(0), tf.zeros([0], tf.int32)], [[], [None]]
    wanted = [tf.TensorShape(each) for each in shapes]
    found = tf.while_loop(lambda i, _: i < n, step, begin, shape_invariants=wanted)
    return found[0], tf.reduce_sum(found[1]), tf.size(found[1])


def _texts(tf: Any, v: Any, n: Any) -> Any:
    words, joined = tf.strings.as_string(v), tf.constant("")
    for i in tf.range(n):
        if tf.strings.length(words[i]) > 1:
            joined = joined + words[i] + "."
    return joined


def _ended(tf: Any, v: Any, n: Any) -> Any:
    total = 0
    for i in tf.range(n):
        if v[i] == 8:
            break
        total += v[i]
    return total


def _limited(tf: Any, v: Any, n: Any) -> Any:
    step = lambda i, s: (i + 1, s + v[i])  # noqa: E731
    begin = [tf.constant(0), tf.constant(0)]
    return tf.while_loop(lambda *_: True, step, begin, maximum_iterations=n)


def _too_far(tf: Any, v: Any, n: Any) -> Any:
    total = tf.constant(0)
    for i in tf.range(n + 5):
        total += v[i]
    return total


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "uncounted": _uncounted,
    "longest": _longest,
    "written": _written,
    "pairs": _pairs,
    "left over": _left_over,
    "two counters": _two_counters,
    "shifted": _shifted,
    "parts": _parts,
    "texts": _texts,
    "ended": _ended,
    "limited": _limited,
    "too far": _too_far,
}
