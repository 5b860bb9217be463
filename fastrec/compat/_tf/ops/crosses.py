# SPDX-License-Identifier: Apache-2.0
"""Crosses of features: the combinations of the values of each row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..columns import VarLen
from ..dtypes import DType
from ..specs import SparseTensorSpec, TypeSpec
from ..tensor import as_array
from . import Op

__all__ = ["CROSS", "CROSS_HASHED"]

Sparse = fastrec.Sparse

_MASK = (1 << 64) - 1
_MUL = 0xC6A4A7935BD1E995


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _joined_prints(one: int, other: int) -> int:
    """TensorFlow's fingerprint of two fingerprints."""
    found = one ^ _mixed(other * _MUL & _MASK) * _MUL & _MASK
    return _mixed(_mixed(found * _MUL & _MASK) * _MUL & _MASK)


def _print_of(value: Any) -> int:
    if isinstance(value, bytes):
        return int(_tensor.hashes("farm", [value])[0])
    return int(value) & _MASK


def _hashed(prints: Sequence[int], buckets: int, key: int) -> int:
    found = key
    for each in prints:
        found = _joined_prints(found, each)
    return found % (buckets or (1 << 63) - 1)


def _crossed(inputs: Sequence[Any], value_of: Callable[..., Any], dtype: Any) -> Sparse:
    """Each row's combinations of one value of each input."""
    columns = [_rows(each) for each in inputs]
    count = len(columns[0])
    rows = [list(itertools.product(*parts)) for parts in zip(*columns, strict=True)]
    values = np.empty(sum(map(len, rows)), dtype)
    values[:] = [value_of(parts) for row in rows for parts in row]
    lengths = np.array([len(row) for row in rows], np.int64)
    found = VarLen(fastrec.Ragged(values, np.concatenate([[0], np.cumsum(lengths)]))).batch()
    return Sparse(found.indices, values, (count, max(map(len, rows), default=0)))


def _rows(value: Any) -> list[list[Any]]:
    if not isinstance(value, Sparse):
        found: list[list[Any]] = as_array(value).tolist()
        return found
    rows: list[list[Any]] = [[] for _ in range(value.dense_shape[0])]
    for row, each in zip(value.indices[:, 0].tolist(), as_array(value.values), strict=True):
        rows[row].append(each)
    return rows


def _cross(*inputs: Any, separator: bytes) -> Sparse:
    def text(parts: Sequence[Any]) -> bytes:
        return separator.join(p if isinstance(p, bytes) else str(int(p)).encode() for p in parts)

    return _crossed(inputs, text, object)


def _cross_hashed(*inputs: Any, buckets: int, key: int) -> Sparse:
    def number(parts: Sequence[Any]) -> int:
        return _hashed([_print_of(part) for part in parts], buckets, key)

    return _crossed(inputs, number, np.int64)


def _cross_spec(dtype: DType | str) -> Callable[..., list[TypeSpec]]:
    return lambda *_, **__: [SparseTensorSpec([None, None], dtype)]


CROSS = Op("SparseCrossV2", _cross, _cross_spec("string"))
CROSS_HASHED = Op("SparseCrossHashed", _cross_hashed, _cross_spec("int64"))
