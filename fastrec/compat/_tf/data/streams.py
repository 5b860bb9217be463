# SPDX-License-Identifier: Apache-2.0
"""Iterators of elements and of blocks that continue after an error.

As in TensorFlow, only the elements that fail are left out. An exception would end a generator, so
this module uses functions called by :func:`steps`, and ``map`` and ``filter``, which continue
after an exception.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

import fastrec

from .. import errors as _errors
from ..columns import column_of, joined, rows_of
from ..width import AHEAD

T = TypeVar("T")

Value = tuple[Any, ...]
Values = Iterator[Value]
Block = tuple[int, list[Any]]
Blocks = Iterator[Block]

_NEVER = object()


def steps(step: Callable[[], T]) -> Iterator[T]:
    """Yield results of `step` until it raises StopIteration; other errors do not end this."""
    return iter(step, _NEVER)


class Pieces(NamedTuple):
    """Functions that count and select the elements of a piece: one element, or a block.

    Attributes
    ----------
    count : callable
        Returns the number of elements of a piece.
    picked : callable
        Returns a piece with only the elements of a slice, which must not be empty.
    """

    count: Callable[[Any], int]
    picked: Callable[[Any, slice], Any]


def skipped(stream: Iterator[T], count: int, pieces: Pieces) -> Iterator[T]:
    """Yield from `stream` without its first `count` elements.

    If an element to skip raises an error, `count` more are skipped.
    """
    left = count

    def step() -> T:
        nonlocal left
        while True:
            try:
                piece = next(stream)
            except Exception:
                left = count if left else 0
                raise
            size = pieces.count(piece)
            begin, left = left, max(left - size, 0)
            if begin < size:
                found: T = pieces.picked(piece, slice(begin, None))
                return found

    return steps(step)


def first(stream: Iterator[T]) -> T | None:
    """Return the first element that does not raise an error, among the first few."""
    for _ in range(AHEAD):
        with contextlib.suppress(_errors.OpError):
            return next(stream, None)
    return None


def flattened(streams: Iterator[Iterator[T]]) -> Iterator[T]:
    """Yield the values of each stream, one stream after the other."""
    current: Iterator[T] = iter(())

    def step() -> T:
        nonlocal current
        while (found := next(current, None)) is None:
            current = next(streams)
        return found

    return steps(step)


def to_values(blocks: Blocks) -> Values:
    """Yield the elements of blocks."""
    return flattened(map(elements, blocks))


def elements(block: Block) -> Values:
    """Yield the elements of a block."""
    count, columns = block
    return zip(*map(rows_of, columns), strict=True) if columns else iter([()] * count)


def to_blocks(values: Values, count: int) -> Blocks:
    """Gather elements into blocks. An error is raised after the elements that precede it."""
    waiting: Exception | None = None

    def step() -> Block:
        nonlocal waiting
        chunk: list[Value] = []
        error, waiting = waiting, None
        if error is None:
            chunk, error = taken(values, count)
        if chunk:
            waiting = error
            return len(chunk), [column_of(part) for part in zip(*chunk, strict=True)]
        try:
            raise error or StopIteration
        finally:
            del error  # otherwise the error and this frame would keep each other alive

    return steps(step)


def in_blocks(
    blocks: Blocks,
    many: Callable[[int, list[Any]], Block],
    each: Callable[[Values], Values],
) -> Blocks:
    """Apply `many` to each block and yield the non-empty results.

    If `many` fails on a block, apply `each` to its elements instead, so that each error is raised
    in the place of its element.
    """
    failed: Blocks = iter(())

    def step() -> Block:
        nonlocal failed
        while True:
            if (found := next(failed, None)) is not None:
                return found
            block = next(blocks)
            try:
                found = many(*block)
            except Exception:
                failed = to_blocks(each(elements(block)), block[0])
            else:
                if found[0]:
                    return found

    return steps(step)


def taken(values: Iterable[Value], count: int) -> tuple[list[Value], Exception | None]:
    """Return up to `count` elements, and the exception that ended them early, if any."""
    chunk: list[Value] = []
    try:
        chunk.extend(itertools.islice(values, count))
    except Exception as error:
        return chunk, error
    return chunk, None


def cut(block: Block, rows: slice) -> Block:
    """Return some elements of a block."""
    count, columns = block
    left = len(range(*rows.indices(count)))
    return block if left == count else (left, [_cut(column, rows) for column in columns])


def _cut(column: Any, rows: slice) -> Any:
    if rows.step is None or isinstance(column, (np.ndarray, list, fastrec.Bytes)):
        return column[rows]
    return list(itertools.islice(column, rows.start, rows.stop, rows.step))


ELEMENTS = Pieces(lambda _: 1, lambda element, _: element)
BLOCKS = Pieces(lambda block: block[0], cut)


def rechunked(blocks: Blocks, size: int) -> Blocks:
    """Regroup blocks to exactly `size` elements; the last may be shorter.

    If an error occurs, the elements that wait for an incomplete block are lost with it.
    """
    block: Block = (0, [])
    begin = 0

    def step() -> Block:
        nonlocal block, begin
        parts: list[Block] = []
        have = 0
        while have < size:
            if begin == block[0]:
                if (found := next(blocks, None)) is None:
                    break
                block, begin = found, 0
            end = min(begin + size - have, block[0])
            parts.append(cut(block, slice(begin, end)))
            have, begin = have + end - begin, end
        if not parts:
            raise StopIteration
        return have, _merged(parts)

    return steps(step)


def _merged(blocks: Sequence[Block]) -> list[Any]:
    if len(blocks) == 1:
        return blocks[0][1]
    return [joined(list(parts)) for parts in zip(*(columns for _, columns in blocks), strict=True)]
