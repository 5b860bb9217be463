# SPDX-License-Identifier: Apache-2.0
"""Lay out values in the memory format of the core, as a features specification requires.

:mod:`~fastrec.encoding.to_column` implements the rule without a specification. This module checks
values against the specification before a byte is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged
from ..features.column_spec import ColumnSpec, Feature, check_feature, encode_key
from ..features.raw import RawFeature
from ..features.spec import RaggedFeature
from .to_column import Array, Column, NativeValue, Raw, column_of, native_of, one_row, type_name

__all__ = ["Specs", "conform", "named_shapes", "native_column", "native_value", "specs_of"]

Specs = dict[Any, ColumnSpec]


def specs_of(features: Mapping[str, Feature] | None) -> Specs | None:
    """Return a features specification by name, in the form that :func:`native_value` takes.

    Raises
    ------
    TypeError
        If a feature cannot be written, such as a SparseFeature.
    """
    if features is None:
        return None
    if not isinstance(features, Mapping):
        raise TypeError(f"features must map names to features, got {type(features).__name__}")
    specs: Specs = {}
    beside: Specs = {}
    for key, feature in features.items():
        columns, _ = check_feature(key, feature)._columns(encode_key(key))
        name = value_name(key, feature)
        own = [column for column in columns if column.key == name]
        if len(own) != 1:
            raise TypeError(
                f"feature {key!a}: a {type(feature).__name__} of other features says "
                f"how to read them; specify those"
            )
        same = name == encode_key(key)
        specs[key if same else name.decode("utf-8", "surrogateescape")] = _spec_of(own[0])
        beside.update(
            (c.key.decode("utf-8", "surrogateescape"), c) for c in columns if c not in own
        )
    return beside | specs


def value_name(key: Any, feature: Feature) -> bytes:
    """Return the name of a feature's values in the record."""
    name = getattr(feature, "value_key", None) if isinstance(feature, RaggedFeature) else None
    return encode_key(key if name is None else name)


def named_shapes(features: Mapping[str, Feature] | None) -> dict[str, str]:
    """Map features to the feature that holds their shape, where the specification names one."""
    named = {}
    for key, feature in (features or {}).items():
        shape = getattr(feature, "shape", None) if isinstance(feature, RawFeature) else None
        if isinstance(shape, (str, bytes)):
            named[key] = shape if isinstance(shape, str) else shape.decode()
    return named


def _spec_of(column: ColumnSpec) -> ColumnSpec:
    """Allow any shape for arrays that are fitted to one shape when they are read."""
    if column.fit is None:
        return column
    return column._replace(fit=None, ragged=True, shape=())


def native_value(key: Any, value: Any, spec: ColumnSpec | None = None) -> NativeValue:
    """Lay out one row's value; `spec` is its entry in the specification."""
    if value is None:
        return _missing(key, spec)
    if isinstance(value, (list, tuple)) and not value and spec is None:
        return _missing(key, None)
    return _native(key, one_row(key, value), spec)


def native_column(key: Any, column: Any, spec: ColumnSpec | None = None) -> NativeValue:
    """Lay out one feature of every row."""
    column, present = column_of(key, column)
    if present is not None and spec is not None and not spec.ragged and spec.fallback is None:
        row = int(np.flatnonzero(present == 0)[0])
        raise ValueError(
            f"feature {key!a}: row {row} is None, which requires a default_value or a ragged "
            f"feature"
        )
    if present is not None and spec is not None:
        if not present.any():
            return NativeValue("none", np.zeros(0, np.uint8), len(present))
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            there = present.reshape(-1, *[1] * (column.ndim - 1)) == 1
            column = np.where(there, column, column.dtype.type(0))
    native = _native(key, column, spec, present)
    native.present = present
    return native


def _missing(key: Any, spec: ColumnSpec | None) -> NativeValue:
    if spec is not None and not spec.ragged and spec.fallback is None:
        raise ValueError(f"feature {key!a}: None requires a default_value or a ragged feature")
    return NativeValue("none", np.zeros(0, np.uint8), 1)


def _native(
    key: Any, column: Column, spec: ColumnSpec | None, present: NDArray[np.uint8] | None = None
) -> NativeValue:
    if spec is None:
        return native_of(key, column)
    return native_of(key, conform(key, column, spec, present), listed=True)


def conform(key: Any, column: Column, spec: ColumnSpec, present: Array | None = None) -> Column:
    """Return `column` in the form that `spec` requires, or raise an error that states the reason.

    Rows that are not `present` may contain anything.
    """
    if spec.raw:
        return _raw(key, column, spec)
    if isinstance(column, Raw):
        column = _unraw(key, column, spec)
    if isinstance(column, Ragged):
        return _ragged(key, column, spec, present)
    if spec.kind == "bytes":
        return _strings(key, column, spec)
    return _numbers(key, column, spec)


def _wants(spec: ColumnSpec) -> str:
    what = "bytes" if spec.dtype.hasobject else str(spec.dtype)
    if spec.ragged:
        return f"any number of {what}"
    return f"{what} of shape {spec.shape}"


def _mismatch(key: Any, column: Any, spec: ColumnSpec) -> TypeError:
    what = type_name(column.values if isinstance(column, Raw) else column)
    return TypeError(
        f"feature {key!a}: a row must be {_wants(spec)} by the specification, got {what}"
    )


def _check_shape(key: Any, shape: tuple[int, ...], spec: ColumnSpec) -> None:
    if not spec.ragged and shape != spec.shape:
        raise ValueError(
            f"feature {key!a}: a row must have shape {spec.shape} by the specification, got {shape}"
        )


