# SPDX-License-Identifier: Apache-2.0
"""Strings: cut, joined, taken for numbers and the other way round."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, float32, int64, string
from .._tf.ops import strings as rows
from .._tf.shape import in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, numbers_of, pure, record
from .constants import convert_to_tensor
from .graph import create_op
from .ragged import RaggedTensor

__all__ = [
    "as_string",
    "decode_base64",
    "encode_base64",
    "reduce_join",
    "string_join",
    "string_length",
    "string_lower",
    "string_split",
    "string_strip",
    "string_to_number",
    "string_upper",
    "substr",
]


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In small letters: of ASCII only, unless the encoding is ``utf-8``."""
    return record(rows.LOWER, (convert_to_tensor(input, string),), name, encoding=encoding)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In capital letters: of ASCII only, unless the encoding is ``utf-8``."""
    return record(rows.UPPER, (convert_to_tensor(input, string),), name, encoding=encoding)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Without white space at either end."""
    return record(rows.STRIP, (convert_to_tensor(input, string),), name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Bytes, or characters if `unit` is ``UTF8_CHAR``."""
    _check_unit(unit, "StringLength")
    return record(rows.LENGTH, (convert_to_tensor(input, string),), name, unit=unit)


def _check_unit(unit: str, type: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(
            f"Value for attr 'unit' of \"{unit}\": Attr 'unit' of '{type}' Op passed string "
            f'\'{unit}\' not in: "BYTE", "UTF8_CHAR".'
        )


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """In letters, digits, ``-`` and ``_``."""
    return record(rows.ENCODE_BASE64, (convert_to_tensor(input, string),), name, pad=pad)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode strings that :func:`encode_base64` encoded."""
    return record(rows.DECODE_BASE64, (convert_to_tensor(input, string),), name)


# Parts.


def string_split(
    source: Any = None,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of each string between any of the characters of `delimiter`, a row for each.

    An empty delimiter cuts between all bytes.
    """
    chosen = delimiter if sep is None else sep
    marks = convert_to_tensor(" " if chosen is None else chosen, string)
    if marks.shape.ndims not in (0, None):
        raise ValueError(
            f"delimiter must be a scalar. Received: rank {marks.shape.ndims} for 'StringSplit'"
        )

    def split(value: bytes, between: bytes) -> list[bytes]:
        if not between:
            return [value[i : i + 1] for i in range(len(value))]
        cut = re.compile(b"[" + re.escape(between) + b"]")
        found = cut.split(value) if value else []
        return [part for part in found if part] if skip_empty else found

    found = _split("StringSplit", convert_to_tensor(source, string), marks, split, name)
    return _of_result_type(found, result_type)


def split_v2(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The parts of each string between every `sep`, or where there is white space."""
    given = source if input is None else input
    strings = given if isinstance(given, RaggedTensor) else convert_to_tensor(given, string)
    if strings.shape.ndims is None:
        raise ValueError("Rank of input must be known.")
    if strings.shape.ndims == 0:
        strings = operators["stack"]([strings], string, None)
    marks = convert_to_tensor("" if sep is None else sep, string)
    split = functools.partial(rows.parts, most=maxsplit)
    return _of_result_type(_split_all(strings, marks, split, name), result_type)


def _split_all(strings: Any, marks: Tensor, split: _Parts, name: str | None) -> RaggedTensor:
    """The parts of each string, in rows of one dimension more."""
    if isinstance(strings, RaggedTensor):
        return strings.with_flat_values(_split_all(strings.flat_values, marks, split, name))
    if strings.shape.ndims == 1:
        return _split("StringSplitV2", strings, marks, split, name)

    def rows_of(values: Array) -> Any:
        return np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]

    def joined(values: Any) -> Any:
        return values.reshape(-1, *values.shape[2:])

    sizes = strings.shape.sizes
    splits = pure("RowSplits", rows_of, (strings,), int64, [None if not sizes[0] else sizes[0] + 1])
    inner = pure("Reshape", joined, (strings,), string, [None, *sizes[2:]])
    return RaggedTensor(_split_all(inner, marks, split, name), splits)


_Parts = Callable[[bytes, bytes], list[bytes]]


def _split(
    type: str, strings: Tensor, marks: Tensor, parts: _Parts, name: str | None
) -> RaggedTensor:
    if strings.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {strings.shape.ndims} for '{type}'")

    def kernel(step: Any, values: Array, between: Array) -> tuple[Array, ...]:
        if values.ndim != 1:
            raise invalid(f"input must be a vector, got shape: {in_messages(values.shape)}")
        if between.ndim:
            raise invalid(f"delimiter must be a scalar, got shape: {in_messages(between.shape)}")
        mark: Any = between[()]
        return rows.in_rows([parts(value, mark) for value in values.tolist()])

    count = strings.shape.num_elements()
    outputs = [(string, [None]), (int64, [None if count is None else count + 1])]
    op = create_op(type, (strings, marks), outputs, kernel, name=name)
    return RaggedTensor(op.outputs[0], op.outputs[1])


def _of_result_type(rows: RaggedTensor, wanted: str) -> Any:
    if wanted not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be one of 'SparseTensor' or 'RaggedTensor'.")
    return rows if wanted == "RaggedTensor" else rows.to_sparse()


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """`len` bytes from `pos` on; negative positions count from the end."""
    _check_unit(unit, "Substr")
    first, count = convert_to_tensor(pos), convert_to_tensor(len)
    if first.dtype is not count.dtype:
        raise TypeError(
            f"Input 'len' of 'Substr' Op has type {count.dtype.name} that does not match type "
            f"{first.dtype.name} of argument 'pos'."
        )
    inputs = (convert_to_tensor(input, string), first, count)
    return record(rows.SUBSTR, inputs, name, unit=unit)


def string_join(inputs: Sequence[Any], separator: Any = "", name: str | None = None) -> Tensor:
    """Strings one after the other, `separator` between them."""
    tensors = [convert_to_tensor(each, string) for each in inputs]
    between = separator.encode() if isinstance(separator, str) else separator
    return record(rows.JOIN, tensors, name, separator=between)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The strings along some dimensions, one after the other."""
    tensors = [convert_to_tensor(inputs, string)]
    chosen = reduction_indices if axis is None else axis
    if chosen is not None:
        empty = isinstance(chosen, (list, tuple)) and not chosen
        tensors.append(numbers_of(np.zeros(0, np.int32) if empty else chosen, "axis"))
    keep, between = bool(keepdims or keep_dims), separator.encode()
    return record(rows.REDUCE_JOIN, tensors, name, keep_dims=keep, separator=between)


def string_to_number(
    string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None
) -> Tensor:
    """The numbers that strings spell."""
    dtype = as_dtype(out_type)
    if dtype.name not in rows.SPELT:
        raise TypeError(
            f"Value passed to parameter 'out_type' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(rows.SPELT)}"
        )
    given = convert_to_tensor(string_tensor if input is None else input, string)
    return record(rows.TO_NUMBER, (given,), name, out_type=dtype)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as C's ``printf`` writes them."""
    how: dict[str, Any] = {"precision": precision, "scientific": scientific}
    how |= {"shortest": shortest, "width": width, "fill": fill}
    return record(rows.AS_STRING, (convert_to_tensor(input),), name, **how)
