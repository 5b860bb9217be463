# SPDX-License-Identifier: Apache-2.0
"""Values of samples in other formats, as columns of records, and columns as these values.

Scalars become features: integers int64, floats float32. Arrays that a feature holds with its type
and shape, vectors of int64 and float32, become features, too. Other arrays become values in NPY,
which :func:`fastrec.infer_features` recognises.
"""

from __future__ import annotations

import io
import itertools
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..columns import Arrays, Bytes, Ragged
from ..features.raw import RawFeature
from ..features.spec import FixedLenFeature
from ..parsing.infer import survey_features
from ..parsing.parse import parse_example
from ..records.content.arrays import array_header
from .conversion import Conversion
from .samples import type_of

__all__ = [
    "ArrayColumn",
    "Decoder",
    "Field",
    "Misfit",
    "as_bytes",
    "as_texts",
    "byte_lists",
    "contents_of",
    "features_of",
    "field_of",
    "numbers",
    "pixels",
    "stored_rows",
    "vectors",
]

_BLOCK = 1024  # records that are parsed at once
_NATIVE = (np.dtype(np.int64), np.dtype(np.float32))
_MODES = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4, "YCbCr": 3}  # channels of raw images
_MOST_NUMBER = 2**63 - 1

Decoder = Callable[[list[bytes]], Any]
"""Returns the column of the values of some samples."""


class Misfit(ValueError):
    """A value that does not have its encoding: `row` is its place among the values.

    Examples
    --------
    >>> Misfit(3, "is not UTF-8").row
    3
    """

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row: int = row


# -- Values to columns -----------------------------------------------------------------------------


def as_bytes(values: list[bytes]) -> list[bytes]:
    """Return bytes as they are."""
    return values


def as_texts(values: list[bytes]) -> list[bytes]:
    """Return texts as they are, after checking that they are UTF-8."""
    for row, value in enumerate(values):
        try:
            value.decode()
        except UnicodeDecodeError as error:
            raise Misfit(row, f"is not UTF-8: {error}") from None
    return values


def numbers(dtype: Any, *, is_exact: bool = True) -> Decoder:
    """Return the decoder of numbers of a type.

    With `is_exact`, doubles become arrays in NPY; otherwise they are rounded to float32.
    """
    kind = np.dtype(dtype).newbyteorder("<")

    def decode(values: list[bytes]) -> Any:
        for row, value in enumerate(values):
            if len(value) != kind.itemsize:
                raise Misfit(row, f"must have {kind.itemsize} bytes, got {len(value)}")
        found = np.frombuffer(b"".join(values), kind)
        if kind.kind == "f":
            is_wide = kind.itemsize > 4
            return (
                stored_rows(found)
                if is_wide and is_exact
                else found.astype("f4" if not is_wide else "f8")
            )
        if kind.kind == "u" and len(found) and int(found.max()) > _MOST_NUMBER:
            row = int((found > _MOST_NUMBER).argmax())
            raise Misfit(row, f"is {found[row]}, more than a feature holds ({_MOST_NUMBER})")
        return found.astype(np.int64)

    return decode


def stored_rows(rows: Any) -> Any:
    """Return the column of a writer for some rows of an array."""
    native = rows.dtype.newbyteorder("=")
    # A list of one value would come back as a scalar.
    if native in _NATIVE and (rows.ndim == 1 or (rows.ndim == 2 and rows.shape[1] > 1)):
        return rows.astype(native)
    if rows.dtype.kind == "S" and rows.ndim == 1:
        return rows.tolist()
    if rows.dtype.kind == "U" and rows.ndim == 1:
        return [text.encode() for text in rows.tolist()]
    return [_npy(row) for row in rows]


def _npy(row: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(row, order="C"), allow_pickle=False)
    return file.getvalue()


Head = Callable[[bytes], tuple[Any, tuple[int, ...], int]]
"""Returns the type and the shape of an array, and where its elements begin."""


