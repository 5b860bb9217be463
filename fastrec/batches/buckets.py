# SPDX-License-Identifier: Apache-2.0
"""Combine sequences of similar length to dense, padded batches."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_fields, check_int, check_types, shown
from ..columns import Bytes, Ragged

__all__ = ["Buckets", "pad"]

Rows = NDArray[np.int64]


def pad(ragged: Ragged, length: int | None = None, value: Any = 0) -> NDArray[Any]:
    """Return rows of one length, padded with `value`.

    Parameters
    ----------
    ragged : Ragged
        Rows of numbers.
    length : int, optional
        Length of every row; by default the length of the longest. Longer rows are truncated.
    value : scalar
        Padding value.

    Returns
    -------
    ndarray, shape (len(ragged), length, ...)

    Examples
    --------
    >>> pad(Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3])), value=-1).tolist()
    [[1, 2], [-1, -1], [3, -1]]
    """
    check_types(pad, locals())
    if not isinstance(ragged, Ragged):
        kind = type(ragged).__name__
        raise TypeError(f"ragged must be a Ragged, as RaggedFeature makes it, got {kind}")
    values = ragged.values
    if not isinstance(values, np.ndarray):
        raise TypeError(f"padding requires rows of numbers, got {type(values).__name__}")
    _check_padding(value)
    lengths = ragged.row_lengths
    if length is None:
        length = int(lengths.max(initial=0))
    check_int("length", length, 0, 2**40)
    shapes = np.empty((len(ragged), values.ndim), np.int64)
    shapes[:] = (0, *values.shape[1:])
    np.minimum(lengths, length, out=shapes[:, 0])
    begins = ragged.row_splits[:-1] * math.prod(values.shape[1:])
    sizes = (length, *values.shape[1:])
    return _core.pad_rows(values.reshape(-1), begins, shapes, sizes, value)


def _check_padding(value: Any) -> None:
    if not isinstance(value, (complex, numbers.Real, np.generic)):
        raise TypeError(f"value must be a number, got {shown(value)}")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"value must fit into 64 bits, got {value}")


@dataclass(frozen=True)
class Buckets:
    """Batches of sequences of similar length, padded: the `buckets` of a :class:`Batcher`.

    `window` records are read together and divided into batches, so the records of a batch depend
    only on the number of the window. At the end of a window, buckets that are not full become short
    batches (or are dropped, with ``drop_remainder=True``).

    In a batch, the ragged columns of numbers are padded, and ``batch[key + "/length"]`` has their
    lengths. Other columns are unchanged.

    Parameters
    ----------
    by : str
        The ragged feature whose length selects the bucket.
    lengths : sequence of int
        Ascending upper bounds: a batch has sequences up to one bound and above the previous bound,
        and is padded to its bound. Sequences above the last bound, or all sequences without bounds,
        are padded to the longest of their batch.
    tokens : int, optional
        Maximum number of elements per batch, including padding, so that batches of short sequences
        have more rows. A longer sequence is a separate batch. Without it, batches have
        ``batch_size`` rows.
    window : int, optional
        Number of records in a window; by default those of 128 batches, or of one batch if there is
        nothing to sort by.
    value : scalar or mapping of str to scalar
        Padding value.
    planned : bool
        Whether to plan the batches of an epoch from the lengths of all records. The lengths come
        from the columns of the index (``fastrec index --columns "len(tokens)"``); without these
        columns, the files are read once. The number of batches is then known, and at each step all
        shards make batches of the same bucket with the same number of rows, which requires
        ``uneven="drop"`` or ``"pad"``. The records of a step are the same for any number of shards
        if `batch_size`, `tokens` and `window`, summed over all shards, are the same.

    Examples
    --------
    >>> Buckets("tokens", [64, 128, 256, 512], tokens=16384)
    Buckets(by='tokens', lengths=(64, 128, 256, 512), tokens=16384, window=None, value=0,
            planned=False)
    """

    by: str
    lengths: Sequence[int] = ()
    tokens: int | None = None
    window: int | None = None
    value: Any = 0
    planned: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        lengths = [check_int("lengths", each, 1, 2**40) for each in self.lengths]
        object.__setattr__(self, "lengths", tuple(lengths))
        if list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError(f"lengths must be ascending, got {self.lengths}")
        values = self.value.values() if isinstance(self.value, Mapping) else (self.value,)
        for value in values:
            _check_padding(value)
        for name in ("tokens", "window"):
            number = getattr(self, name)
            if number is not None:
                check_int(name, number, 1, 2**40)

    def _window_of(self, batch_size: int) -> int:
        """Return the number of records that are divided into batches together."""
        if self.window is not None:
            return self.window
        return batch_size if not self.lengths and self.tokens is None else 128 * batch_size

    def _only_pads(self, batch_size: int) -> bool:
        """Return whether each window of records forms one batch in its original order."""
        is_plain = not self.lengths and self.tokens is None
        return is_plain and self._window_of(batch_size) == batch_size

    def describe(self) -> dict[str, Any]:
        """Return the options that affect the batches."""
        described = {"by": self.by, "lengths": list(self.lengths), "tokens": self.tokens}
        return {**described, "planned": True} if self.planned else described

    def _deal(
        self, columns: Mapping[str, Any], batch_size: int, drop: bool
    ) -> list[dict[str, Any]]:
        """Return the columns of a window, divided into batches.

        Raises
        ------
        TypeError
            If the measured feature is not ragged.
        """
        measured = columns[self.by]
        if not isinstance(measured, Ragged):
            raise TypeError(f"buckets: {self.by!r} must be a ragged feature")
        dealt = self._divide(measured.row_lengths, batch_size, self.tokens, drop)
        return [self._pad_batch(columns, rows, bucket) for rows, bucket in dealt]

    def _divide(
        self, lengths: Rows, batch_size: int, tokens: int | None, drop: bool
    ) -> list[tuple[Rows, int]]:
        """Return the rows of each batch of a window, and its bucket, for the given lengths."""
        which = np.searchsorted(np.array(self.lengths, np.int64), lengths)
        full: list[tuple[Rows, int]] = []
        short: list[tuple[Rows, int]] = []
        for bucket in range(len(self.lengths) + 1):
            rows = np.flatnonzero(which == bucket)
            for part, is_full in self._cut(rows, lengths, bucket, batch_size, tokens):
                (full if is_full else short).append((part, bucket))
        full.sort(key=lambda each: int(each[0][-1]))
        return full if drop else full + short

    def _cut(
        self, rows: Rows, lengths: Rows, bucket: int, batch_size: int, tokens: int | None
    ) -> Iterator[tuple[Rows, bool]]:
        """Yield the rows of each batch of a bucket, and whether the batch is full."""
        bound = self.lengths[bucket] if bucket < len(self.lengths) else 0
        if bound or tokens is None:  # every batch has the same number of rows
            most = batch_size if tokens is None else max(tokens // bound, 1)
            for begin in range(0, len(rows), most):
                yield rows[begin : begin + most], len(rows) - begin >= most
            return
        begin = longest = 0
        for end, length in enumerate(lengths[rows].tolist()):
            longest = max(longest, length)
            count = end - begin + 1
            if count * longest > tokens and end > begin:
                yield rows[begin:end], True
                begin, longest = end, length
        if begin < len(rows):
            yield rows[begin:], len(rows) - begin >= tokens // max(longest, 1)

    def _pad_batch(self, columns: Mapping[str, Any], rows: Rows, bucket: int) -> dict[str, Any]:
        """Return some rows of columns, padded to the bound of a bucket."""
        batch: dict[str, Any] = {}
        for key, column in columns.items():
            if isinstance(column, Bytes) and len(column.shape) == 1:
                batch[key] = column.take(rows)
            elif isinstance(column, np.ndarray):
                batch[key] = column[rows]
            elif isinstance(column, Ragged):
                batch.update(self._padded(key, column._take(rows), bucket))
            else:
                raise TypeError(f"feature {key!r}: buckets do not support this kind of feature")
        return batch

    def _padded(self, key: str, column: Ragged, bucket: int) -> dict[str, Any]:
        if not isinstance(column.values, np.ndarray):
            return {key: column}
        value = self.value.get(key, 0) if isinstance(self.value, Mapping) else self.value
        length = None
        if bucket < len(self.lengths):
            bound = self.lengths[bucket]
            length = max(bound, int(column.row_lengths.max(initial=0)))
        return {key: pad(column, length, value), f"{key}/length": column.row_lengths}
