# SPDX-License-Identifier: Apache-2.0
"""Column types beyond ndarrays: byte strings, and rows of different lengths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, SupportsIndex, overload

import numpy as np

from .arguments import is_int, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


__all__ = ["Arrays", "Bytes", "Ragged", "Sparse"]

_LONG_COPY = 1 << 18  # bytes that take about a millisecond to copy


class _Column:
    """Interfaces of other libraries to a column; fastrec.arrow exports several columns."""

    __slots__ = ()

    def pin_memory(self) -> Self:
        """Return the column itself, which stays in unpinned memory.

        A ``DataLoader`` with ``pin_memory=True`` calls this method, and would otherwise replace the
        column by a list.
        """
        return self

    def __arrow_c_schema__(self) -> object:
        from . import _core

        return _core.arrow_schema_capsule(_core.arrow_column(self))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from . import _core

        return _core.arrow_array_capsules(_core.arrow_column(self, requested_schema))


def _check_arrays(**arrays: Any) -> None:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} must be an array, got {type(array).__name__}")


def _check_values(values: Any) -> None:
    is_text = isinstance(values, (str, bytes, Mapping, type))
    if is_text or not (hasattr(values, "__getitem__") and hasattr(values, "__len__")):
        raise TypeError(f"values must be an array or a column, got {type(values).__name__}")


class Bytes(_Column, Sequence[bytes]):
    """A sequence of byte strings in one block; Python objects are only created on access.

    Parameters
    ----------
    data : ndarray of uint8
        All strings, concatenated.
    offsets : ndarray of int64, shape (n + 1,)
        String ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    shape : tuple of int, optional
        Shape of the sequence, which may have several dimensions; ``(n,)`` by default.

    Examples
    --------
    >>> strings = Bytes.from_list([b"cat", b"", b"horse"])
    >>> len(strings), strings[2], strings[:2].to_list()
    (3, b'horse', [b'cat', b''])
    """

    __slots__ = ("data", "offsets", "shape")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        shape: tuple[int, ...] | None = None,
    ) -> None:
        if type(data) is not np.ndarray or type(offsets) is not np.ndarray:
            _check_arrays(data=data, offsets=offsets)
        if shape is not None and not isinstance(shape, tuple):
            raise TypeError(f"shape must be a tuple of int, got {shown(shape)}")
        count = len(offsets) - 1 if offsets.ndim else -1
        if count < 0:
            raise ValueError("offsets must have at least one element, got none")
        if shape is not None and math.prod(shape) != count:
            wanted = math.prod(shape) + 1
            raise ValueError(
                f"offsets of shape {shape} must have {wanted} elements, got {count + 1}"
            )
        self.data: NDArray[np.uint8] = data
        self.offsets: NDArray[np.int64] = offsets
        self.shape: tuple[int] | tuple[int, ...] = (count,) if shape is None else shape

    @classmethod
    def from_list(cls, strings: Iterable[bytes]) -> Bytes:
        """Copy byte strings into one block."""
        from . import _core

        if isinstance(strings, (str, bytes)):
            raise TypeError(f"strings must be an iterable of bytes, got {shown(strings)}")
        try:
            return cls(*_core.join_strings(strings))
        except TypeError:
            raise TypeError(f"strings must be an iterable of bytes, got {shown(strings)}") from None

    @property
    def nbytes(self) -> int:
        """Size of the strings in bytes, without the offsets."""
        return int(self.offsets[-1] - self.offsets[0])

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, index: SupportsIndex) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Bytes: ...
    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        width = math.prod(self.shape[1:])
        if isinstance(rows, range):
            if rows.step == 1:
                stop = rows.start + len(rows)
                offsets = self.offsets[rows.start * width : stop * width + 1]
                return Bytes(self.data, offsets, (len(rows), *self.shape[1:]))
            order = np.add.outer(np.arange(len(self))[index] * width, np.arange(width))
            taken = self.take(order.reshape(-1))
            return Bytes(taken.data, taken.offsets, (len(rows), *self.shape[1:]))
        if len(self.shape) == 1:
            string = self.data[self.offsets[rows] : self.offsets[rows + 1]]
            # NumPy holds the GIL while it copies.
            return (
                string.tobytes() if string.size < _LONG_COPY else self[rows : rows + 1]._flat()[0]
            )
        return Bytes(self.data, self.offsets[rows * width : (rows + 1) * width + 1], self.shape[1:])

    def take(self, order: Any) -> Bytes:
        """Return the strings with these numbers, counted over all dimensions, in one dimension."""
        from . import _core

        return Bytes(
            *_core.take_strings(
                np.ascontiguousarray(self.data, np.uint8),
                np.ascontiguousarray(self.offsets, np.int64),
                _numbers("order", order),
            )
        )

    def _joined(self) -> NDArray[np.uint8]:
        return self.data[self.offsets[0] : self.offsets[-1]]

    def _objects(self) -> NDArray[np.object_]:
        from . import _core

        return _core.string_objects(
            np.ascontiguousarray(self.data, np.uint8), np.ascontiguousarray(self.offsets, np.int64)
        )

    def _flat(self) -> list[bytes]:
        return self._objects().tolist()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[bytes]:
        if len(self.shape) == 1:
            return iter(self._flat())
        return (self[i] for i in range(len(self)))

    def to_list(self) -> list[Any]:
        """Return nested lists of bytes, according to the shape."""
        if len(self.shape) == 1:
            return self._flat()
        return self.to_numpy().tolist()  # type: ignore[no-any-return]

    def to_numpy(self) -> NDArray[np.object_]:
        """Return an object array of bytes."""
        return self._objects().reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Bytes cannot become an ndarray without a copy")
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __eq__(self, other: object) -> Any:
        """Compare with another sequence as a whole, and with one string element by element.

        Examples
        --------
        >>> Bytes.from_list([b"cat", b"dog", b"cat"]) == b"cat"
        array([ True, False,  True])
        """
        if isinstance(other, Bytes):
            return (
                self.shape == other.shape
                and np.array_equal(np.diff(self.offsets), np.diff(other.offsets))
                and np.array_equal(self._joined(), other._joined())
            )
        if isinstance(other, (list, tuple)):
            return self.to_list() == list(other)
        if isinstance(other, str):
            other = other.encode()
        if isinstance(other, (bytes, bytearray)):
            count = len(self.offsets) - 1
            equal = np.fromiter((each == other for each in self._flat()), np.bool_, count)
            return equal.reshape(self.shape)
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return equal
        return ~equal if isinstance(equal, np.ndarray) else not equal

    def __repr__(self) -> str:
        shape = f", shape={self.shape}" if len(self.shape) > 1 else ""
        return f"<fastrec.Bytes of {len(self)}, {self.nbytes} bytes{shape}>"


class Ragged(_Column, Sequence[Any]):
    """Rows of different lengths over one array of values.

    Parameters
    ----------
    values : ndarray, Bytes, Arrays or Ragged
        The elements of all rows, concatenated.
    row_splits : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``.

    Examples
    --------
    >>> rows = Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    >>> len(rows), rows.to_list()
    (3, [[1, 2], [], [3]])
    """

    __slots__ = ("row_splits", "values")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, values: Any, row_splits: NDArray[np.int64]) -> None:
        if type(row_splits) is not np.ndarray:
            _check_arrays(row_splits=row_splits)
        if type(values) is not np.ndarray:
            _check_values(values)
        self.values: Any = values
        self.row_splits: NDArray[np.int64] = row_splits

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, Ragged) else self.values

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """Number of elements in each row, int64, shape (rows,)."""
        lengths: NDArray[np.int64] = self.row_splits[1:] - self.row_splits[:-1]
        return lengths

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            if rows.step != 1:
                return self._take(np.arange(len(self))[index])
            stop = rows.start + len(rows)
            return Ragged(self.values, self.row_splits[rows.start : stop + 1])
        return self.values[self.row_splits[rows] : self.row_splits[rows + 1]]

    def _take(self, rows: NDArray[np.int64]) -> Ragged:
        values = self.values
        if isinstance(values, np.ndarray) and values.nbytes and values.dtype != object:
            return Ragged(*_taken(values, self.row_splits, rows))
        lengths = self.row_lengths[rows]
        splits = np.zeros(len(rows) + 1, self.row_splits.dtype)
        np.cumsum(lengths, out=splits[1:])
        where = np.arange(splits[-1]) + np.repeat(self.row_splits[rows] - splits[:-1], lengths)
        if isinstance(values, Ragged):
            return Ragged(values._take(where), splits)
        by_number = isinstance(values, (Bytes, Arrays))
        return Ragged(values.take(where) if by_number else values[where], splits)

    def to_list(self) -> list[Any]:
        """Return nested lists."""
        splits = self.row_splits.tolist()
        begin = splits[0]
        column = self.values[begin : splits[-1]]
        values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        return [values[a - begin : b - begin] for a, b in itertools.pairwise(splits)]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ragged):
            return self.to_list() == other.to_list()
        if isinstance(other, (list, tuple)):
            return self.to_list() == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return f"<fastrec.Ragged of {len(self)} rows, {len(self.flat_values)} values>"


class Sparse(_Column):
    """Values and their positions in an array that is mostly empty.

    Parameters
    ----------
    indices : ndarray of int64, shape (n, rank)
        Position of each value.
    values : ndarray or Bytes of n
    dense_shape : tuple of int, of length rank
        Shape of the whole array.

    Examples
    --------
    >>> sparse = Sparse(np.array([[0, 1], [2, 0]]), np.array([7, 8]), (3, 2))
    >>> sparse.to_dense().tolist()
    [[0, 7], [0, 0], [8, 0]]
    >>> sparse[2]
    <fastrec.Sparse of 1 value, shape (2,)>
    """

    __slots__ = ("dense_shape", "indices", "values")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(
        self, indices: NDArray[np.int64], values: Any, dense_shape: tuple[int, ...]
    ) -> None:
        _check_arrays(indices=indices)
        _check_values(values)
        if not isinstance(dense_shape, (tuple, list)) or not all(map(is_int, dense_shape)):
            raise TypeError(f"dense_shape must be a tuple of int, got {shown(dense_shape)}")
        self.indices: NDArray[np.int64] = indices
        self.values: Final = values
        self.dense_shape: tuple[int, ...] = tuple(dense_shape)

    def __len__(self) -> int:
        return self.dense_shape[0]

    def __getitem__(self, index: SupportsIndex) -> Sparse:
        row = range(len(self))[index]
        if len(self) == 1:
            return Sparse(self.indices[:, 1:], self.values, self.dense_shape[1:])
        which = (self.indices[:, 0] == row).nonzero()[0]
        values = self.values.take(which)
        return Sparse(self.indices[which, 1:], values, self.dense_shape[1:])

    def __iter__(self) -> Iterator[Sparse]:
        return (self[i] for i in range(len(self)))

    def to_dense(self, default: Any = None) -> NDArray[Any]:
        """Return the whole array, with `default` (0 or ``b""``) for absent values.

        Bytes are returned as an array of objects.

        Raises
        ------
        IndexError
            If an index is outside of the shape.
        """
        values = self.values.to_numpy() if isinstance(self.values, Bytes) else self.values
        if default is None:
            default = b"" if values.dtype.hasobject else 0
        try:
            dense = np.full(self.dense_shape, default, values.dtype)
        except (TypeError, ValueError, OverflowError):
            text = f"default must be a value of {values.dtype}, got {shown(default)}"
            raise TypeError(text) from None
        places = np.zeros(len(self.indices), np.int64)
        for column, size in zip(self.indices.T, self.dense_shape, strict=True):
            if len(column) and not 0 <= column.min() <= column.max() < size:
                raise IndexError(f"an index lies outside of {self.dense_shape}")
            places *= size
            places += column
        dense.reshape(-1)[places] = values
        return dense

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparse):
            return NotImplemented
        return (
            self.dense_shape == other.dense_shape
            and np.array_equal(self.indices, other.indices)
            and list(self.values) == list(other.values)
        )

    def __repr__(self) -> str:
        count = len(self.indices)
        noun = "value" if count == 1 else "values"
        return f"<fastrec.Sparse of {count} {noun}, shape {self.dense_shape}>"


class Arrays(_Column, Sequence[Any]):
    """Arrays of different shapes and the same rank, over one array of their elements.

    Parameters
    ----------
    values : ndarray
        The elements of all arrays, concatenated, each array in C order.
    row_splits : ndarray of int64, shape (n + 1,)
        Array ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``, of shape ``shapes[i]``.
    shapes : ndarray of int64, shape (n, rank)

    Examples
    --------
    >>> arrays = Arrays(np.arange(8), np.array([0, 6, 8]), np.array([[2, 3], [1, 2]]))
    >>> [array.tolist() for array in arrays]
    [[[0, 1, 2], [3, 4, 5]], [[6, 7]]]
    """

    __slots__ = ("row_splits", "shapes", "values")

    def __init__(
        self, values: NDArray[Any], row_splits: NDArray[np.int64], shapes: NDArray[np.int64]
    ) -> None:
        _check_arrays(values=values, row_splits=row_splits, shapes=shapes)
        self.values: NDArray[Any] = values
        self.row_splits: NDArray[np.int64] = row_splits
        self.shapes: NDArray[np.int64] = shapes

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            if rows.step != 1:
                raise IndexError("Arrays are sliced in steps of 1")
            stop = rows.start + len(rows)
            splits = self.row_splits[rows.start : stop + 1]
            return Arrays(self.values, splits, self.shapes[rows.start : stop])
        array = self.values[self.row_splits[rows] : self.row_splits[rows + 1]]
        return array.reshape(self.shapes[rows])

    def to_list(self) -> list[Any]:
        """Return nested lists."""
        spans = itertools.pairwise(self.row_splits.tolist())
        pairs = zip(spans, self.shapes.tolist(), strict=True)
        return [self.values[a:b].reshape(shape).tolist() for (a, b), shape in pairs]

    def __repr__(self) -> str:
        return f"<fastrec.Arrays of {len(self)}, {self.shapes.shape[1]} dimensions>"

    def take(self, rows: Any) -> Arrays:
        """Return the arrays with these numbers."""
        rows = _numbers("rows", rows)
        return Arrays(*_taken(self.values, self.row_splits, rows), self.shapes[rows])


def _numbers(name: str, value: Any) -> NDArray[np.int64]:
    """Return an argument that is an array or a sequence of integers."""
    try:
        numbers = np.asarray(value)
    except (TypeError, ValueError):  # the sequences differ in length
        raise TypeError(f"{name} must be integers, got {shown(value)}") from None
    if numbers.ndim > 1 or (numbers.dtype.kind not in "iu" and numbers.size):
        raise TypeError(f"{name} must be integers, got {shown(value)}")
    return np.ascontiguousarray(numbers, np.int64)


def _taken(
    values: NDArray[Any], row_splits: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the elements of the rows with these numbers, and the start of each row."""
    from . import _core

    size = values.itemsize * math.prod(values.shape[1:])
    data, offsets = _core.take_strings(
        np.ascontiguousarray(values).reshape(-1).view(np.uint8),
        np.multiply(row_splits, size, dtype=np.int64),
        np.ascontiguousarray(rows, np.int64),
    )
    shape = (-1, *values.shape[1:])
    splits = (offsets // size).astype(row_splits.dtype, copy=False)
    return data.view(values.dtype).reshape(shape), splits


def take_rows(column: Any, rows: NDArray[np.int64]) -> Any:
    """Select rows of a column of any kind, by ascending numbers."""
    if isinstance(column, Ragged):
        return column._take(rows)
    if isinstance(column, Sparse):
        held = np.flatnonzero(np.isin(column.indices[:, 0], rows))
        indices = column.indices[held].copy()
        indices[:, 0] = np.searchsorted(rows, indices[:, 0])
        return Sparse(indices, column.values.take(held), (len(rows), *column.dense_shape[1:]))
    if isinstance(column, Bytes):
        width = int(np.prod(column.shape[1:], dtype=np.int64))
        taken = column.take(np.add.outer(rows * width, np.arange(width)).reshape(-1))
        return Bytes(taken.data, taken.offsets, (len(rows), *column.shape[1:]))
    return column.take(rows) if isinstance(column, Arrays) else column[rows]
