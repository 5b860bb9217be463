# SPDX-License-Identifier: Apache-2.0
"""Stages that choose, order, number and cache elements."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from fastrec.errors import FastrecError

from .. import errors as _errors
from ..errors import invalid
from ..kernels import philox
from ..specs import TensorSpec, TypeSpec
from ..structure import LEAF
from ..tensor import as_array
from .functions import PerElement
from .pipeline import INFINITE, UNKNOWN, Portion, Stage
from .streams import (
    END,
    Each,
    Pull,
    Rows,
    Value,
    Values,
    beside,
    chunks_of,
    failed_with,
    of_values,
    steps,
)


class Zip(Portion):
    """Stage that combines the elements of several inputs into tuples."""

    def __init__(
        self, structure: Any, stages: Sequence[Stage], rebuild: Callable[[list[Any]], Any]
    ) -> None:
        super().__init__(*stages)
        self._rebuild = rebuild

    @property
    def structure(self) -> Any:
        return self._rebuild([stage.structure for stage in self.inputs])

    @property
    def specs(self) -> list[TypeSpec]:
        return [spec for stage in self.inputs for spec in stage.specs]

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        finite = [total for total in totals if total != INFINITE]
        return UNKNOWN if UNKNOWN in totals else min(finite, default=INFINITE)

    def start(self, ask: int) -> Pull:
        alone = ask == 1 or not self.pure  # effects of the inputs take turns
        pulls: list[Pull] = [Each(s.elements()) if alone else s.ahead(ask) for s in self.inputs]
        waiting = [END] * len(pulls)

        def pull(ask: int) -> Rows:
            size = ask = 1 if alone else ask
            for number, rows in enumerate(waiting):
                if not rows:
                    rows = waiting[number] = pulls[number](ask)
                size = min(size, rows.count)
            if size == 0:
                return lost()
            parts = list(waiting)
            for number, rows in enumerate(parts):
                if rows.count == size and rows.error is None:
                    waiting[number] = END
                else:
                    parts[number] = rows.cut(0, size)
                    waiting[number] = rows.cut(size, rows.count, rows.error)
            return beside(parts)

        def lost() -> Rows:
            """Return the first error, or the end; the inputs that have a row lose it."""
            error = next((r.error for r in waiting if not r.count and r.error is not None), None)
            for number, rows in enumerate(waiting):
                waiting[number] = rows.cut(1, rows.count, rows.error) if rows.count else END
            if error is not None:
                return failed_with(error)
            pulls[:] = [lambda _: END] * len(pulls)  # no effects after the end
            return END

        return pull


class Enumerate(Portion):
    """Stage that pairs each element with its number."""

    def __init__(self, stage: Stage, start: int) -> None:
        super().__init__(stage)
        self._start = start

    @property
    def structure(self) -> Any:
        return (LEAF, self.inputs[0].structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), "int64"), *self.inputs[0].specs]

    def start(self, ask: int) -> Pull:
        following, at = super().start(ask), self._start

        def pull(ask: int) -> Rows:
            nonlocal at
            rows = following(ask)
            begin, at = at, at + rows.count + (rows.error is not None)  # errors have a number, too
            if not rows.count:
                return rows
            if rows.count == 1:
                return of_values([(np.asarray(begin, np.int64), *rows.first())], rows.error)
            numbers = Rows(rows.count, [np.arange(begin, begin + rows.count)])
            return beside([numbers, rows]).with_error(rows.error)

        return pull


class Cache(Portion):
    """Stage that keeps elements in memory once all have been made."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._kept: list[Rows] | None = None

    def start(self, ask: int) -> Pull:
        if self._kept is not None:
            copies = map(Rows.copied, self._kept)
            if ask == 1:
                return Each(itertools.chain.from_iterable(map(Rows.values, copies)))
            return chunks_of(copies)
        following, total = super().start(ask), self.inputs[0].cardinality()
        kept: list[Rows] = []
        count = 0

        def pull(ask: int) -> Rows:
            nonlocal count
            rows = following(ask)
            count += rows.count
            if rows.count:
                kept.append(rows.with_error(None))
            if not rows or count == total:
                self._kept = kept
            return rows.copied()

        return pull


