# SPDX-License-Identifier: Apache-2.0
"""Special functions of numbers, calculated in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erfcinv",
    "erfinv",
    "igamma",
    "igammac",
    "log_gamma",
    "ndtri",
    "polygamma",
    "zeta",
]

Array = np.ndarray[Any, Any]

_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]
_BERNOULLI += [43867 / 798, -174611 / 330]
_TERMS = 10_000  # of a series at most
_TINY, _EPSILON = 1e-300, 2.0**-53
_STEP = 12  # from which on asymptotic series are exact


def _by_math(function: Callable[[float], float], poles: float) -> Callable[[Array], Array]:
    def one(value: float) -> float:
        try:
            return function(value)
        except (ValueError, OverflowError):
            return poles

    def each(x: Array) -> Array:
        return np.array([one(value) for value in x.reshape(-1).tolist()], float).reshape(x.shape)

    return each


log_gamma = _by_math(math.lgamma, math.inf)
_erf, _erfc = _by_math(math.erf, math.nan), _by_math(math.erfc, math.nan)


def digamma(x: Array) -> Array:
    """The derivative of the logarithm of the gamma function; no number at its poles."""
    mirrored = x <= 0
    value = np.where(mirrored, 1 - x, x).astype(float)
    found = np.zeros_like(value)
    for _ in range(_STEP):
        low = value < _STEP
        found -= np.where(low, 1 / np.where(low, value, 1), 0)
        value = np.where(low, value + 1, value)
    square = 1 / (value * value)
    series = np.zeros_like(value)
    for number, bernoulli in reversed(list(enumerate(_BERNOULLI, 1))):
        series = (series + bernoulli / (2 * number)) * square
    found += np.log(value) - 0.5 / value - series
    turn = np.pi / np.tan(np.pi * np.where(mirrored, x - np.floor(x), 0.25))
    found = np.where(mirrored, found - turn, found)
    return np.where(mirrored & (x == np.floor(x)), np.nan, found)


def zeta(x: Array, q: Array) -> Array:
    """The sum of the powers ``(q + k) ** -x``: Hurwitz's zeta function, of `x` above 1."""
    x, q = np.broadcast_arrays(x.astype(float), q.astype(float))
    whole = q == np.floor(q)
    good = (x > 1) & ((q > 0) | ~whole & (x == np.floor(x)) & (q > -2000))
    power, start = np.where(good, x, 2.0), np.where(good, q, 1.0)
    found = np.zeros_like(power)
    enough = np.minimum(np.maximum(_STEP, power), 2 * _STEP)
    while (lows := start < enough).any():
        found += np.where(lows, np.where(lows, start, 1.0) ** -power, 0)
        start = np.where(lows, start + 1, start)
    last = start**-power
    found += last * start / (power - 1) + 0.5 * last
    factor = last * power / start
    size = 1.0
    for number, bernoulli in enumerate(_BERNOULLI, 1):
        size *= (2 * number - 1) * (2 * number)
        found += factor * bernoulli / size
        factor = factor * (power + 2 * number - 1) * (power + 2 * number) / start**2
    poles = (x == 1) | (x > 1) & (x % 2 == 0) & (q <= 0) & whole
    return np.where(good, found, np.where(poles, np.inf, np.nan))


def polygamma(a: Array, x: Array) -> Array:
    """The derivative number `a` of :func:`digamma`."""
    a, x = np.broadcast_arrays(a.astype(float), x.astype(float))
    order = a + 1
    found = np.where(a % 2 == 0, -1, 1) * np.exp(log_gamma(order)) * zeta(order, x)
    found = np.where(a == 0, digamma(x), found)
    return np.where((a < 0) | (a != np.floor(a)), np.nan, found)


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
        step = np.divide(_erfc(x) - given, slope, out=np.zeros_like(x), where=slope != 0)
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
        step = (_erf(x) - given) * math.sqrt(math.pi) / 2 * np.exp(x * x)
        x = x - step / (1 + x * step)
    return np.copysign(np.where(small, x, erfcinv(1 - np.where(small, 0.0, size))), z)


def ndtri(p: Array) -> Array:
    """What the share of a standard normal distribution below it is `p` of."""
    p = p.astype(float)
    middle = np.abs(p - 0.5) < 0.25
    near = erfinv(np.where(middle, 2 * p - 1, 0.0))
    return math.sqrt(2) * np.where(middle, near, -erfcinv(np.where(middle, 1.0, 2 * p)))


