# SPDX-License-Identifier: Apache-2.0
"""Encode and decode tensors as ``TensorProto`` messages, as ``tf.io.serialize_tensor`` does."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrec.records.content.arrays import decode_tensor
from fastrec.records.content.messages import message_fields

from . import errors as _errors
from .dtypes import DType, as_dtype, short_name

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


def content_of(array: NDArray[Any], dtype: DType) -> bytes:
    """Encode the elements of a tensor as bytes; strings follow all of their lengths."""
    head = _head(int(dtype), array.shape)
    if dtype.name != "string":
        return serialize(array, dtype)
    texts = array.reshape(-1).tolist()
    content = b"".join(varint(len(each)) for each in texts) + b"".join(texts)
    return head + (field(4, content) if content else b"")


def serialize(array: NDArray[Any], dtype: DType) -> bytes:
    """Encode a tensor, with its elements as bytes."""
    head = _head(int(dtype), array.shape)
    if dtype.name == "string":
        return head + b"".join([field(8, each) for each in array.reshape(-1).tolist()])
    content = np.ascontiguousarray(array).astype(dtype.numpy.newbyteorder("<")).tobytes()
    return head + (field(4, content) if content else b"")


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
        raise _errors.InvalidArgumentError(None, None, text) from error
    found = as_dtype(array.dtype)
    if found != dtype:
        names = short_name(found), short_name(dtype)
        text = "Type mismatch between parsed tensor ({}) and dtype ({})".format(*names)
        raise _errors.InvalidArgumentError(None, None, text)
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
        raise _errors.InvalidArgumentError(None, None, message) from error
