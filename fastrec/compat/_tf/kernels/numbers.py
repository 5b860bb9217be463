# SPDX-License-Identifier: Apache-2.0
"""Numbers out of text, as TensorFlow's own functions find them."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

__all__ = ["NotANumber", "digits_of", "number_of", "numbers_of"]

_FITTING_DIGITS = 9  # which are a number of every type
_TENS = 10 ** np.arange(_FITTING_DIGITS)

_WHOLE = re.compile(rb"\s*[+-]?\d+\s*\Z")
_REAL = re.compile(
    rb"\s*[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)\s*\Z",
    re.IGNORECASE,
)

_HEX = re.compile(rb"\s*[+-]?0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[+-]?\d{1,5})?\s*\Z", re.IGNORECASE)


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


class NotANumber(ValueError):
    """The text is none, or not one of the type."""


def numbers_of(texts: list[bytes], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """The numbers that texts spell; None unless each is plain, and there are some."""
    whole = b" ".join(texts)
    if not texts or not all(texts):
        return None
    if dtype.kind in "iu":
        plain = not whole.translate(None, b"0123456789 ") and whole.count(b" ") == len(texts) - 1
        fits = max(map(len, texts)) <= _FITTING_DIGITS
        return np.array(list(map(int, texts)), dtype) if plain and fits else None
    if dtype.kind != "f" or whole.translate(None, b"0123456789+-.eE "):
        return None
    try:
        with np.errstate(over="ignore"):
            return np.array(list(map(float, texts)), dtype)
    except ValueError:
        return None


def digits_of(
    data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any] | None:
    """The integers that texts spell; None unless each has digits and nothing else, and not many.

    Parameters
    ----------
    data : ndarray of uint8
        The texts, one after the other.
    offsets : ndarray of int64
        Where each begins, and where the last ends.
    """
    sizes = np.diff(offsets)
    if dtype.kind not in "iu" or not sizes.size:
        return None
    if sizes.min() < 1 or sizes.max() > _FITTING_DIGITS:
        return None
    digits = data[offsets[0] : offsets[-1]] - np.uint8(ord("0"))
    if digits.max() > 9:
        return None
    begins = offsets[:-1] - offsets[0]
    place = np.repeat(begins + sizes - 1, sizes) - np.arange(len(digits))
    return np.add.reduceat(digits * _TENS[place], begins).astype(dtype)


def number_of(text: bytes, dtype: np.dtype[Any]) -> Any:
    """The number that `text` spells, of type `dtype`.

    Raises
    ------
    NotANumber
        When it spells none, or none that the type has.
    """
    if dtype.kind in "iu":
        if not _WHOLE.match(text):
            raise NotANumber(text)
        number = int(text)
        least, most = _limits(dtype)
        if not least <= number <= most:
            raise NotANumber(text)
        return dtype.type(number)
    if not _REAL.match(text):
        if _HEX.match(text):
            return _of_hex(text, dtype)
        raise NotANumber(text)
    return dtype.type(float(text))


def _of_hex(text: bytes, dtype: np.dtype[Any]) -> Any:
    try:
        return dtype.type(float.fromhex(text.decode()))
    except OverflowError:
        return dtype.type(-np.inf if b"-" in text.partition(b"0")[0] else np.inf)
