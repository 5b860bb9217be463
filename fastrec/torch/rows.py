# SPDX-License-Identifier: Apache-2.0
"""Pass a batch of records on as rows, and collate the rows without splitting the batch.

A map-style dataset gives a DataLoader a list of samples. Rows is such a list, and Row such a
sample, over whole columns. If a collate function receives all rows in their original order, it
returns the columns.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import default_collate_fn_map

from .. import Bytes
from .tensors import (
    BYTES,
    RAGGED,
    Batch,
    BytesAs,
    RaggedAs,
    add_length,
    collate_batches,
    is_jagged,
    to_tensors,
)

__all__ = ["Row", "Rows", "collate"]


class Rows(Sequence["Row"]):
    """Records of a batch, each as a :class:`Row`.

    Parameters
    ----------
    columns : mapping of str to column
        As :func:`~fastrec.parse_example` returns them.
    count : int
        Number of records.
    lengths : mapping of str to ndarray of int64, optional
        For padded columns: length of each row without padding.

    Examples
    --------
    >>> dataset = fastrec.torch.Dataset("train-*.tfrecord", features)  # doctest: +SKIP
    >>> rows = dataset.__getitems__([7, 3, 5])  # a DataLoader calls this  # doctest: +SKIP
    >>> [row["label"] for row in rows]  # doctest: +SKIP
    """

    __slots__ = ("_count", "columns", "lengths")

    def __init__(
        self,
        columns: Mapping[str, Any],
        count: int,
        lengths: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> None:
        self.columns: Mapping[str, Any] = columns
        self._count = count
        self.lengths: Mapping[str, Any] = lengths or {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        numbers = range(self._count)[index]
        if isinstance(numbers, range):
            return [Row(self, number) for number in numbers]
        return Row(self, numbers)

    def __repr__(self) -> str:
        return f"<fastrec.torch.Rows, {self._count} records of {', '.join(self.columns)}>"


class Row(Mapping[str, Any]):
    """A record of a batch as a mapping; ``dict(row)`` returns a mutable copy.

    Numbers are tensors that share the batch's memory, and byte strings are ``bytes``.

    Examples
    --------
    >>> row = fastrec.torch.Dataset("train-*.tfrecord", features)[7]  # doctest: +SKIP
    >>> image, label = row["image"], int(row["label"])  # doctest: +SKIP
    """

    __slots__ = ("index", "rows")

    def __init__(self, rows: Rows, index: int) -> None:
        self.rows: Final = rows
        self.index: int = index

    def __getitem__(self, key: str) -> Any:
        value = self.rows.columns[key][self.index]
        if key in self.rows.lengths:
            value = value[: self.rows.lengths[key][self.index]]
        return to_tensors(value, ragged="list")

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows.columns)

    def __len__(self) -> int:
        return len(self.rows.columns)

    def __repr__(self) -> str:
        return f"Row({dict(self)!r})"


def collate(
    rows: Sequence[Any],
    *,
    ragged: RaggedAs = "nested",
    padding: Any = 0,
    bytes: BytesAs = "list",
) -> Any:
    """Collate samples into a batch of tensors: a ``collate_fn`` for DataLoader and Trainer.

    All rows of one batch, in order, become its columns without a copy. Other mappings are stacked
    key by key, and ``default_collate`` handles samples that are not mappings. To set options, pass
    ``functools.partial(fastrec.torch.collate, ragged="padded")``.

    Parameters
    ----------
    rows : sequence of mapping
    ragged, padding, bytes
        As in :func:`to_tensors`.

    Raises
    ------
    FastrecError
        For several batches, as an :class:`IterableDataset` yields them.

    Examples
    --------
    >>> import torch
    >>> rows = [{"x": torch.tensor([1, 2]), "name": b"a"}, {"x": torch.tensor([3]), "name": b"b"}]
    >>> collate(rows, ragged="padded")
    {'x': tensor([[1, 2],
            [3, 0]]), 'x_length': tensor([2, 1]), 'name': [b'a', b'b']}
    """
    if ragged not in RAGGED:
        raise ValueError(f"ragged must be one of {RAGGED}, got {ragged!r}")
    if bytes not in BYTES:
        raise ValueError(f"bytes must be one of {BYTES}, got {bytes!r}")
    batch = _whole(rows)
    if batch is not None:
        out = to_tensors(batch.columns, ragged=ragged, padding=padding, bytes=bytes)
        for name, lengths in batch.lengths.items():
            add_length(out, name, lengths, batch.columns)
        return out
    first = rows[0]
    if isinstance(first, Batch):
        return collate_batches(rows)
    if not isinstance(first, Mapping):
        return default_collate(rows)
    out = Batch()
    for name in first:
        _stack(out, name, rows, ragged, padding)
        if bytes == "tensor" and isinstance(first[name], builtins.bytes):
            out[name] = to_tensors(Bytes.from_list(out[name]), bytes="tensor")
    return out


def _whole(rows: Sequence[Any]) -> Rows | None:
    """Return the batch if these are all its rows, in order; otherwise None."""
    if isinstance(rows, Rows):
        return rows
    first = rows[0] if rows else None
    if not isinstance(first, Row) or len(rows) != len(first.rows):
        return None
    batch = first.rows
    same = all(isinstance(r, Row) and r.rows is batch and r.index == i for i, r in enumerate(rows))
    return batch if same else None


def _stack(out: Batch, name: str, rows: Sequence[Any], ragged: RaggedAs, padding: Any) -> None:
    values = [row[name] for row in rows]
    first = values[0]
    if not isinstance(first, torch.Tensor):
        out[name] = values if isinstance(first, (bytes, list)) else default_collate(values)
        return
    padded = isinstance(rows[0], Row) and name in rows[0].rows.lengths
    jagged = isinstance(rows[0], Row) and is_jagged(rows[0].rows.columns[name])
    if not (padded or jagged):
        if all(value.shape == first.shape for value in values):
            out[name] = torch.stack(values)
            return
        if any(v.dim() == 0 or v.shape[1:] != first.shape[1:] or v.is_sparse for v in values):
            out[name] = values
            return
    if padded or ragged == "padded":
        out[name] = pad_sequence(values, batch_first=True, padding_value=0 if padded else padding)
        add_length(out, name, np.array([len(value) for value in values]), rows[0])
    elif ragged == "nested":
        out[name] = torch.nested.nested_tensor(values, layout=torch.jagged)
    else:
        out[name] = values


def _collate_rows(rows: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return collate(rows)


# Documented extension mechanism of torch's default_collate, which a DataLoader calls with the
# result of __getitems__.
default_collate_fn_map[Row] = _collate_rows
