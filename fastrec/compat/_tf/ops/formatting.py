# SPDX-License-Identifier: Apache-2.0
"""Format tensors as text, abbreviated as TensorFlow prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..specs import TensorSpec
from ..tensor import as_array
from . import Array, Op

__all__ = ["FORMAT", "escaped"]

# The formats for a number, by its size in bytes. The second one is exact, and is used if the first
# one has too few digits to restore the number.
_DIGITS = {4: ("%.6g", "%.9g"), 8: ("%.15g", "%.17g")}
_ESCAPES = {ord(a): f"\\{b}".encode() for a, b in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)}


def escaped(text: bytes) -> bytes:
    """Escape a string as TensorFlow displays it, without quotes."""
    found = [
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte < 0x20 or byte == 0x7F else bytes([byte]))
        for byte in text
    ]
    return b"".join(found)


def _printer(array: Array) -> Callable[[Any], bytes]:
    """Return a function that formats an element."""
    kind = array.dtype.kind
    if kind == "O":
        return lambda value: b'"%s"' % escaped(value)
    if kind in "iub":
        return lambda value: b"%d" % value
    if kind == "c":
        return lambda _: b"?"
    # Shorter floats are converted to float32.
    number = np.float64 if array.dtype == np.float64 else np.float32
    short, long = _DIGITS[number().itemsize]

    def text(value: Any) -> bytes:
        exact = number(value)
        found = short % exact
        return (found if number(found) == exact or exact != exact else long % exact).encode()

    return text


def _summary(array: Array, most: int) -> bytes:
    """Format an array; at most `most` elements at each end of an axis are shown."""
    limit = array.size if most < 0 else min(most, array.size)
    text, rank = _printer(array), array.ndim
    if not rank:
        return text(array[()]) if limit else b"..."

    def shown(part: Array, depth: int) -> bytes:
        if depth == rank:
            return text(part[()] if isinstance(part, np.ndarray) else part)
        count = len(part)
        places = [*range(min(limit, count)), *range(max(limit, count - limit), count)]
        items = [shown(part[place], depth + 1) for place in places]
        if count > 2 * limit:
            items.insert(limit, b"...")
            if not limit:
                items.insert(0, b"")
        space = b" " if depth == rank - 1 else b"\n" * (rank - depth - 1) + b" " * (depth + 1)
        return b"[%s]" % space.join(items)

    return shown(array, 0)


def _formatted(*values: Any, template: bytes, placeholder: bytes, summarize: int) -> Array:
    first, *others = template.split(placeholder)
    texts = [_summary(as_array(value), summarize) for value in values]
    parts = [part for pair in zip(texts, others, strict=True) for part in pair]
    return np.array(b"".join([first, *parts]), object)


FORMAT = Op("StringFormat", _formatted, lambda *_, **__: [TensorSpec([], "string")])
