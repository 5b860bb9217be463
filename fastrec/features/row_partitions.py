# SPDX-License-Identifier: Apache-2.0
"""Divide the values of a record into rows, by the partitions that the record stores.

Each partition is checked for all records of a batch at once: it must cover all of a record's
values, in order. Positions in a record count from the record's first value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import shown
from ..errors import ExampleParseError
from .column_spec import key_of

__all__ = ["Partition"]

Ints = NDArray[np.int64]

# Row numbers are data, so they must not make a batch of a few bytes grow to gigabytes.
MAX_ROWS = 1 << 24


@dataclass(frozen=True)
class Partition:
    """One level of rows of a :class:`~fastrec.RaggedFeature`; its methods create instances."""

    kind: str
    key: bytes | None = None
    length: int = 0

    KINDS: ClassVar[frozenset[str]] = frozenset(
        ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")
    )

    @classmethod
    def row_splits(cls, key: str) -> Partition:
        """Partition by row offsets: the start of each row, and the end of the last."""
        return cls("RowSplits", key_of(key, "the key of a partition"))

    @classmethod
    def row_lengths(cls, key: str) -> Partition:
        """Partition by the number of values of each row."""
        return cls("RowLengths", key_of(key, "the key of a partition"))

    @classmethod
    def row_starts(cls, key: str) -> Partition:
        """Partition by the start of each row."""
        return cls("RowStarts", key_of(key, "the key of a partition"))

    @classmethod
    def row_limits(cls, key: str) -> Partition:
        """Partition by the end of each row."""
        return cls("RowLimits", key_of(key, "the key of a partition"))

    @classmethod
    def value_rowids(cls, key: str) -> Partition:
        """Partition by the row of each value."""
        return cls("ValueRowIds", key_of(key, "the key of a partition"))

    @classmethod
    def uniform_row_length(cls, length: int) -> Partition:
        """Partition into rows of `length` values."""
        if isinstance(length, bool) or not isinstance(length, (int, np.integer)):
            raise TypeError(f"length must be an int, got {shown(length)}")
        if length < 0:
            raise ValueError(f"length must not be negative, got {length}")
        return cls("UniformRowLength", None, int(length))

    def split(self, said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
        """Divide the items of every record into rows.

        Parameters
        ----------
        said : ndarray of int64
            The stored partitions of all records of the batch, concatenated.
        said_splits, items : ndarray of int64, shape (records + 1,)
            The start of each record's partition in `said`, and of its items.

        Returns
        -------
        row_splits : ndarray of int64, shape (rows + 1,)
            The start of each row, over the whole batch.
        rows : ndarray of int64, shape (records + 1,)
            The start of each record's rows.
        """
        return _SPLITTERS[self.kind](said, said_splits, items)

    def split_evenly(self, items: Ints) -> Ints:
        """Return the row offsets of each record, for rows of one length."""
        if self.length == 0:
            _check(np.diff(items) == 0, "it has values, and rows of length 0")
            return np.zeros_like(items)
        rows, rest = np.divmod(items, self.length)
        _check(rest[1:] == 0, f"it has a number of values that is not a multiple of {self.length}")
        return rows


def _check(good: NDArray[np.bool_], problem: str) -> None:
    """Raise an error that names the first record that is not `good`."""
    if not good.all():
        _fail(int(np.argmin(good)), problem)


def _fail(record: int, cause: str) -> None:
    raise ExampleParseError(cause, kind="schema", record=record)


def _check_items(good: NDArray[np.bool_], splits: Ints, problem: str) -> None:
    """Raise an error that names the record of the first item that is not `good`."""
    if not good.all():
        _fail(int(np.searchsorted(splits, int(np.argmin(good)), side="right")) - 1, problem)


def _each(of_records: Ints, said_splits: Ints) -> Ints:
    """Map a partition to the values of its record."""
    return np.repeat(of_records, np.diff(said_splits))


def _by_lengths(said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
    inside = (said >= 0) & (said <= _each(np.diff(items), said_splits))
    _check_items(inside, said_splits, "it has a row length that is negative or too large")
    # The sums cannot overflow: a record has at most 2**31 lengths of at most 2**31.
    row_splits = np.zeros(len(said) + 1, np.int64)
    np.cumsum(said, out=row_splits[1:])
    _check(
        (row_splits[said_splits] == items)[1:],
        "it has row lengths that do not add up to its values",
    )
    return row_splits, said_splits


def _by_limits(said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
    inside = (said >= 0) & (said <= _each(np.diff(items), said_splits))
    _check_items(inside, said_splits, "it has a row limit outside of its values")
    row_splits = np.zeros(len(said) + 1, np.int64)
    np.add(said, _each(items[:-1], said_splits), out=row_splits[1:])
    _check(
        (row_splits[said_splits] == items)[1:], "it has row limits that do not end with its values"
    )
    _check_items(np.diff(row_splits) >= 0, said_splits, "it has row limits that decrease")
    return row_splits, said_splits


def _by_starts(said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
    inside = (said >= 0) & (said <= _each(np.diff(items), said_splits))
    _check_items(inside, said_splits, "it has a row start outside of its values")
    row_splits = np.append(said + _each(items[:-1], said_splits), items[-1])
    _check(row_splits[said_splits] == items, "it has row starts that do not begin with its values")
    _check_items(np.diff(row_splits) >= 0, said_splits, "it has row starts that decrease")
    return row_splits, said_splits


def _by_splits(said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
    counts = np.diff(said_splits)
    first = said_splits[:-1][counts > 0]
    _check_items(
        said[first] == 0,
        np.append(0, np.cumsum(counts > 0)),
        "it has row splits that do not begin with 0",
    )
    limits = np.delete(said, first)
    return _by_limits(limits, said_splits - np.append(0, np.cumsum(counts > 0)), items)


def _by_rowids(said: Ints, said_splits: Ints, items: Ints) -> tuple[Ints, Ints]:
    _check(np.diff(said_splits) == np.diff(items), "it has not one row number for each value")
    inside = (said >= 0) & (said < MAX_ROWS)
    _check_items(inside, said_splits, f"it has a row number that is not from 0 to {MAX_ROWS - 1}")
    starts = np.zeros(len(said), bool)
    starts[said_splits[:-1][np.diff(said_splits) > 0]] = True
    rising = np.diff(said, prepend=0) >= 0
    _check_items(rising | starts, said_splits, "it has row numbers that decrease")
    rows = np.zeros(len(items), np.int64)
    ends = said_splits[1:]
    np.cumsum(
        np.where(np.diff(said_splits) > 0, said[ends - 1] + 1 if len(said) else 0, 0), out=rows[1:]
    )
    _check(rows[1:] <= MAX_ROWS, f"makes more than {MAX_ROWS} rows in the batch")
    lengths = np.bincount(said + _each(rows[:-1], said_splits), minlength=int(rows[-1]))
    row_splits = np.zeros(int(rows[-1]) + 1, np.int64)
    np.cumsum(lengths, out=row_splits[1:])
    return row_splits, rows


_SPLITTERS: dict[str, Callable[[Any, Any, Any], tuple[Ints, Ints]]] = {
    "RowLengths": _by_lengths,
    "RowLimits": _by_limits,
    "RowStarts": _by_starts,
    "RowSplits": _by_splits,
    "ValueRowIds": _by_rowids,
}
