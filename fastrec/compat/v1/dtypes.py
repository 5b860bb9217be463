# SPDX-License-Identifier: Apache-2.0
"""``tf.dtypes``: the types of elements."""

from __future__ import annotations

from typing import Any

from .._tf import dtypes as _dtypes
from . import _missing, math_ops, string_ops

DType = _dtypes.DType
as_dtype = _dtypes.as_dtype
bool = _dtypes.bool_
complex64 = _dtypes.complex64
complex128 = _dtypes.complex128
double = _dtypes.float64
float16 = _dtypes.float16
float32 = _dtypes.float32
float64 = _dtypes.float64
half = _dtypes.float16
int8 = _dtypes.int8
int16 = _dtypes.int16
int32 = _dtypes.int32
int64 = _dtypes.int64
resource = _dtypes.resource
string = _dtypes.string
uint8 = _dtypes.uint8
uint16 = _dtypes.uint16
uint32 = _dtypes.uint32
uint64 = _dtypes.uint64
cast = math_ops.cast
saturate_cast = math_ops.saturate_cast
as_string = string_ops.as_string


def __getattr__(name: str) -> Any:
    raise _missing.error("dtypes", name)
