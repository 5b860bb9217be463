# SPDX-License-Identifier: Apache-2.0
"""Feature crosses: the combinations of the values of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from .._tf.dtypes import DType
from .._tf.ops import Array, Op
from .._tf.specs import SparseTensorSpec, TypeSpec
from .._tf.tensor import as_array

Sparse = fastrec.Sparse

_MUL = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)


def _joined_prints(one: Array, other: Array) -> Array:
    """Return TensorFlow's combined fingerprints of two columns of fingerprints."""
    mixed = other * _MUL
    mixed = one ^ (mixed ^ mixed >> _SHIFT) * _MUL
    for _ in range(2):
        mixed = mixed * _MUL
        mixed = mixed ^ mixed >> _SHIFT
    return mixed


def _prints_of(values: Array) -> Array:
    if values.dtype.hasobject:
        return _tensor.hashes("farm", values.tolist())
    return values.astype(np.int64).view(np.uint64)


def _rows(value: Any) -> tuple[Array, Array]:
    """Return the values of an input in row order, and the number of values in each row."""
    if isinstance(value, Sparse):
        counts = np.bincount(value.indices[:, 0], minlength=value.dense_shape[0])
        return as_array(value.values), counts
    dense = as_array(value)
    return dense.reshape(-1), np.full(len(dense), dense.shape[1])


def _crossed(inputs: Sequence[Any], values_of: Callable[[list[Array]], Any]) -> Sparse:
    """Return the combinations of one value per input in each row; the last input varies fastest."""
    places: list[Array] = []
    columns = [_rows(each) for each in inputs]
    row = np.arange(len(columns[0][1]))
    for _, counts in columns:
        starts, repeats = np.cumsum(counts) - counts, counts[row]
        places = [np.repeat(each, repeats) for each in places]
        inner = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        row = np.repeat(row, repeats)
        places.append(starts[row] + inner)
    values = values_of([column[at] for (column, _), at in zip(columns, places, strict=True)])
    lengths = np.bincount(row, minlength=len(columns[0][1]))
    column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    sizes = (len(lengths), int(lengths.max(initial=0)))
    return Sparse(np.stack([row, column], axis=1), values, sizes)


def _cross(*inputs: Any, separator: bytes) -> Sparse:
    def texts(columns: list[Array]) -> Any:
        if not len(columns[0]):
            return np.empty(0, object)
        parts = [
            fastrec.Bytes.from_list(column.tolist())
            if column.dtype.hasobject
            else _tensor.spell_integers(column.astype(np.int64))
            for column in columns
        ]
        return fastrec.Bytes(*_tensor.join_texts(parts, separator))

    return _crossed(inputs, texts)


def _cross_hashed(*inputs: Any, buckets: int, key: int) -> Sparse:
    def numbers(columns: list[Array]) -> Array:
        prints = np.full(len(columns[0]), key, np.uint64)
        for column in columns:
            prints = _joined_prints(prints, _prints_of(column))
        return (prints % np.uint64(buckets or (1 << 63) - 1)).astype(np.int64)

    return _crossed(inputs, numbers)


def _cross_spec(dtype: DType | str) -> Callable[..., list[TypeSpec]]:
    return lambda *_, **__: [SparseTensorSpec([None, None], dtype)]


CROSS = Op("SparseCrossV2", _cross, _cross_spec("string"))
CROSS_HASHED = Op("SparseCrossHashed", _cross_hashed, _cross_spec("int64"))
