# SPDX-License-Identifier: Apache-2.0
"""Strings: cut, joined, taken for numbers and the other way round."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, float32, int32, int64, string
from .._tf.errors import OutOfRangeError
from .._tf.kernels.numbers import NotANumber, number_of
from .._tf.ops.arithmetic import broadcast_sizes
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, pure
from .constants import constant_value, convert_to_tensor
from .graph import create_op
from .sparse import SparseTensor

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


def each(values: Array, function: Callable[[bytes], Any], dtype: Any = object) -> Array:
    """`function` of every element, in an array of the same shape."""
    result = np.empty(values.size, dtype=dtype)
    result[:] = [function(value) for value in values.reshape(-1).tolist()]
    return result.reshape(values.shape)


def mapped(
    type: str,
    function: Callable[[bytes], Any],
    input: Any,
    name: str | None,
    dtype: Any = string,
) -> Tensor:
    """`function` of every string."""
    tensor = convert_to_tensor(input, string)

    def kernel(values: Array) -> Array:
        return each(values, function, dtype.numpy)

    return pure(type, kernel, (tensor,), dtype, tensor.shape, name)


def _decoded(value: bytes, encoding: str, function: Callable[[str], str]) -> bytes:
    if encoding != "utf-8":
        raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
    return function(value.decode("utf-8", "replace")).encode()


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In small letters: of ASCII only, unless the encoding is ``utf-8``."""
    if encoding == "":
        return mapped("StringLower", bytes.lower, input, name)
    return mapped("StringLower", lambda s: _decoded(s, encoding, str.lower), input, name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In capital letters: of ASCII only, unless the encoding is ``utf-8``."""
    if encoding == "":
        return mapped("StringUpper", bytes.upper, input, name)
    return mapped("StringUpper", lambda s: _decoded(s, encoding, str.upper), input, name)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Without white space at either end."""
    return mapped("StringStrip", bytes.strip, input, name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Bytes, or characters if `unit` is ``UTF8_CHAR``."""
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be BYTE or UTF8_CHAR, not {unit!r}")
    function = len if unit == "BYTE" else lambda s: sum(byte & 0xC0 != 0x80 for byte in s)
    return mapped("StringLength", function, input, name, int32)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """In letters, digits, ``-`` and ``_``."""

    def function(value: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(value)
        return encoded if pad else encoded.rstrip(b"=")

    return mapped("EncodeBase64", function, input, name)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode strings that :func:`encode_base64` encoded."""

    def function(value: bytes) -> bytes:
        if not re.fullmatch(rb"[A-Za-z0-9_-]*={0,2}", value):
            raise invalid("Invalid character found in base64.")
        bare = value.rstrip(b"=")
        if len(bare) % 4 == 1:
            raise invalid("Base64 string length (mod 4) cannot be 1")
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))

    return mapped("DecodeBase64", function, input, name)


# Parts.