class ArrayColumn:
    """Decodes arrays, each with its own shape.

    The first array of a column decides how all are stored: vectors of int64 or float32 as lists,
    others in NPY.

    Parameters
    ----------
    head : callable
        Returns the type and the shape of an array, and where its elements begin. It may raise
        ValueError, struct.error, KeyError or IndexError.
    """

    def __init__(self, head: Head) -> None:
        self._head = head
        self._is_list: bool | None = None

    def __call__(self, values: list[bytes]) -> list[Any]:
        """Return the column of some values."""
        arrays: list[Any] = []
        for row, value in enumerate(values):
            array = self._array(row, value)
            is_list = array.ndim == 1 and array.dtype in _NATIVE
            if self._is_list is None:
                self._is_list = is_list
            if self._is_list and not is_list:
                raise Misfit(
                    row,
                    f"is an array of {array.dtype} with {array.ndim} dimensions, and the first "
                    "value of the column is a vector of int64 or float32; write the set again "
                    "with arrays of one kind",
                )
            arrays.append(array if self._is_list else _npy(array))
        return arrays

    def _array(self, row: int, value: bytes) -> Any:
        try:
            dtype, shape, start = self._head(value)
        except (ValueError, struct.error, KeyError, IndexError) as error:
            raise Misfit(row, f"does not begin with the type and the shape: {error}") from None
        needed = math.prod(shape) * dtype.itemsize
        if len(value) - start != needed:
            raise Misfit(
                row, f"has {len(value) - start} bytes of elements, and its shape needs {needed}"
            )
        try:
            return np.frombuffer(value, dtype, offset=start).reshape(shape)
        except (ValueError, OverflowError) as error:  # no elements, and large dimensions
            raise Misfit(row, f"has the shape {shape}: {error}") from None


def vectors(dtype: Any) -> Decoder:
    """Return the decoder of vectors of a type, without headers."""
    kind = np.dtype(dtype).newbyteorder("<")

    def decode(values: list[bytes]) -> Any:
        for row, value in enumerate(values):
            if len(value) % kind.itemsize:
                text = f"has {len(value)} bytes, not a multiple of {kind.itemsize}"
                raise Misfit(row, text)
        flat = np.frombuffer(b"".join(values), kind)
        splits = np.cumsum([0, *map(len, values)]) // kind.itemsize
        if kind not in _NATIVE:
            return [_npy(flat[a:b]) for a, b in itertools.pairwise(splits.tolist())]
        return Ragged(flat.astype(kind.newbyteorder("=")), splits)

    return decode


def byte_lists(start: int) -> Decoder:
    """Return the decoder of lists of bytes: after `start` bytes come their number and sizes."""

    def decode(values: list[bytes]) -> list[list[bytes]]:
        return [_items(row, value, start) for row, value in enumerate(values)]

    return decode


def _items(row: int, value: bytes, start: int) -> list[bytes]:
    count = int.from_bytes(value[start : start + 4], "little")
    at = start + 4 + 4 * count
    if at > len(value):
        raise Misfit(row, f"states {count} items, and has {len(value)} bytes")
    items = []
    for size in np.frombuffer(value, "<u4", count, start + 4).tolist():
        items.append(value[at : at + size])
        at += size
    if at != len(value):
        raise Misfit(row, f"has {len(value)} bytes, and its items need {at}")
    return items


def pixels(values: list[bytes]) -> list[bytes]:
    """Return raw images, which begin with width, height and mode, as arrays in NPY."""
    return [_npy(_image(row, value)) for row, value in enumerate(values)]


def _image(row: int, value: bytes) -> Any:
    if len(value) < 12:
        raise Misfit(row, f"has {len(value)} bytes, fewer than the size of an image takes")
    width, height, length = struct.unpack_from("<3I", value)
    mode = value[12 : 12 + min(length, 16)].decode("latin-1")
    channels = _MODES.get(mode)
    if channels is None:
        raise Misfit(row, f"is an image of mode {mode!a}; save one of {', '.join(_MODES)}")
    content = value[12 + length :]
    if len(content) != width * height * channels:
        raise Misfit(
            row, f"has {len(content)} bytes of pixels, and {width} x {height} {mode} needs others"
        )
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.frombuffer(content, np.uint8).reshape(shape)


# -- Columns to values -----------------------------------------------------------------------------


class Field(NamedTuple):
    """A column of records to be written.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype or None
        Type of the elements; None for bytes.
    shape : tuple of int or None, or None
        Shape of each value, with None for a dimension that varies; None if all vary.
    media : str
        Type of all values of bytes, as extension: ``"txt"``, ``"jpg"``, ``"png"`` or ``"bin"``.
    """

    name: str
    dtype: Any
    shape: tuple[int | None, ...] | None
    media: str

    @property
    def is_fixed(self) -> bool:
        """Whether all values have the same shape, and elements."""
        return self.shape is not None and all(self.shape)

    def values(self, column: Any) -> list[Any]:
        """Return the values of a column: bytes, or arrays in little-endian byte order."""
        if self.dtype is None:
            return column.to_list()  # type: ignore[no-any-return]
        kind = self.dtype.newbyteorder("<")
        if isinstance(column, np.ndarray):
            return list(np.ascontiguousarray(column, kind))
        return [np.ascontiguousarray(each, kind) for each in column]


