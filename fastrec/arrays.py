# SPDX-License-Identifier: Apache-2.0
"""Columns that are more than one ndarray: strings of bytes, and rows of differing length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Ragged"]


class Bytes(Sequence[bytes]):
    """A sequence of byte strings kept as one block, which makes Python objects only when asked.

    Parameters
    ----------
    data : ndarray of uint8
        All the strings, one after the other.
    offsets : ndarray of int64, shape (n + 1,)
        String ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    shape : tuple of int, optional
        More than one dimension, when the strings are laid out so; ``(n,)`` by default.

    Examples
    --------
    >>> strings = Bytes.from_list([b"cat", b"", b"horse"])
    >>> len(strings), strings[2], strings[:2].to_list()
    (3, b'horse', [b'cat', b''])
    """

    __slots__ = ("data", "offsets", "shape")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.data = data
        self.offsets = offsets
        self.shape = (len(offsets) - 1,) if shape is None else shape

    @classmethod
    def from_list(cls, strings: Sequence[bytes]) -> Bytes:
        """Copy byte strings into one block."""
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        return cls(np.frombuffer(b"".join(strings), np.uint8), offsets)

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
        width = int(np.prod(self.shape[1:], dtype=np.int64))
        if isinstance(rows, range):
            if rows.step == 1:
                stop = max(rows.start, rows.stop)
                offsets = self.offsets[rows.start * width : stop * width + 1]
                return Bytes(self.data, offsets, (len(rows), *self.shape[1:]))
            return self._take(rows, width)
        if len(self.shape) == 1:
            return self.data[self.offsets[rows] : self.offsets[rows + 1]].tobytes()
        return Bytes(self.data, self.offsets[rows * width : (rows + 1) * width + 1], self.shape[1:])

    def _take(self, rows: range, width: int) -> Bytes:
        flat = self._flat()
        taken = Bytes.from_list([flat[r * width + i] for r in rows for i in range(width)])
        return Bytes(taken.data, taken.offsets, (len(rows), *self.shape[1:]))

    def _flat(self) -> list[bytes]:
        begin, whole = int(self.offsets[0]), self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        ends = (self.offsets - begin).tolist()
        return [whole[a:b] for a, b in zip(ends, ends[1:], strict=False)]

    def __iter__(self) -> Iterator[bytes]:
        if len(self.shape) == 1:
            return iter(self._flat())
        return (self[i] for i in range(len(self)))

    def to_list(self) -> list[Any]:
        """Nested lists of bytes, as the shape says."""
        return self.to_numpy().tolist()  # type: ignore[no-any-return]

    def to_numpy(self) -> NDArray[np.object_]:
        """An object array of bytes."""
        array = np.empty(len(self.offsets) - 1, object)
        array[:] = self._flat()
        return array.reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Bytes cannot become an ndarray without a copy")
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Bytes):
            return self.shape == other.shape and self._flat() == other._flat()
        if isinstance(other, (list, tuple)):
            return self.to_list() == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        shape = f", shape={self.shape}" if len(self.shape) > 1 else ""
        return f"<fastrec.Bytes of {len(self)}, {self.nbytes} bytes{shape}>"


class Ragged(Sequence[Any]):
    """Rows of differing length over one array of values.

    Parameters
    ----------
    values : ndarray, Bytes or Ragged
        The elements of all rows, one after the other.
    row_splits : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``.

    Examples
    --------
    >>> rows = Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    >>> len(rows), rows.to_list()
    (3, [[1, 2], [], [3]])
    """

    __slots__ = ("row_splits", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, row_splits: NDArray[np.int64]) -> None:
        self.values = values
        self.row_splits = row_splits

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, Ragged) else self.values

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """Elements a row, int64, shape (rows,)."""
        return np.diff(self.row_splits)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            if rows.step != 1:
                return self._take(rows)
            return Ragged(self.values, self.row_splits[rows.start : max(rows.start, rows.stop) + 1])
        return self.values[self.row_splits[rows] : self.row_splits[rows + 1]]

    def _take(self, rows: range) -> Ragged:
        return _gather(self, np.arange(rows.start, rows.stop, rows.step))  # type: ignore[no-any-return]

    def to_list(self) -> list[Any]:
        """Nested lists."""
        return [row.tolist() if isinstance(row, np.ndarray) else row.to_list() for row in self]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ragged):
            return self.to_list() == other.to_list()
        if isinstance(other, (list, tuple)):
            return self.to_list() == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return f"<fastrec.Ragged of {len(self)} rows, {len(self.flat_values)} values>"


def _gather(values: Any, elements: NDArray[np.int64]) -> Any:
    """Those elements of a column, in that order."""
    if isinstance(values, np.ndarray):
        return values[elements]
    if isinstance(values, Bytes):
        return Bytes.from_list([values[int(i)] for i in elements])
    begins, lengths = values.row_splits[elements], values.row_lengths[elements]
    splits = np.zeros(len(elements) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    inner = np.repeat(begins - splits[:-1], lengths) + np.arange(splits[-1])
    return Ragged(_gather(values.values, inner), splits)
