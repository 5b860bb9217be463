# SPDX-License-Identifier: Apache-2.0
"""What to read from an Example, and as what.

A specification that cannot work is refused when it is made, not at the millionth record.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["FixedLenFeature", "RaggedFeature", "RawFeature"]

_BYTES = np.dtype(object)
_KINDS = {"b": "int64", "i": "int64", "u": "int64", "f": "float", "O": "bytes"}


class Lowered(NamedTuple):
    """A feature in the terms of ``csrc/schema.h``, and how its column looks to Python."""

    kind: str  # "bytes", "float", "int64", or "record" for the record itself
    dtype: np.dtype[Any]  # of the column; object for bytes
    ragged: bool
    raw: bool
    swap: bool
    shape: tuple[int, ...]  # of a row, unless ragged
    fallback: bytes | None  # a serialized tf.train.Feature


RECORD = Lowered("record", _BYTES, False, False, False, (), None)


def _as_dtype(dtype: Any) -> np.dtype[Any]:
    """A NumPy dtype in native byte order, object for bytes; TensorFlow's dtypes are taken too."""
    dtype = getattr(dtype, "as_numpy_dtype", dtype)
    if dtype is None:
        raise TypeError("dtype must be given")
    if dtype in (bytes, str) or (isinstance(dtype, str) and dtype in ("bytes", "string")):
        return _BYTES
    result: np.dtype[Any] = np.dtype(dtype)
    return _BYTES if result.kind in "SUO" else result.newbyteorder("=")


def _as_shape(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    if not isinstance(shape, Iterable):
        raise TypeError(f"shape must be an int or a sequence of ints, not {shape!r}")
    dims = tuple(shape)
    for dim in dims:
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
            raise TypeError(f"every dimension of shape must be a known int, got {shape!r}")
        if dim < 0:
            raise ValueError(f"no dimension of shape may be negative, got {shape!r}")
    if math.prod(dims) > 2**48:
        raise ValueError(f"a row of shape {shape!r} is larger than any record can be")
    return tuple(int(dim) for dim in dims)


def _list_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of a column read from one of the three lists."""
    result = _as_dtype(dtype)
    if result.kind not in _KINDS or result.itemsize > 8:
        raise TypeError(
            f"dtype must be bytes, a bool, an integer or a float of up to 8 bytes, not {dtype!r}"
        )
    return result


@dataclass(frozen=True)
class FixedLenFeature:
    """The same number of values in every record.

    Parameters
    ----------
    shape : int or sequence of int
        Of one record's values; ``()`` for a scalar.
    dtype : dtype-like
        ``np.int64``, ``np.float32`` or ``bytes``; or another integer, bool or float dtype, in
        which int64 values are range-checked and float values rounded.
    default_value : array-like, optional
        Stands for the feature where a record lacks it. An empty list is not lacking: it is the
        wrong number of values.

    Raises
    ------
    TypeError, ValueError
        When no record could ever fit.
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _as_shape(self.shape))
        _list_dtype(self.dtype)
        self.lower()

    def lower(self) -> Lowered:
        dtype = _list_dtype(self.dtype)
        kind = _KINDS[dtype.kind]
        fallback = None
        if self.default_value is not None:
            fallback = _serialize_default(self.default_value, kind, dtype, self.shape)
        return Lowered(kind, dtype, False, False, False, self.shape, fallback)


@dataclass(frozen=True)
class RaggedFeature:
    """Any number of values in each record; none where a record lacks the feature.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`FixedLenFeature`.
    """

    dtype: Any

    def __post_init__(self) -> None:
        _list_dtype(self.dtype)

    def lower(self) -> Lowered:
        dtype = _list_dtype(self.dtype)
        return Lowered(_KINDS[dtype.kind], dtype, True, False, False, (), None)


@dataclass(frozen=True)
class RawFeature:
    """One bytes value that is an array: ``decode_raw`` and ``reshape``, straight into the batch.

    Parameters
    ----------
    shape : int, sequence of int, or None
        Of one record's array, in C order. None: each record has its own number of elements, and
        the column is a :class:`~fastrec.Ragged` of them.
    dtype : dtype-like
        Of its elements: bool, integer, float or complex.
    little_endian : bool, default True
        The byte order in the record.

    Examples
    --------
    >>> RawFeature((32, 32, 3), np.uint8)
    RawFeature(shape=(32, 32, 3), dtype=<class 'numpy.uint8'>, little_endian=True)
    """

    shape: Any
    dtype: Any
    little_endian: bool = field(default=True)

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", _as_shape(self.shape))
        self.lower()

    def lower(self) -> Lowered:
        dtype = _as_dtype(self.dtype)
        if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype == np.dtype(np.longdouble):
            raise TypeError(f"dtype must be a bool, integer, float or complex, not {self.dtype!r}")
        swap = self.little_endian != (np.dtype("<i2") == np.dtype("i2"))
        shape = () if self.shape is None else self.shape
        return Lowered("bytes", dtype, self.shape is None, True, swap, shape, None)


Feature = Union[FixedLenFeature, RaggedFeature, RawFeature]


def lower_all(features: Mapping[str, Feature]) -> list[tuple[str, bytes, Lowered]]:
    """Every feature with its key as it is in the record."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features must map names to features, not {type(features).__name__}")
    if not features:
        raise ValueError("features is empty: name at least one feature")
    lowered = []
    for key, feature in features.items():
        if not isinstance(feature, (FixedLenFeature, RaggedFeature, RawFeature)):
            raise TypeError(
                f"feature {key!r} must be a FixedLenFeature, RaggedFeature or RawFeature, "
                f"not {feature!r}"
            )
        name = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key)
        lowered.append((key, name, feature.lower()))
    return lowered


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _sized(field_number: int, payload: bytes) -> bytes:
    return bytes([field_number << 3 | 2]) + _varint(len(payload)) + payload


def _default_array(
    default: ArrayLike, kind: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray[Any, np.dtype[Any]]:
    array = np.asarray(default, dtype=_BYTES if kind == "bytes" else None)
    if kind == "int64" and array.dtype.kind not in "biu" and array.size:
        raise TypeError(f"default_value must be of {dtype}, not {default!r}")
    if kind == "float" and array.dtype.kind not in "biuf" and array.size:
        raise TypeError(f"default_value must be of {dtype}, not {default!r}")
    if array.ndim == 0:
        return np.broadcast_to(array, shape)
    if array.size != math.prod(shape):
        raise ValueError(
            f"default_value has {array.size} values, shape {shape} needs {math.prod(shape)}"
        )
    return array


def _serialize_default(
    default: ArrayLike, kind: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> bytes:
    """The default as a record would hold it, so that it takes the same way into the column."""
    values = _default_array(default, kind, dtype, shape).reshape(-1).tolist()
    if kind == "bytes":
        if not all(isinstance(value, (str, bytes)) for value in values):
            raise TypeError(f"default_value must be bytes or str, not {default!r}")
        strings = [v.encode() if isinstance(v, str) else v for v in values]
        return _sized(1, b"".join(_sized(1, string) for string in strings))
    if kind == "float":
        packed = struct.pack(f"<{len(values)}f", *values)
        return _sized(2, _sized(1, packed) if values else b"")
    for value in values:
        info = np.iinfo(np.uint8) if dtype.kind == "b" else np.iinfo(dtype)
        if not info.min <= value <= (1 if dtype.kind == "b" else info.max):
            raise ValueError(f"default_value {value} does not fit {dtype}")
    return _sized(3, _sized(1, b"".join(map(_varint, values))) if values else b"")
