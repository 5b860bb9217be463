# SPDX-License-Identifier: Apache-2.0
"""Bytes as numbers, and lines of text as fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._nodes import Tensor
from .parsing_ops import parsers

__all__ = ["decode_csv", "decode_raw"]


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
    *,
    fixed_length: int | None = None,
) -> Tensor:
    """Bytes as the elements of arrays, which get one more dimension."""
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    given = bytes if input_bytes is None else input_bytes
    found: Tensor = parsers.decode_raw(given, out_type, little_endian, fixed_length, name)
    return found


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Lines of comma-separated values as one tensor a column."""
    return parsers.decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name
    )
