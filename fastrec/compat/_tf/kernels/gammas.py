# SPDX-License-Identifier: Apache-2.0
"""Numbers of gamma distributions, draw for draw as TensorFlow makes them, by Marsaglia and Tsang.

Each number has blocks of the generator of its own, from which pairs of normal and of uniform
numbers are taken as they are needed, the second of a pair first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .philox import PER_OUTPUT, drawn

__all__ = ["gammas"]

Array = np.ndarray[Any, Any]


class _Pairs:
    """Numbers of one kind, for each of many draws."""

    def __init__(self, kind: str, starts: Array) -> None:
        self._kind, self._starts = kind, starts  # each moves on by what is drawn from it
        self._pairs = np.empty((len(starts), 2))
        self._left = np.zeros(len(starts), np.intp)

    def next(self, at: Array) -> Array:
        """A number for each of the draws in `at`."""
        empty = at[self._left[at] == 0]
        if len(empty):
            self._pairs[empty] = drawn(self._kind, self._starts[empty], (2,), np.float64)
            self._starts[empty, 1] += np.uint64(1)  # of 256 that are set aside: it never wraps
            self._left[empty] = 2
        self._left[at] -= 1
        found: Array = self._pairs[at, self._left[at]]
        return found


def _starts(start: Array, count: int) -> Array:
    starts = np.empty((count, 3), np.uint64)
    starts[:] = start
    starts[:, 1] += np.arange(count, dtype=np.uint64) * np.uint64(PER_OUTPUT)
    starts[:, 2] += starts[:, 1] < start[1]
    return starts


def gammas(start: Array, alphas: Array, count: int) -> Array:
    """`count` numbers for each of the shape parameters `alphas`: of shape (len(alphas), count)."""
    alpha = np.repeat(alphas.astype(np.float64), count)
    starts = _starts(start, len(alpha))
    uniform, normal = _Pairs("uniform", starts), _Pairs("normal", starts)
    found = np.empty(len(alpha))
    whole = alpha == 1
    found[whole] = -np.log1p(-uniform.next(np.flatnonzero(whole)))
    d = alpha + np.where(alpha < 1, 2.0 / 3, -1.0 / 3)
    with np.errstate(all="ignore"):
        c = 1.0 / 3 / np.sqrt(d)
    at = np.flatnonzero(~whole & (d > 0))
    found[~whole & ~(d > 0)] = np.nan  # of a parameter that is none
    while len(at):
        x = normal.next(at)
        v = 1 + c[at] * x
        possible = v > 0
        some, x, v = at[possible], x[possible], v[possible] ** 3
        u = uniform.next(some)
        with np.errstate(divide="ignore"):
            likely = np.log(u) < 0.5 * x * x + d[some] * (1 - v + np.log(v))
        taken = (u < 1 - 0.0331 * (x * x) * (x * x)) | likely
        done = some[taken]
        found[done] = d[done] * v[taken]
        small = done[alpha[done] < 1]
        found[small] *= uniform.next(small) ** (1 / alpha[small])
        at = np.concatenate([at[~possible], some[~taken]])
    return found.reshape(len(alphas), count)