def _as_numbers(key: Any, values: Array, column: Any, spec: ColumnSpec) -> Array:
    """Check that the dtype of `spec` represents the numbers; floats are rounded."""
    kind = values.dtype.kind
    if kind not in "biuf" or (spec.kind == "int64" and kind == "f"):
        if values.size or kind not in "biuf":
            raise _mismatch(key, column, spec)
        return values.astype(np.int64)
    if spec.kind == "float":
        return values if kind == "f" else values.astype(np.float64)
    _check_range(key, values, spec.dtype)
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


def _numbers(key: Any, column: Column, spec: ColumnSpec) -> Array:
    if not isinstance(column, np.ndarray):
        raise _mismatch(key, column, spec)
    values = _as_numbers(key, column, column, spec)
    _check_shape(key, column.shape[1:], spec)
    return values


def _ragged(key: Any, column: Ragged, spec: ColumnSpec, present: Array | None) -> Ragged:
    values = column.values
    if not spec.ragged:
        lengths = np.diff(column.row_splits)
        good = (lengths == math.prod(spec.shape)) & (len(spec.shape) == 1 or present is not None)
        wrong = np.flatnonzero(~good if present is None else ~good & (present == 1))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"feature {key!a}: row {row} has {int(lengths[row])} values in one list, the "
                f"specification says {_wants(spec)}"
            )
    if spec.kind == "bytes":
        if not isinstance(values, Bytes) and len(values):
            raise _mismatch(key, column, spec)
        if not isinstance(values, Bytes):
            values = Bytes.from_list([])
        return Ragged(values, column.row_splits)
    if isinstance(values, Bytes):
        raise _mismatch(key, column, spec)
    values = _as_numbers(key, np.asarray(values), column, spec)
    return Ragged(_not_uint8(values), column.row_splits)


def _not_uint8(values: Array) -> Array:
    return values.astype(np.int64) if values.dtype == np.uint8 else values


def _unraw(key: Any, column: Raw, spec: ColumnSpec) -> Column:
    """Convert arrays of uint8 to lists of numbers, if `spec` requires lists."""
    if column.splits is None:
        return column.values
    if spec.kind == "bytes":
        splits = column.splits
        return Bytes(column.values.reshape(-1), splits)
    return Ragged(_not_uint8(column.values), column.splits)


def _strings(key: Any, column: Column, spec: ColumnSpec) -> Column:
    if isinstance(column, np.ndarray) and column.dtype == np.uint8 and column.ndim > 1:
        _check_shape(key, (), spec)
        return Raw(column)
    if isinstance(column, np.ndarray) and not column.size and spec.ragged:
        return Bytes(np.zeros(0, np.uint8), np.zeros(1, np.int64), (len(column), 0))
    if not isinstance(column, Bytes):
        raise _mismatch(key, column, spec)
    _check_shape(key, column.shape[1:], spec)
    return column


def _raw(key: Any, column: Column, spec: ColumnSpec) -> Column:
    if isinstance(column, Bytes):
        return _raw_bytes(key, column, spec)
    if isinstance(column, (Ragged, Raw)) and getattr(column, "splits", column) is not None:
        return _raw_ragged(key, column, spec)
    values = column.values if isinstance(column, Raw) else column
    assert isinstance(values, np.ndarray)
    if values.dtype.kind not in "biufc":
        raise _mismatch(key, column, spec)
    _check_shape(key, values.shape[1:], spec)
    return Raw(_converted(key, values, column, spec))


def _raw_bytes(key: Any, column: Bytes, spec: ColumnSpec) -> Bytes:
    """Check the size of bytes that already contain the array."""
    if len(column.shape) > 1 and math.prod(column.shape[1:]) != 1:
        raise _mismatch(key, column, spec)
    sizes = np.diff(column.offsets)
    if spec.ragged:
        wrong = np.flatnonzero(sizes % spec.dtype.itemsize)
        wanted = f"a multiple of {spec.dtype.itemsize}"
    else:
        size = math.prod(spec.shape) * spec.dtype.itemsize
        wrong, wanted = np.flatnonzero(sizes != size), str(size)
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"feature {key!a}: row {row} has {int(sizes[row])} bytes, the specification says "
            f"{_wants(spec)}, which is {wanted}"
        )
    return Bytes(column.data, column.offsets)


def _raw_ragged(key: Any, column: Ragged | Raw, spec: ColumnSpec) -> Raw:
    splits = column.splits if isinstance(column, Raw) else column.row_splits
    assert splits is not None
    if isinstance(column.values, (Bytes, Ragged)):
        raise _mismatch(key, column, spec)
    lengths = np.diff(splits)
    wrong = np.flatnonzero(lengths != (lengths if spec.ragged else math.prod(spec.shape)))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"feature {key!a}: row {row} has {int(lengths[row])} elements, the specification says "
            f"{_wants(spec)}"
        )
    return Raw(_converted(key, np.asarray(column.values), column, spec), splits)


def _converted(key: Any, values: Array, column: Any, spec: ColumnSpec) -> Array:
    """Convert to the dtype and byte order of `spec`, without loss of any value."""
    if values.dtype != spec.dtype:
        if values.dtype.kind in "biu" and spec.dtype.kind in "biu":
            _check_range(key, values, spec.dtype)
        elif values.size and not _widens(values.dtype, spec.dtype):
            raise _mismatch(key, column, spec)
        with np.errstate(over="ignore"):
            cast = values.astype(spec.dtype)
        lost = np.argwhere(np.isfinite(values) & ~np.isfinite(cast))
        if len(lost):
            raise OverflowError(
                f"feature {key!a}: {values[tuple(lost[0])]} does not fit {spec.dtype}"
            )
        values = cast
    return values.byteswap() if spec.swap else values


def _widens(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return whether a conversion is allowed: integer or float to float, real to complex."""
    order = "biufc"
    return target.kind in "fc" and order.index(source.kind) <= order.index(target.kind)
