# SPDX-License-Identifier: Apache-2.0
"""``map`` and ``filter``: traced functions run on blocks or in threads, others on each element."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastrec import _core

from ..columns import size_of
from ..dtypes import as_dtype
from ..errors import OpError
from ..ops import Block as Given
from ..ops import refused
from ..seeds import kept_for_run, looking_ahead
from ..specs import TypeSpec
from ..structure import LEAF, pack
from ..tracing.calls import Called, drawing
from ..tracing.trace import Into, Trace, names_of
from ..width import AHEAD, BEFORE_LARGE, DRAWS, READ, SMALL_BYTES, limited_rows
from .functions import Function, PerElement, explain_way, explaining, failed
from .pipeline import INFINITE, UNKNOWN, Portion, Stage, in_columns, loose_spec, lowering
from .rooms import Padded, Place, Row, columns_of, places
from .sources import parsed_rows
from .streams import (
    Attempted,
    Chunks,
    Each,
    Pull,
    Rows,
    Value,
    Values,
    beside,
    exactly,
    first,
    flattened,
    of_values,
    pulled,
    with_fallback,
)
from .threads import in_order, workers


class Untraced(Stage):
    """Stage whose element structure is known only from its first element."""

    _found: tuple[Any, list[TypeSpec]] | None = None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None:
            with looking_ahead():
                first(self._tried())
        return self._found or (LEAF, [])

    def _tried(self) -> Values:
        """Return elements for `_learn` only; they are dropped afterwards."""
        return self.elements()

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
    """Stage that calls a function with each element."""

    def __init__(self, stage: Stage, function: Function, parallel: int | None = None) -> None:
        super().__init__(stage)
        self._function, self._parallel = function, parallel
        known = all(isinstance(spec, TypeSpec) for spec in stage.specs)
        self._branches = function.branches(stage.specs) if known else None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None and all(isinstance(s, TypeSpec) for s in self.inputs[0].specs):
            self._found = self._function.signature(self.inputs[0].specs)
        return super()._known()

    def _tried(self) -> Values:
        return map(functools.partial(self._call, {}), self.inputs[0].elements())

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

    def _may_run_ahead(self) -> bool:
        return self._has_columns() and self.inputs[0].pure and self.inputs[0].runs_ahead

    def _has_columns(self) -> bool:
        """Return whether the traces of all paths may run on columns."""
        return self._branches is not None and self._branches.are_small()

    def start(self, ask: int) -> Pull:
        states = self._function.states()
        call = functools.partial(self._call, states)
        ways = self._branches
        if ask == 1 or ways is None or not lowering() or not self._has_columns():
            return Each(in_order(call, self.inputs[0].elements(), workers(self._parallel)))

        def of_rows(rows: Rows) -> Rows:
            structure, columns = ways.run_block(rows.count, rows.columns, Called(states))
            found = Rows(rows.count, columns)
            self._learn(structure, next(found.values()))
            return found

        return Attempted(self.inputs[0].start(ask), of_rows, functools.partial(map, call))


class Drawn(Portion):
    """Stage that appends a function's random numbers to the parts of each element."""

    draws = True

    def __init__(self, stage: Stage, trace: Trace) -> None:
        super().__init__(stage)
        self._trace = trace
        # When a draw happens is not visible: draw several at a time, unless they are large.
        most = max(draw.spec.shape.num_elements() or 0 for draw in trace.draws)
        self._ahead = max(1, min(AHEAD, DRAWS // max(most, 1)))

    @property
    def specs(self) -> list[TypeSpec]:
        return [*self.inputs[0].specs, *(draw.spec for draw in self._trace.draws)]

    def start(self, ask: int) -> Pull:
        states: dict[Any, Any] = kept_for_run((self, "states"), dict)
        drawn = kept_for_run((self, "rows"), lambda: Chunks(functools.partial(self._some, states)))

        def with_draws(rows: Rows) -> Rows:
            if self._trace.draws_need:
                return beside([rows, self._drawn(states, rows.count, rows.columns)])
            return beside([rows, exactly(drawn, rows.count)])

        def each(value: Value) -> Value:
            return next(with_draws(of_values([value])).values())

        return Attempted(super().start(ask), with_draws, functools.partial(map, each))

    def _some(self, states: dict[Any, Any], ask: int) -> Rows:
        """Draw numbers that do not depend on elements."""
        return self._drawn(states, max(ask, self._ahead), [None] * len(self._trace.values))

    def _drawn(self, states: dict[Any, Any], count: int, columns: list[Any]) -> Rows:
        given = [Given(column, True) for column in columns]
        try:
            with drawing(states):
                return Rows(count, self._trace.draws_of(count, given, states))
        except Exception as error:
            if isinstance(error, (IndexError, ValueError)):
                error = refused(error)
            raise failed(error, "Map") if isinstance(error, OpError) else error from error.__cause__


_Row = tuple[Trace, Value]  # the trace that has not run yet, and its values


def mapped(stage: Stage, function: Callable[..., Any], parallel: int | None) -> Stage:
    """Return a stage for ``map``."""
    call = Function(function, stage.structure)
    found = call.trace(stage.specs) if all(isinstance(s, TypeSpec) for s in stage.specs) else None
    if found is None:
        return EagerMap(stage, call, parallel)
    trace, structure = found
    return Map(Drawn(stage, trace) if trace.draws else stage, trace, structure, parallel)


class Map(Portion):
    """Stage that applies a traced function."""

    def __init__(
        self,
        stage: Stage,
        trace: Trace,
        structure: Any,
        parallel: int | None = None,
        name: str = "Map",
    ) -> None:
        super().__init__(stage)
        self.trace, self._structure, self.parallel = trace, structure, parallel
        self._name = name  # used in messages
        self._most = READ  # rows to compute together; their results stay in a cache
        self._spares: dict[int, _core.Spares] = {}

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

    def over(self, stage: Stage, trace: Trace | None = None) -> Map:
        """Return the same function, or its `trace`, applied to another stage."""
        return Map(stage, trace or self.trace, self._structure, self.parallel, self._name)

    def _workers(self) -> int:
        return workers(self.parallel, self.trace.is_waiting)

    def _may_run_ahead(self) -> bool:
        return self.pure and not self._is_large and super()._may_run_ahead()

    @property
    def _is_large(self) -> bool:
        """Whether rows are best made one by one; if sizes are unknown, the first row decides."""
        trace = self.trace
        return trace.is_large and not (trace.may_be_small and in_columns() and self._begins_small)

    @functools.cached_property
    def _begins_small(self) -> bool:
        """Whether the first row is small, and can be made without effects to find that out."""
        if not self.pure:
            return False
        try:
            with looking_ahead():
                value = first(self.inputs[0].elements())
            return value is not None and self.trace.bytes_made(value) <= SMALL_BYTES
        except Exception:  # the iteration raises it in its place
            return False

    def start(self, ask: int, padded: Mapping[int, Padded] | None = None) -> Pull:
        """Begin an iteration.

        Parameters
        ----------
        ask : int
        padded : dict, optional
            If rows are requested for a batch: the padded shapes of parts, as for :class:`.Room`.
        """
        trace = self.trace
        parsed = parsed_rows(
            self.inputs[0], trace, ask if padded is not None else 0, self._is_large
        )
        if parsed is None:
            return self._start(ask, padded)
        if explaining():
            explain_way(trace, f"reads records that a Batcher parses: {names_of(trace.columns)}")
        after = self.over(self.inputs[0], trace.after_parsing)
        fast: Pull = (
            Each(map(after.trace, parsed.values))
            if isinstance(parsed, Each)
            else after._many(parsed)
        )
        return with_fallback(fast, lambda: self._start(ask, padded))

    def _start(self, ask: int, padded: Mapping[int, Padded] | None) -> Pull:
        if ask == 1 or not lowering() or not self.trace.is_pure or self._is_large:
            if explaining():
                self._explain_rows(ask)
            if padded is not None and lowering() and self._is_large:
                return self._in_places(ask, padded)
            return Each(in_order(self._run, self._rows(), self._workers()))
        if explaining():
            explain_way(self.trace, f"makes {ask} rows together: {names_of(self.trace.columns)}")
        return self._many(self.inputs[0].start(ask))

    def _explain_rows(self, ask: int) -> None:
        """Tell why rows are made one by one, and how."""
        trace, workers = self.trace, self._workers()
        reasons = [
            (ask == 1, "one is requested at a time"),
            (not lowering(), "columns are disabled"),
            (not trace.is_pure, "it has effects"),
            (True, "they are large"),
        ]
        why = next(text for applies, text in reasons if applies)
        threads = f", in {workers} threads if they save time" if workers > 1 else ""
        early, late = trace.divided or (None, trace)
        first = f"{names_of(early.columns)} for {BEFORE_LARGE} rows, then " if early else ""
        nodes = late.fused if lowering() else late.nodes
        explain_way(trace, f"makes rows one by one ({why}){threads}: {first}{names_of(nodes)}")

    def _many(self, following: Pull) -> Pull:
        """Compute many rows together, limited by the size of the processor's cache."""
        limited = lambda ask: following(min(ask, self._most))  # noqa: E731
        return Attempted(limited, self._of_rows, functools.partial(map, self._of_one))

    def _of_rows(self, rows: Rows) -> Rows:
        if rows.count == 1:  # a stage before this one makes single rows
            return of_values([self._of_one(rows.first())])
        found = self.trace.run_block(rows.count, rows.columns)
        self._most = limited_rows(sum(map(size_of, found)) / rows.count)
        return Rows(rows.count, found)

    def _of_one(self, value: Value) -> Value:
        return self._run((self.trace, value))

    def _rows(self) -> Iterator[_Row]:
        """Return the elements, with small values computed together if the input may run ahead."""
        parts, stage = self.trace.divided, self.inputs[0]
        if parts is None or not stage.runs_ahead:
            return zip(itertools.repeat(self.trace), stage.elements())
        rows = pulled(stage.start(BEFORE_LARGE), BEFORE_LARGE)
        return flattened(map(functools.partial(self._early, *parts), rows))

    def _early(self, early: Trace, late: Trace, rows: Rows) -> Iterator[_Row]:
        try:
            done = Rows(rows.count, early.run_block(rows.count, rows.columns), rows.error)
        except Exception:  # each row then raises its own error
            return zip(itertools.repeat(self.trace), rows.elements())
        return zip(itertools.repeat(late), done.elements())

    def _run(self, row: _Row, into: Into | None = None) -> Value:
        """Return the result for an element after the column segment, or for the whole function."""
        trace, value = row
        try:
            return trace(value, into, plain=not lowering())
        except OpError as error:
            raise failed(error, self._name) from error.__cause__

    def _in_places(self, ask: int, padded: Mapping[int, Padded]) -> Pull:
        """Write each element to its row of a batch of `ask` rows."""

        def put(job: tuple[_Row, Row]) -> Place:
            row, place = job
            return place, place.put(self._run(row, place.part))

        # An element that raises an error leaves its row to the next one.
        jobs = zip(self._rows(), places(ask, self._spares, padded), strict=False)
        each = Each(in_order(put, jobs, self._workers()))

        def pull(ask: int) -> Rows:
            rows = each(ask)
            placed = list(rows.values())
            return Rows(len(placed), columns_of(placed), rows.error) if placed else rows

        return pull


_BOOL = as_dtype("bool")


class Predicate(PerElement):
    """Function that decides whether an element is kept.

    Raises
    ------
    ValueError
        If the result is not a single truth value.
    """

    def __init__(self, function: Callable[..., Any], stage: Stage) -> None:
        self._function = Function(function, stage.structure)
        known = all(isinstance(spec, TypeSpec) for spec in stage.specs)
        found = self._function.trace(stage.specs) if known else None
        if found is not None:
            self._check(found[1], found[0].specs)
        self.trace = found[0] if found and not found[0].draws else None

    kind = bool

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


class Filter(Portion):
    """Stage that drops the elements if a function returns False for them."""

    def __init__(self, stage: Stage, function: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._keeps = Predicate(function, stage)
        self._trace = self._keeps.trace

    @property
    def pure(self) -> bool:
        return super().pure and self._trace is not None and self._trace.is_pure

    def cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def _may_run_ahead(self) -> bool:
        return self.pure and super()._may_run_ahead()

    def start(self, ask: int) -> Pull:
        trace = self._trace
        alone = ask == 1 or not self.pure or not lowering()
        if trace is not None and explaining():
            way = "one row at a time" if alone else f"{ask} rows together"
            explain_way(trace, f"decides about {way}: {names_of(trace.columns)}")
        if alone or trace is None:
            return Each(filter(self._keeps, self.inputs[0].elements()))

        def of_rows(rows: Rows) -> Rows:
            mask = np.asarray(trace.run_block(rows.count, rows.columns)[0]).reshape(rows.count)
            if mask.all():
                return rows
            return rows.taken(np.flatnonzero(mask))

        return Attempted(super().start(ask), of_rows, functools.partial(filter, self._keeps))
