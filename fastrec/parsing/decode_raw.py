# SPDX-License-Identifier: Apache-2.0
"""Decode byte strings as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int, check_types, shown
from ..columns import Bytes
from ..errors import ExampleParseError
from ..features.column_spec import as_dtype

__all__ = ["decode_raw"]

_BYTES_LIKE = (bytes, bytearray, memoryview)


def decode_raw(
    input_bytes: bytes | memoryview | Iterable[Any] | Bytes | NDArray[Any],
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
) -> NDArray[Any]:
    """Decode byte strings into arrays of numbers.

    Parameters
    ----------
    input_bytes : bytes-like, Bytes, or (nested) iterable of bytes
    out_type : dtype-like
        Type of the elements: bool, integer, float or complex.
    little_endian : bool
        Byte order of the elements. Real and imaginary parts are swapped separately.
    fixed_length : int, optional
        Length in bytes to which each string is first truncated or padded with zeros. It must be a
        multiple of the size of `out_type`.

    Returns
    -------
    ndarray
        An array with the shape of the input and an additional dimension for the elements. If the
        strings are contiguous, aligned and in this machine's byte order, the array is a view of the
        input, and read-only if the input is. Otherwise it is a copy.

    Raises
    ------
    ExampleParseError
        If strings differ in size, or if the size is not a multiple of the element size.

    Examples
    --------
    >>> decode_raw(b"\\1\\0\\2\\0", np.int16)
    array([1, 2], dtype=int16)
    >>> decode_raw([b"\\1\\2", b"\\3"], np.uint8, fixed_length=2).tolist()
    [[1, 2], [3, 0]]
    """
    check_types(decode_raw, locals())
    dtype = as_dtype(out_type, "out_type")
    if dtype.kind not in "biufc":
        raise TypeError(f"out_type must be a bool, integer, float or complex, got {out_type!r}")
    if fixed_length is not None:
        _check_length(fixed_length, dtype.itemsize)
    shape, strings = _flatten(input_bytes)
    is_view = isinstance(strings, Bytes) and fixed_length is None
    rows = _as_rows(strings) if is_view else _core.fit_strings(strings, fixed_length)
    if rows.shape[1] % dtype.itemsize:
        raise ExampleParseError(
            f"each string must be a multiple of {dtype.itemsize}, the element's size, got "
            f"{rows.shape[1]} bytes"
        )
    rows = rows.reshape(*shape, rows.shape[1])
    if dtype.kind == "b":
        flags: NDArray[Any] = _core.empty(rows.shape, np.bool_)
        np.not_equal(rows, 0, out=flags)
        return flags
    stored = dtype.newbyteorder("<" if little_endian else ">")
    elements = rows.view(stored)
    if not is_view and not stored.isnative:
        return rows.view(dtype).byteswap(inplace=True)
    if elements.flags.aligned and stored.isnative:
        return elements.view(dtype)
    decoded = _core.empty(elements.shape, dtype)
    np.copyto(decoded, elements)
    return decoded


def _flatten(input_bytes: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape of the input, and its strings as a Bytes or a list of bytes-like objects."""
    if isinstance(input_bytes, Bytes):
        return input_bytes.shape, Bytes(input_bytes.data, input_bytes.offsets)
    if isinstance(input_bytes, _BYTES_LIKE):
        data = np.frombuffer(input_bytes, np.uint8)
        return (), Bytes(data, np.array([0, len(data)]))
    if not isinstance(input_bytes, Iterable) or getattr(input_bytes, "shape", None) == ():
        raise TypeError(f"input_bytes must be bytes, got {shown(input_bytes)}")
    if not hasattr(input_bytes, "__len__"):
        input_bytes = list(input_bytes)
    if len(input_bytes) == 0:
        return (0,), []
    if isinstance(input_bytes, (list, tuple)) and isinstance(input_bytes[0], _BYTES_LIKE):
        return (len(input_bytes),), input_bytes
    array = _object_array(input_bytes)
    return array.shape, array.reshape(-1).tolist()


def _object_array(strings: Any) -> NDArray[np.object_]:
    """Convert nested sequences to an object array; NumPy strips zeros from the ends of bytes."""
    if isinstance(strings, str):
        raise TypeError("input_bytes must be bytes, got str")
    if isinstance(strings, np.ndarray) and strings.dtype == object:
        return strings
    if isinstance(strings, np.ndarray):
        raise TypeError(f"input_bytes must be bytes or object arrays of bytes, got {strings.dtype}")
    if hasattr(strings, "to_pylist"):  # an array of pyarrow
        strings = strings.to_pylist()
    if not isinstance(strings, Iterable):
        raise TypeError(f"input_bytes must be bytes, got {shown(strings)}")
    rows = [s if isinstance(s, _BYTES_LIKE) else _object_array(s) for s in strings]
    if isinstance(rows[0], np.ndarray):
        return np.stack(rows)
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def _check_length(length: int, itemsize: int) -> None:
    check_int("fixed_length", length, 1, 2**40)
    if length % itemsize:
        raise ValueError(
            f"fixed_length must be a multiple of {itemsize}, the element's size, got {length}"
        )


def _as_rows(strings: Bytes) -> NDArray[np.uint8]:
    """Return strings as rows of bytes, without a copy; raise if they have different sizes."""
    sizes = strings.offsets[1:] - strings.offsets[:-1]
    if len(sizes) and (sizes != sizes[0]).any():
        return _core.fit_strings(strings)  # raises the error
    size = int(sizes[0]) if len(sizes) else 0
    return strings.data[strings.offsets[0] : strings.offsets[-1]].reshape(len(sizes), size)
