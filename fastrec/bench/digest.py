# SPDX-License-Identifier: Apache-2.0
"""Compare the results of two libraries by checksums of rows.

A row's checksum depends on every element, on the element's position and on the name of its column.
For ordered results, the checksums of rows are checksummed again. For shuffled results they are
added, so that any permutation of the right rows agrees, and a torn, lost or repeated row does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cases import Column, Ragged, Strings

__all__ = ["Digest", "of_records"]

_PRIMES = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_HEAD = 1000

Words = NDArray[np.uint64]


def _mix(words: Words) -> Words:
    """Apply splitmix64's finalizer in place."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(_PRIMES[1])
    words ^= words >> np.uint64(27)
    words *= np.uint64(_PRIMES[2])
    words ^= words >> np.uint64(31)
    return words


def _salted(words: Words, positions: NDArray[Any]) -> Words:
    salt = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(_PRIMES[0])
    return _mix(words + salt)


def _sums(words: Words, splits: NDArray[np.int64]) -> Words:
    """Return the sum of each run of words, modulo 2**64."""
    total = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(words, out=total[1:])
    return total[splits[1:]] - total[splits[:-1]]


def _positions(splits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of every element of a ragged array in its row."""
    return np.arange(int(splits[-1])) - np.repeat(splits[:-1], np.diff(splits))


def _words(values: NDArray[Any]) -> Words:
    """Return the bits of every element, widened to 64 bits."""
    bits = np.dtype(f"u{values.dtype.itemsize}")
    return np.ascontiguousarray(values).view(bits).astype(np.uint64)


def _ragged_words(words: Words, splits: NDArray[np.int64]) -> Words:
    lengths = np.diff(splits).astype(np.uint64)
    return _mix(_sums(_salted(words, _positions(splits)), splits) + lengths)


def _string_words(strings: Strings) -> Words:
    begin = strings.offsets[0]
    data = strings.data[begin : strings.offsets[-1]]
    return _ragged_words(data.astype(np.uint64), strings.offsets - begin)


def _dense_words(values: NDArray[Any]) -> Words:
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    if rows.dtype.itemsize < 8 and (rows.shape[1] * rows.dtype.itemsize) % 8 == 0 and rows.size:
        # Every library uses this view, which is eight times as fast for images.
        rows = rows.view(np.uint64)
    salt = (np.arange(rows.shape[1], dtype=np.uint64) + np.uint64(1)) * np.uint64(_PRIMES[0])
    return _mix((_mix(_words(rows) + salt)).sum(axis=1, dtype=np.uint64))


def _row_words(column: Column) -> Words:
    if isinstance(column, Strings):
        return _string_words(column)
    if not isinstance(column, Ragged):
        return _dense_words(column)
    values, splits = column.values, column.splits - column.splits[0]
    words = _string_words(values) if isinstance(values, Strings) else _words(values)
    return _ragged_words(words, splits)


class Digest:
    """A digest of batches of columns, added one by one."""

    def __init__(self) -> None:
        self._rows: list[Words] = []

    def add(self, columns: Mapping[str, Column]) -> None:
        """Add the rows of a batch."""
        total: Any = 0
        for name, column in columns.items():
            salt = np.uint64(zlib.crc32(name.encode()) | 1)
            total = total + _mix(_row_words(column) * salt)
        self._rows.append(_mix(total))

    def result(self) -> dict[str, int]:
        """Return `ordered` and `shuffled` over all rows, and `head` over the first thousand."""
        rows = np.concatenate(self._rows) if self._rows else np.zeros(0, np.uint64)
        return {
            "rows": len(rows),
            "ordered": zlib.crc32(rows.tobytes()),
            "shuffled": int(rows.sum(dtype=np.uint64)),
            "head": zlib.crc32(rows[:_HEAD].tobytes()),
        }


def of_records(records: Iterable[Any]) -> dict[str, int]:
    """Return the digest of whole records, given as objects that support the buffer protocol."""
    crc, head, count, total = 0, 0, 0, 0
    for record in records:
        own = zlib.crc32(record)
        crc = zlib.crc32(own.to_bytes(4, "little"), crc)
        total = (total + (own * _PRIMES[0] ^ len(record))) % 2**64
        count += 1
        if count == _HEAD:
            head = crc
    return {"rows": count, "ordered": crc, "shuffled": total, "head": head or crc}
