# SPDX-License-Identifier: Apache-2.0
"""Pass sparse tensors through a queue: each row is one opaque element."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec

from .._tf.columns import batch_of
from .._tf.dtypes import int64, resource
from ._composites import SparseTensor, parts_of, pieces
from ._nodes import Tensor
from ._ops import Array, invalid
from .graph import create_op

__all__ = ["is_sparse", "restored", "stored"]


def is_sparse(value: Any) -> bool:
    """Return whether a value is a SparseTensor."""
    return isinstance(value, SparseTensor)


def _one(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    row = np.empty((), object)
    row[()] = fastrec.Sparse(indices, values, tuple(sizes.tolist()))
    return (row,)


def _many(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    if not len(sizes):
        raise invalid("Rank of a batch of sparse examples must be at least 1")
    rows = np.empty(int(sizes[0]), object)
    order = np.argsort(indices[:, 0], kind="stable")
    bounds = np.searchsorted(indices[order, 0], np.arange(len(rows) + 1))
    for i in range(len(rows)):
        which = order[bounds[i] : bounds[i + 1]]
        rows[i] = fastrec.Sparse(indices[which, 1:], values[which], tuple(sizes[1:].tolist()))
    return (rows,)


def stored(sparse: Any, many: bool) -> Tensor:
    """Return a sparse tensor as one element of a queue, or its rows as many elements."""
    kind = "AddManySparseToTensorsMap" if many else "AddSparseToTensorsMap"
    shape = [None] if many else []
    op = create_op(kind, pieces(sparse), [(resource, shape)], _many if many else _one)
    return op.outputs[0]


def restored(elements: Tensor, like: Any, many: bool) -> Any:
    """Return the batch of the stored sparse tensors, with the type of `like`."""
    dtype = like.values.dtype
    size = like.dense_shape.shape.num_elements()
    rank = None if size is None else size + (not many)

    def kernel(step: Any, rows: Array) -> tuple[Any, ...]:
        listed: list[fastrec.Sparse] = rows.tolist()
        ranks = {len(row.dense_shape) for row in listed}
        if len(ranks) > 1:
            raise invalid(f"Inconsistent rank across SparseTensors: {sorted(ranks)}")
        if not listed:
            inner = (rank or 1) - 1
            none = np.empty((0, inner + 1), np.int64), np.empty(0, dtype.numpy)
            return (*none, np.zeros(inner + 1, np.int64))
        return tuple(parts_of(batch_of(listed)))

    op = create_op(
        "TakeManySparseFromTensorsMap",
        (elements,),
        [(int64, [None, rank]), (dtype, [None]), (int64, [rank])],
        kernel,
    )
    return type(like)(*op.outputs)
