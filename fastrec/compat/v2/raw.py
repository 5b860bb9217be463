# SPDX-License-Identifier: Apache-2.0
"""Bytes as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec

from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype, short_name
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import convert_to_tensor
from .._tf.trace import Block, Op, run
from ._types import invalid_type

__all__ = ["decode_raw"]

_RAW_TYPES = "half float double int32 uint16 uint8 int16 int8 int64 complex64 complex128 bool"


def _decoded(strings: Any, *, dtype: Any, little_endian: bool, fixed: int | None) -> Any:
    if fixed is None:
        _check_sizes(strings, dtype)
    found = fastrec.decode_raw(
        strings if isinstance(strings, (bytes, fastrec.Bytes)) else _nested(strings),
        dtype,
        little_endian,
        fixed,
    )
    if fixed is not None and not found.size:
        return np.zeros((*found.shape[:-1], fixed // dtype.itemsize), dtype)
    return found if found.flags.writeable else found.copy()


def _nested(strings: Any) -> Any:
    return strings[()] if strings.ndim == 0 else strings


def _check_sizes(strings: Any, dtype: Any) -> None:
    """That all strings are alike, and whole; with TensorFlow's texts where not."""
    if isinstance(strings, bytes):
        sizes = np.array([len(strings)])
    elif isinstance(strings, fastrec.Bytes):
        sizes = np.diff(strings.offsets)
    else:
        sizes = np.array([len(each) for each in strings.reshape(-1).tolist()], np.int64)
    if not len(sizes):
        return
    if (sizes != sizes[0]).any():
        odd = int(np.argmax(sizes != sizes[0]))
        raise invalid(
            f"DecodeRaw requires input strings to all be the same size, but element {odd} has "
            f"size {sizes[0]} != {sizes[odd]}"
        )
    if sizes[0] % dtype.itemsize:
        raise invalid(
            f"Input to DecodeRaw has length {sizes[0]} that is not a multiple of {dtype.itemsize}, "
            f"the size of {short_name(as_dtype(dtype))}"
        )


def _decode_block(
    _: int, strings: Block, *, dtype: Any, little_endian: bool, fixed: int | None
) -> Any:
    if not isinstance(strings.value, fastrec.Bytes):
        return None
    if fixed is None:
        sizes = np.diff(strings.value.offsets)
        if not len(sizes) or (sizes != sizes[0]).any() or sizes[0] % dtype.itemsize:
            return None
    return fastrec.decode_raw(strings.value, dtype, little_endian, fixed)


def _decoded_spec(
    specs: list[TypeSpec], _: Any, *, dtype: Any, fixed: int | None, **__: Any
) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    count = None if fixed is None else fixed // dtype.itemsize
    return [TensorSpec(None if sizes is None else [*sizes, count], dtype)]


_DECODE_RAW = Op("DecodeRaw", _decoded, _decoded_spec, _decode_block, cheap=True)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Any:
    """Strings as the numbers whose bytes they are, along one more dimension."""
    dtype = as_dtype(out_type)
    if short_name(dtype) not in _RAW_TYPES.split() or (fixed_length and dtype.is_bool):
        raise invalid_type("out_type", dtype, ", ".join(_RAW_TYPES.split()))
    if fixed_length is not None and fixed_length % dtype.size:
        raise invalid(
            f"fixed_length ({fixed_length}) must be a multiple of the size of out_type "
            f"({dtype.size})"
        )
    if fixed_length is not None and fixed_length <= 0:
        raise invalid(f"fixed_length ({fixed_length}) must be greater than zero.")
    strings = convert_to_tensor(input_bytes, "string")
    return run(
        _DECODE_RAW,
        [strings],
        dtype=dtype.numpy,
        little_endian=bool(little_endian),
        fixed=fixed_length,
    )
