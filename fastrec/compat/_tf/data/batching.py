# SPDX-License-Identifier: Apache-2.0
"""``batch``, ``unbatch`` and ``rebatch``, also for ragged tensors."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

import fastrec
from fastrec import _core

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
from ..tracing.trace import Trace
from ..width import batched_rows
from .mapping import EagerMap, Map
from .pipeline import UNKNOWN, Node, in_columns
from .rooms import Padded, block_of
from .sources import parsed_batches, with_fallback
from .streams import Block, Blocks, Value, Values, flattened, in_blocks, rechunked, steps, taken

T = TypeVar("T")


def _chunked(stream: Iterator[Any], size: int, made: Callable[[list[Any]], T]) -> Iterator[T]:
    """Yield what `made` returns for each `size` elements; an error drops those before it."""

    def step() -> T:
        chunk, error = taken(stream, size)
        if error is not None:
            raise error
        if not chunk:
            raise StopIteration
        return made(chunk)

    return steps(step)


class Grouped(Node):
    """Node that combines up to `size` consecutive elements into one."""

    def __init__(self, node: Node, size: int, drop_remainder: bool) -> None:
        super().__init__(node)
        if drop_remainder and size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
        if size < 1:
            raise invalid("Batch size must be greater than zero.")
        self._size, self._drop = size, drop_remainder
        self._spares: dict[int, _core.Spares] = {}

    @property
    def _known_size(self) -> int | None:
        return self._size if self._drop else None

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return (
            total if total < 0 else total // self._size if self._drop else -(-total // self._size)
        )

    @property
    def _padded(self) -> Mapping[int, Padded]:
        """Return the padded shape of each part whose shape is known in advance, by part number."""
        return {}

    def _chunks(self) -> Blocks | None:
        """Return the elements as columns, or None if they must be made one at a time."""
        node = self.inputs[0]
        if not in_columns():
            return None
        blocks = node.blocks(batched_rows(node.specs, self._size))
        if blocks is not None or not isinstance(node, (Map, EagerMap)):
            return blocks
        if isinstance(node, Map) and node.trace.is_large:
            return self._placed(node)
        return node.gathered(self._size, exact=True)

    def _placed(self, node: Map) -> Blocks | None:
        """Return columns of large elements, which were written to their rows one by one."""
        stream = node.placed(self._size, self._spares, self._padded)
        return None if stream is None else _chunked(stream, self._size, block_of)

    def _wanted(self, block: Block) -> bool:
        return block[0] == self._size or not self._drop

    @abstractmethod
    def _group(self, chunk: Sequence[Value]) -> Value:
        """Return a batch of elements."""

    def values(self) -> Values:
        stream = self.inputs[0].stream()

        def step() -> Value:
            chunk, error = taken(stream, self._size)
            if error is not None:
                raise error
            if not chunk or (self._drop and len(chunk) < self._size):
                raise StopIteration
            return self._group(chunk)

        return steps(step)


class Batch(Grouped):
    """Node that stacks elements of one shape along a new dimension."""

    @property
    def specs(self) -> list[TypeSpec]:
        return [batched(spec, self._known_size) for spec in self.inputs[0].specs]

    @property
    def _fused(self) -> bool:
        return isinstance(self.inputs[0], (Map, EagerMap))

    def _group(self, chunk: Sequence[Value]) -> Value:
        parts = zip(*chunk, strict=True)
        return tuple(
            batch_of(column_of(part), number, self._fused) for number, part in enumerate(parts)
        )

    def values(self) -> Values:
        blocks = self._native_blocks()
        if blocks is None:
            return self._values()
        return with_fallback(self._batches(blocks), self._values)

    def _values(self) -> Values:
        blocks = self._chunks()
        return super().values() if blocks is None else self._batches(blocks)

    def _batches(self, blocks: Blocks) -> Values:
        def batch(block: Block) -> Value:
            return tuple(batch_of(column, n, self._fused) for n, column in enumerate(block[1]))

        return map(batch, filter(self._wanted, rechunked(blocks, self._size)))

    def _native_blocks(self) -> Blocks | None:
        node = self.inputs[0]
        if not isinstance(node, Map) or node.trace.is_large:
            return None
        rows = batched_rows(node.specs, self._size)
        blocks = parsed_batches(node.inputs[0], node.trace, rows)
        if blocks is None:
            return None
        trace = node.trace.after_parsing
        return ((n, trace.run_block(n, columns)) for n, columns in blocks)

    def parsed(self, trace: Trace) -> Values | None:
        """Return the batches as `trace` parses them."""
        blocks = parsed_batches(self.inputs[0], trace, self._size)
        if blocks is None:
            return None
        return (tuple(block[1]) for block in blocks if self._wanted(block))


class RaggedBatch(Grouped):
    """Node that combines elements of different lengths into the rows of a ragged tensor."""

    def __init__(self, node: Node, size: int, drop_remainder: bool, splits: Any) -> None:
        super().__init__(node, size, drop_remainder)
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

    def _group(self, chunk: Sequence[Value]) -> Value:
        found = []
        for spec, part in zip(self.specs, zip(*chunk, strict=True), strict=True):
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


class Unbatch(Node):
    """Node that yields the rows of each element as separate elements."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        if any(spec.shape.sizes == () for spec in node.specs if isinstance(spec, TypeSpec)):
            raise ValueError("Cannot unbatch an input with scalar components.")
        shapes = [spec.shape.sizes for spec in node.specs]
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

    def values(self) -> Values:
        return flattened(map(_split_all, self.inputs[0].stream()))

    def blocks(self, count: int) -> Blocks | None:
        kinds = (TensorSpec, RaggedTensorSpec)
        if any(not isinstance(s, kinds) or s.shape.sizes is None for s in self.inputs[0].specs):
            return None
        blocks = self.inputs[0].blocks(count)
        if blocks is None:
            return None
        return in_blocks(blocks, _rows_of_block, lambda v: flattened(map(_split_all, v)))


def _rows_of_block(count: int, columns: list[Any]) -> Block:
    """Return the rows of all elements; raise if parts are scalars or differ in row count."""
    lengths: Any = None
    found = []
    for column in columns:
        if isinstance(column, fastrec.Ragged):
            own = column.row_lengths
            rows = column.values[int(column.row_splits[0]) : int(column.row_splits[-1])]
        elif isinstance(column, np.ndarray) and column.ndim > 1:
            own = np.full(count, column.shape[1])
            rows = column.reshape(-1, *column.shape[2:])
        else:
            raise TypeError("no rows")
        if lengths is not None and not np.array_equal(lengths, own):
            raise ValueError("rows differ in number")
        lengths = own
        found.append(rows)
    return len(found[0]), found


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


class Rebatch(Node):
    """Node that batches the rows of elements again, with one size or several in turn."""

    def __init__(self, node: Node, sizes: Sequence[int], drop_remainder: bool) -> None:
        super().__init__(node)
        if not sizes or min(sizes) < 0:
            raise invalid(f"Batch sizes must not be negative, got {list(sizes)}.")
        if not any(sizes):  # TensorFlow yields empty batches without end
            raise invalid(f"One of the batch sizes must be positive, got {list(sizes)}.")
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

    def values(self) -> Values:
        if self._alike is not None and self._plain:
            return Batch(self._rows, self._alike, self._drop).stream()
        rows, sizes = self._rows.stream(), itertools.cycle(self._sizes)
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

    def values(self) -> Values:
        def made(chunk: Sequence[Value]) -> Value:
            return (self._joined([as_array(value) for (value,) in chunk]),)

        return _chunked(self.inputs[0].stream(), self._size, made)

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
