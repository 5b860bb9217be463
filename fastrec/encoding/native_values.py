# SPDX-License-Identifier: Apache-2.0
"""Columns in the memory that ``csrc/encode.h`` describes.

Every value, of one row or of many, is cooked into a list's elements, where rows and strings begin
in them, and how many a row has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged
from ..features.column_spec import Lowered
from .check_spec import pinned
from .to_column import Array, Column, Raw, column_of, one_row

__all__ = ["Cooked", "cook_column", "cook_value"]


@dataclass
class Cooked:
    """One feature of `rows` rows, in the terms of ``fr_value``."""

    kind: str  # "int64", "float", "bytes" or "none"
    values: Array  # contiguous, aligned, native; of a bytes list: bytes
    rows: int
    count: int = 0  # elements a row, without splits
    element_size: int = 0  # of a bytes list without offsets
    elements: int = 0  # with splits or offsets: all there are
    splits: NDArray[np.int64] | None = None
    offsets: NDArray[np.int64] | None = None
    present: NDArray[np.uint8] | None = None  # a byte a row: 0 where the Feature has no kind


def cook_value(key: Any, value: Any, pin: Lowered | None = None) -> Cooked:
    """One row's value. `pin`: what the features specification says of it."""
    if value is None:
        return _missing(key, pin)
    if isinstance(value, (list, tuple)) and not value and pin is None:
        return _missing(key, None)
    return _cook(key, one_row(key, value), pin)


def cook_column(key: Any, column: Any, pin: Lowered | None = None) -> Cooked:
    """One feature of every row."""
    column, present = column_of(key, column)
    if present is not None and pin is not None and not pin.ragged and pin.fallback is None:
        row = int(np.flatnonzero(present == 0)[0])
        raise ValueError(f"feature {key!a}: row {row} is None, and the feature has no default")
    if present is not None and pin is not None:
        if not present.any():
            return Cooked("none", np.zeros(0, np.uint8), len(present))
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            there = present.reshape(-1, *[1] * (column.ndim - 1)) == 1
            column = np.where(there, column, column.dtype.type(0))
    cooked = _cook(key, column, pin, present)
    cooked.present = present
    return cooked


def _missing(key: Any, pin: Lowered | None) -> Cooked:
    if pin is not None and not pin.ragged and pin.fallback is None:
        raise ValueError(f"feature {key!a}: there is no value, and the feature has no default")
    return Cooked("none", np.zeros(0, np.uint8), 1)


def _cook(
    key: Any, column: Column, pin: Lowered | None, present: NDArray[np.uint8] | None = None
) -> Cooked:
    if pin is not None:
        column = pinned(key, column, pin, present)
    if isinstance(column, Raw):
        return _cook_raw(key, column)
    if isinstance(column, Ragged):
        return _cook_ragged(key, column)
    if isinstance(column, Bytes):
        return _cook_strings(column, len(column))
    if column.dtype == np.uint8 and column.ndim > 1 and pin is None:
        return _cook_raw(key, Raw(column))
    return _cook_numbers(key, column, len(column))


def _bytes_of(array: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _cook_raw(key: Any, raw: Raw) -> Cooked:
    values = raw.values
    if raw.splits is None:
        rows = len(values)
        size = values.nbytes // rows if rows else 0
        return Cooked("bytes", _bytes_of(values), rows, count=1, element_size=size)
    splits = np.asarray(raw.splits)
    rows = splits.size - 1
    if splits.ndim != 1 or rows < 0 or splits.min() < 0 or splits.max() > values.size:
        raise ValueError(f"feature {key!a}: the row_splits lie outside of the values")
    offsets = np.ascontiguousarray(splits * values.itemsize)
    return Cooked("bytes", _bytes_of(values), rows, 1, elements=rows, offsets=offsets)


def _cook_strings(strings: Bytes, rows: int) -> Cooked:
    offsets = np.require(strings.offsets, np.int64, ["C", "A"])
    elements = len(offsets) - 1
    count = elements // rows if rows else 0
    data = np.ascontiguousarray(strings.data, np.uint8)
    return Cooked("bytes", data, rows, count, elements=elements, offsets=offsets)


def _cook_numbers(key: Any, array: Array, rows: int) -> Cooked:
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"feature {key!a}: an array of {array.dtype} cannot be stored in a list; "
            f"{_other_dtype(array.dtype)}"
        )
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    kind = "float" if array.dtype.kind == "f" else "int64"
    return Cooked(kind, array.reshape(-1), rows, array.size // rows if rows else 0)


def _other_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "mM":
        return "view it as int64"
    if dtype.kind == "c":
        return "a RawFeature stores it as bytes"
    return "use integers, bools, floats, bytes or str"


def _cook_ragged(key: Any, column: Ragged) -> Cooked:
    if isinstance(column.values, Ragged):
        raise TypeError(
            f"feature {key!a}: rows of rows have no place in an Example; store the inner lengths "
            f"as a feature of their own"
        )
    splits = np.require(column.row_splits, np.int64, ["C", "A", "E"])
    if splits.ndim != 1 or not splits.size:
        raise ValueError(f"feature {key!a}: row_splits must have one dimension and an element")
    values = column.values
    if isinstance(values, Bytes):
        cooked = _cook_strings(values, 1)
    else:
        values = np.asarray(values)
        if values.dtype == np.uint8:
            return _cook_raw(key, Raw(values.reshape(-1), splits))
        cooked = _cook_numbers(key, values, 1)
        cooked.elements = cooked.count
    cooked.rows, cooked.splits = len(splits) - 1, splits
    return cooked
