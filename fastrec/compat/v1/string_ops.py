# SPDX-License-Identifier: Apache-2.0
"""Strings: cut, joined, taken for numbers and the other way round."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, float32, int32, int64, string
from .._tf.errors import OutOfRangeError, UnimplementedError
from .._tf.kernels.numbers import NotANumber, number_of
from .._tf.ops.arithmetic import broadcast_sizes
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, numbers_of, pure
from .constants import constant_value, convert_to_tensor
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
    _check_unit(unit, "StringLength")
    function = len if unit == "BYTE" else lambda s: sum(byte & 0xC0 != 0x80 for byte in s)
    return mapped("StringLength", function, input, name, int32)


def _check_unit(unit: str, type: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(
            f"Value for attr 'unit' of \"{unit}\": Attr 'unit' of '{type}' Op passed string "
            f'\'{unit}\' not in: "BYTE", "UTF8_CHAR".'
        )


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
        if bare != value and len(value) % 4:
            raise invalid(f"Base64 string length with padding must be 0 modulo 4, got {len(value)}")
        if len(bare) % 4 == 1:
            raise invalid(f"Base64 string length cannot be 1 modulo 4, got {len(bare)}")
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

    rows = _split("StringSplit", convert_to_tensor(source, string), marks, split, name)
    return _of_result_type(rows, result_type)


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
    split = functools.partial(split_at, most=maxsplit)
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
        rows = [parts(value, mark) for value in values.tolist()]
        flat = np.empty(sum(map(len, rows)), dtype=object)
        flat[:] = [part for row in rows for part in row]
        return flat, np.cumsum([0, *map(len, rows)], dtype=np.int64)

    count = strings.shape.num_elements()
    outputs = [(string, [None]), (int64, [None if count is None else count + 1])]
    op = create_op(type, (strings, marks), outputs, kernel, name=name)
    return RaggedTensor(op.outputs[0], op.outputs[1])


def _of_result_type(rows: RaggedTensor, wanted: str) -> Any:
    if wanted not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be one of 'SparseTensor' or 'RaggedTensor'.")
    return rows if wanted == "RaggedTensor" else rows.to_sparse()


def split_at(text: bytes, sep: bytes, most: int = -1) -> list[bytes]:
    """As TensorFlow splits: what is left after `most` parts is one more, even if it is empty."""
    if most == 0:
        return [text]
    if sep:
        return text.split(sep, most)
    found = text.lstrip(_SPACE).split(None, most)
    return [*found, b""] if most > 0 and len(found) == most else found


_SPACE = b" \t\n\v\f\r"


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """`len` bytes from `pos` on; negative positions count from the end."""
    _check_unit(unit, "Substr")
    tensor = convert_to_tensor(input, string)
    first, count = convert_to_tensor(pos), convert_to_tensor(len)
    if not first.shape.is_compatible_with(count.shape):
        raise ValueError(
            f"Shapes of pos and len must be equal, got {first.shape} and {count.shape} for 'Substr'"
        )
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
        if whole[0].ndim > 2 and starts.ndim and values.shape != starts.shape:
            text = f"Substr broadcast not implemented for {whole[0].ndim} dimensions"
            raise UnimplementedError(None, None, text)
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
            if shape.ndims and not shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Input shapes do not match: {shape} and {tensor.shape} for 'StringJoin'"
                )
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
        outer = [x.shape[d] for d in rest]
        count = int(np.prod([x.shape[d] for d in places]))
        rows = x.transpose([*rest, *places]).reshape([*outer, count])
        flat = np.empty(int(np.prod(rows.shape[:-1])), dtype=object)
        flat[:] = [between.join(row) for row in rows.reshape(flat.size, count).tolist()]
        sizes = [1 if d in places else n for d, n in enumerate(x.shape)]
        return flat.reshape(sizes if keep else rows.shape[:-1])

    rank = tensor.shape.ndims
    left: Any = None if rank is None else [1] * rank if keep else []
    if given:
        places = constant_value(given[0])
        left = None
        if places is not None and rank is not None:
            for place in places.reshape(-1).tolist():
                if not -rank <= place < rank:
                    raise ValueError(
                        f"Invalid reduction dimension {place} for input with {rank} dimension(s)"
                    )
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
    """The numbers that strings spell."""
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
    kind = "f" if tensor.dtype.is_floating else tensor.dtype.numpy.kind
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise invalid(f"Fill string must be one or fewer characters, got {fill!r}")
    if kind in "fc":
        letter = "e" if scientific else "g" if shortest else "f"
    else:
        name_ = tensor.dtype.name
        if scientific or shortest:
            raise invalid(f"scientific and shortest format not supported for datatype {name_}")
        if precision >= 0:
            raise invalid(f"precision not supported for datatype {name_}")
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
