# SPDX-License-Identifier: Apache-2.0
"""Translate features to terms of the core: columns to read, and builders of results."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import is_int, shown

BYTES = np.dtype(object)
KINDS = {"b": "int64", "i": "int64", "u": "int64", "f": "float", "O": "bytes"}


class Fit(NamedTuple):
    """Fitting of arrays whose shape is in the record to one shape: ``fr_fit``, ``fr_extent``."""

    crops: bool
    # One entry per dimension, or one for all: a size, or ("one" | "all", number of the column).
    extents: tuple[int | tuple[str, int], ...]


class ColumnSpec(NamedTuple):
    """A column of the core: ``fr_feature`` of ``example/schema.h``, and its dtype and shape."""

    key: bytes
    kind: str  # "bytes", "float", "int64", or "record" for the record itself
    dtype: np.dtype[Any]  # dtype of the column; object for bytes
    shape: tuple[int, ...] = ()  # shape of a row, unless ragged
    ragged: bool = False
    raw: bool = False
    swap: bool = False
    fallback: bytes | None = None  # a serialized tf.train.Feature
    frames: bool = False  # whether it is in the feature lists of a SequenceExample
    fit: Fit | None = None
    presence: bool = False  # whether it is a bool column: whether the record has the feature


# whether the core converts the one ragged column to a Sparse
SPARSE: Literal["sparse"] = "sparse"


class Output(NamedTuple):
    """One item of a batch: the result of ``build`` of columns, or the one column itself."""

    name: Any
    columns: tuple[int, ...]
    build: Callable[..., Any] | Literal["sparse"] | None


class ReadPlan(NamedTuple):
    """The columns that the core reads, and the outputs built from them."""

    columns: tuple[ColumnSpec, ...]
    outputs: tuple[Output, ...]


RECORD = ReadPlan((ColumnSpec(b"record", "record", BYTES),), (Output("record", (0,), None),))


def as_dtype(dtype: Any, name: str = "dtype") -> np.dtype[Any]:
    """Return a NumPy dtype in native byte order; accept those of TensorFlow, torch and JAX."""
    dtype = getattr(dtype, "as_numpy_dtype", dtype)
    if dtype is str:
        raise TypeError(
            f"{name} must be bytes for text, got str; decode the values, as UTF-8 mostly"
        )
    if dtype is bytes or (isinstance(dtype, str) and dtype in ("bytes", "string")):
        return BYTES
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    try:
        if dtype is None or isinstance(dtype, np.generic):  # NumPy would interpret it as float64
            raise TypeError
        result: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(f"{name} must be a NumPy dtype or bytes, got {shown(dtype)}") from None
    return BYTES if result.kind in "SUO" else result.newbyteorder("=")


def as_shape(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """Return a shape, which may be one int, as a tuple."""
    if is_int(shape):
        shape = (shape,)
    has_order = isinstance(shape, Collection) and not isinstance(shape, (str, bytes, Mapping, Set))
    if not has_order or getattr(shape, "shape", None) == ():
        raise TypeError(f"{name} must be an int or a sequence of ints, got {shown(shape)}")
    shape = tuple(shape)
    for dim in shape:
        if not is_int(dim):
            raise TypeError(
                f"every dimension of {name} must be a known int, got {shown(shape)}; a varying "
                "number of values is a FixedLenSequenceFeature or a RaggedFeature"
            )
        if dim < 0:
            raise ValueError(f"{name} must have no negative dimension, got {shown(shape)}")
    dims = tuple(int(dim) for dim in shape)  # NumPy's integers would overflow
    if math.prod(dims) > 2**48:
        raise ValueError(f"{name} must not be larger than any record can be, got {shown(dims)}")
    return dims


def list_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of a column read from one of the three lists."""
    result = as_dtype(dtype)
    if result.kind not in KINDS or result.itemsize > 8:
        raise TypeError(
            f"dtype must be bytes, a bool, an integer or a float of up to 8 bytes, got {dtype!r}"
        )
    return result


# The columns of a feature, and the builder of its item; None if the item is the one column.
ItemSpec = tuple[Sequence[ColumnSpec], Any]


def column_of(key: bytes, dtype: Any, **more: Any) -> ColumnSpec:
    """Return the spec of a column whose kind of list follows from its dtype."""
    result = list_dtype(dtype)
    return ColumnSpec(key, KINDS[result.kind], result, **more)


def key_of(key: Any, what: str) -> bytes:
    """Return a feature's name as UTF-8; `what` names the argument in errors."""
    if not isinstance(key, (str, bytes)):
        raise TypeError(f"{what} must be the name of a feature, got {key!r}")
    if not key:
        raise ValueError(f"{what} must not be empty")
    return encode_key(key)


def encode_key(key: str | bytes) -> bytes:
    """Encode a key as in the record; invalid UTF-8 is kept in str as surrogates."""
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape")
    if not isinstance(key, bytes):
        raise TypeError(f"the name of a feature must be str or bytes, got {shown(key)}")
    return key


