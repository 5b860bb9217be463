# SPDX-License-Identifier: Apache-2.0
"""Convert Python values to columns, and columns to the memory format of the core.

docs/encoding.md states the rule that this module implements.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged
from ..errors import one_line

__all__ = [
    "ACCEPTED",
    "BYTES_LIKE",
    "NativeValue",
    "Nullable",
    "Raw",
    "column_of",
    "native_of",
    "one_row",
]

Array = NDArray[Any]

BYTES_LIKE = (bytes, bytearray, memoryview)
_DEEPEST = 32  # the limit of NumPy before 2.0
_STRINGS = (str, *BYTES_LIKE)
ACCEPTED = "use int, float, bool, str, bytes, an array, or a list of these"
_COLUMNS = "a column is an array, a Bytes, a Ragged, or a list with one entry a row"


@dataclass
class Raw:
    """Arrays to be stored as bytes, one value per row."""

    values: Array
    splits: NDArray[np.int64] | None = None  # in elements; None means one row along the first axis


@dataclass
class Nullable:
    """A column in which some rows lack a value."""

    column: Any
    present: NDArray[np.uint8]


Column = Array | Bytes | Ragged | Raw


@dataclass
class NativeValue:
    """One feature of `rows` rows, in the layout of ``fr_value``."""

    kind: str  # "int64", "float", "bytes" or "none"
    values: Array  # contiguous, aligned, native; the bytes of a bytes list
    rows: int
    count: int = 0  # elements per row, without splits
    element_size: int = 0  # size of an element of a bytes list without offsets
    elements: int = 0  # total number of elements, with splits or offsets
    splits: NDArray[np.int64] | None = None
    offsets: NDArray[np.int64] | None = None
    present: NDArray[np.uint8] | None = None  # one byte per row, 0 for an empty Feature


def type_name(value: object) -> str:
    """Return the name of a value's type for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return type(value).__name__


def _refuse(key: Any, value: object, accepted: str = ACCEPTED) -> TypeError:
    if isinstance(value, os.PathLike):
        return TypeError(
            f"feature {key!a}: {type(value).__name__} is a path: pass str(path) for its name, or "
            f"path.read_bytes() for its contents"
        )
    if _is_pillow_image(value):
        return TypeError(
            f"feature {key!a}: a Pillow image cannot be stored as pixels alone, which lose its "
            f"size and mode: pass its encoded bytes (image.save), or np.asarray(image) for a "
            f"RawFeature"
        )
    return TypeError(f"feature {key!a}: {type_name(value)} cannot be stored; {accepted}")


def _is_pillow_image(value: object) -> bool:
    """Return whether a value is a Pillow image, without importing Pillow."""
    return any(each.__module__ == "PIL.Image" for each in type(value).__mro__)


def one_row(key: Any, value: Any) -> Column:
    """Convert a value to a column of one row."""
    if isinstance(value, _STRINGS):
        return Bytes.from_list([_string(key, value)])
    if isinstance(value, Bytes):
        return Bytes(value.data, value.offsets, (1, len(value.offsets) - 1))
    if isinstance(value, Ragged):
        raise TypeError(
            f"feature {key!a}: an Example cannot store rows of differing length; "
            f"store their lengths as a feature of their own"
        )
    if isinstance(value, (int, float)):
        return _numbers(key, [value])
    if not isinstance(value, (list, tuple)):
        found: Any = as_array(key, value)
        if isinstance(found, (Ragged, Nullable)):
            raise _refuse(key, value)
        if isinstance(found, Bytes):
            return Bytes(found.data, found.offsets, (1, len(found.offsets) - 1))
        if found.dtype.kind not in "SUOT":
            return np.asarray(found)[np.newaxis]
        flat = found.reshape(-1).tolist()
        if found.ndim == 0 and not isinstance(flat[0], _STRINGS):
            raise _refuse(key, value)
        shape: tuple[int, ...] = found.shape
        is_text = found.dtype.kind != "O"
    else:
        flat, shape = _flat(key, value)
        is_text = False
    if is_text or (flat and isinstance(flat[0], _STRINGS)):
        strings = Bytes.from_list([_string(key, item) for item in flat])
        return Bytes(strings.data, strings.offsets, (1, *shape))
    return _numbers(key, flat).reshape(1, *shape)


