# SPDX-License-Identifier: Apache-2.0
"""Tensors as ``TensorProto``: bytes as of ``tf.io.serialize_tensor``, and messages with fields."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from fastrec.records.content.arrays import decode_tensor
from fastrec.records.content.messages import message_fields

from .dtypes import DType, as_dtype, short_name
from .errors import invalid
from .tensor import convert_to_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MOST_ELEMENTS = 2**31


def varint(value: int) -> bytes:
    """Encode a number of up to 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def shape_field(sizes: Iterable[int | None]) -> bytes:
    """Encode a shape, with -1 for unknown sizes."""
    known = [-1 if size is None else size for size in sizes]
    return b"".join(field(2, b"\x08" + varint(size) if size else b"") for size in known)


@functools.lru_cache(256)
def _head(dtype: int, sizes: tuple[int, ...]) -> bytes:
    """Encode the type and the shape of a tensor."""
    return b"\x08" + varint(dtype) + field(2, shape_field(sizes))


@functools.lru_cache(256)
def _before_content(dtype: int, sizes: tuple[int, ...], size: int) -> bytes:
    """Encode what precedes `size` bytes of elements."""
    return _head(dtype, sizes) + (varint(4 << 3 | 2) + varint(size) if size else b"")


def _content(array: NDArray[Any], dtype: DType) -> bytes:
    """Return the elements as bytes, in the order of messages."""
    return np.ascontiguousarray(array).astype(dtype.numpy.newbyteorder("<"), copy=False).tobytes()


def contents_of(array: NDArray[Any], dtype: DType, ends: Sequence[int]) -> list[bytes]:
    """Encode the rows of a tensor between each two `ends`, as :func:`content_of` does."""
    parts = list(itertools.pairwise(ends))
    if dtype.name == "string":
        return [content_of(array[a:b], dtype) for a, b in parts]
    content, kind, sizes = _content(array, dtype), int(dtype), array.shape[1:]
    width = len(content) // max(len(array), 1)
    return [
        _before_content(kind, (b - a, *sizes), (b - a) * width) + content[a * width : b * width]
        for a, b in parts
    ]


def content_of(array: NDArray[Any], dtype: DType) -> bytes:
    """Encode the elements of a tensor as bytes; strings follow all of their lengths."""
    if dtype.name != "string":
        return serialize(array, dtype)
    head = _head(int(dtype), array.shape)
    texts = array.reshape(-1).tolist()
    content = b"".join(varint(len(each)) for each in texts) + b"".join(texts)
    return head + (field(4, content) if content else b"")


def serialize(array: NDArray[Any], dtype: DType) -> bytes:
    """Encode a tensor, with its elements as bytes."""
    if dtype.name == "string":
        texts = array.reshape(-1).tolist()
        return _head(int(dtype), array.shape) + b"".join([field(8, each) for each in texts])
    content = _content(array, dtype)
    return _before_content(int(dtype), array.shape, len(content)) + content


class Malformed(ValueError):
    """Raised for bytes that are not such a message."""


