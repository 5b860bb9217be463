# SPDX-License-Identifier: Apache-2.0
"""``batch``, ``unbatch`` and ``rebatch``, also for ragged tensors."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import fastrec

from .. import errors as _errors
from ..columns import batch_of, column_of, rows_of, shape_of
from ..errors import invalid
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
from ..width import batched_rows
from .mapping import EagerMap, Map
from .pipeline import UNKNOWN, Portion, Stage, in_columns
from .rooms import Padded
from .streams import (
    Attempted,
    Chunks,
    Each,
    Pull,
    Rows,
    Value,
    Values,
    chunks_of,
    exactly,
    flattened,
    pulled,
    steps,
)


class Grouped(Portion):
    """Stage that combines up to `size` consecutive elements into one."""

    def __init__(self, stage: Stage, size: int, drop_remainder: bool) -> None:
        super().__init__(stage)
        if drop_remainder and size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
        if size < 1:
            raise invalid("Batch size must be greater than zero.")
        self.size, self._drop = size, drop_remainder

    @property
    def _known_size(self) -> int | None:
        return self.size if self._drop else None

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total < 0 else total // self.size if self._drop else -(-total // self.size)

    @property
    def _padded(self) -> Mapping[int, Padded]:
        """Return the padded shape of each part whose shape is known in advance, by part number."""
        return {}

    def wanted(self, rows: Rows) -> bool:
        """Return whether rows make a batch."""
        return rows.count == self.size or (rows.count > 0 and not self._drop)

    @abstractmethod
    def _group(self, rows: Rows) -> Value:
        """Return a batch of elements."""

    def _may_run_ahead(self) -> bool:
        return False

    def start(self, ask: int) -> Pull:
        return Each(steps(functools.partial(self._next, self._requested())))

    def _requested(self) -> Pull:
        """Begin an iteration over the elements, which may be those of several batches at a time."""
        stage, size = self.inputs[0], self.size
        most = batched_rows(stage.specs, size) if stage.runs_ahead else size
        if in_columns() and isinstance(stage, Map):
            pull = stage.start(most, self._padded)
            return Chunks(lambda ask: pull(max(ask, most))) if most > size else pull
        return stage.ahead(size, most)

    def _next(self, pull: Pull) -> Value:
        rows = exactly(pull, self.size)
        if not self.wanted(rows):
            raise StopIteration
        return self._group(rows)


class Batch(Grouped):
    """Stage that stacks elements of one shape along a new dimension."""

    @property
    def specs(self) -> list[TypeSpec]:
        return [batched(spec, self._known_size) for spec in self.inputs[0].specs]

    @property
    def _fused(self) -> bool:
        return isinstance(self.inputs[0], (Map, EagerMap))

    def _group(self, rows: Rows) -> Value:
        return tuple(batch_of(column, n, self._fused) for n, column in enumerate(rows.columns))


class RaggedBatch(Grouped):
    """Stage that combines elements of different lengths into the rows of a ragged tensor."""

    def __init__(self, stage: Stage, size: int, drop_remainder: bool, splits: Any) -> None:
        super().__init__(stage, size, drop_remainder)
        self._splits = splits

    @property
    def specs(self) -> list[TypeSpec]:
        found = []
        for spec in self.inputs[0].specs:
            sizes = spec.shape.sizes
            if (
                isinstance(spec, (SparseTensorSpec, RaggedTensorSpec))
                or not sizes
                or None not in sizes
            ):
                found.append(batched(spec, self._known_size))
            else:
                rank = max(i for i, s in enumerate(sizes) if s is None) + 1
                shape = (self._known_size, *sizes)
                found.append(RaggedTensorSpec(shape, spec.dtype, rank, self._splits))
        return found

    def _group(self, rows: Rows) -> Value:
        found = []
        for spec, part in zip(self.specs, zip(*rows.values(), strict=True), strict=True):
            ragged = isinstance(spec, RaggedTensorSpec) and not isinstance(part[0], fastrec.Ragged)
            found.append(
                ragged_rows(part, spec, self._splits.numpy) if ragged else batch_of(column_of(part))
            )
        return tuple(found)


def ragged_rows(values: Sequence[Any], spec: TypeSpec, splits: Any) -> Any:
    """Return arrays as ragged rows; arrays of several dimensions become rows of rows."""
    arrays = [as_array(value) for value in values]
    ends = np.concatenate([[0], np.cumsum([len(array) for array in arrays])]).astype(splits)
    deeper = getattr(spec, "ragged_rank", 1) - 1
    if deeper:
        inner = [row for array in arrays for row in array]
        return fastrec.Ragged(
            ragged_rows(inner, RaggedTensorSpec(None, spec.dtype, deeper), splits), ends
        )
    flat = np.concatenate(arrays)
    if flat.dtype == object:
        return fastrec.Ragged(fastrec.Bytes.from_list(flat.tolist()), ends)
    return fastrec.Ragged(flat, ends)


class Unbatch(Stage):
    """Stage that yields the rows of each element as separate elements."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        if any(spec.shape.sizes == () for spec in stage.specs if isinstance(spec, TypeSpec)):
            raise ValueError("Cannot unbatch an input with scalar components.")
        shapes = [spec.shape.sizes for spec in stage.specs]
        rows = {sizes[0] for sizes in shapes if sizes and sizes[0] is not None}
        if len(rows) > 1:
            known = " and ".join(map(str, sorted(rows)))
            raise ValueError(f"Cannot unbatch components of {known} rows.")

    @property
    def specs(self) -> list[TypeSpec]:
        return [unbatched(spec) for spec in self.inputs[0].specs]

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        shapes = [spec.shape.sizes for spec in self.inputs[0].specs if isinstance(spec, TypeSpec)]
        rows = next((sizes[0] for sizes in shapes if sizes and sizes[0] is not None), None)
        return total if total < 0 else UNKNOWN if rows is None else total * rows

    def _may_run_ahead(self) -> bool:
        return True  # an element is needed before any of its rows

    def start(self, ask: int) -> Pull:
        """Begin an iteration that requests an element when all rows of the last one are used."""
        known = (TensorSpec, RaggedTensorSpec)
        if any(not isinstance(s, known) or s.shape.sizes is None for s in self.inputs[0].specs):
            return Each(flattened(map(_split_all, self.inputs[0].elements())))
        together = ask if self.inputs[0].runs_ahead else 1
        each = lambda values: flattened(map(_split_all, values))  # noqa: E731
        rows = Attempted(self.inputs[0].start(together), _rows_within, each)
        return chunks_of(pulled(rows, together))


