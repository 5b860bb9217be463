# SPDX-License-Identifier: Apache-2.0
"""Bytes as numbers, and lines of text as fields."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, string
from .._tf.kernels.csv import Field, read_lines
from .._tf.ops.raw import DECODE_RAW
from ._nodes import Tensor
from ._ops import Array, record
from .constants import convert_to_tensor
from .graph import create_op

__all__ = ["decode_csv", "decode_raw"]

_RAW = [
    *("float16", "float32", "float64", "int32", "uint16", "uint8"),
    *("int16", "int8", "int64", "complex64", "complex128", "bool"),
]


_COLUMNS = ["float32", "float64", "int32", "int64", "string"]


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
    tensor = convert_to_tensor(bytes if input_bytes is None else input_bytes, string)
    dtype = as_dtype(out_type)
    if dtype.name not in _RAW:
        raise TypeError(
            f"Value passed to parameter 'out_type' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(_RAW)}"
        )

    if fixed_length is not None and (fixed_length <= 0 or fixed_length % dtype.size):
        raise ValueError(
            f"fixed_length ({fixed_length}) must be a multiple of the size of out_type "
            f"({dtype.size}), and greater than zero"
        )
    how: dict[str, Any] = {"little_endian": little_endian, "fixed_length": fixed_length}
    return record(DECODE_RAW, (tensor,), name, out_type=dtype, **how)


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
    tensor = convert_to_tensor(records, string, "records")
    if not isinstance(record_defaults, (list, tuple)):
        raise TypeError(
            f"Expected list for 'record_defaults' argument to 'decode_csv' Op, not "
            f"{record_defaults!r}."
        )
    fields = [_field(default) for default in record_defaults]
    if not fields:
        raise ValueError("record_defaults must have a default for one column at least")
    if len(field_delim.encode()) != 1:
        raise ValueError("field_delim should be only 1 char")
    columns = None if select_cols is None else list(select_cols)
    if columns is not None and len(columns) != len(fields):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    if columns and columns[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if columns is not None and any(a >= b for a, b in pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")

    def kernel(step: Any, lines: Array) -> tuple[Array, ...]:
        found = read_lines(
            lines.reshape(-1).tolist(),
            fields,
            field_delim.encode(),
            use_quote_delim,
            na_value.encode(),
            columns,
        )
        return tuple(column.reshape(lines.shape) for column in found)

    outputs = [(as_dtype(field.dtype), tensor.shape) for field in fields]
    op = create_op("DecodeCSV", (tensor,), outputs, kernel, name=name)
    return list(op.outputs)


def _field(default: Any) -> Field:
    from .constants import constant_value

    if isinstance(default, (DType, np.dtype, type)):  # and no number, which is a default
        return Field(as_dtype(default).numpy, None)
    found = constant_value(default) if isinstance(default, Tensor) else make_array(default)
    if found is not None and found.ndim > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {found.ndim} for 'DecodeCSV'")
    if found is None or found.size > 1:
        raise ValueError("each of record_defaults must be a constant of at most one element")
    if as_dtype(found.dtype).name not in _COLUMNS:
        raise TypeError(
            f"Value passed to parameter 'record_defaults' has DataType "
            f"{as_dtype(found.dtype).name} not in list of allowed values: {', '.join(_COLUMNS)}"
        )
    return Field(found.dtype, found.reshape(-1)[0] if found.size else None)
