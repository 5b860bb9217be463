# SPDX-License-Identifier: Apache-2.0
"""Encode and decode tensors as ``TensorProto`` messages, as ``tf.io.serialize_tensor`` does."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import errors as _errors
from .dtypes import DType, as_dtype, short_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "UNREADABLE",
    "Malformed",
    "content_of",
    "decode",
    "field",
    "fields",
    "parse",
    "serialize",
    "shape_field",
    "shape_sizes",
    "signed",
    "varint",
]

# The field of the values of each type that is not stored as bytes, and its encoding.
_LISTS = {
    "float32": (5, "<f4"),
    "float64": (6, "<f8"),
    "int32": (7, "varint"),
    "int16": (7, "varint"),
    "int8": (7, "varint"),
    "uint8": (7, "varint"),
    "uint16": (7, "varint"),
    "string": (8, "bytes"),
    "int64": (10, "varint"),
    "bool": (11, "varint"),
    "uint32": (16, "varint"),
    "uint64": (17, "varint"),
}
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


class Malformed(Exception):
    """Raised for bytes that are not such a message."""


UNREADABLE = (Malformed, KeyError, TypeError, ValueError, OverflowError, MemoryError)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
    raise Malformed


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: integers, and bytes for fields with a size."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise Malformed
        if size > len(data) - at or number == 0:
            raise Malformed
        yield number, data[at : at + size]
        at += size


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


def _strings(content: bytes, count: int) -> list[bytes]:
    at, lengths = 0, []
    if count > len(content):
        raise Malformed
    for _ in range(count):
        length, at = _read_varint(content, at)
        lengths.append(length)
    if sum(lengths) != len(content) - at:
        raise Malformed
    found = []
    for length in lengths:
        found.append(content[at : at + length])
        at += length
    return found


def _listed(parts: list[Any], how: str) -> list[Any]:
    """Return the values of a list, packed or not."""
    found: list[Any] = []
    for part in parts:
        if how == "bytes":
            found.append(part)
        elif how != "varint":
            found += np.frombuffer(part, how).tolist()
        elif isinstance(part, int):
            found.append(signed(part))
        else:
            at = 0
            while at < len(part):
                value, at = _read_varint(part, at)
                found.append(signed(value))
    return found


def _array(found: list[tuple[int, Any]]) -> NDArray[Any]:
    last = dict(found)
    dtype = as_dtype(last.get(1, 0))
    sizes = shape_sizes(b"".join(value for number, value in found if number == 2))
    count, content = math.prod(sizes), last.get(4, b"")
    if dtype.name == "string" and content:
        values: list[Any] = _strings(content, count)
    elif not count:
        if content:
            raise Malformed
        return np.empty(sizes, dtype.numpy)
    elif content:
        flat = np.frombuffer(content, dtype.numpy.newbyteorder("<"))
        if flat.size != count:
            raise Malformed
        return flat.astype(dtype.numpy).reshape(sizes)
    else:
        number, how = _LISTS[dtype.name]
        values = _listed([value for place, value in found if place == number], how)
    if not values or len(values) > count:
        raise Malformed
    values += [values[-1]] * (count - len(values))  # the last value is repeated for omitted ones
    array = np.empty(count, dtype.numpy)
    array[:] = (
        np.array(values, np.uint64 if dtype.name == "uint64" else None)
        if dtype.name != "string"
        else values
    )
    return array.reshape(sizes)


def decode(data: bytes) -> NDArray[Any]:
    """Decode a tensor of any type.

    Raises
    ------
    UNREADABLE
        If the message is malformed.
    """
    return _array(list(fields(data)))


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