def _rows_within(rows: Rows) -> Rows:
    """Return the rows of all elements; raise if parts are scalars or differ in row count."""
    lengths: Any = None
    found = []
    for column in rows.columns:
        if isinstance(column, fastrec.Ragged):
            own = column.row_lengths
            inner = column.values[int(column.row_splits[0]) : int(column.row_splits[-1])]
        elif isinstance(column, np.ndarray) and column.ndim > 1:
            own = np.full(rows.count, column.shape[1])
            inner = column.reshape(-1, *column.shape[2:])
        else:
            raise TypeError("no rows")
        if lengths is not None and not np.array_equal(lengths, own):
            raise ValueError("rows differ in number")
        lengths = own
        found.append(inner)
    return Rows(len(found[0]), found)


def _split_all(value: Value) -> Values:
    rows = [_split(part) for part in value]
    sizes = [len(p) if isinstance(p, fastrec.Ragged) else shape_of(p)[0] for p in value]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            raise invalid(
                "Input element must have the same batch size in each component. Component 0 had "
                f"size {sizes[0]} but component {number} had size {size}."
            )
    return zip(*rows, strict=True)


def _split(part: Any) -> Any:
    if isinstance(part, np.ndarray) and part.ndim > 1:
        return (row.copy() for row in part)
    if isinstance(part, fastrec.Ragged):
        return iter(part)
    if isinstance(part, bytes) or not shape_of(part):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return rows_of(part)


class Rebatch(Stage):
    """Stage that batches the rows of elements again, with one size or several in turn."""

    def __init__(self, stage: Stage, sizes: Sequence[int], drop_remainder: bool) -> None:
        super().__init__(stage)
        if not sizes or min(sizes) < 0:
            raise invalid(f"Batch sizes must not be negative, got {list(sizes)}.")
        if not any(sizes):  # TensorFlow yields empty batches without end
            raise invalid(f"One of the batch sizes must be positive, got {list(sizes)}.")
        self._rows, self._sizes, self._drop = Unbatch(stage), list(sizes), drop_remainder
        self._alike = sizes[0] if len(set(sizes)) == 1 and sizes[0] else None
        self._plain = all(isinstance(spec, TensorSpec) for spec in stage.specs)

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

    def start(self, ask: int) -> Pull:
        if self._alike is not None and self._plain:
            return Batch(self._rows, self._alike, self._drop).start(ask)
        rows, sizes = self._rows.ahead(1), itertools.cycle(self._sizes)
        specs = self.inputs[0].specs

        ended = False

        def step() -> Value:
            nonlocal ended
            size = next(sizes)
            found = exactly(rows, size)
            if ended or (size and (not found or (self._drop and found.count < size))):
                raise StopIteration
            ended = found.count < size
            parts = list(zip(*found.values(), strict=True)) or [()] * len(specs)
            return tuple(_joined(*pair, n) for n, pair in enumerate(zip(parts, specs, strict=True)))

        return Each(steps(step))


def _joined(part: Sequence[Any], spec: TypeSpec, number: int) -> Any:
    if not part:
        return sample(unbatched(spec).reshaped([0, *(unbatched(spec).shape.sizes or ())]), 0, 0)
    if isinstance(spec, RaggedTensorSpec) and not isinstance(part[0], fastrec.Ragged):
        return ragged_rows(part, spec, spec.row_splits_dtype.numpy)
    return batch_of(column_of(part), number)


class SparseBatch(Grouped):
    """Stage that combines dense elements of any sizes into sparse batches."""

    def __init__(self, stage: Stage, size: int, row_shape: Any) -> None:
        super().__init__(stage, size, False)
        spec, *others = stage.specs
        if others or not isinstance(spec, TensorSpec):
            raise TypeError(
                "`sparse_batch` requires elements of one dense tensor, got "
                f"{len(others) + 1} parts."
            )
        self._shape = TensorShape(row_shape).as_list()

    @property
    def specs(self) -> list[TypeSpec]:
        return [SparseTensorSpec([None, *self._shape], self.inputs[0].specs[0].dtype)]

    def _group(self, rows: Rows) -> Value:
        return (self._joined([as_array(value) for (value,) in rows.values()]),)

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
