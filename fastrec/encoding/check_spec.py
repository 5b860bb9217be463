# SPDX-License-Identifier: Apache-2.0
"""A features specification, held against values before a byte of them is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..columns import Bytes, Ragged
from ..features.column_spec import Feature, Lowered, check_feature, encode_key
from ..features.raw import RawFeature
from .nested_rows import value_name
from .to_column import Array, Column, Raw, type_name

__all__ = ["Pins", "named_shapes", "pinned", "pins_of"]

Pins = dict[Any, Lowered]


def pins_of(features: Mapping[str, Feature] | None) -> Pins | None:
    """A features specification by name, as :func:`pinned` wants it.

    Raises
    ------
    TypeError
        On a feature that says how to read only, such as a SparseFeature.
    """
    if features is None:
        return None
    if not isinstance(features, Mapping):
        raise TypeError(f"features must map names to features, got {type(features).__name__}")
    pins: Pins = {}
    beside: Pins = {}
    for key, feature in features.items():
        columns, _ = check_feature(key, feature)._lower(encode_key(key))
        name = value_name(key, feature)
        own = [column for column in columns if column.key == name]
        if len(own) != 1:
            raise TypeError(
                f"feature {key!a}: a {type(feature).__name__} of other features says "
                f"how to read them; specify those"
            )
        same = name == encode_key(key)
        pins[key if same else name.decode("utf-8", "surrogateescape")] = _pin_of(own[0])
        beside.update(
            (c.key.decode("utf-8", "surrogateescape"), c) for c in columns if c not in own
        )
    return beside | pins


def named_shapes(features: Mapping[str, Feature] | None) -> dict[str, str]:
    """By feature, the one that holds its shape, where the specification names one."""
    named = {}
    for key, feature in (features or {}).items():
        shape = getattr(feature, "shape", None) if isinstance(feature, RawFeature) else None
        if isinstance(shape, (str, bytes)):
            named[key] = shape if isinstance(shape, str) else shape.decode()
    return named


def _pin_of(column: Lowered) -> Lowered:
    """Arrays that are fitted when they are read may have any shape when they are written."""
    if column.fit is None:
        return column
    return column._replace(fit=None, ragged=True, shape=())


def pinned(key: Any, column: Column, pin: Lowered, present: Array | None = None) -> Column:
    """`column` in the form that `pin` asks for, or an exception that says why not.

    Rows that are not `present` may be anything.
    """
    if pin.raw:
        return _raw(key, column, pin)
    if isinstance(column, Raw):
        column = _unraw(key, column, pin)
    if isinstance(column, Ragged):
        return _ragged(key, column, pin, present)
    if pin.kind == "bytes":
        return _strings(key, column, pin)
    return _numbers(key, column, pin)


def _wants(pin: Lowered) -> str:
    what = "bytes" if pin.dtype.hasobject else str(pin.dtype)
    if pin.ragged:
        return f"any number of {what}"
    return f"{what} of shape {pin.shape}"


def _mismatch(key: Any, column: Any, pin: Lowered) -> TypeError:
    what = type_name(column.values if isinstance(column, Raw) else column)
    return TypeError(f"feature {key!a}: the specification says {_wants(pin)} a row, not {what}")


def _check_shape(key: Any, shape: tuple[int, ...], pin: Lowered) -> None:
    if not pin.ragged and shape != pin.shape:
        raise ValueError(
            f"feature {key!a}: a row has shape {shape}, the specification says {pin.shape}"
        )


def _as_numbers(key: Any, values: Array, column: Any, pin: Lowered) -> Array:
    """Numbers that the pinned dtype holds without loss, floats by rounding."""
    kind = values.dtype.kind
    if kind not in "biuf" or (pin.kind == "int64" and kind == "f"):
        if values.size or kind not in "biuf":
            raise _mismatch(key, column, pin)
        return values.astype(np.int64)
    if pin.kind == "float":
        return values if kind == "f" else values.astype(np.float64)
    _check_range(key, values, pin.dtype)
    return values


def _check_range(key: Any, values: Array, dtype: np.dtype[Any]) -> None:
    if values.dtype == dtype or not values.size:
        return
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    least, most = int(values.min()), int(values.max())
    if least < low or most > high:
        value = least if least < low else most
        row = int(np.argwhere(values == value)[0][0])
        raise OverflowError(f"feature {key!a}: row {row}: {value} does not fit {dtype}")


def _numbers(key: Any, column: Column, pin: Lowered) -> Array:
    if not isinstance(column, np.ndarray):
        raise _mismatch(key, column, pin)
    values = _as_numbers(key, column, column, pin)
    _check_shape(key, column.shape[1:], pin)
    return values


def _ragged(key: Any, column: Ragged, pin: Lowered, present: Array | None) -> Ragged:
    values = column.values
    if not pin.ragged:
        lengths = np.diff(column.row_splits)
        good = (lengths == math.prod(pin.shape)) & (len(pin.shape) == 1 or present is not None)
        wrong = np.flatnonzero(~good if present is None else ~good & (present == 1))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"feature {key!a}: row {row} has {int(lengths[row])} values in one list, the "
                f"specification says {_wants(pin)}"
            )
    if pin.kind == "bytes":
        if not isinstance(values, Bytes) and len(values):
            raise _mismatch(key, column, pin)
        if not isinstance(values, Bytes):
            values = Bytes.from_list([])
        return Ragged(values, column.row_splits)
    if isinstance(values, Bytes):
        raise _mismatch(key, column, pin)
    values = _as_numbers(key, np.asarray(values), column, pin)
    return Ragged(_not_uint8(values), column.row_splits)


def _not_uint8(values: Array) -> Array:
    return values.astype(np.int64) if values.dtype == np.uint8 else values


def _unraw(key: Any, column: Raw, pin: Lowered) -> Column:
    """Arrays of uint8 for which lists are asked."""
    if column.splits is None:
        return column.values
    if pin.kind == "bytes":
        splits = column.splits
        return Bytes(column.values.reshape(-1), splits)
    return Ragged(_not_uint8(column.values), column.splits)


def _strings(key: Any, column: Column, pin: Lowered) -> Column:
    if isinstance(column, np.ndarray) and column.dtype == np.uint8 and column.ndim > 1:
        _check_shape(key, (), pin)
        return Raw(column)
    if isinstance(column, np.ndarray) and not column.size and pin.ragged:
        return Bytes(np.zeros(0, np.uint8), np.zeros(1, np.int64), (len(column), 0))
    if not isinstance(column, Bytes):
        raise _mismatch(key, column, pin)
    _check_shape(key, column.shape[1:], pin)
    return column


def _raw(key: Any, column: Column, pin: Lowered) -> Column:
    if isinstance(column, Bytes):
        return _raw_bytes(key, column, pin)
    if isinstance(column, (Ragged, Raw)) and getattr(column, "splits", column) is not None:
        return _raw_ragged(key, column, pin)
    values = column.values if isinstance(column, Raw) else column
    assert isinstance(values, np.ndarray)
    if values.dtype.kind not in "biufc":
        raise _mismatch(key, column, pin)
    _check_shape(key, values.shape[1:], pin)
    return Raw(_converted(key, values, column, pin))


def _raw_bytes(key: Any, column: Bytes, pin: Lowered) -> Bytes:
    """Bytes that are the array already: only their size can be wrong."""
    if len(column.shape) > 1 and math.prod(column.shape[1:]) != 1:
        raise _mismatch(key, column, pin)
    sizes = np.diff(column.offsets)
    if pin.ragged:
        wrong = np.flatnonzero(sizes % pin.dtype.itemsize)
        wanted = f"a multiple of {pin.dtype.itemsize}"
    else:
        size = math.prod(pin.shape) * pin.dtype.itemsize
        wrong, wanted = np.flatnonzero(sizes != size), str(size)
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"feature {key!a}: row {row} has {int(sizes[row])} bytes, the specification says "
            f"{_wants(pin)}, which is {wanted}"
        )
    return Bytes(column.data, column.offsets)


def _raw_ragged(key: Any, column: Ragged | Raw, pin: Lowered) -> Raw:
    splits = column.splits if isinstance(column, Raw) else column.row_splits
    assert splits is not None
    if isinstance(column.values, (Bytes, Ragged)):
        raise _mismatch(key, column, pin)
    lengths = np.diff(splits)
    wrong = np.flatnonzero(lengths != (lengths if pin.ragged else math.prod(pin.shape)))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"feature {key!a}: row {row} has {int(lengths[row])} elements, the specification says "
            f"{_wants(pin)}"
        )
    return Raw(_converted(key, np.asarray(column.values), column, pin), splits)


def _converted(key: Any, values: Array, column: Any, pin: Lowered) -> Array:
    """As the pinned dtype, in the pinned byte order, when every value survives that."""
    if values.dtype != pin.dtype:
        if values.dtype.kind in "biu" and pin.dtype.kind in "biu":
            _check_range(key, values, pin.dtype)
        elif values.size and not _widens(values.dtype, pin.dtype):
            raise _mismatch(key, column, pin)
        with np.errstate(over="ignore"):
            cast = values.astype(pin.dtype)
        lost = np.argwhere(np.isfinite(values) & ~np.isfinite(cast))
        if len(lost):
            raise OverflowError(
                f"feature {key!a}: {values[tuple(lost[0])]} does not fit {pin.dtype}"
            )
        values = cast
    return values.byteswap() if pin.swap else values


def _widens(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Integers become floats, floats floats of any width, reals complex; nothing goes back."""
    order = "biufc"
    return target.kind in "fc" and order.index(source.kind) <= order.index(target.kind)
