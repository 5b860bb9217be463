# SPDX-License-Identifier: Apache-2.0
"""Parse numbers from text as TensorFlow's own functions do."""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fastrec import Bytes, _tensor

_WHOLE = re.compile(rb"\s*([+-]?)(\d+)\s*\Z")
_MOST_DIGITS = 20  # in an integer
_REAL = re.compile(
    rb"\s*([+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan))\s*\Z",
    re.IGNORECASE,
)
_NAN = re.compile(rb"\s*([+-]?nan)\(\w*\)\s*\Z", re.IGNORECASE)
_HEX = re.compile(
    rb"\s*([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?\s*\Z",
    re.IGNORECASE,
)


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


class NotANumber(ValueError):
    """The text is not a number, or not a number of the type."""


def numbers_of(texts: Bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the numbers that texts spell, as a vector of type `dtype`.

    Raises
    ------
    NotANumber
        If a text is not a number of the type. The first such text determines the error.
    """
    numbers, left = _tensor.read_numbers(texts.data, texts.offsets, dtype)
    for place in left.tolist():
        begin, end = texts.offsets[place : place + 2]
        numbers[place] = number_of(texts.data[begin:end].tobytes(), dtype)
    return numbers


def number_of(text: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the number that `text` spells, of type `dtype`.

    Raises
    ------
    NotANumber
        If the text is not a number of the type.
    """
    if dtype.kind in "iu":
        found = _WHOLE.match(text)
        least, most = _limits(dtype)
        if not found or (found[1] == b"-" and not least):
            raise NotANumber(text)
        digits = found[2].lstrip(b"0") or b"0"
        if len(digits) > _MOST_DIGITS or not least <= (number := int(found[1] + digits)) <= most:
            raise NotANumber(text)
        return dtype.type(number)
    if found := _REAL.match(text):
        digits = found[1].decode()
        return _rounded(float(digits), lambda: decimal.Decimal(digits), dtype)
    if found := _NAN.match(text):
        return dtype.type(float(found[1]))
    if found := _HEX.match(text):
        return _of_hex(found, dtype)
    raise NotANumber(text)


def _rounded(known: float, exact: Callable[[], Any], dtype: np.dtype[Any]) -> Any:
    """Round an exact number to a type; `known` is the nearest float64 to the exact number."""
    if dtype.itemsize == 8 or not math.isfinite(known):
        return dtype.type(known)
    with np.errstate(over="ignore", under="ignore"):
        number = dtype.type(known)
        higher = known > _edge(number)
        other = np.nextafter(number, dtype.type(math.inf if higher else -math.inf))
    if known != (_edge(number) + _edge(other)) / 2:
        return number
    more = exact()  # at the midpoint, the digits that `known` lost decide
    return other if more != known and (more > known) == higher else number


def _edge(number: Any) -> float:
    return float(number) if np.isfinite(number) else math.copysign(2.0**128, number)


def _of_hex(found: re.Match[bytes], dtype: np.dtype[Any]) -> Any:
    sign, whole, part, power = found.groups(b"")

    def exact() -> Fraction:
        size = Fraction(2) ** (int(power or 0) - 4 * len(part)) * int(whole + part, 16)
        return -size if sign == b"-" else size

    try:
        known = float.fromhex(found[0].decode())
    except OverflowError:
        known = -math.inf if sign == b"-" else math.inf
    return _rounded(known, exact, dtype)
