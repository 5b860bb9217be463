# SPDX-License-Identifier: Apache-2.0
"""``map`` and ``filter``: traced functions run on blocks or in threads, others on each element."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..columns import column_of, rows_of, size_of, taken
from ..dtypes import as_dtype
from ..errors import OpError
from ..ops import Block as Given
from ..ops import refused
from ..seeds import kept_for_run, looking_ahead
from ..specs import TypeSpec
from ..structure import LEAF, pack
from ..tracing.calls import Called, drawing
from ..tracing.trace import Into, Trace
from ..width import AHEAD, BEFORE_LARGE, DRAWS, limited_rows
from .functions import Function, failed
from .pipeline import INFINITE, UNKNOWN, Node, in_columns, loose_spec, lowering
from .rooms import Place, Row, places
from .sources import with_fallback
from .streams import (
    Block,
    Blocks,
    Value,
    Values,
    cut,
    elements,
    first,
    flattened,
    in_blocks,
    steps,
)
from .threads import in_order, workers


class Untraced(Node):
    """Node whose element structure is known only from its first element."""

    _found: tuple[Any, list[TypeSpec]] | None = None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None:
            with looking_ahead():
                first(self._tried())
        return self._found or (LEAF, [])

    def _tried(self) -> Values:
        """Return elements for `_learn` only; they are dropped afterwards."""
        return self.values()

    def _learn(self, structure: Any, parts: Sequence[Any]) -> None:
        if self._found is None:
            self._found = structure, list(map(loose_spec, parts))

    @property
    def structure(self) -> Any:
        return self._known()[0]

    @property
    def specs(self) -> list[TypeSpec]:
        return self._known()[1]

    @property
    def pure(self) -> bool:
        return False


class EagerMap(Untraced):
    """Node that calls a function with each element."""

    def __init__(self, node: Node, function: Function, parallel: int | None = None) -> None:
        super().__init__(node)
        self._function, self._parallel = function, parallel
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        self._branches = function.branches(node.specs) if known else None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None and all(isinstance(s, TypeSpec) for s in self.inputs[0].specs):
            self._found = self._function.signature(self.inputs[0].specs)
        return super()._known()

    def _tried(self) -> Values:
        return map(functools.partial(self._call, {}), self.inputs[0].stream())

    def _call(self, states: dict[Any, Any], value: Value) -> Value:
        try:
            structure, parts = self._made(states, value)
        except OpError as error:
            if str(error) == self._function.refusal:  # the error does not depend on the element
                raise ValueError(self._function.refusal) from None
            raise failed(error, "Map") from error.__cause__
        self._learn(structure, parts)
        return tuple(parts)

    def _made(self, states: dict[Any, Any], value: Value) -> tuple[Any, list[Any]]:
        if self._branches is not None and lowering():
            called = Called(states)
            failure = None
            try:
                with called.drawing():
                    try:
                        return self._branches(value, called)
                    except OpError as error:  # an error of this element, after random draws
                        failure = error
            except Exception:  # the call with values raises the real error
                self._branches = None
            if failure is not None:
                raise failure
        return self._function(value, states)

    def values(self) -> Values:
        count = workers(self._parallel)
        call = functools.partial(self._call, self._function.states())
        return in_order(call, self.inputs[0].stream(), count)

    def blocks(self, count: int) -> Blocks | None:
        node = self.inputs[0]
        return self._columns(lambda: node.blocks(count)) if node.pure else None

    def gathered(self, count: int, exact: bool = False) -> Blocks | None:
        node = self.inputs[0]
        found = self._columns(lambda: node.gathered(count, True)) if exact else None
        return super().gathered(count, exact) if found is None else found

    def _columns(self, columns: Callable[[], Blocks | None]) -> Blocks | None:
        """Return the results for columns of the input; None if they must be made one by one."""
        ways = self._branches
        if ways is None or not ways.are_small() or (blocks := columns()) is None:
            return None
        states = self._function.states()
        call = functools.partial(self._call, states)

        def of_block(count: int, columns: list[Any]) -> Block:
            structure, found = ways.run_block(count, columns, Called(states))
            self._learn(structure, next(elements((count, found))))
            return count, found

        return in_blocks(blocks, of_block, functools.partial(map, call))


class Drawn(Node):
    """Node that appends a function's random numbers to the parts of each element."""

    draws = True

    def __init__(self, node: Node, trace: Trace) -> None:
        super().__init__(node)
        self._trace = trace
        # When a draw happens is not visible: draw several at a time, unless they are large.
        most = max(draw.spec.shape.num_elements() or 0 for draw in trace.draws)
        self._ahead = max(1, min(AHEAD, DRAWS // max(most, 1)))

    @property
    def specs(self) -> list[TypeSpec]:
        return [*self.inputs[0].specs, *(draw.spec for draw in self._trace.draws)]

    def values(self) -> Values:
        values = self.inputs[0].stream()
        if self._trace.draws_need:
            states: dict[Any, Any] = kept_for_run((self, "states"), dict)
            return map(functools.partial(self._of_one, states), values)
        drawn = kept_for_run((self, "rows"), self._rows)

        def with_draws(value: Value) -> Value:
            return (*value, *next(drawn))

        return map(with_draws, values)

    def _rows(self) -> Values:
        states: dict[Any, Any] = {}
        nothing = [None] * len(self._trace.values)

        def some() -> Values:
            _, columns = self._of_block(states, self._ahead, nothing)
            return zip(*map(rows_of, columns[len(nothing) :]), strict=True)

        return flattened(steps(some))

    def blocks(self, count: int) -> Blocks | None:
        return self._columns(self.inputs[0].blocks(count))

    def gathered(self, count: int, exact: bool = False) -> Blocks | None:
        return self._columns(self.inputs[0].gathered(count, exact))

    def _columns(self, blocks: Blocks | None) -> Blocks | None:
        """Return the blocks of the input with random numbers."""
        if blocks is None:
            return None
        states: dict[Any, Any] = kept_for_run((self, "columns"), dict)
        each = functools.partial(self._of_one, states)
        return in_blocks(
            blocks, functools.partial(self._of_block, states), functools.partial(map, each)
        )

    def _of_one(self, states: dict[Any, Any], value: Value) -> Value:
        _, columns = self._of_block(states, 1, [column_of([part]) for part in value])
        return (*value, *next(zip(*map(rows_of, columns[len(value) :]), strict=True)))

    def _of_block(self, states: dict[Any, Any], count: int, columns: list[Any]) -> Block:
        given = [Given(column, True) for column in columns]
        try:
            with drawing(states):
                return count, [*columns, *self._trace.draws_of(count, given, states)]
        except Exception as error:
            if isinstance(error, (IndexError, ValueError)):
                error = refused(error)
            raise failed(error, "Map") if isinstance(error, OpError) else error from error.__cause__


_Row = tuple[Trace, Value]  # the trace that has not run yet, and its values


def mapped(node: Node, function: Callable[..., Any], parallel: int | None) -> Node:
    """Return a node for ``map``."""
    call = Function(function, node.structure)
    found = call.trace(node.specs) if all(isinstance(s, TypeSpec) for s in node.specs) else None
    if found is None:
        return EagerMap(node, call, parallel)
    trace, structure = found
    return Map(Drawn(node, trace) if trace.draws else node, trace, structure, parallel)


class Map(Node):
    """Node that applies a traced function."""

    def __init__(
        self,
        node: Node,
        trace: Trace,
        structure: Any,
        parallel: int | None = None,
        name: str = "Map",
    ) -> None:
        super().__init__(node)
        self.trace, self._structure, self.parallel = trace, structure, parallel
        self._name = name  # used in messages
        self._most: int | None = None  # maximum rows per block, if known

    structure = property(lambda self: self._structure)

    @property
    def shuffles(self) -> bool:
        return self.inputs[0].shuffles

    @property
    def specs(self) -> list[TypeSpec]:
        return self.trace.specs

    @property
    def pure(self) -> bool:
        return super().pure and self.trace.is_pure

    def over(self, node: Node) -> Map:
        """Return the same function applied to another node."""
        return Map(node, self.trace, self._structure, self.parallel, self._name)

    def _workers(self) -> int:
        return workers(self.parallel, self.trace.is_waiting)

    def values(self) -> Values:
        parsed = self.inputs[0].parsed(self.trace)
        if parsed is None:
            return self._values()
        return with_fallback(map(self.trace.after_parsing, parsed), self._values)

    def _values(self) -> Values:
        return in_order(self._run, self._rows(), self._workers())

    def _rows(self) -> Iterator[_Row]:
        """Return the elements, with small values computed in blocks if the input has blocks."""
        parts = self.trace.divided
        if in_columns() and parts and (blocks := self.inputs[0].blocks(BEFORE_LARGE)) is not None:
            return flattened(map(functools.partial(self._early, *parts), blocks))
        return zip(itertools.repeat(self.trace), self.inputs[0].stream())

    def _early(self, early: Trace, late: Trace, block: Block) -> Iterator[_Row]:
        try:
            done = elements((block[0], early.run_block(*block)))
        except Exception:  # each row then raises its own error
            return zip(itertools.repeat(self.trace), elements(block))
        return zip(itertools.repeat(late), done)

    def _run(self, row: _Row, into: Into | None = None) -> Value:
        """Return the result for an element after the column segment, or for the whole function."""
        trace, value = row
        try:
            return trace(value, into, plain=not lowering())
        except OpError as error:
            raise failed(error, self._name) from error.__cause__

    def placed(self, size: int, *room: Any) -> Iterator[Place] | None:
        """Write each element to its row of a batch of `size`; return None for small elements.

        The other arguments are those of :func:`.rooms.places`.
        """
        if not lowering() or not self.trace.is_large:
            return None
        following = places(size, *room)
        jobs = zip(self._rows(), following, strict=False)  # an element that raises takes no row
        return in_order(self._put, jobs, self._workers())

    def _put(self, job: tuple[_Row, Row]) -> Place:
        row, place = job
        return place, place.put(self._run(row, place.part))

    def _of_one(self, value: Value) -> Value:
        return self._run((self.trace, value))

    def blocks(self, count: int) -> Blocks | None:
        return self._columns(count, False) if self.pure else None

    def gathered(self, count: int, exact: bool = False) -> Blocks | None:
        found = self._columns(count, exact) if exact and self.trace.is_pure else None
        return super().gathered(count, exact) if found is None else found

    def _columns(self, count: int, exact: bool) -> Blocks | None:
        """Return the results for columns of the input; see :meth:`gathered` for `exact`."""
        if self.trace.is_large or (blocks := self.inputs[0].gathered(count, exact)) is None:
            return None
        values = functools.partial(map, self._of_one)
        return in_blocks(self._parts_of(blocks), self._of_block, values)

    def _parts_of(self, blocks: Blocks) -> Blocks:
        """Split blocks so that their results stay in the processor's cache."""
        block: Block = (0, [])
        begin = 0

        def step() -> Block:
            nonlocal block, begin
            while begin >= block[0]:
                block, begin = next(blocks), 0
            first, begin = begin, min(block[0], begin + (self._most or block[0]))
            return cut(block, slice(first, begin))

        return steps(step)

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        found = self.trace.run_block(count, columns)
        self._most = limited_rows(sum(map(size_of, found)) / count)
        return count, found


_BOOL = as_dtype("bool")


class Predicate:
    """Function that decides whether an element is kept.

    Raises
    ------
    ValueError
        If the result is not a single truth value.
    """

    def __init__(self, function: Callable[..., Any], node: Node) -> None:
        self._function = Function(function, node.structure)
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        found = self._function.trace(node.specs) if known else None
        if found is not None:
            self._check(found[1], found[0].specs)
        self.trace = found[0] if found and not found[0].draws else None

    def __call__(self, value: Value) -> bool:
        try:
            return self._decide(value)
        except OpError as error:
            raise failed(error, "Filter") from error.__cause__

    def _decide(self, value: Value) -> bool:
        if self.trace is not None:
            return bool(self.trace(value)[0])
        structure, parts = self._function(value)
        self._check(structure, [loose_spec(part) for part in parts])
        return bool(np.asarray(parts[0]))

    def _check(self, structure: Any, specs: Sequence[Any]) -> None:
        if structure is LEAF and specs[0].dtype == _BOOL and specs[0].shape.sizes in ((), None):
            return
        shown = pack(structure, specs)
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {shown}."
        )


class Filter(Node):
    """Node that drops the elements if a function returns False for them."""

    def __init__(self, node: Node, function: Callable[..., Any]) -> None:
        super().__init__(node)
        self._keeps = Predicate(function, node)
        self._trace = self._keeps.trace

    @property
    def pure(self) -> bool:
        return super().pure and self._trace is not None and self._trace.is_pure

    def cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def values(self) -> Values:
        return filter(self._keeps, self.inputs[0].stream())

    def blocks(self, count: int) -> Blocks | None:
        if not self.pure or (blocks := self.inputs[0].gathered(count)) is None:
            return None
        return in_blocks(blocks, self._of_block, lambda values: filter(self._keeps, values))

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        assert self._trace is not None
        mask = np.asarray(self._trace.run_block(count, columns)[0]).reshape(count)
        if mask.all():
            return count, columns
        rows = np.flatnonzero(mask)
        return len(rows), [taken(column, rows) for column in columns]