def _flat(key: Any, value: Sequence[Any], depth: int = 1) -> tuple[list[Any], tuple[int, ...]]:
    """Return the items of nested lists in C order, and their shape."""
    if not any(_nests(item) for item in value):
        return list(value), (len(value),)
    if depth == _DEEPEST:  # the list may contain itself
        raise ValueError(f"feature {key!a}: lists must be nested at most {_DEEPEST} deep")
    parts = [_flat(key, _items(item), depth + 1) for item in value]
    if any(shape != parts[0][1] for _, shape in parts):
        raise ValueError(
            f"feature {key!a}: nested lists must have equal lengths, for an Example does not store "
            f"where each ends; store their lengths as a feature of their own"
        )
    return [item for part, _ in parts for item in part], (len(value), *parts[0][1])


def _nests(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    return not isinstance(value, _STRINGS) and getattr(value, "ndim", 0) > 0


def _items(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value
    return np.asarray(value).tolist() if _nests(value) else [value]


def _string(key: Any, value: Any, row: int | None = None) -> bytes:
    where = "" if row is None else f"row {row}: "
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"feature {key!a}: {where}text is not valid Unicode: {error}"
            ) from None
    if isinstance(value, BYTES_LIKE):
        return bytes(value)
    raise TypeError(
        f"feature {key!a}: {where}{type_name(value)} beside bytes or str; every value of a bytes "
        f"list must be one of these"
    )


def _numbers(key: Any, values: list[Any]) -> Array:
    """Convert a flat list of numbers to an array. uint8 scalars count as numbers."""
    for value in values:
        if not isinstance(value, (int, float, np.bool_, np.integer, np.floating)):
            if getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic):
                continue
            where = " in a list of numbers" if value is not values[0] else " in a list"
            raise _refuse(key, value, f"{ACCEPTED}; it is{where}")
    if not values:
        return np.zeros(0, np.int64)
    array = np.asarray(values)
    if array.dtype.kind == "f" and not any(isinstance(v, (float, np.floating)) for v in values):
        array = array.astype(object)  # no integer type represents all of them
    if array.dtype.kind not in "biuf":
        beyond = next((v for v in values if not -(2**63) <= v < 2**63), values[0])
        raise OverflowError(f"feature {key!a}: {beyond} does not fit int64")
    return array.astype(np.int64) if array.dtype == np.uint8 else array


def as_array(key: Any, value: Any, accepted: str = ACCEPTED) -> Any:
    """Convert objects that expose arrays: NumPy, Arrow, array protocol, buffers, DLPack."""
    if isinstance(value, (np.ndarray, np.generic)):
        if type(value) is not np.ndarray and np.any(getattr(value, "mask", False)):
            raise ValueError(
                f"feature {key!a}: an Example cannot store masked elements; fill them first, as "
                f"filled() does"
            )
        return np.asarray(value)
    if isinstance(value, os.PathLike) or _is_pillow_image(value):
        raise _refuse(key, value, accepted)
    if hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__"):
        from .arrow_import import import_arrow

        return import_arrow(key, value)
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        if _has_buffer(value):
            return np.asarray(memoryview(value))
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeError(
            f"feature {key!a}: {type(value).__name__} cannot be converted to an array: "
            f"{one_line(error)!a}"
        ) from error
    raise _refuse(key, value, accepted)


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def column_of(key: Any, column: Any) -> tuple[Column, NDArray[np.uint8] | None]:
    """Convert a column to one of `Column`, with one byte per row if some rows are None."""
    if isinstance(column, (str, bytes, bytearray)):
        raise TypeError(f"feature {key!a}: {type(column).__name__} is one value; {_COLUMNS}")
    if isinstance(column, (list, tuple)):
        return _rows(key, list(column))
    if not isinstance(column, (Bytes, Ragged)):
        column = as_array(key, column, _COLUMNS)
    if isinstance(column, np.ndarray):
        if column.ndim == 0:
            raise ValueError(f"feature {key!a}: {column!r} has no rows; {_COLUMNS}")
        if column.dtype.kind in "SUOT":
            return _objects(key, column)
    if isinstance(column, Nullable):
        return column.column, column.present
    return column, None


