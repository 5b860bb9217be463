# SPDX-License-Identifier: Apache-2.0
"""Build items of a batch from one or more ragged columns, for all records at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..columns import Arrays, Bytes, Ragged, Sparse
from ..errors import ExampleParseError, printable
from ..records.content import value_content
from ..records.content.arrays import ArrayEncoding, array_header, decode_array
from .row_partitions import Ints, Partition

__all__: list[str] = []


def bits_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that the core reads: unsigned integers for a type of ml_dtypes."""
    return dtype if dtype.type.__module__ == "numpy" else np.dtype(f"u{dtype.itemsize}")


@dataclass(frozen=True)
class BitsBuild:
    """Elements of a type that the core does not support, read as integers of the same size."""

    dtype: np.dtype[Any]
    build: Any  # builder of the item; None if it is the column itself

    def __call__(self, *columns: Any) -> Any:
        item = columns[0] if self.build is None else self.build(*columns)
        if isinstance(item, Ragged):
            return Ragged(item.values.view(self.dtype), item.row_splits)
        if isinstance(item, Arrays):
            return Arrays(item.values.view(self.dtype), item.row_splits, item.shapes)
        return item.view(self.dtype)


def last(*columns: Any) -> Any:
    """Return the last column; the core has already used the others."""
    return columns[-1]


def _fail(record: int, key: bytes, cause: str) -> NoReturn:
    raise ExampleParseError(cause, kind="schema", record=record, feature=printable(key))


def take(values: Any, order: Ints) -> Any:
    """Return the values in another order."""
    if isinstance(values, Bytes):
        return values.take(order)
    return values[order]


def row_numbers(splits: Ints) -> Ints:
    """Return the row of each element."""
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def widest(splits: Ints) -> int:
    """Return the length of the longest row."""
    return int((splits[1:] - splits[:-1]).max(initial=0))


@dataclass(frozen=True)
class SparseBuild:
    """Builds a SparseFeature from its index columns and its values."""

    size: tuple[int, ...]
    already_sorted: bool
    value_key: bytes

    def __call__(self, *columns: Ragged) -> Sparse:
        *keys, values = columns
        splits = values.row_splits
        indices = np.empty((int(splits[-1]), 1 + len(keys)), np.int64)
        for axis, key in enumerate(keys, 1):
            same = np.diff(key.row_splits) == np.diff(splits)
            if not same.all():
                _fail(int(np.argmin(same)), self.value_key, "it has not one index for each value")
            indices[:, axis] = key.values
        indices[:, 0] = row_numbers(splits)
        shape = (len(values), *self.size)
        if self.already_sorted or _is_sorted(indices):
            return Sparse(indices, values.values, shape)
        order = np.lexsort(indices.T[::-1])
        return Sparse(indices[order], take(values.values, order), shape)


def _is_sorted(indices: Ints) -> bool:
    """Return True if index rows ascend lexicographically; equal rows are allowed."""
    before, after = indices[:-1], indices[1:]
    tied = np.ones(len(before), bool)
    good = np.zeros(len(before), bool)
    for axis in range(indices.shape[1]):
        good |= tied & (before[:, axis] < after[:, axis])
        tied &= before[:, axis] == after[:, axis]
    return bool((good | tied).all())


