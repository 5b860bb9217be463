# SPDX-License-Identifier: Apache-2.0
"""``rebatch`` and ``dense_to_sparse_batch``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from .. import errors as _errors
from ..columns import batch_of, column_of
from ..shape import in_messages
from ..specs import (
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
    TypeSpec,
    batched,
    sample,
    unbatched,
)
from ..tensor import TensorShape, as_array
from .batching import Batch, Unbatch, ragged_rows
from .pipeline import UNKNOWN, Node, invalid
from .streams import Value, Values, steps, taken

__all__ = ["Rebatch", "SparseBatch"]


class Rebatch(Node):
    """Node that batches the rows of elements again, with one size or several in turn."""

    def __init__(self, node: Node, sizes: Sequence[int], drop_remainder: bool) -> None:
        super().__init__(node)
        if not sizes or min(sizes) < 0:
            raise invalid(f"Batch sizes must not be negative, got {list(sizes)}.")
        self._rows, self._sizes, self._drop = Unbatch(node), list(sizes), drop_remainder
        self._alike = sizes[0] if len(set(sizes)) == 1 and sizes[0] else None
        self._plain = all(isinstance(spec, TensorSpec) for spec in node.specs)

    @property
    def specs(self) -> list[TypeSpec]:
        size, specs = self._alike, self.inputs[0].specs
        known = [spec.shape.sizes for spec in specs]
        if size is not None and not self._drop:
            whole = all(sizes and sizes[0] and sizes[0] % size == 0 for sizes in known)
            size = size if whole else None
        return [batched(unbatched(spec), size) for spec in specs]

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        if self._alike is not None and self._plain:
            return Batch(self._rows, self._alike, self._drop).stream(fast)
        rows, sizes = self._rows.stream(fast), itertools.cycle(self._sizes)
        specs = self.inputs[0].specs

        ended = False

        def step() -> Value:
            nonlocal ended
            size = next(sizes)
            chunk, error = taken(rows, size)
            if error is not None:
                raise error
            if ended or (size and (not chunk or (self._drop and len(chunk) < size))):
                raise StopIteration
            ended = len(chunk) < size
            parts = list(zip(*chunk, strict=True)) or [()] * len(specs)
            return tuple(_joined(*pair, n) for n, pair in enumerate(zip(parts, specs, strict=True)))

        return steps(step)


def _joined(part: Sequence[Any], spec: TypeSpec, number: int) -> Any:
    if not part:
        return sample(unbatched(spec).reshaped([0, *(unbatched(spec).shape.sizes or ())]), 0, 0)
    if isinstance(spec, RaggedTensorSpec) and not isinstance(part[0], fastrec.Ragged):
        return ragged_rows(part, spec, spec.row_splits_dtype.numpy)
    return batch_of(column_of(part), number)


class SparseBatch(Node):
    """Node that combines dense elements of any sizes into sparse batches."""

    def __init__(self, node: Node, size: int, row_shape: Any) -> None:
        super().__init__(node)
        if size < 1:
            raise invalid("Batch size must be greater than zero.")
        spec, *others = node.specs
        if others or not isinstance(spec, TensorSpec):
            raise TypeError(
                "`sparse_batch` requires elements of one dense tensor, got "
                f"{len(others) + 1} parts."
            )
        self._size, self._shape = size, TensorShape(row_shape).as_list()

    @property
    def specs(self) -> list[TypeSpec]:
        return [SparseTensorSpec([None, *self._shape], self.inputs[0].specs[0].dtype)]

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total < 0 else -(-total // self._size)

    def values(self, fast: bool = True) -> Values:
        stream = self.inputs[0].stream(fast)

        def step() -> Value:
            chunk, error = taken(stream, self._size)
            if error is not None:
                raise error
            if not chunk:
                raise StopIteration
            return (self._joined([as_array(value) for (value,) in chunk]),)

        return steps(step)

    def _joined(self, rows: list[Any]) -> fastrec.Sparse:
        for row in rows:
            if row.ndim != len(self._shape):
                raise invalid(
                    f"Input element had shape ({in_messages(row.shape)}) that is incompatible with "
                    f"the row shape ({in_messages(tuple(n or -1 for n in self._shape))})."
                )
        sizes = [
            max(row.shape[d] for row in rows) if size is None else size
            for d, size in enumerate(self._shape)
        ]
        for row in rows:
            if any(n > most for n, most in zip(row.shape, sizes, strict=True)):
                raise _errors.DataLossError(
                    None,
                    None,
                    f"Input element had shape {in_messages(row.shape)} that is larger than the "
                    f"row shape {in_messages(tuple(sizes))}.",
                )
        places = [np.indices(row.shape).reshape(row.ndim, -1).T for row in rows]
        numbers = np.repeat(np.arange(len(rows)), [len(each) for each in places])
        indices = np.hstack([numbers[:, None], np.concatenate(places)]).astype(np.int64)
        values = np.concatenate([row.reshape(-1) for row in rows])
        return fastrec.Sparse(indices, values, (len(rows), *sizes))