def field_of(name: str, column: Any, media: str, phrase: str) -> Field:
    """Return the field of a column.

    Raises
    ------
    ValueError
        If such values cannot be stored.
    """
    if isinstance(column, Bytes) and len(column.shape) == 1:
        return Field(name, None, (), media)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufc":
        return Field(name, column.dtype, column.shape[1:], "bin")
    if (
        isinstance(column, Ragged)
        and isinstance(column.values, np.ndarray)
        and column.values.ndim == 1
    ):
        return Field(name, column.values.dtype, (None,), "bin")
    if isinstance(column, Arrays) and len(column):
        return Field(name, column[0].dtype, None, "bin")
    raise ValueError(
        f"feature {name!a} has no value or several values of bytes in a record, which {phrase} "
        "cannot store; name other features, or convert to Parquet or tar"
    )


def features_of(job: Conversion, phrase: str, infer: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the features to write: the mapping itself, or inferred features of all or some names.

    `infer` is a function such as :func:`fastrec.infer_features`.

    Raises
    ------
    ValueError
        If the records have feature lists, or none has a named feature.
    """
    features = job.features
    if isinstance(features, Mapping):
        return features
    described = infer(
        job.paths, None, on_error=_quietly(job), storage_options=job.storage, shards="any"
    )
    if hasattr(described, "context") or hasattr(features, "context"):
        raise ValueError(f"{phrase} cannot store feature lists; convert to Parquet")
    if odd := [name for name in features or () if name not in described]:
        raise ValueError(f"features: {odd[0]!a} is in no record")
    return {name: described[name] for name in features or described}


def _quietly(job: Conversion) -> Any:
    """Return a policy that leaves out what the pass over the records for writing reports."""
    return job.on_error if isinstance(job.on_error, str) else "skip"


class _Content:
    """The types of the values of a feature of single bytes.

    Attributes
    ----------
    media : str
        Type of all values, as extension.
    """

    def __init__(self) -> None:
        self.media: str = ""
        self._dtype: Any = None
        self._shapes: set[tuple[int, ...]] = set()

    def add(self, values: list[bytes]) -> None:
        """Add the values of some records."""
        for value in values:
            kind = type_of(value)
            kind = "txt" if kind == "json" else kind
            if kind == "npy":
                kind = self._added(value)
            if kind not in ("txt", "jpg", "png", "npy") or kind != (self.media or kind):
                self.media = "bin"
                return
            self.media = kind

    def _added(self, value: bytes) -> str:
        header = array_header("npy", value)
        if header is None or header.dtype is None or header.fortran_order:
            return "bin"
        dtype = header.dtype.newbyteorder("=")
        if dtype.kind not in "biufc" or dtype != (self._dtype or dtype):
            return "bin"
        self._dtype = dtype
        self._shapes.add(header.shape)
        return "npy"

    def feature(self) -> RawFeature:
        """Return the feature for values that are arrays."""
        shape = next(iter(self._shapes)) if len(self._shapes) == 1 else None
        return RawFeature(shape, self._dtype, encoding="npy")


def contents_of(job: Conversion, phrase: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the features to write, and the type that all values of each bytes feature have.

    Bytes that are arrays in NPY become features of arrays, unless a mapping describes the features.
    """
    found = dict(features_of(job, phrase, partial(survey_features, for_table=True)))
    contents = {
        name: _Content()
        for name, each in found.items()
        if isinstance(each, FixedLenFeature) and each.dtype is bytes
    }
    left = {name: found[name] for name in contents}
    if left:
        for block in replace(job, on_error=_quietly(job)).reader().blocks(_BLOCK):
            for name, column in parse_example(block, left).items():
                contents[name].add(column.to_list())
            left = {name: each for name, each in left.items() if contents[name].media != "bin"}
            if not left:
                break
    media = {name: content.media for name, content in contents.items()}
    for name, content in contents.items():
        if content.media == "npy":
            media[name] = "bin"
            if not isinstance(job.features, Mapping):
                found[name] = content.feature()
    return found, media
