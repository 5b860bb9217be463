# SPDX-License-Identifier: Apache-2.0
"""Loops in traced functions: ``map_fn``, ``foldl``, ``scan`` and ``while_loop``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec

from ..columns import arrays_of, column_of, flat_values, joined, refilled, rows_of, size_of, taken
from ..errors import invalid
from ..ops import Block, Op
from ..ops.joining import PACK
from ..shape import in_messages
from ..specs import TensorArraySpec, TensorSpec, TypeSpec, batched, common, unbatched
from ..tensor import as_array, convert_to_tensor
from ..width import TOGETHER, limited_rows
from .calls import Unfit
from .parts import Part, noted, tracing
from .recording import Symbol, raw_of, run, spec_of, wrap
from .running import as_column, part_of
from .trace import Trace


def _stacked(rows: Sequence[Any], spec: Any) -> Any:
    if any(isinstance(row, Symbol) for row in rows):  # a loop over known rows of a traced function
        return run(PACK, list(map(wrap, rows)), axis=0)
    if rows:
        arrays = [as_array(row) for row in rows]  # a row of text may be bytes or an array
        shapes = {np.shape(array) for array in arrays}
        if len(shapes) > 1:
            raise invalid(f"Tried to stack tensors with unequal shapes: {sorted(shapes)}")
        return as_array(column_of(arrays))
    sizes = spec.shape.sizes
    if sizes is None or None in sizes:
        raise invalid(
            "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            f"{in_messages(sizes)}"
        )
    return np.zeros((0, *sizes), spec.dtype.numpy)


def stacked(results: Sequence[Any], specs: Sequence[Any]) -> tuple[Any, ...]:
    """Stack each part of the results of a loop.

    Parameters
    ----------
    results : sequence of sequences
        The parts of the result for each row.
    specs : sequence
        Tensors or specs with the static shape and type of each part.
    """
    columns = list(zip(*results, strict=True)) if results else [()] * len(specs)
    return tuple(map(_stacked, columns, specs))


def folded(
    step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
    rows: Sequence[Sequence[Any]],
    state: Sequence[Any],
    reverse: bool,
    every: Sequence[Any] | None,
) -> tuple[Any, ...]:
    """Return the state after all rows, or the stacked states after each row.

    Parameters
    ----------
    step : callable
        Takes a state and a row; returns the next state.
    rows : sequence
    state : sequence
        The initial state; if empty, the first row.
    reverse : bool
        Whether to start with the last row.
    every : sequence, optional
        If states are stacked: tensors or specs with the static shape and type of each part.

    Raises
    ------
    InvalidArgumentError
        If there is neither an initial state nor a row.
    """
    if not state and not rows:
        raise invalid("elems must have an element where there is no initializer")
    order, states = -1 if reverse else 1, []
    for row in rows[::order]:
        state = step(state, row) if state else row
        states.append(state)
    return tuple(state) if every is None else stacked(states[::order], every)


def turned(
    test: Callable[[Sequence[Any]], Any],
    body: Callable[[Sequence[Any]], Sequence[Any]],
    state: Sequence[Any],
    most: int,
) -> tuple[Any, ...]:
    """Apply a body to a state while a test holds, at most `most` times unless it is negative."""
    while most and bool(test(state)):
        state = body(state)
        most -= 1
    return tuple(state)


def _length(columns: Sequence[Any]) -> int:
    """Return the number of rows of the first column; raise if another column has fewer."""
    sizes = [np.shape(column) for column in columns]
    if not all(sizes):
        raise invalid("elements in elems must be 1+ dimensional Tensors, not scalars")
    count = int(sizes[0][0])
    for size in sizes:
        if size[0] < count:
            raise invalid(f"Tried to access element {size[0]} in a list with {size[0]} elements.")
    return count


def in_lists(columns: Sequence[Any]) -> list[Any]:
    """Return columns cut to the length of the first, as loops in functions of TensorFlow do.

    Raises
    ------
    InvalidArgumentError
        If a column is shorter than the first.
    """
    count = _length(columns)
    return [column[:count] for column in columns]


def in_arrays(columns: Sequence[Any]) -> list[Any]:
    """Return columns extended with zeros to the length of the first, as loops in graphs do.

    Raises
    ------
    InvalidArgumentError
        If a column is longer than the first.
    """
    if not all(column.ndim for column in columns):
        raise invalid("Input value must be at least a vector")
    count, extended = len(columns[0]), []
    for column in columns:
        if len(column) > count:
            raise invalid(
                f"Tried to write to index {count} but array is not resizeable and size is: {count}"
            )
        zero = b"" if column.dtype == object else 0
        rows = np.full((count - len(column), *column.shape[1:]), zero, column.dtype)
        extended.append(np.concatenate([column, rows]) if len(rows) else column)
    return extended


def _alike(count: int, *blocks: Block) -> tuple[Block, ...] | None:
    columns = [block.value for block in blocks]
    if not all(block.many for block in blocks) or _all_rows(count, blocks) is None:
        return None
    return tuple(Block(column, True) for column in columns)


def _of_equal_length(specs: Sequence[TypeSpec], *_: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [batched(unbatched(spec), sizes[0] if sizes else None) for spec in specs]


IN_ARRAYS = Op(
    "TensorArrays",
    lambda *columns: tuple(in_arrays(list(map(as_array, columns)))),
    _of_equal_length,
    _alike,
)


def _row_specs(columns: Sequence[Any]) -> list[TypeSpec]:
    """Return the specs of the rows of tensors.

    Raises
    ------
    Unfit
        If a value is not a dense tensor.
    """
    specs = [spec_of(raw_of(column)) for column in columns]
    if not all(type(spec) is TensorSpec for spec in specs):
        raise Unfit("rows of what is no tensor")
    if any(spec.shape.ndims == 0 for spec in specs):
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
    for spec in specs[1:]:
        specs[0].shape[:1].assert_is_compatible_with(spec.shape[:1])
    return [unbatched(spec) for spec in specs]


def _rows_known(columns: Sequence[Any]) -> int | None:
    sizes = [column.shape.sizes for column in columns]
    return next((each[0] for each in sizes if each and each[0] is not None), None)


def _all_rows(
    count: int, blocks: Sequence[Block]
) -> tuple[list[Any], Any, Callable[[Any], Any]] | None:
    """Return the concatenated rows of `count` elements, their numbers, and a regrouping function.

    The number of rows is one for all elements or an array. The function groups results by element.
    Return None if rows are not available as columns.
    """
    columns = [as_column(block, count) for block in blocks]
    first = columns[0]
    if all(isinstance(each, fastrec.Ragged) for each in columns):
        lengths = first.row_lengths
        if not all(np.array_equal(each.row_lengths, lengths) for each in columns[1:]):
            return None
        splits = first.row_splits - first.row_splits[0]

        def kept(made: Any) -> Any:
            return refilled(first, made) if made.ndim == 1 else arrays_of(made, splits)

        return [flat_values(each) for each in columns], lengths, kept
    if not all(isinstance(each, np.ndarray) and each.ndim > 1 for each in columns):
        return None
    if len({each.shape[:2] for each in columns}) > 1:
        return None
    rows = [each.reshape(-1, *each.shape[2:]) for each in columns]
    return rows, first.shape[1], lambda made: made.reshape(*first.shape[:2], *made.shape[1:])


class _Rows:
    """Operation that runs a traced function on each row of tensors."""

    def __init__(self, part: Trace, count: int, size: int | None) -> None:
        self._part, self._count, self._size = part, count, size
        self._alone = part.is_large or not part.is_pure

    def kernel(self, *values: Any) -> tuple[Any, ...]:
        columns, outer = values[: self._count], values[self._count :]
        count, specs = _length(columns), self._part.specs
        if self._alone or not count:
            rows = zip(*map(rows_of, columns), strict=False)
            return stacked([self._part([*row, *outer]) for row in rows], specs)
        given = [Block(each[:count], True) for each in columns]
        given.extend(Block(value, False) for value in outer)
        found = [as_column(each, count) for each in self._part.run_blocks(count, given)]
        whole = (np.ndarray, fastrec.Bytes)
        pairs = zip(found, specs, strict=True)
        return tuple(each if isinstance(each, whole) else _stacked(each, s) for each, s in pairs)

    def infer(self, *_: Any) -> list[TypeSpec]:
        return [batched(spec, self._size) for spec in self._part.specs]

    def block(self, count: int, *blocks: Block) -> tuple[Block, ...] | None:
        """Run the function on all rows of all elements at once."""
        if self._alone or (found := _all_rows(count, blocks[: self._count])) is None:
            return None
        columns, lengths, kept = found
        repeated = sum(size_of(block.value) for block in blocks[self._count :] if block.many)
        if not 0 < (total := len(columns[0])) <= limited_rows(repeated / count):
            return None
        element = np.repeat(np.arange(count), lengths)
        outer = [part_of(block, element) for block in blocks[self._count :]]
        made = self._part.run_blocks(total, [*[Block(each, True) for each in columns], *outer])
        results = [as_column(each, total) for each in made]
        if not all(isinstance(each, np.ndarray) for each in results):
            return None
        return tuple(Block(kept(each), True) for each in results)


def mapped_rows(function: Callable[..., Any], columns: Sequence[Any]) -> Any:
    """Apply a function to each row of tensors and stack the results.

    Raises
    ------
    Unfit
        If the function cannot be recorded.
    """
    parent = tracing()
    part = Part(lambda given: function(*given), _row_specs(columns))
    rows = _Rows(part.trace, len(columns), _rows_known(columns))
    op = _loop("MapFn", rows, [part])
    return part.packed(noted(parent, op, [*map(raw_of, columns), *part.inputs(parent)]))


def _loop(name: str, how: Any, parts: Sequence[Part]) -> Op:
    return Op(
        name,
        how.kernel,
        how.infer,
        getattr(how, "block", None),
        pure=all(part.trace.is_pure for part in parts),
        large=any(part.trace.is_large for part in parts),
    )


class _While:
    """Operation that runs a body while a test is true."""

    def __init__(self, test: Part, body: Part, specs: Sequence[TypeSpec]) -> None:
        self._test, self._body, self._specs = test, body, specs
        self._alone = any(p.trace.is_large or not p.trace.is_pure for p in (test, body))

    def kernel(self, most: Any, *values: Any) -> tuple[Any, ...]:
        count, test, body = len(self._specs), self._test.trace, self._body.trace
        of_test = len(test.given)
        before, inside = values[count:of_test], values[of_test:]
        return turned(
            lambda state: test([*state, *before])[0],
            lambda state: body([*state, *inside]),
            values[:count],
            int(most),
        )

    def block(self, count: int, *blocks: Block) -> tuple[Block, ...] | None:
        """Run each round at once for all elements that are still in the loop."""
        if count < TOGETHER or self._alone:
            return None
        width, test, body = len(self._specs), self._test.trace, self._body.trace
        rows, left, of_body = np.arange(count), list(blocks), 1 + len(test.given)
        done: list[tuple[Any, list[Any]]] = []
        for turn in itertools.count():
            held = test.run_blocks(len(rows), left[1:of_body])[0]
            goes = as_column(held, len(rows)) & (left[0].value != turn)
            if not goes.all():
                over = np.flatnonzero(~goes)
                ended = [part_of(block, over) for block in left[1 : 1 + width]]
                done.append((rows[over], [as_column(block, len(over)) for block in ended]))
                if len(over) == len(rows):
                    break
                rows, left = rows[goes], [part_of(b, np.flatnonzero(goes)) for b in left]
            given = [*left[1 : 1 + width], *left[of_body:]]
            left[1 : 1 + width] = body.run_blocks(len(rows), given)
        if len(done) == 1:
            return tuple(Block(each, True) for each in done[0][1])
        order = np.argsort(np.concatenate([each for each, _ in done]))
        found = zip(*[each for _, each in done], strict=True)
        return tuple(Block(taken(joined(each), order), True) for each in found)

    def infer(self, *_: Any) -> list[TypeSpec]:
        return list(self._specs)


def looped(
    test: Callable[..., Any],
    body: Callable[..., Any],
    values: Sequence[Any],
    shapes: Sequence[Any] | None,
    most: Any,
) -> Any:
    """Record a loop that applies a body to values while a test is true; return the final values.

    Parameters
    ----------
    test, body : callable
        Functions of the values.
    values : sequence of Tensor
    shapes : sequence, optional
        Shapes that hold in every round, for values whose shape changes.
    most : int or Tensor
        Maximum number of rounds; unlimited if negative.

    Raises
    ------
    Unfit
        If the test or the body cannot be recorded.
    """
    parent = tracing()
    specs = [spec_of(raw_of(value)) for value in values]
    if not all(type(spec) in (TensorSpec, TensorArraySpec) for spec in specs):
        raise Unfit("a loop over what is no tensor")
    if shapes is not None:
        specs = [spec.reshaped(shape) for spec, shape in zip(specs, shapes, strict=True)]
    step = Part(lambda given: body(*given), specs)
    if [spec.dtype for spec in step.trace.specs] != [spec.dtype for spec in specs]:
        raise Unfit("a body that gives other types")
    wider = [common(a, b) for a, b in zip(specs, step.trace.specs, strict=True)]
    if wider != specs:
        specs = wider
        step = Part(lambda given: body(*given), specs)
        if [common(a, b) for a, b in zip(specs, step.trace.specs, strict=True)] != specs:
            raise Unfit("a body that gives other shapes")
    holds = Part(lambda given: test(*given), specs)
    op = _loop("While", _While(holds, step, specs), [holds, step])
    raws = [raw_of(value) for value in values]
    limit = raw_of(convert_to_tensor(most))
    inputs = [limit, *raws, *holds.inputs(parent), *step.inputs(parent)]
    found = noted(parent, op, inputs)
    for at, (value, spec) in enumerate(zip(values, specs, strict=True)):
        if type(spec) is TensorArraySpec:
            found[at] = value.after(found[at])
    return step.packed(found)


class _Fold:
    """Operation that applies a function to an accumulated value and each row, in order."""

    def __init__(
        self, part: Part, rows: int, first: bool, reverse: bool, every: bool, size: int | None
    ) -> None:
        self._part, self._rows, self._first, self._reverse = part, rows, first, reverse
        self._every, self._size = every, size

    def kernel(self, *values: Any) -> tuple[Any, ...]:
        part, columns = self._part.trace, values[: self._rows]
        begins = self._rows + (0 if self._first else len(part.specs))
        state, outer = values[self._rows : begins], values[begins:]
        _length(columns)
        return folded(
            lambda state, row: part([*state, *row, *outer]),
            list(zip(*map(rows_of, columns), strict=False)),
            state,
            self._reverse,
            part.specs if self._every else None,
        )

    def block(self, count: int, *blocks: Block) -> tuple[Block, ...] | None:
        """Apply the function to row 0 of all elements, then to row 1, and so on.

        Return None if elements differ in their number of rows.
        """
        part, columns = self._part.trace, [block.value for block in blocks[: self._rows]]
        if count < TOGETHER or part.is_large or not part.is_pure:
            return None
        if not all(block.many for block in blocks[: self._rows]):
            return None
        if not all(isinstance(each, np.ndarray) and each.ndim > 1 for each in columns):
            return None
        lengths = {each.shape[1] for each in columns}
        if len(lengths) > 1 or lengths == {0}:
            return None
        width = 0 if self._first else len(part.specs)
        state: Sequence[Block] = blocks[self._rows : self._rows + width]
        outer = blocks[self._rows + width :]
        made = []
        for at in range(*lengths)[:: -1 if self._reverse else 1]:
            row = [Block(np.ascontiguousarray(each[:, at]), True) for each in columns]
            state = part.run_blocks(count, [*state, *row, *outer]) if state else row
            made.append([as_column(block, count) for block in state])
        if not self._every:
            return tuple(Block(each, True) for each in made[-1])
        stacks = list(zip(*made[:: -1 if self._reverse else 1], strict=True))
        for results in stacks:
            if not all(isinstance(each, np.ndarray) for each in results):
                return None
            if len({each.shape for each in results}) > 1:
                return None
        return tuple(Block(np.stack(results, axis=1), True) for results in stacks)

    def infer(self, *_: Any) -> list[TypeSpec]:
        specs = self._part.trace.specs
        return [batched(spec, self._size) for spec in specs] if self._every else list(specs)


def folded_rows(
    function: Callable[..., Any],
    columns: Sequence[Any],
    begin: Sequence[Any] | None,
    reverse: bool,
    every: bool,
) -> Any:
    """Record a fold over rows; return the last accumulated value, or all of them.

    Parameters
    ----------
    function : callable
        Function of the parts of the accumulated value and the parts of a row.
    columns : sequence of Tensor
    begin : sequence of Tensor, optional
        Initial accumulated value; by default the first row.
    reverse : bool
        Whether to start with the last row.
    every : bool
        Whether to stack all accumulated values.

    Raises
    ------
    Unfit
        If the function cannot be recorded.
    """
    parent = tracing()
    rows = _row_specs(columns)
    before = rows if begin is None else [spec_of(raw_of(each)) for each in begin]

    def of_both(given: Sequence[Any]) -> Any:
        return function(given[: len(before)], given[len(before) :])

    part = Part(of_both, [*before, *rows])
    if [spec.dtype for spec in part.trace.specs] != [spec.dtype for spec in before]:
        raise Unfit("a function that gives other types")
    wider = [common(a, b) for a, b in zip(before, part.trace.specs, strict=True)]
    if wider != before:
        part = Part(of_both, [*wider, *rows])
        if [common(a, b) for a, b in zip(wider, part.trace.specs, strict=True)] != wider:
            raise Unfit("a function that gives other shapes")
    fold = _Fold(part, len(columns), begin is None, reverse, every, _rows_known(columns))
    inputs = [*columns, *(begin or ()), *part.inputs(parent)]
    return part.packed(noted(parent, _loop("Fold", fold, [part]), list(map(raw_of, inputs))))