@dataclass(frozen=True)
class RaggedBuild:
    """Builds a RaggedFeature from the columns of its partitions and its values."""

    partitions: tuple[Partition, ...]
    names: tuple[bytes, ...]  # names of the columns
    splits_dtype: np.dtype[Any]
    frames: bool

    def __call__(self, *columns: Ragged) -> Ragged:
        *keys, column = columns
        if not self.frames:
            return self._build(keys, column, None)
        # Frames are divided into rows as records are, so the frames of a record add one level.
        for key, name in zip(keys, self.names, strict=False):
            same = np.diff(key.row_splits) == np.diff(column.row_splits)
            if not same.all():
                _fail(int(np.argmin(same)), name, "it has not as many frames as the values")
        inner = self._build([key.values for key in keys], column.values, column.row_splits)
        return Ragged(inner, self._cast(column.row_splits))

    def _build(self, keys: list[Ragged], column: Ragged, frames: Ints | None) -> Ragged:
        values, items = column.values, column.row_splits
        keys = list(keys)
        for part in reversed(self.partitions):
            key = None if part.key is None else keys.pop()
            try:
                values, items = self._level(part, key, values, items)
            except ExampleParseError as error:
                if frames is not None and error.record is not None:
                    error.record = int(np.searchsorted(frames, error.record, side="right")) - 1
                raise error.in_feature(part.key or self.names[-1]) from None
        return Ragged(values, self._cast(items))

    def _level(
        self, part: Partition, key: Ragged | None, values: Any, items: Ints
    ) -> tuple[Any, Ints]:
        if key is not None:
            row_splits, rows = part.split(key.values, key.row_splits, items)
            return Ragged(values, self._cast(row_splits)), rows
        rows = part.split_evenly(items)
        if isinstance(values, Ragged):
            count = int(rows[-1])
            return Ragged(values, self._cast(np.arange(count + 1) * part.length)), rows
        return _reshape(values, (int(rows[-1]), part.length)), rows

    def _cast(self, splits: Ints) -> Any:
        return splits.astype(self.splits_dtype, copy=False)


def _reshape(values: Any, leading: tuple[int, ...]) -> Any:
    """Return values whose first dimension is split into several."""
    shape = (*leading, *values.shape[1:])
    if isinstance(values, Bytes):
        return Bytes(values.data, values.offsets, shape)
    return values.reshape(shape)


@dataclass(frozen=True)
class PaddedBuild:
    """Builds a FixedLenSequenceFeature of an Example: splits values into rows and pads them."""

    shape: tuple[int, ...]
    padding: Any
    key: bytes

    def __call__(self, column: Ragged) -> Any:
        stride = math.prod(self.shape)
        splits = column.row_splits
        if stride != 1:
            splits, rest = np.divmod(splits, stride)
            if rest.any():
                rest_of = f"not a multiple of {stride}, the size of a row"
                problem = f"it has a number of values that is {rest_of}"
                _fail(int(np.argmax(rest[1:] != 0)), self.key, problem)
        return pad(_reshape(column.values, (int(splits[-1]), *self.shape)), splits, self.padding)


def padded_frames(column: Ragged) -> Any:
    """Return a FixedLenSequenceFeature of feature lists, whose frames are the rows."""
    return pad(column.values, column.row_splits, None)


def frame_counts(column: Ragged) -> Ints:
    """Return the number of frames of each record."""
    return column.row_lengths


def pad(values: Any, splits: Ints, padding: Any) -> Any:
    """Pad rows of varying length to the longest; None pads with zeros."""
    from .. import _core

    lengths: Ints = splits[1:] - splits[:-1]
    width = int(lengths.max(initial=0))
    if (lengths == width).all():
        return _reshape(values, (len(lengths), width))
    shape = (len(lengths), width, *values.shape[1:])
    stride = math.prod(values.shape[1:])
    width *= stride
    if isinstance(values, Bytes):
        strings = values.data, values.offsets
        return Bytes(*_core.pad_strings(*strings, splits * stride, width, padding or b""), shape)
    begins, lengths = splits[:-1] * stride, lengths[:, None] * stride
    fill = 0 if padding is None else padding
    rows = _core.pad_rows(values.reshape(-1), begins, lengths, (width,), fill)
    return rows.reshape(shape)