class IgnoreErrors(Portion):
    """Stage that drops elements that raise an error."""

    def __init__(self, stage: Stage, log: bool) -> None:
        super().__init__(stage)
        self._log = log

    @property
    def pure(self) -> bool:
        return super().pure and not self._log

    def cardinality(self) -> int:
        return UNKNOWN

    def start(self, ask: int) -> Pull:
        following = super().start(ask)

        def pull(ask: int) -> Rows:
            while True:
                rows = following(ask)
                if rows.error is None or not self._ignores(rows.error):
                    return rows
                if rows.count:
                    return rows.with_error(None)

        return pull

    def _ignores(self, error: Exception) -> bool:
        if not isinstance(error, (_errors.OpError, FastrecError)):
            return False
        if getattr(error, "of_source", False):  # every call would raise it again
            return False
        if self._log:
            warnings.warn(f"Error raised with error message {error}", stacklevel=2)
        return True


class TakeWhile(Stage):
    """Stage that ends as soon as a function returns False, without that element."""

    def __init__(self, stage: Stage, keeps: PerElement) -> None:
        super().__init__(stage)
        self._keeps = keeps

    def cardinality(self) -> int:
        return UNKNOWN

    def _may_run_ahead(self) -> bool:
        return False

    def start(self, ask: int) -> Pull:
        kept = itertools.takewhile(itemgetter(0), self._keeps.beside(self.inputs[0]))
        return Each(map(itemgetter(1), kept))


class Unique(Stage):
    """Stage that drops elements that have occurred before."""

    def cardinality(self) -> int:
        return UNKNOWN

    def start(self, ask: int) -> Pull:
        seen: set[Any] = set()

        def is_new(value: Value) -> bool:
            arrays = [as_array(part) for part in value]
            key = tuple(
                (a.shape, tuple(a.reshape(-1).tolist()) if a.dtype == object else a.tobytes())
                for a in arrays
            )
            before = len(seen)
            seen.add(key)
            return len(seen) > before

        return Each(filter(is_new, self.inputs[0].elements()))


class Sample(Stage):
    """Stage that takes each element from the input that a sequence of choices names."""

    def __init__(
        self, stages: Sequence[Stage], choices: Callable[[], Iterator[int]], stop: bool
    ) -> None:
        super().__init__(*stages)
        self._choices, self._stop = choices, stop

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN

    def start(self, ask: int) -> Pull:
        streams: list[Values | None] = [stage.elements() for stage in self.inputs]
        choices = self._choices()

        def step() -> Value:
            while any(stream is not None for stream in streams):
                choice = next(choices)
                if not 0 <= choice < len(streams):
                    raise invalid(f"Selector index out of range: {choice} >= {len(streams)}")
                stream = streams[choice]
                if stream is not None:
                    if (value := next(stream, None)) is not None:
                        return value
                    streams[choice] = None
                    if self._stop:
                        break
            raise StopIteration

        return Each(steps(step))


def by_weight(weights: Sequence[float] | None, count: int, numbers: Iterator[int]) -> Iterator[int]:
    """Yield input numbers below `count`, drawn by weight; each draw uses two of `numbers`."""
    import bisect

    with np.errstate(divide="ignore"):
        logits = np.zeros(count) if weights is None else np.log(np.asarray(weights, np.float32))
    ends = np.cumsum(np.exp(logits.astype(np.float64) - logits.max())).tolist()
    for seed in numbers:
        drawn = philox.drawn("uniform", philox.scrambled(seed, next(numbers)), (1,), np.float64)
        yield min(bisect.bisect_right(ends, float(drawn[0]) * ends[-1]), count - 1)
