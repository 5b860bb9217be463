# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: text and bytes under both Pythons."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from . import _missing

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text encoded; bytes as they are.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes decoded; text as it is.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Bytes decoded; anything else as ``str`` makes it."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path as text."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def __getattr__(name: str) -> Any:
    if name == "v1":
        import importlib

        return importlib.import_module("fastrec.compat.v1")
    raise _missing.error("compat", name)
