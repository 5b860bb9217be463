# SPDX-License-Identifier: Apache-2.0
"""Interpret bytes as numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import ExampleParseError
from fastrec.columns import Arrays

from ..columns import arrays_of, flat_values
from ..dtypes import DType, as_dtype, short_name
from ..errors import translated
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, invalid

#: In TensorFlow's order.
RAW_TYPES = [
    *("float16", "float32", "float64", "int32", "uint16", "uint8"),
    *("int16", "int8", "int64", "complex64", "complex128", "bool"),
]
_LITTLE = sys.byteorder == "little"


def _why_not(values: Any, dtype: np.dtype[Any]) -> str:
    sizes = [len(value) for value in as_array(values).reshape(-1).tolist()]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            return (
                f"DecodeRaw requires input strings to all be the same size, but element {i} has "
                f"size {sizes[0]} != {size}"
            )
    return (
        f"Input to DecodeRaw has length {sizes[0]} that is not a multiple of {dtype.itemsize}, the "
        f"size of {short_name(as_dtype(dtype))}"
    )


def raw_array(
    values: Any, dtype: np.dtype[Any], little_endian: bool = True, fixed: int | None = None
) -> Array:
    """Decode bytes to an array with one more dimension, which may be a view of the bytes.

    Raises
    ------
    InvalidArgumentError
        If strings differ in size, or if their size is not a multiple of the element size.
    """
    data = values[()] if isinstance(values, np.ndarray) and not values.ndim else values
    if isinstance(data, bytes) and fixed is None and little_endian is _LITTLE and dtype.kind != "b":
        if len(data) % dtype.itemsize == 0:
            return np.frombuffer(data, dtype)
    elif not isinstance(data, bytes) and 0 in data.shape:
        return np.zeros((*data.shape, (fixed or 0) // dtype.itemsize), dtype)
    try:
        return fastrec.decode_raw(data, dtype, little_endian, fixed)
    except ExampleParseError as error:
        raise translated(error, _why_not(values, dtype)) from error


def _check_length(length: int | None, out_type: DType) -> None:
    if length is not None and length % out_type.size:
        raise invalid(
            f"fixed_length ({length}) must be a multiple of the size of out_type ({out_type.size})"
        )
    if length is not None and length <= 0:
        raise invalid(f"fixed_length ({length}) must be greater than zero.")


def _decode(x: Any, *, out_type: DType, little_endian: bool, fixed_length: int | None) -> Array:
    _check_length(fixed_length, out_type)
    found = raw_array(x, out_type.numpy, little_endian, fixed_length)
    return found if found.flags.writeable else found.copy()


def _spec(
    specs: Sequence[Any], *_: Any, out_type: DType, fixed_length: int | None, **__: Any
) -> list[TypeSpec]:
    _check_length(fixed_length, out_type)
    sizes = specs[0].shape.sizes
    count = None if fixed_length is None else fixed_length // out_type.size
    return [TensorSpec(None if sizes is None else [*sizes, count], out_type)]


def _block(
    _: int, x: Block, *, out_type: DType, little_endian: bool, fixed_length: int | None
) -> Any:
    strings, dtype = x.value, out_type.numpy
    if x.many and isinstance(strings, fastrec.Ragged) and isinstance(strings.values, fastrec.Bytes):
        return _of_rows(strings, dtype, little_endian, fixed_length)
    if not x.many or not isinstance(strings, fastrec.Bytes) or not len(strings):
        return None
    sizes = np.diff(strings.offsets)
    if fixed_length is None and (sizes % dtype.itemsize).any():
        return None  # processing the elements one by one finds the error
    if fixed_length is not None or (sizes == sizes[0]).all():
        return fastrec.decode_raw(strings, dtype, little_endian, fixed_length)
    if strings.shape != (len(strings),) or dtype.kind == "b" or little_endian is not _LITTLE:
        return None
    begin, end = strings.offsets[[0, -1]].tolist()
    values = np.require(strings.data[begin:end].view(dtype), requirements="A")
    return fastrec.Ragged(values, (strings.offsets - begin) // dtype.itemsize)


def _of_rows(
    rows: fastrec.Ragged, dtype: np.dtype[Any], little_endian: bool, fixed: int | None
) -> Arrays | None:
    """Decode rows of strings of one size to arrays of two dimensions."""
    strings = flat_values(rows)
    sizes = np.diff(strings.offsets)
    if len(strings.shape) != 1 or not len(strings):
        return None
    if fixed is None and ((sizes != sizes[0]).any() or sizes[0] % dtype.itemsize):
        return None  # processing the elements one by one finds the error
    found = fastrec.decode_raw(strings, dtype, little_endian, fixed)
    arrays = arrays_of(found, rows.row_splits - rows.row_splits[0])
    if fixed is None:
        # Without a string, the number of elements in a string is unknown.
        arrays.shapes[arrays.shapes[:, 0] == 0] = 0
    return arrays


DECODE_RAW = Op("DecodeRaw", _decode, _spec, _block, cheap=True)