class Feature:
    """Base class of feature specifications, such as :class:`~fastrec.FixedLenFeature`."""

    __slots__ = ()

    def _columns(self, key: bytes) -> ItemSpec:
        """Describe the feature in an Example; raise ValueError if it cannot be in one."""
        raise NotImplementedError

    def _frame_columns(self, key: bytes) -> ItemSpec:
        """Describe the feature as a feature list of a SequenceExample."""
        raise TypeError(f"{type(self).__name__} cannot describe a feature list")


@dataclass(frozen=True)
class Presence(Feature):
    """Whether a record has the values of a feature, or a feature list, even if they are empty.

    Parameters
    ----------
    name : str
        The name of the feature.
    feature : Feature
        A feature of any number of values.
    """

    name: str
    feature: Feature

    def _columns(self, key: bytes) -> ItemSpec:
        return self._presence(self.feature._columns(encode_key(self.name)))

    def _frame_columns(self, key: bytes) -> ItemSpec:
        return self._presence(self.feature._frame_columns(encode_key(self.name)))

    def _presence(self, lowered: ItemSpec) -> ItemSpec:
        values = lowered[0][-1]
        return (ColumnSpec(values.key, values.kind, np.dtype(np.bool_), presence=True),), None


def check_feature(key: Any, feature: Any) -> Feature:
    """Raise TypeError unless `feature` is a Feature; the message explains a dtype in its place."""
    if isinstance(feature, Feature):
        return feature
    hint = ""
    if isinstance(feature, (type, np.dtype)):
        try:
            dtype = list_dtype(feature)
            name = "bytes" if dtype == BYTES else f"np.{dtype.name}"
            hint = f"; for one value, FixedLenFeature((), {name})"
        except TypeError:
            pass
    raise TypeError(f"feature {key!a} must be a FixedLenFeature or its like, got {feature!r}{hint}")


class Planner:
    """Collects the columns of features without duplicates."""

    def __init__(self) -> None:
        self.columns: dict[ColumnSpec, int] = {}
        self.kinds: dict[bytes, str] = {}
        self.outputs: list[Output] = []

    def number(self, column: ColumnSpec) -> int:
        """Return the number of a column, which is added unless it is there already."""
        kind = self.kinds.setdefault(column.key, column.kind)
        if kind != column.kind:
            raise ValueError(
                f"feature {column.key!a} cannot be read both as {kind} and as {column.kind}"
            )
        return self.columns.setdefault(column, len(self.columns))

    def add(self, name: Any, lowered: ItemSpec) -> None:
        """Add an output and the columns that it requires."""
        columns, build = lowered
        numbers: list[int] = []
        for column in columns:
            if column.fit is not None:
                extents = tuple(
                    e if isinstance(e, int) else (e[0], numbers[e[1]]) for e in column.fit.extents
                )
                column = column._replace(fit=column.fit._replace(extents=extents))
            numbers.append(self.number(column))
        self.outputs.append(Output(name, tuple(numbers), build))

    def plan(self) -> ReadPlan:
        """Return the plan of all columns and outputs that were added."""
        return ReadPlan(tuple(self.columns), tuple(self.outputs))


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


def default_array(
    default: ArrayLike, kind: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray[Any, np.dtype[Any]]:
    """Check a default value, and return it as an array of the feature's shape."""
    array = np.asarray(default, dtype=BYTES if kind == "bytes" else None)
    if kind == "int64" and array.dtype.kind not in "biu" and array.size:
        raise TypeError(f"default_value must be of {dtype}, got {shown(default)}")
    if kind == "float" and array.dtype.kind not in "biuf" and array.size:
        raise TypeError(f"default_value must be of {dtype}, got {shown(default)}")
    if array.ndim == 0:
        return np.broadcast_to(array, shape)
    if array.size != math.prod(shape):
        raise ValueError(
            f"default_value has {array.size} values, shape {shape} requires {math.prod(shape)}"
        )
    return array


def serialize_default(
    default: ArrayLike, kind: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> bytes:
    """Serialize a default value as a record would store it; the core then parses it."""
    values = default_array(default, kind, dtype, shape).reshape(-1).tolist()
    if kind == "bytes":
        strings = [v.encode() if isinstance(v, str) else bytes(memoryview(v)) for v in values]
        return _sized(1, b"".join(_sized(1, string) for string in strings))
    if kind == "float":
        packed = struct.pack(f"<{len(values)}f", *values)
        return _sized(2, _sized(1, packed) if values else b"")
    for value in values:
        info = np.iinfo(np.uint8) if dtype.kind == "b" else np.iinfo(dtype)
        if not info.min <= value <= (1 if dtype.kind == "b" else info.max):
            raise ValueError(f"default_value {value} does not fit {dtype}")
    return _sized(3, _sized(1, b"".join(map(_varint, values))) if values else b"")