UNREADABLE = (ValueError, MemoryError)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: integers, and bytes for fields with a size.

    Raises
    ------
    ValueError
        If the message is malformed.
    """
    for number, _, value in message_fields(data):
        yield number, value if isinstance(value, int) else bytes(value)


def signed(value: int) -> int:
    """Convert an unsigned 64-bit number to the signed number with the same bits."""
    return value - (1 << 64) if value >> 63 else value


def shape_sizes(data: bytes, unknown: bool = False) -> list[int]:
    """Return the sizes in a message; -1 is allowed only if sizes may be `unknown`."""
    sizes = []
    for number, dim in fields(data):
        if number == 2:
            size = 0
            for place, value in fields(dim):
                size = signed(value) if place == 1 else size
            sizes.append(size)
    if not unknown and (min(sizes, default=0) < 0 or math.prod(sizes) > _MOST_ELEMENTS):
        raise Malformed
    return sizes


def decode(data: bytes) -> NDArray[Any]:
    """Decode a tensor of any type.

    Raises
    ------
    UNREADABLE
        If the message is malformed.
    """
    array = decode_tensor(data, _MOST_ELEMENTS)
    if array.size > _MOST_ELEMENTS:
        raise Malformed
    return array if array.flags.writeable else array.astype(array.dtype.newbyteorder("="))


# The beginning, type and shape of a message, by its first two bytes (the type) and its size.
_KNOWN: dict[tuple[bytes, int], tuple[bytes, np.dtype[Any], tuple[int, ...]]] = {}
_MOST_KNOWN = 1024


def decode_alike(data: bytes) -> NDArray[Any]:
    """Decode a tensor, which may be read-only.

    The type and shape are parsed only once for messages of one size that begin with the same bytes.

    Raises
    ------
    UNREADABLE
        If the message is malformed.
    """
    key = data[:2], len(data)
    known = _KNOWN.get(key)
    if known is not None and data.startswith(known[0]):
        begin, dtype, shape = known
        return np.frombuffer(data, dtype, offset=len(begin)).reshape(shape)
    array = decode(data)
    if array.size and not array.dtype.hasobject and sys.byteorder == "little":
        begin = data[: len(data) - array.nbytes]
        if begin == _before_content(int(as_dtype(array.dtype)), array.shape, array.nbytes):
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = begin, array.dtype, array.shape
    return array


def parse(data: bytes, dtype: DType) -> NDArray[Any]:
    """Decode a tensor of a given type.

    Raises
    ------
    InvalidArgumentError
        If the message is malformed, or has another type.
    """
    try:
        array = decode(data)
    except UNREADABLE as error:
        import base64

        shown = base64.b64encode(data).decode()
        shown = shown if len(shown) <= 64 else shown[:64] + "..."
        text = f"Could not parse `serialized` as TensorProto, base64: {shown}"
        raise invalid(text) from error
    found = as_dtype(array.dtype)
    if found != dtype:
        names = short_name(found), short_name(dtype)
        text = "Type mismatch between parsed tensor ({}) and dtype ({})".format(*names)
        raise invalid(text)
    return array


def example_of_json(text: bytes) -> bytes:
    """Return the serialized Example that `text` describes.

    Raises
    ------
    InvalidArgumentError
        If `text` does not describe an Example.
    """
    from google.protobuf import json_format

    from fastrec.train import Example

    try:
        return json_format.Parse(text, Example()).SerializeToString(deterministic=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        message = f"Error while parsing JSON: {error}"
        raise invalid(message) from error


# The fields of each message: name, number, type, and whether it is a list.
_MESSAGES: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "Dim": (("size", 1, "INT64", False), ("name", 2, "STRING", False)),
    "TensorShapeProto": (("dim", 2, "Dim", True), ("unknown_rank", 3, "BOOL", False)),
    "TensorProto": (
        ("dtype", 1, "INT32", False),
        ("tensor_shape", 2, "TensorShapeProto", False),
        ("version_number", 3, "INT32", False),
        ("tensor_content", 4, "BYTES", False),
        ("float_val", 5, "FLOAT", True),
        ("double_val", 6, "DOUBLE", True),
        ("int_val", 7, "INT32", True),
        ("string_val", 8, "BYTES", True),
        ("scomplex_val", 9, "FLOAT", True),
        ("int64_val", 10, "INT64", True),
        ("bool_val", 11, "BOOL", True),
        ("dcomplex_val", 12, "DOUBLE", True),
        ("half_val", 13, "INT32", True),
        ("uint32_val", 16, "UINT32", True),
        ("uint64_val", 17, "UINT64", True),
    ),
}
# The field that holds the values of each type, for one element and types not stored as bytes.
_LISTS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "string": "string_val",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int_val"),
}
_AS_BYTES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8")


def _make_classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="fastrec/tensor.proto", package="fastrec", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, several in fields:
            added = message.field.add(name=field, number=number)
            added.label = added.LABEL_REPEATED if several else added.LABEL_OPTIONAL
            if kind in _MESSAGES:
                added.type, added.type_name = added.TYPE_MESSAGE, f".fastrec.{kind}"
            else:
                added.type = getattr(added, f"TYPE_{kind}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = message_factory.GetMessageClass
    return {name: make(pool.FindMessageTypeByName(f"fastrec.{name}")) for name in _MESSAGES}


_classes = _make_classes()
TensorProto = _classes["TensorProto"]
TensorShapeProto = _classes["TensorShapeProto"]


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return the message for a tensor.

    Raises
    ------
    TypeError, ValueError
        If the values are not a tensor of this type and shape.
    """
    array = convert_to_tensor(values, None if dtype is None else as_dtype(dtype)).array
    element = as_dtype(array.dtype)
    sizes = array.shape if shape is None else tuple(int(size) for size in shape)
    if sizes != array.shape:
        if verify_shape:
            raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
        # One element fills the whole shape.
        array = array if array.size == 1 else array.reshape(sizes)
    few = array.size == 1 or (array.size and element.name not in _AS_BYTES)
    if few and element.name in _LISTS:
        made = TensorProto(dtype=int(element))
        made.tensor_shape.SetInParent()
        for size in sizes:
            made.tensor_shape.dim.add(size=size)
        getattr(made, _LISTS[element.name]).extend(array.reshape(-1).tolist())
        return made
    return TensorProto.FromString(serialize(array, element))


def make_ndarray(tensor: Any) -> Any:
    """Return the array of a message.

    Raises
    ------
    TypeError
        If the message has an unknown type or contains no tensor.
    """
    try:
        return decode(tensor.SerializeToString())
    except UNREADABLE as error:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}, {error}") from error