def string_split(
    source: Any = None,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string between any of the characters of `delimiter`, a row for each.

    An empty delimiter cuts between all bytes.
    """
    if result_type != "SparseTensor":
        raise NotImplementedError("fastrec.compat.v1 splits strings into a SparseTensor only")
    chosen = sep if delimiter is None else delimiter
    marks = " " if chosen is None else chosen
    marks = marks.encode() if isinstance(marks, str) else marks
    cut = re.compile(b"[" + re.escape(marks) + b"]") if marks else None

    def parts(value: bytes) -> list[bytes]:
        if cut is None:
            return [value[i : i + 1] for i in range(len(value))]
        found = cut.split(value) if value else []
        return [part for part in found if part] if skip_empty else found

    return _split(source, parts, name)


def split_v2(
    input: Any = None, sep: Any = None, maxsplit: int = -1, name: str | None = None, **others: Any
) -> SparseTensor:
    """The parts of each string between every `sep`, or where there is white space."""
    mark = sep.encode() if isinstance(sep, str) else sep or b""

    def parts(value: bytes) -> list[bytes]:
        return value.split(mark, maxsplit) if mark else value.split(None, maxsplit)

    return _split(input, parts, name)


def _split(source: Any, parts: Callable[[bytes], list[bytes]], name: str | None) -> SparseTensor:
    tensor = convert_to_tensor(source, string)

    def kernel(step: Any, values: Array) -> tuple[Array, ...]:
        if values.ndim != 1:
            raise invalid(f"input must be a vector, got shape: {in_messages(values.shape)}")
        rows = [parts(value) for value in values.tolist()]
        lengths = [len(row) for row in rows]
        indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        flat = np.empty(len(indices), dtype=object)
        flat[:] = [part for row in rows for part in row]
        sizes = np.array([len(rows), max(lengths, default=0)], dtype=np.int64)
        return np.array(indices, dtype=np.int64).reshape(-1, 2), flat, sizes

    outputs = [(int64, TensorShape([None, 2])), (string, TensorShape([None]))]
    op = create_op(
        "StringSplit", (tensor,), [*outputs, (int64, TensorShape([2]))], kernel, name=name
    )
    return SparseTensor(op.outputs[0], op.outputs[1], op.outputs[2])


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """`len` bytes from `pos` on; negative positions count from the end."""
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be BYTE or UTF8_CHAR, not {unit!r}")
    tensor = convert_to_tensor(input, string)
    first, count = convert_to_tensor(pos), convert_to_tensor(len)
    if first.dtype is not count.dtype:
        raise TypeError(
            f"Input 'len' of 'Substr' Op has type {count.dtype.name} that does not match type "
            f"{first.dtype.name} of argument 'pos'."
        )

    def kernel(values: Array, starts: Array, lengths: Array) -> Array:
        if starts.shape != lengths.shape:
            raise invalid("pos and len should have the same shape")
        try:
            whole = np.broadcast_arrays(values, starts, lengths)
        except ValueError:
            shapes = f"{in_messages(values.shape)} vs. {in_messages(starts.shape)}"
            raise invalid(f"Incompatible shapes: {shapes}") from None
        flat = zip(*(part.reshape(-1).tolist() for part in whole), strict=True)
        result = np.empty(whole[0].size, dtype=object)
        result[:] = [_part(v, p, n, i, unit) for i, (v, p, n) in enumerate(flat)]
        return result.reshape(whole[0].shape)

    shape = TensorShape(broadcast_sizes("Substr", [tensor, first]))
    return pure("Substr", kernel, (tensor, first, count), string, shape, name)


def _part(value: bytes, start: int, length: int, index: int, unit: str) -> bytes:
    text: Any = value if unit == "BYTE" else value.decode("utf-8", "surrogateescape")
    begin = start if start >= 0 else start + text.__len__()
    if not 0 <= begin <= text.__len__():
        what = f" {value!r}" if unit == "BYTE" else ""
        raise invalid(f"pos {start} out of range for string{what} at index {index}")
    part = text[begin:] if length < 0 else text[begin : begin + length]
    return bytes(part) if unit == "BYTE" else part.encode("utf-8", "surrogateescape")


def string_join(inputs: Sequence[Any], separator: Any = "", name: str | None = None) -> Tensor:
    """Strings one after the other, `separator` between them."""
    tensors = [convert_to_tensor(each, string) for each in inputs]
    between = separator.encode() if isinstance(separator, str) else separator

    def kernel(*parts: Array) -> Array:
        shaped = [part.shape for part in parts if part.ndim]
        for shape in shaped:
            if shape != shaped[0]:
                shapes = f"{in_messages(shaped[0])} vs. {in_messages(shape)}"
                raise invalid(f"Input shapes do not match: {shapes}")
        whole = np.broadcast_arrays(*parts) if parts else [np.full((), b"", object)]
        flat = zip(*(part.reshape(-1).tolist() for part in whole), strict=True)
        result = np.empty(whole[0].size, dtype=object)
        result[:] = [between.join(row) for row in flat]
        return result.reshape(whole[0].shape)

    shape = TensorShape([])
    for tensor in tensors:
        if tensor.shape.ndims != 0:
            shape = tensor.shape if shape.ndims == 0 else shape.merge_with(tensor.shape)
    return pure("StringJoin", kernel, tensors, string, shape, name)


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
    tensor = convert_to_tensor(inputs, string)
    chosen = reduction_indices if axis is None else axis
    keep, between = bool(keepdims or keep_dims), separator.encode()
    empty = isinstance(chosen, (list, tuple)) and not chosen
    given = (
        [] if chosen is None else [numbers_of(np.zeros(0, np.int32) if empty else chosen, "axis")]
    )

    def kernel(x: Array, *axes: Array) -> Array:
        # The first of several is joined first: it is the one that changes fastest.
        places = _joined_first(axes[0], x.ndim)[::-1] if axes else list(range(x.ndim))
        rest = [d for d in range(x.ndim) if d not in places]
        rows = x.transpose([*rest, *places]).reshape([*(x.shape[d] for d in rest), -1])
        flat = np.empty(int(np.prod(rows.shape[:-1])), dtype=object)
        flat[:] = [between.join(row) for row in rows.reshape(flat.size, -1).tolist()]
        sizes = [1 if d in places else n for d, n in enumerate(x.shape)]
        return flat.reshape(sizes if keep else rows.shape[:-1])

    rank = tensor.shape.ndims
    left: Any = None if rank is None else [1] * rank if keep else []
    if given:
        places = constant_value(given[0])
        left = None
        if places is not None and rank is not None:
            gone = {int(place) % max(rank, 1) for place in places.reshape(-1)}
            sizes = list(tensor.shape.sizes or ())
            left = [1 if d in gone else n for d, n in enumerate(sizes) if keep or d not in gone]
    known = TensorShape([] if not given and not keep else left)
    return pure("ReduceJoin", kernel, (tensor, *given), string, known, name)


def _joined_first(axes: Array, rank: int) -> list[int]:
    found: list[int] = []
    for axis in axes.reshape(-1).tolist():
        if not -rank <= axis < rank:
            text = f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            raise OutOfRangeError(None, None, text)
        found.append(axis % rank)
        if found.count(found[-1]) > 1:
            raise invalid(f"Duplicate reduction dimension {axis}")
    return found


# Numbers.

_SPELT = ("float32", "float64", "int32", "int64", "uint32", "uint64")


def string_to_number(
    string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None
) -> Tensor:
    """The numbers that strings spell.

    Raises
    ------
    InvalidArgumentError
        From running it, for a string that spells none.
    """
    dtype = as_dtype(out_type)
    if dtype.name not in _SPELT:
        raise TypeError(
            f"Value passed to parameter 'out_type' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(_SPELT)}"
        )

    def function(value: bytes) -> Any:
        try:
            return number_of(value, dtype.numpy)
        except NotANumber:
            text = value.decode("utf-8", "replace")
            raise invalid(f"StringToNumberOp could not correctly convert string: {text}") from None

    given = string_tensor if input is None else input
    return mapped("StringToNumber", function, given, name, dtype)


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
    tensor = convert_to_tensor(input)
    kind = tensor.dtype.numpy.kind
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if kind in "fc":
        letter = "e" if scientific else "g" if shortest else "f"
    else:
        if scientific or shortest or precision >= 0:
            raise invalid(f"{tensor.dtype.name} has no precision and no such notation")
        letter = "s" if kind in "bO" else "d"
    digits = f".{precision}" if precision >= 0 else ""
    spec = f"%{fill}{width if width >= 0 else ''}{digits}{letter}"

    def function(value: Any) -> bytes:
        if isinstance(value, bytes):
            padding = b" " * (width - len(value))
            return value + padding if fill == "-" else padding + value
        if kind == "b":
            return b"true" if value else b"false"
        if kind == "c":
            return f"({spec % value.real},{spec % value.imag})".encode()
        text: str = spec % value
        return text.encode()

    return pure("AsString", lambda x: each(x, function), (tensor,), string, tensor.shape, name)
