# SPDX-License-Identifier: Apache-2.0
"""Arrays that bytes values hold with their type and shape: TensorProto messages and .npy files."""

from __future__ import annotations

import ast
import math
import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .messages import SIZED, VARINT, message_fields, read_varint, wire_fields

__all__ = [
    "ArrayEncoding",
    "ArrayHeader",
    "array_header",
    "decode_array",
    "decode_tensor",
    "extended_dtype",
]

ArrayEncoding = Literal["tensor", "npy"]

# The names of the data types of tensorflow.DataType that NumPy has, or ml_dtypes.
_TENSOR_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
# The field of a TensorProto that lists the values of each type, and the type of its elements.
_VARINTS: dict[str, int] = {
    "int32": 7, "int16": 7, "uint16": 7, "int8": 7, "uint8": 7, "int64": 10, "bool": 11,
    "float16": 13, "bfloat16": 13, "uint32": 16, "uint64": 17,
}  # fmt: skip
_FLOATS = {
    "float32": (5, "<f4"), "float64": (6, "<f8"), "complex64": (9, "<c8"),
    "complex128": (12, "<c16"),
}  # fmt: skip
_STRINGS = 8
_HEADER_FIELDS = 64  # fields that are examined to recognise a TensorProto
_MOST_REPEATED = 1 << 20  # elements of an array that one repeated value may fill
_MAX_RANK = 32  # dimensions of a tensor
_NPY = re.compile(rb"\x93NUMPY(?:\x01\0(..)|[\x02\x03]\0(....))", re.DOTALL)
_MOST_HEADER = 1 << 16  # bytes of the header of an NPY file


class ArrayHeader(NamedTuple):
    """The type and the shape of an array, and where its elements are.

    Attributes
    ----------
    name : str
        Name of the element type, such as ``"float32"``.
    dtype : numpy.dtype or None
        Type of the stored elements, with its byte order; None if NumPy lacks it.
    shape : tuple of int
    start : int or None
        Offset of the elements, which reach to the end of the value; None if they are elsewhere.
    fortran_order : bool
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    start: int | None
    fortran_order: bool = False

    @property
    def label(self) -> str:
        """The element type and the shape."""
        return f"{self.name} {self.shape}"


def extended_dtype(name: str) -> np.dtype[Any] | None:
    """Return the dtype of this name; one of ml_dtypes, such as bfloat16, if that is installed."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        return None
    scalar = getattr(ml_dtypes, name, None)
    return np.dtype(scalar) if isinstance(scalar, type) else None


def array_header(encoding: ArrayEncoding, value: bytes) -> ArrayHeader | None:
    """Return the header of an array in this encoding, or None for another value.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), np.int16))
    >>> array_header("npy", file.getvalue()).label
    'int16 (2, 3)'
    """
    return _tensor_header(value) if encoding == "tensor" else _npy_header(value)


def decode_array(encoding: ArrayEncoding, value: bytes) -> NDArray[Any]:
    """Return the array that `value` holds; the array may share the memory of `value`.

    Raises
    ------
    ValueError
        When `value` is not such an array, or NumPy lacks the type of its elements.
    """
    if encoding == "tensor":
        return decode_tensor(value)
    header = _npy_header(value)
    if header is None:
        raise ValueError("the value is not a .npy file")
    content = memoryview(value)[header.start :]
    flat = _flat(header, content)
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


def _flat(header: ArrayHeader, content: memoryview) -> NDArray[Any]:
    """Return the elements of an array, which share the memory of `content`."""
    if header.dtype is None:
        missing = header.name.startswith(("bfloat", "float8"))
        remedy = "; pip install ml_dtypes" if missing else ""
        raise ValueError(f"elements of {header.name} cannot be decoded{remedy}")
    size = math.prod(header.shape) * header.dtype.itemsize
    if len(content) != size:
        raise ValueError(
            f"an array of {header.label} requires {size} bytes of elements, got {len(content)}"
        )
    return np.frombuffer(content, header.dtype)


# --- TensorProto ----------------------------------------------------------------------------------


def _tensor_header(value: bytes) -> ArrayHeader | None:
    fields = wire_fields(value, most=_HEADER_FIELDS)
    if not fields or fields[0][:2] != (1, VARINT):
        return None
    name = _TENSOR_TYPES.get(_number(fields[0][2]), "")
    if not name or len(fields) < 2 or any(not 1 <= number <= 17 for number, _, _ in fields):
        return None
    shape: tuple[int, ...] | None = ()
    for number, wire, data in fields[1:]:
        if number == 2:
            shape = _dimensions(data) if wire == SIZED and not isinstance(data, int) else None
        if shape is None or (number == 4 and wire != SIZED):
            return None
    assert shape is not None
    dtype = _little_endian(name)
    number, _, data = fields[-1]
    content = [len(each) for place, _, each in fields if place == 4 and not isinstance(each, int)]
    if content and dtype is not None and content[-1] != math.prod(shape) * dtype.itemsize:
        return None
    is_whole = len(fields) < _HEADER_FIELDS
    if is_whole and number == 4 and len(content) == 1 and not isinstance(data, int):
        return ArrayHeader(name, dtype, shape, len(value) - len(data))
    if is_whole and not content and math.prod(shape) == 0:
        return ArrayHeader(name, dtype, shape, len(value))
    return ArrayHeader(name, dtype, shape, None)


def _dimensions(data: memoryview) -> tuple[int, ...] | None:
    sizes = []
    for number, wire, dimension in wire_fields(data, most=_MAX_RANK + 1) or ():
        if number != 2 or wire != SIZED or isinstance(dimension, int):
            return None
        parts = wire_fields(dimension)
        if parts is None:
            return None
        size = {key: each for key, wire, each in parts if wire == VARINT}.get(1, 0)
        sizes.append(_number(size))
    if len(sizes) > _MAX_RANK or any(not 0 <= size < 2**40 for size in sizes):
        return None
    return tuple(sizes) if math.prod(sizes) < 2**48 else None


