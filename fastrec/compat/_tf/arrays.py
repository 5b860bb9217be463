# SPDX-License-Identifier: Apache-2.0
"""Convert Python values to arrays of the types that TensorFlow chooses."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .dtypes import DType, as_dtype, bool_, string
from .shape import Dimension, TensorShape

_Array = np.ndarray[Any, Any]


def _fits(value: Any, dtype: DType) -> bool:
    if dtype is string:
        return isinstance(value, (str, bytes, bytearray, np.str_, np.bytes_))
    if dtype is bool_:
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, (bool, np.bool_)):
        return False
    if dtype.is_integer:
        return isinstance(value, (numbers.Integral, Dimension))
    return isinstance(value, (numbers.Number, Dimension))


def _check(value: Any, dtype: DType) -> None:
    if isinstance(value, np.ndarray):
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            _check(item, dtype)
    elif not _fits(value, dtype):
        raise TypeError(f"Expected {dtype.name}, but got {value} of type {type(value).__name__!r}.")


def _undimensioned(value: Any) -> Any:
    """Replace dimensions in `value` by plain numbers."""
    if isinstance(value, (TensorShape, Dimension)):
        if isinstance(value, TensorShape):
            value.assert_is_fully_defined()
            return value.as_list()
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_undimensioned(item) for item in value]
    return value


def make_array(value: Any, dtype: DType | None = None) -> _Array:
    """Convert `value` to an array of `dtype`, or of the type that TensorFlow chooses.

    Python's integers become int32 where they fit and int64 otherwise, and its floats float32.
    Arrays and scalars of NumPy keep their type.

    Raises
    ------
    TypeError
        If `value` is not of `dtype`.
    ValueError
        If `value` is None or contains rows of different lengths.
    """
    if value is None:
        raise ValueError("None values not supported.")
    value = _undimensioned(value)
    of_numpy = isinstance(value, (np.ndarray, np.generic))
    if dtype is None and isinstance(value, (str, bytes)):
        dtype = string
    if dtype is not None and not of_numpy:
        _check(value, dtype)
    if dtype is string:
        return strings_of(value)
    if dtype is not None:
        return _cast_in(value, dtype)
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        if array.dtype.kind == "O" or not of_numpy:
            _refuse_mixture(value, array)
        return strings_of(value)
    if not of_numpy:
        array = _narrowed(array)
    as_dtype(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _cast_in(value: Any, dtype: DType) -> _Array:
    try:
        return as_typed(value, dtype.numpy)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _refuse_mixture(value: Any, array: _Array) -> None:
    flat = np.asarray(value, dtype=object).reshape(-1)
    if not all(isinstance(item, (str, bytes)) for item in flat):
        raise TypeError(
            f"Failed to convert elements of {value} to Tensor. Consider casting elements to a "
            f"supported type. See https://www.tensorflow.org/api_docs/python/tf/dtypes for "
            f"supported TF dtypes."
        )


def _narrowed(array: _Array) -> _Array:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    return array


def as_typed(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Convert `value` to an array of `dtype`. Arrays are cast; Python's integers must fit.

    Raises
    ------
    OverflowError
        If an integer does not fit, which older versions of NumPy do not report.
    """
    if dtype.kind not in "iu" or isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value, dtype=dtype)
    array = np.asarray(value)
    if array.dtype.kind not in "biu":
        return np.asarray(value, dtype=dtype)
    if array.size and array.dtype.kind != "b":
        limits = np.iinfo(dtype)
        if not limits.min <= array.min() <= array.max() <= limits.max:
            raise OverflowError(f"{value!r} does not fit {dtype.name}")
    return array.astype(dtype, copy=False)


def strings_of(value: Any) -> np.ndarray[Any, Any]:
    """Convert `value` to an object array of ``bytes``; text is encoded as UTF-8.

    Raises
    ------
    TypeError
        If an element is neither text nor bytes.
    """
    array = np.asarray(value, dtype=object) if not isinstance(value, np.ndarray) else value
    flat = [_bytes_of(item) for item in array.reshape(-1).tolist()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def _bytes_of(item: Any) -> bytes:
    if type(item) is bytes:
        return item
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    raise TypeError(f"Expected string, but got {item!r} of type {type(item).__name__!r}.")


def frozen(value: Any) -> Any:
    """Return a read-only view of `value`."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value
