# SPDX-License-Identifier: Apache-2.0
"""Special functions: native ones, and inverses of error functions in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastrec import _tensor

__all__ = ["erfcinv", "erfinv", "ndtri", "special"]

Array = np.ndarray[Any, Any]


def special(name: str) -> Callable[..., Array]:
    """Return a native special function, whose result has the type of its first operand."""

    def function(*operands: Array) -> Array:
        dtype = operands[0].dtype
        wide = np.float64 if dtype == np.float64 else np.float32
        values = [each.astype(wide, copy=False) for each in operands]
        return _tensor.special(name, *values).astype(dtype, copy=False)

    return function


def erfcinv(y: Array) -> Array:
    """What the share of a normal distribution beyond it is `y` of, as ``erfc`` has it."""
    part = np.minimum(y, 2 - y)
    inside = (part > 0) & (part <= 1)
    given = np.where(inside, part, 0.5).astype(float)
    logs = np.log(given) + np.log(2 - given)
    middle = 2 / (np.pi * 0.147) + logs / 2
    x = np.sqrt(np.sqrt(middle**2 - logs / 0.147) - middle)
    for _ in range(4):
        slope = -2 / math.sqrt(math.pi) * np.exp(-x * x)
        step = np.divide(
            _tensor.special("erfc", x) - given, slope, out=np.zeros_like(x), where=slope != 0
        )
        x = x - step / (1 + x * step)
    x = np.where(part == 0, np.inf, np.where(inside, x, np.nan))
    return np.where(y > 1, -x, x)


def erfinv(z: Array) -> Array:
    """What ``erf`` is `z` of."""
    size = np.abs(z).astype(float)
    small = size < 0.5
    given = np.where(small, size, 0.25)
    x = given * math.sqrt(math.pi) / 2
    for _ in range(5):
        step = (_tensor.special("erf", x) - given) * math.sqrt(math.pi) / 2 * np.exp(x * x)
        x = x - step / (1 + x * step)
    return np.copysign(np.where(small, x, erfcinv(1 - np.where(small, 0.0, size))), z)


def ndtri(p: Array) -> Array:
    """What the share of a standard normal distribution below it is `p` of."""
    p = p.astype(float)
    middle = np.abs(p - 0.5) < 0.25
    near = erfinv(np.where(middle, 2 * p - 1, 0.0))
    return math.sqrt(2) * np.where(middle, near, -erfcinv(np.where(middle, 1.0, 2 * p)))
