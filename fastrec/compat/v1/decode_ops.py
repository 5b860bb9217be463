# SPDX-License-Identifier: Apache-2.0
"""Decode bytes as numbers, and lines of text as fields."""

from __future__ import annotations

from typing import Any

from ._nodes import Tensor
from .parsing_ops import parsers

__all__ = ["decode_csv", "decode_raw"]

decode_csv = parsers.decode_csv


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
    *,
    fixed_length: int | None = None,
) -> Tensor:
    """Decode bytes as the elements of arrays, which adds one dimension."""
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    given = bytes if input_bytes is None else input_bytes
    found: Tensor = parsers.decode_raw(given, out_type, little_endian, fixed_length, name)
    return found
