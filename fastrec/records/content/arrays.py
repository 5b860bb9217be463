# SPDX-License-Identifier: Apache-2.0
"""Arrays that bytes values hold with their type and shape: TensorProto messages and .npy files."""

from __future__ import annotations

import ast
import math
import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .messages import FIXED32, FIXED64, SIZED, VARINT, wire_fields

__all__ = ["ArrayEncoding", "ArrayHeader", "array_header", "decode_array", "extended_dtype"]

ArrayEncoding = Literal["tensor", "npy"]

# The names of the data types of tensorflow.DataType that NumPy has, or ml_dtypes.
_TENSOR_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
# The fields of a TensorProto that list its values, with the types of their elements; values of two
# bytes that are floats are integers with their bits.
_LISTS = {
    5: "<f4", 6: "<f8", 7: "varint", 9: "<c8", 10: "varint", 11: "varint", 12: "<c16",
    13: "bits", 16: "varint", 17: "varint",
}  # fmt: skip
_LIST_OF = {
    "float32": 5, "float64": 6, "int32": 7, "int16": 7, "uint16": 7, "int8": 7, "uint8": 7,
    "complex64": 9, "int64": 10, "bool": 11, "complex128": 12, "float16": 13, "bfloat16": 13,
    "uint32": 16, "uint64": 17,
}  # fmt: skip
_MOST_FIELDS = 1 << 20
_HEADER_FIELDS = 64  # fields that are examined to recognise a TensorProto
_MOST_REPEATED = 1 << 20  # elements of an array that one repeated value may fill
_MAX_RANK = 32
_NPY = re.compile(rb"\x93NUMPY(?:\x01\0(..)|[\x02\x03]\0(....))", re.DOTALL)
_MOST_HEADER = 1 << 16


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
    header = array_header(encoding, value)
    if header is None:
        noun = "a serialized TensorProto" if encoding == "tensor" else "a .npy file"
        raise ValueError(f"the value is not {noun}")
    dtype = header.dtype
    if dtype is None:
        raise ValueError(f"elements of {header.name} cannot be decoded{_missing(header.name)}")
    count = math.prod(header.shape)
    if header.start is None:
        return _listed(value, header, dtype, count)
    if len(value) - header.start != count * dtype.itemsize:
        raise ValueError(
            f"an array of {header.label} requires {count * dtype.itemsize} bytes of elements, "
            f"got {len(value) - header.start}"
        )
    flat = np.frombuffer(value, dtype, count, header.start)
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


def _missing(name: str) -> str:
    return "; pip install ml_dtypes" if name.startswith(("bfloat", "float8")) else ""


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
    dtype = None if name == "string" else extended_dtype(name)
    if dtype is not None:
        dtype = dtype if dtype.kind == "V" else dtype.newbyteorder("<")
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


def _listed(value: bytes, header: ArrayHeader, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """Return the array of a TensorProto whose elements are values, or content in the middle."""
    fields = wire_fields(value, most=_MOST_FIELDS) or []
    for number, _, data in reversed(fields):
        if number == 4 and not isinstance(data, int) and len(data):
            return np.frombuffer(bytes(data), dtype).reshape(header.shape)
    place = _LIST_OF.get(header.name, 0)
    values: list[Any] = []
    for number, wire, data in fields:
        if number == place:
            values += _values_of(_LISTS[place], wire, data)
    if not values or len(values) > count:
        raise ValueError(f"an array of {header.label} requires {count} elements, got {len(values)}")
    if len(values) < count and count > _MOST_REPEATED:
        raise ValueError(f"{len(values)} elements cannot stand for an array of {header.label}")
    array = np.empty(count, dtype.newbyteorder("=") if dtype.kind != "V" else dtype)
    if _LISTS[place] == "bits":
        array.view(np.uint16)[: len(values)] = np.array(values, np.uint64).astype(np.uint16)
    else:
        wide = np.array(values, np.uint64) if _LISTS[place] == "varint" else np.array(values)
        array[: len(values)] = wide.astype(array.dtype)
    array[len(values) :] = array[len(values) - 1]  # the last value is repeated
    return array.reshape(header.shape)


def _values_of(how: str, wire: int, data: int | memoryview) -> list[Any]:
    """Return the values of one field, packed or a single one."""
    if isinstance(data, int):
        return [data]
    if how in ("varint", "bits"):
        # Behind a tag each, the varints of a packed field are the fields of a message.
        return _varints(bytes(data))
    if wire not in (SIZED, FIXED32, FIXED64) or len(data) % np.dtype(how).itemsize:
        raise ValueError("the values of the TensorProto are cut off")
    return list(np.frombuffer(bytes(data), how).tolist())


def _varints(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value & (1 << 64) - 1)
            value = shift = 0
        elif shift >= 70:
            raise ValueError("a value of the TensorProto is not a varint")
    if shift:
        raise ValueError("the values of the TensorProto are cut off")
    return values


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
