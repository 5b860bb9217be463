# SPDX-License-Identifier: Apache-2.0
"""Operations on many records at once.

A *column* is the value that one tensor has for each record of a block: an array with one dimension
more in front, or another of those that :mod:`.._tf.columns` lists; :class:`Same`, where all records
have the same; or :class:`Distorted`, images that are yet to be worked on. What an operation does on
a block it does on each record, to the bit: operations without a form for columns are called for one
record after the other.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrec import Bytes
from fastrec.threads import usable_cpus

from .._tf.ops import Block
from .._tf.ops.draws import Drawing
from .._tf.tensor import as_array
from ._distortions import Distorted, put_off
from ._draws import attributes_of, state_of
from ._nodes import Operation
from ._rows import Array

if TYPE_CHECKING:
    import concurrent.futures

__all__ = ["Column", "Same", "as_rows", "column_of", "row_of", "run_block", "whole"]

Column = Any
_LONG_S, _FEW = 2e-4, 3  # below which threads gain nothing


class Same(NamedTuple):
    """One value for all records."""

    value: Any


def whole(column: Column) -> Column:
    """The same column, with nothing left to be done."""
    return column.array() if isinstance(column, Distorted) else column


def row_of(column: Column, i: int) -> Any:
    """Value of a column that is :func:`as_rows`, for record `i`."""
    return column[i] if isinstance(column, list) else column[i, ...]


def as_rows(column: Column, count: int) -> Array | list[Array]:
    """A column as an array, or a list of arrays where shapes differ."""
    if isinstance(column, Same):
        return [column.value] * count
    if isinstance(column, Bytes):
        return column.to_numpy()
    return column if isinstance(column, np.ndarray) else [as_array(row) for row in column]


def together(values: list[Any]) -> Column:
    """The values of some records as a column."""
    rows = [np.asarray(value) for value in values]
    first = rows[0]
    if all(row.shape == first.shape and row.dtype == first.dtype for row in rows):
        return np.stack(rows)
    return rows


def column_of(values: list[Any]) -> Column:
    """The same, where scalar strings become one buffer."""
    if all(value.dtype.kind == "O" and not value.ndim for value in values):
        return Bytes.from_list([value[()] for value in values])
    return together(values)


def _row_by_row(op: Operation, step: Any, inputs: list[Column], count: int) -> list[Column]:
    inputs = [as_rows(column, count) for column in inputs]

    def run(i: int) -> Any:
        return op.kernel(step, *[row_of(c, i) for c in inputs])

    begin = time.perf_counter()
    found = [run(i) for i in range(min(count, 1))]
    if time.perf_counter() - begin < _LONG_S or count < _FEW or op.stateful or op.blocking:
        found += map(run, range(1, count))
    else:  # most of what takes long, as decoding an image, holds no lock
        found += _pool().map(run, range(1, count))
    return [together([values[j] for values in found]) for j in range(len(op.outputs))]


@functools.cache
def _pool() -> concurrent.futures.ThreadPoolExecutor:
    """Threads that help those of queue runners, in this process."""
    import concurrent.futures  # which takes as long as all of this package

    return concurrent.futures.ThreadPoolExecutor(usable_cpus(), "fastrec-rows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # which has none of the threads


def _assert(op: Operation, step: Any, inputs: list[Column], count: int) -> list[Column] | None:
    if not all(isinstance(column, Same) for column in inputs):
        return None
    op.kernel(step, *[column.value for column in inputs])
    return []


def _of_registry(
    op: Operation, step: Any, inputs: Sequence[Column], count: int
) -> list[Column] | None:
    """The outputs of an operation of the registry; None where that has no form for columns."""
    if op.row is None or op.row.block is None:
        return None
    blocks = [Block(c.value, False) if isinstance(c, Same) else Block(c, True) for c in inputs]
    if isinstance(op.row, Drawing):
        found = _drawn(op, op.row, step, blocks, count)
    else:
        found = op.row.block(count, *blocks, **op.attrs)
    if found is None:
        return None
    parts = found if isinstance(found, tuple) else (found,)
    return [_column(part) if isinstance(part, Block) else part for part in parts]


def _drawn(op: Operation, row: Drawing, step: Any, inputs: list[Block], count: int) -> Any:
    """The draws of an operation, one after the other; none are made where None is returned."""
    how = attributes_of(op)
    given = [t if c.many else c.value for c, t in zip(inputs, op.inputs, strict=True)]
    blocks = row.blocks(*given, **how)
    if blocks is None or row.block is None:
        return None
    state = state_of(op, step)
    first = state.position
    found = row.block(count, Block(state.starts(blocks, count), True), *inputs, **how)
    if found is None:
        state.position = first
    return found


def _column(block: Block) -> Column:
    return block.value if block.many else Same(block.value)


def run_block(op: Operation, step: Any, inputs: list[Column], count: int) -> Sequence[Column]:
    """The outputs of `op` for each of `count` records."""
    later = put_off(op, inputs, count)
    if later is not None:
        return [later]
    inputs = [whole(column) for column in inputs]
    found: Sequence[Column] | None
    if op.type == "Assert":
        found = _assert(op, step, inputs, count)
    else:
        found = _of_registry(op, step, inputs, count)
    if found is not None:
        return found
    return _row_by_row(op, step, inputs, count)
