# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: conversions of text and bytes."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from .naming import renamed

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text; return bytes unchanged.

    Raises
    ------
    TypeError
        If the value is neither text nor bytes.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; return text unchanged.

    Raises
    ------
    TypeError
        If the value is neither text nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = renamed(as_text, "as_str")


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; convert anything else with ``str``."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path as text; return anything else unchanged."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> int | None:
    """Return the size of a dimension as a number."""
    found: int | None = getattr(dimension, "value", dimension)
    return found


def dimension_at_index(shape: Any, index: int) -> Any:
    """Return a dimension of a shape."""
    return None if shape.rank is None else shape[index]


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return False: serialized data never requires a later version."""
    return False