def _number(value: int | memoryview) -> int:
    return value if isinstance(value, int) else -1


def _little_endian(name: str) -> np.dtype[Any] | None:
    dtype = None if name == "string" else extended_dtype(name)
    return dtype if dtype is None or dtype.kind == "V" else dtype.newbyteorder("<")


def decode_tensor(value: bytes, most_repeated: int = _MOST_REPEATED) -> NDArray[Any]:
    """Return the array of a serialized TensorProto, with its fields in any order.

    Strings are an array of objects. Other elements may share the memory of `value`. If the message
    lists fewer values than the array has elements, its last value is repeated, in an array of at
    most `most_repeated` elements.

    Raises
    ------
    ValueError
    """
    kind, content, dimensions = 0, memoryview(b""), bytearray()
    strings: list[bytes] = []
    for number, _, data in message_fields(value):
        if number == 1:
            kind = _number(data)
        elif number == 2:
            dimensions += _sized(data)
        elif number == 4:
            content = _sized(data)
        elif number == _STRINGS:
            strings.append(bytes(_sized(data)))
    name, shape = _TENSOR_TYPES.get(kind, ""), _dimensions(memoryview(dimensions))
    if not name or shape is None:
        raise ValueError("the value is not a serialized TensorProto")
    header = ArrayHeader(name, _little_endian(name), shape, None)
    count = math.prod(shape)
    if name != "string" and (len(content) or not count or header.dtype is None):
        return _flat(header, content).reshape(shape)
    if name == "string":
        values = _objects(_packed_strings(content, count) if len(content) else strings)
    else:
        values = _listed(value, header)
    if not count >= len(values) >= min(count, 1):
        raise ValueError(f"an array of {header.label} requires {count} elements, got {len(values)}")
    if len(values) < count and count > most_repeated:
        raise ValueError(f"{len(values)} elements cannot stand for an array of {header.label}")
    array = np.empty(count, values.dtype)
    array[: len(values)] = values
    if len(values) < count:
        array[len(values) :] = values[-1]
    return array.reshape(shape)


def _sized(data: int | memoryview) -> memoryview:
    if isinstance(data, int):
        raise ValueError("the value is not a serialized TensorProto")
    return data


def _listed(value: bytes, header: ArrayHeader) -> NDArray[Any]:
    """Return the values that a TensorProto lists in the field of its type, packed or not."""
    place, kind = _FLOATS.get(header.name) or (_VARINTS.get(header.name, 0), "")
    raw = bytearray()
    for number, _, data in message_fields(value):
        if number != place:
            continue
        if not kind:
            raw += data.to_bytes(8, "little") if isinstance(data, int) else _varints(data)
        else:
            raw += _sized(data)
    assert header.dtype is not None
    if kind:
        if len(raw) % np.dtype(kind).itemsize:
            raise ValueError("the values of the TensorProto are cut off")
        return np.frombuffer(raw, kind).astype(header.dtype.newbyteorder("="))
    numbers = np.frombuffer(raw, "<u8")
    if place == _VARINTS["float16"]:  # numbers with the bits of the elements
        return numbers.astype("<u2").view(header.dtype)
    return numbers.astype(header.dtype.newbyteorder("="))


def _objects(texts: list[bytes]) -> NDArray[Any]:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def _packed_strings(content: memoryview, count: int) -> list[bytes]:
    """Return strings that follow all of their lengths, as saved datasets store them."""
    lengths, at = [], 0
    if count > len(content):
        raise ValueError("the strings of the TensorProto are cut off")
    for _ in range(count):
        length, at = read_varint(content, at)
        lengths.append(length)
    if sum(lengths) != len(content) - at:
        raise ValueError("the strings of the TensorProto are cut off")
    texts = []
    for length in lengths:
        texts.append(bytes(content[at : at + length]))
        at += length
    return texts


def _varints(data: memoryview) -> bytes:
    """Return the varints of a packed field as numbers of eight bytes."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if raw.size and (not ends.size or ends[-1] != raw.size - 1):
        raise ValueError("the values of the TensorProto are cut off")
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    sizes = ends - starts + 1
    if (sizes > 10).any():
        raise ValueError("a value of the TensorProto is not a varint")
    numbers = np.zeros(len(ends), "<u8")
    for place in range(int(sizes.max(initial=0))):
        has = sizes > place
        bits = (raw[starts[has] + place] & 0x7F).astype(np.uint64)
        numbers[has] |= bits << np.uint64(7 * place)
    return numbers.tobytes()


# --- .npy -----------------------------------------------------------------------------------------


def _npy_header(value: bytes) -> ArrayHeader | None:
    match = _NPY.match(value)
    if match is None:
        return None
    size = int.from_bytes(match[1] or match[2], "little")
    if size > min(_MOST_HEADER, len(value) - match.end()):
        return None
    text = value[match.end() : match.end() + size].decode("latin-1").strip()
    try:
        fields = ast.literal_eval(text)
        dtype = np.dtype(fields["descr"])
        shape = tuple(fields["shape"])
        fortran_order = bool(fields["fortran_order"])
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        return None
    if len(shape) > _MAX_RANK or not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        return None
    known = None if dtype.hasobject or dtype.names or dtype.itemsize == 0 else dtype
    name = dtype.name if known is not None else str(fields["descr"])
    return ArrayHeader(name, known, shape, match.end() + size, fortran_order)