def _objects(key: Any, column: Array) -> tuple[Column, NDArray[np.uint8] | None]:
    """Convert an array of text, bytes, or other objects."""
    flat = column.reshape(-1).tolist()
    if column.dtype.kind == "O" and not all(isinstance(item, _STRINGS) for item in flat):
        return _rows(key, column.tolist() if column.ndim > 1 else flat)
    strings = Bytes.from_list([_string(key, item, row) for row, item in enumerate(flat)])
    return Bytes(strings.data, strings.offsets, column.shape), None


def _rows(key: Any, rows: list[Any]) -> tuple[Column, NDArray[np.uint8] | None]:
    """Convert a list with one entry per row."""
    present = None
    if any(row is None for row in rows):
        present = np.array([row is not None for row in rows], np.uint8)
    full = [row for row in rows if row is not None]
    if not full:
        return np.zeros((len(rows), 0), np.int64), present
    if isinstance(full[0], _STRINGS):
        strings = [b"" if row is None else _string(key, row, i) for i, row in enumerate(rows)]
        return Bytes.from_list(strings), present
    if all(isinstance(row, (int, float, np.generic)) for row in full):
        fill = 0 if isinstance(full[0], int) else type(full[0])(0)  # 0 may not be in an IntEnum
        return _numbers(key, [fill if row is None else row for row in rows]), present
    return _ragged(key, rows), present


def _ragged(key: Any, rows: list[Any]) -> Column:
    """Convert rows that are lists or arrays of varying length."""
    from .. import _core

    plain = _core.plain_rows(rows)
    if plain is not None:
        values, splits = plain
        return Ragged(Bytes.from_list(values) if isinstance(values, list) else values, splits)
    shaped = [None if row is None else _part(key, row, i) for i, row in enumerate(rows)]
    if (stacked := _stacked(shaped)) is not None:
        return stacked
    parts = [part.reshape(-1) if isinstance(part, np.ndarray) else part for part in shaped]
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([0 if part is None else _size(part) for part in parts], out=splits[1:])
    full = [part for part in parts if part is not None and _size(part)]
    arrays = [row for row in rows if row is not None]
    if not full:  # the dtype of empty arrays determines the kind
        pairs = zip(rows, parts, strict=True)
        full = [p for row, p in pairs if p is not None and not isinstance(row, (list, tuple))]
    if any(isinstance(part, Bytes) for part in full):
        flat = [
            _string(key, item, row)
            for row, part in enumerate(parts)
            if part is not None
            for item in (Bytes(part.data, part.offsets) if isinstance(part, Bytes) else part)
        ]
        return Ragged(Bytes.from_list(flat), splits)
    raw = all(isinstance(row, np.ndarray) and row.dtype == np.uint8 and row.ndim for row in arrays)
    values = np.concatenate(full) if full else np.zeros(0, np.int64)
    if raw:
        return Raw(values, splits)
    return Ragged(values.astype(np.int64) if values.dtype == np.uint8 else values, splits)


class _RowKey(NamedTuple):
    """The name of a feature and the number of a row, as messages have them."""

    key: Any
    number: int

    def __repr__(self) -> str:
        return f"{self.key!a}: row {self.number}"


