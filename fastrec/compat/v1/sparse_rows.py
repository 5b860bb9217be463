# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors on their way through a queue: each row of theirs is one opaque element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import int64, resource
from ._nodes import Tensor
from ._ops import Array, invalid
from .graph import create_op

__all__ = ["is_sparse", "restored", "stored"]

_Row = tuple[Array, Array, Array]  # indices, values, dense shape


def is_sparse(value: Any) -> bool:
    """Whether it is a SparseTensor."""
    return not isinstance(value, Tensor) and hasattr(value, "dense_shape")


def _parts(sparse: Any) -> list[Tensor]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def _one(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    row = np.empty((), object)
    row[()] = (indices, values, sizes)
    return (row,)


def _many(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    if not len(sizes):
        raise invalid("Rank of a batch of sparse examples must be at least 1")
    rows = np.empty(int(sizes[0]), object)
    order = np.argsort(indices[:, 0], kind="stable")
    bounds = np.searchsorted(indices[order, 0], np.arange(len(rows) + 1))
    for i in range(len(rows)):
        which = order[bounds[i] : bounds[i + 1]]
        rows[i] = (indices[which, 1:], values[which], sizes[1:])
    return (rows,)


def stored(sparse: Any, many: bool) -> Tensor:
    """A sparse tensor as an element of a queue; its rows, as many elements."""
    kind = "AddManySparseToTensorsMap" if many else "AddSparseToTensorsMap"
    shape = [None] if many else []
    op = create_op(kind, _parts(sparse), [(resource, shape)], _many if many else _one)
    return op.outputs[0]


def _together(rows: Sequence[_Row], rank: int | None) -> tuple[Array, Array, Array]:
    ranks = {len(sizes) for _, _, sizes in rows}
    if len(ranks) > 1:
        raise invalid(f"Inconsistent rank across SparseTensors: {sorted(ranks)}")
    inner = ranks.pop() if ranks else (rank or 1) - 1
    largest = np.zeros(inner, np.int64)
    for _, _, sizes in rows:
        largest = np.maximum(largest, sizes)
    numbers = np.repeat(np.arange(len(rows)), [len(values) for _, values, _ in rows])
    empty = np.empty((0, inner), np.int64)
    inside = np.concatenate([empty, *[indices for indices, _, _ in rows]])
    indices = np.concatenate([numbers[:, None].astype(np.int64), inside], axis=1)
    return indices, np.array([len(rows), *largest], np.int64), numbers


def restored(elements: Tensor, like: Any, many: bool) -> Any:
    """The batch of sparse tensors that were stored, as `like` was."""
    dtype = like.values.dtype
    size = like.dense_shape.shape.num_elements()
    rank = None if size is None else size + (not many)

    def kernel(step: Any, rows: Array) -> tuple[Array, Array, Array]:
        listed: list[_Row] = rows.tolist()
        indices, sizes, _ = _together(listed, rank)
        nothing = np.empty(0, dtype.numpy)
        return indices, np.concatenate([nothing, *[values for _, values, _ in listed]]), sizes

    op = create_op(
        "TakeManySparseFromTensorsMap",
        (elements,),
        [(int64, [None, rank]), (dtype, [None]), (int64, [rank])],
        kernel,
    )
    return type(like)(*op.outputs)