def _fraction(terms: Iterator[tuple[Any, Any]], first: Array) -> Array:
    """The value of a continued fraction ``first + a1 / (b1 + a2 / (b2 + ...))``."""
    value = np.where(first == 0, _TINY, first)
    upper, lower = value, np.zeros_like(value)
    for _, (a, b) in zip(range(_TERMS), terms, strict=False):
        lower = b + a * lower
        lower = 1 / np.where(lower == 0, _TINY, lower)
        upper = b + a / upper
        upper = np.where(upper == 0, _TINY, upper)
        change = upper * lower
        value = value * change
        if not (np.abs(change - 1) >= _EPSILON * 4).any():  # what is no number stays none
            break
    return value


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """Both regularized incomplete gamma functions, which add up to 1."""
    a, x = np.broadcast_arrays(a.astype(float), x.astype(float))
    good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    n, z = np.where(good, a, 1.0), np.where(good, x, 1.0)
    scale = np.exp(n * np.log(z) - z - log_gamma(n))
    near = z < n + 1
    start = np.where(near, z, 0.0)
    term = total = 1 / n
    for k in range(1, _TERMS):
        term = term * start / (n + k)
        total = total + term
        if not (term > total * _EPSILON).any():
            break
    far = np.where(near, n + 1, z)

    def terms() -> Iterator[tuple[Any, Any]]:
        for k in range(1, _TERMS):
            yield -k * (k - n), far + 2 * k + 1 - n

    tail = scale / _fraction(terms(), far + 1 - n)
    lower = np.where(near, scale * total, 1 - tail)
    upper = np.where(near, 1 - scale * total, tail)
    none = (a > 0) & ((x == 0) | (a == np.inf) & (x > 0) & (x < np.inf))
    edges = [none, (x == np.inf) & (a > 0) & (a < np.inf), good]
    parts = ([0.0, 1.0, lower], [1.0, 0.0, upper])
    return np.select(edges, parts[0], np.nan), np.select(edges, parts[1], np.nan)


def igamma(a: Array, x: Array) -> Array:
    """The share of the gamma function's integral that is below `x`."""
    return _gamma_parts(a, x)[0]


def igammac(a: Array, x: Array) -> Array:
    """The share of the gamma function's integral that is above `x`."""
    return _gamma_parts(a, x)[1]


def betainc(a: Array, b: Array, x: Array) -> Array:
    """The share of the beta function's integral that is below `x`."""
    a, b, x = np.broadcast_arrays(a.astype(float), b.astype(float), x.astype(float))
    good = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    p, q, z = (np.where(good, each, 0.5) for each in (a, b, x))
    turned = z > (p + 1) / (p + q + 2)
    p, q, z = np.where(turned, q, p), np.where(turned, p, q), np.where(turned, 1 - z, z)
    scale = log_gamma(p + q) - log_gamma(p) - log_gamma(q) + p * np.log(z) + q * np.log1p(-z)

    def terms() -> Iterator[tuple[Any, Any]]:
        for k in range(_TERMS):
            yield -(p + k) * (p + q + k) * z / ((p + 2 * k) * (p + 2 * k + 1)), 1.0
            m = k + 1
            yield m * (q - m) * z / ((p + 2 * m - 1) * (p + 2 * m)), 1.0

    found = np.exp(scale) / p / _fraction(terms(), np.ones_like(z))
    found = np.where(turned, 1 - found, found)
    valid = (a > 0) & (b > 0)
    return np.select([valid & (x == 0), valid & (x == 1), good], [0.0, 1.0, found], np.nan)


def _bessel(x: Array, order: int) -> Array:
    """Modified Bessel functions of the first kind of absolute values, times ``exp(-x)``."""
    size = np.abs(x).astype(float)
    large = size > 30
    z = np.where(large, size, 30.0)
    term = total = np.ones_like(z)
    for k in range(1, 30):
        term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * z)
        total = total + term
    far = total / np.sqrt(2 * np.pi * z)
    z = np.where(large, 0.0, size)
    quarter = z * z / 4
    term = total = np.ones_like(z) if not order else z / 2
    for k in range(1, 90):
        term = term * quarter / (k * (k + order))
        total = total + term
    return np.where(np.isnan(x), np.nan, np.where(large, far, total * np.exp(-z)))


def bessel_i0e(x: Array) -> Array:
    """The modified Bessel function of order 0, times ``exp(-abs(x))``."""
    return _bessel(x, 0)


def bessel_i1e(x: Array) -> Array:
    """The modified Bessel function of order 1, times ``exp(-abs(x))``."""
    return np.copysign(_bessel(x, 1), x)