def _part(key: Any, row: Any, number: int) -> Array | Bytes:
    if isinstance(row, (list, tuple)) and not row:
        return np.zeros(0, np.int64)
    part = one_row(_RowKey(key, number), row)
    assert not isinstance(part, (Ragged, Raw))
    return part


def _stacked(parts: list[Any]) -> Array | Bytes | None:
    """Stack rows of one shape with at least two dimensions; return None for other rows."""
    first = parts[0]
    if first is None or len(first.shape) < 3:
        return None
    if any(part is None or part.shape != first.shape for part in parts):
        return None
    shape = (len(parts), *first.shape[1:])
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if all(isinstance(part, Bytes) for part in parts):
        strings = [s for part in parts for s in Bytes(part.data, part.offsets)]
        flat = Bytes.from_list(strings)
        return Bytes(flat.data, flat.offsets, shape)
    return None


def _size(part: Array | Bytes) -> int:
    return len(part.offsets) - 1 if isinstance(part, Bytes) else part.size


def native_of(key: Any, column: Column, *, listed: bool = False) -> NativeValue:
    """Lay out a column for the core. With `listed`, uint8 arrays are lists of numbers, too."""
    if isinstance(column, Raw):
        return _native_raw(key, column)
    if isinstance(column, Ragged):
        return _native_ragged(key, column)
    if isinstance(column, Bytes):
        return _native_strings(column, len(column))
    if column.dtype == np.uint8 and column.ndim > 1 and not listed:
        return _native_raw(key, Raw(column))
    return _native_numbers(key, column, len(column))


def _bytes_of(array: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _native_raw(key: Any, raw: Raw) -> NativeValue:
    values = raw.values
    if raw.splits is None:
        rows = len(values)
        size = values.nbytes // rows if rows else 0
        return NativeValue("bytes", _bytes_of(values), rows, count=1, element_size=size)
    splits = np.asarray(raw.splits)
    rows = splits.size - 1
    if splits.ndim != 1 or rows < 0 or splits.min() < 0 or splits.max() > values.size:
        raise ValueError(f"feature {key!a}: row_splits must be within the values")
    offsets = np.ascontiguousarray(splits * values.itemsize)
    return NativeValue("bytes", _bytes_of(values), rows, 1, elements=rows, offsets=offsets)


def _native_strings(strings: Bytes, rows: int) -> NativeValue:
    offsets = np.require(strings.offsets, np.int64, ["C", "A"])
    elements = len(offsets) - 1
    count = elements // rows if rows else 0
    data = np.ascontiguousarray(strings.data, np.uint8)
    return NativeValue("bytes", data, rows, count, elements=elements, offsets=offsets)


def _native_numbers(key: Any, array: Array, rows: int) -> NativeValue:
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"feature {key!a}: an array of {array.dtype} cannot be stored in a list; "
            f"{_other_dtype(array.dtype)}"
        )
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    kind = "float" if array.dtype.kind == "f" else "int64"
    return NativeValue(kind, array.reshape(-1), rows, array.size // rows if rows else 0)


def _other_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "mM":
        return "view it as int64"
    if dtype.kind == "c":
        return "a RawFeature stores it as bytes"
    return "use integers, bools, floats, bytes or str"


def _native_ragged(key: Any, column: Ragged) -> NativeValue:
    if isinstance(column.values, Ragged):
        raise TypeError(
            f"feature {key!a}: an Example cannot store rows of rows; store the inner lengths "
            f"as a feature of their own"
        )
    splits = np.require(column.row_splits, np.int64, ["C", "A", "E"])
    if splits.ndim != 1 or not splits.size:
        raise ValueError(f"feature {key!a}: row_splits must have one dimension and an element")
    values = column.values
    if isinstance(values, Bytes):
        native = _native_strings(values, 1)
    else:
        values = np.asarray(values)
        if values.dtype == np.uint8:
            return _native_raw(key, Raw(values.reshape(-1), splits))
        native = _native_numbers(key, values, 1)
        native.elements = native.count
    native.rows, native.splits = len(splits) - 1, splits
    return native