@dataclass(frozen=True)
class ArraysBuild:
    """Builds arrays whose shapes are stored in their records."""

    extents: tuple[int | tuple[str, int], ...]
    names: tuple[bytes, ...]  # names of the columns that store the shape
    key: bytes

    def __call__(self, *columns: Ragged) -> Arrays:
        *named, raw = columns
        shapes = self._shapes(named, len(raw))
        sizes = np.ones(len(raw), np.float64)  # exact, because arrays in memory are small enough
        spans = np.full(len(raw), raw.values.itemsize, np.float64)  # NumPy counts these sizes, too
        for axis in range(shapes.shape[1]):
            sizes *= shapes[:, axis]
            spans *= np.maximum(shapes[:, axis], 1)
        good = (sizes == np.diff(raw.row_splits)) & (shapes >= 0).all(axis=1) & (spans < 2**63)
        if not good.all():
            record = int(np.argmin(good))
            shape = tuple(shapes[record].tolist())
            problem = (
                f"it has {len(raw[record])} elements, which do not fill an array of shape {shape}"
            )
            if not shape:
                problem += f": '{printable(self.names[0])}' is missing or empty"
            _fail(record, self.key, problem)
        return Arrays(raw.values, raw.row_splits, shapes)

    def _shapes(self, named: list[Ragged], records: int) -> Ints:
        dims = []
        for extent in self.extents:
            if isinstance(extent, int):
                dims.append(np.full((records, 1), extent, np.int64))
                continue
            column = named[extent[1]]
            lengths = np.diff(column.row_splits)
            rank = 1 if extent[0] == "one" else int(lengths[0]) if records else 0
            if (lengths != rank).any() or rank > 8:
                record = int(np.argmax(lengths != rank)) if rank <= 8 else 0
                name = printable(self.names[extent[1]])
                needs = f"it has a shape that requires {min(rank, 8)} values of '{name}'"
                _fail(record, self.key, f"{needs}, which has {lengths[record]}")
            dims.append(column.values.reshape(records, rank).astype(np.int64, copy=False))
        return np.concatenate(dims, axis=1)


@dataclass(frozen=True)
class EncodedArraysBuild:
    """Builds arrays from bytes that contain dtype and shape; `shape` None allows any shape."""

    encoding: ArrayEncoding
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    key: bytes

    def __call__(self, column: Bytes) -> Any:
        together = self._together(column)
        if self.shape is None:
            return self._arrays(list(self._each(column) if together is None else together))
        if together is None:
            together = np.array(list(self._each(column)), self.dtype)
        return together.reshape(len(column), *self.shape)

    def _each(self, column: Bytes) -> Iterator[NDArray[Any]]:
        return (self._decoded(row, value) for row, value in enumerate(column))

    def _together(self, column: Bytes) -> Any:
        """Return the arrays of values whose headers are the same; None if headers differ."""
        size = len(column) and int(column.offsets[1] - column.offsets[0])
        if not size or (np.diff(column.offsets) != size).any():
            return None
        first, end = int(column.offsets[0]), int(column.offsets[-1])
        rows = column.data[first:end].reshape(len(column), size)
        array = self._decoded(0, column[0])
        header = array_header(self.encoding, column[0])
        if header is None or header.start is None or header.fortran_order or not header.dtype:
            return None
        if (rows[:, : header.start] != rows[0, : header.start]).any():
            return None
        elements = np.ascontiguousarray(rows[:, header.start :]).view(header.dtype)
        return elements.astype(self.dtype, copy=False).reshape(len(column), *array.shape)

    def _decoded(self, row: int, value: bytes) -> NDArray[Any]:
        header = array_header(self.encoding, value)
        if header is None:
            _fail(
                row,
                self.key,
                f"it is not encoded as {self.encoding!r}: it is {value_content(value)}",
            )
        try:
            array = decode_array(self.encoding, value)
        except ValueError as error:
            _fail(row, self.key, f"cannot be decoded: {error}")
        dtype = array.dtype.newbyteorder("=")
        if dtype != self.dtype or self.shape not in (None, array.shape):
            wanted = "" if self.shape is None else f" {self.shape}"
            problem = f"must be {self.dtype}{wanted}, got {header.label}"
            _fail(row, self.key, problem)
        return array

    def _arrays(self, arrays: list[NDArray[Any]]) -> Arrays:
        rank = arrays[0].ndim if arrays else 1
        for row, array in enumerate(arrays):
            if array.ndim != rank:
                problem = f"must have {rank} dimensions as in the first record, got {array.ndim}"
                _fail(row, self.key, problem)
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), rank)
        splits = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum(shapes.prod(axis=1), out=splits[1:])
        values = np.empty(int(splits[-1]), self.dtype)
        for array, begin, end in zip(arrays, splits[:-1], splits[1:], strict=True):
            values[begin:end] = array.reshape(-1)
        return Arrays(values, splits, shapes)
