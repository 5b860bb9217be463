# SPDX-License-Identifier: Apache-2.0
"""Bytes as numbers."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import as_dtype, short_name
from .._tf.ops import invalid
from .._tf.ops.raw import DECODE_RAW, RAW_TYPES
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from ._eager import refused_type

__all__ = ["decode_raw"]


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Any:
    """Strings as the numbers whose bytes they are, along one more dimension."""
    dtype = as_dtype(out_type)
    if short_name(dtype) not in RAW_TYPES.split() or (fixed_length and dtype.is_bool):
        raise refused_type("", "out_type", dtype, RAW_TYPES.split())
    if fixed_length is not None and fixed_length % dtype.size:
        raise invalid(
            f"fixed_length ({fixed_length}) must be a multiple of the size of out_type "
            f"({dtype.size})"
        )
    if fixed_length is not None and fixed_length <= 0:
        raise invalid(f"fixed_length ({fixed_length}) must be greater than zero.")
    how: dict[str, Any] = {"little_endian": bool(little_endian), "fixed_length": fixed_length}
    return run(DECODE_RAW, [convert_to_tensor(input_bytes, "string")], out_type=dtype, **how)
