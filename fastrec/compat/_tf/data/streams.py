# SPDX-License-Identifier: Apache-2.0
"""Rows, and the iterations that stages answer requests for rows with.

An iteration is a function that takes the number of wanted rows. It returns at least one row or an
error, unless the stage has ended, and at most the wanted number of rows: where functions have
effects, a stage requests a row only when it is needed. As in TensorFlow, an error takes the place
of one row, and the next request continues after it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import errors as _errors
from ..columns import column_of, joined, rows_of, taken
from ..width import AHEAD, READ

T = TypeVar("T")

Value = tuple[Any, ...]
Values = Iterator[Value]

_NEVER = object()


def steps(step: Callable[[], T]) -> Iterator[T]:
    """Yield results of `step` until it raises StopIteration; other errors do not end this."""
    return iter(step, _NEVER)


class Rows:
    """Consecutive rows of a stage, as columns or as elements, and the error of the next row.

    The form that is missing is made when it is first used. Rows are false after the last row.

    Attributes
    ----------
    count : int
    error : Exception, optional
        Takes the place of the row after the last; it counts as a requested row.
    """

    __slots__ = ("_columns", "_values", "count", "error")

    def __init__(
        self,
        count: int,
        columns: list[Any] | None = None,
        error: Exception | None = None,
        values: list[Value] | None = None,
    ) -> None:
        self.count, self.error = count, error
        self._columns, self._values = columns, values

    def __bool__(self) -> bool:
        return self.count > 0 or self.error is not None

    @property
    def columns(self) -> list[Any]:
        """The values of each component."""
        if self._columns is None:
            self._columns = list(map(column_of, zip(*(self._values or ()), strict=True)))
        return self._columns

    def values(self) -> Values:
        """Iterate over the elements, without the error."""
        if self._values is not None:
            return iter(self._values)
        if not self._columns:
            return iter([()] * self.count)
        return zip(*map(rows_of, self._columns), strict=True)

    def first(self) -> Value:
        """Return the first element."""
        return self._values[0] if self._values else next(self.values())

    def elements(self) -> Values:
        """Iterate over the elements; raise the error in its place."""
        if self.error is None:
            return self.values()
        return itertools.chain(self.values(), raising(self.error))

    def parts(self) -> list[Any]:
        """Return the values of each component: a column, or a tuple of values made one by one."""
        return self.columns if self._values is None else list(zip(*self._values, strict=True))

    def cut(self, begin: int, end: int, error: Exception | None = None) -> Rows:
        """Return the rows from `begin` to `end`, followed by another error or none."""
        if self._values is not None:
            return of_values(self._values[begin:end], error)
        return Rows(end - begin, [column[begin:end] for column in self._columns or ()], error)

    def taken(self, numbers: np.ndarray[Any, Any]) -> Rows:
        """Return the rows with the given numbers, without the error."""
        if self._values is not None:
            return of_values([self._values[number] for number in numbers.tolist()])
        return Rows(len(numbers), [taken(column, numbers) for column in self.columns])

    def with_error(self, error: Exception | None) -> Rows:
        """Return the rows with another error, or with none."""
        return Rows(self.count, self._columns, error, self._values)

    def copied(self) -> Rows:
        """Return the rows with columns that may be written to."""
        if self._values is not None or self._columns is None:
            return self
        own = [c.copy() if isinstance(c, np.ndarray) else c for c in self._columns]
        return Rows(self.count, own, self.error)


END = Rows(0)


def failed_with(error: Exception) -> Rows:
    """Return an error without rows."""
    return Rows(0, None, error)


def of_values(values: list[Value], error: Exception | None = None) -> Rows:
    """Return rows of elements."""
    return Rows(len(values), None, error, values)


def raising(error: Exception) -> Values:
    """Raise an error in place of the first element."""
    try:
        raise error
    finally:
        del error  # otherwise the error and this frame would keep each other alive
    yield


def together(parts: Sequence[Rows]) -> Rows:
    """Return rows that follow each other as one, without errors."""
    if len(parts) == 1:
        return parts[0]
    count = sum(rows.count for rows in parts)
    if all(rows._values is not None for rows in parts):
        return of_values([value for rows in parts for value in rows.values()])
    return Rows(count, [joined(list(c)) for c in zip(*(r.columns for r in parts), strict=True)])


def beside(parts: Sequence[Rows]) -> Rows:
    """Return rows with the components of several, which have equal counts and no errors."""
    if parts[0].count == 1:
        return of_values([tuple([part for rows in parts for part in rows.first()])])
    if all(rows._values is not None for rows in parts):
        pairs = zip(*(rows.values() for rows in parts), strict=True)
        return of_values([tuple(itertools.chain.from_iterable(each)) for each in pairs])
    return Rows(parts[0].count, [column for rows in parts for column in rows.columns])


Pull = Callable[[int], Rows]


class Each:
    """Iteration of a stage that makes its elements one by one."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def __call__(self, ask: int) -> Rows:
        if ask == 1:
            try:
                return Rows(1, None, None, [next(self.values)])
            except StopIteration:
                return END
            except Exception as error:
                return failed_with(error)
        chunk: list[Value] = []
        try:
            chunk.extend(itertools.islice(self.values, ask))
        except Exception as error:
            return of_values(chunk, error)
        return of_values(chunk)


class Chunks:
    """Iteration over rows of a source that makes any number of them at a time.

    Parameters
    ----------
    more : callable
        Takes the number of wanted rows; returns any number, or raises the error of the next row.
        No rows, or StopIteration, are the end.
    """

    def __init__(self, more: Callable[[int], Rows]) -> None:
        self._more, self._rows, self._at = more, END, 0

    def __call__(self, ask: int) -> Rows:
        if self._rows is END:
            try:
                self._rows, self._at = self._more(ask), 0
            except StopIteration:
                return END
            except Exception as error:
                return failed_with(error)
        rows, begin = self._rows, self._at
        self._at = end = min(begin + ask, rows.count)
        last = end == rows.count and (rows.error is None or end - begin < ask)
        if last:
            self._rows = END
        if begin == 0 and last:
            return rows
        return rows.cut(begin, end, rows.error if last else None)


def chunks_of(rows: Iterator[Rows]) -> Chunks:
    """Return an iteration over rows that an iterator yields; it may raise errors between them."""
    some = filter(None, rows)
    return Chunks(lambda _: next(some))


def skipped(pull: Pull, count: int) -> Pull:
    """Return an iteration without the first `count` rows.

    If a row to skip has an error, `count` more are skipped.
    """
    left = count

    def following(ask: int) -> Rows:
        nonlocal left
        while left:
            rows = pull(min(left, READ))
            left -= rows.count
            if rows.error is not None:
                left = count
                return failed_with(rows.error)
            if not rows:
                return END
        return pull(ask)

    return following


def in_turn(pulls: Iterator[Pull]) -> Pull:
    """Return an iteration over the rows of several, one after the other."""
    current: Pull = lambda _: END  # noqa: E731

    def pull(ask: int) -> Rows:
        nonlocal current
        while not (rows := current(ask)):
            try:
                current = next(pulls)
            except StopIteration:
                return END
            except Exception as error:
                return failed_with(error)
        return rows

    return pull


def pulled(pull: Pull, ask: int) -> Iterator[Rows]:
    """Yield all rows of an iteration, up to `ask` at a time."""

    def step() -> Rows:
        rows = pull(ask)
        if not rows:
            raise StopIteration
        return rows

    return steps(step)


def elements_of(pull: Pull, ask: int) -> Values:
    """Iterate over the elements of an iteration, asking for up to `ask` at a time."""
    if isinstance(pull, Each):
        return pull.values
    if ask > 1:
        return flattened(map(Rows.elements, pulled(pull, ask)))

    def step() -> Value:
        rows = pull(1)
        if rows.count:
            return rows.first()
        try:
            raise rows.error or StopIteration
        finally:
            del rows  # otherwise the error and this frame would keep each other alive

    return steps(step)


def exactly(pull: Pull, size: int) -> Rows:
    """Return the next `size` rows, fewer at the end; raise an error of any of them."""
    parts: list[Rows] = []
    while size:
        rows = pull(size)
        if rows.count == size and not parts:
            return rows
        if rows.error is not None:
            try:
                raise rows.error
            finally:
                del rows  # otherwise the error and this frame would keep each other alive
        if not rows.count:
            break
        parts.append(rows)
        size -= rows.count
    return together(parts) if parts else END


class Attempted:
    """Iteration over what a function returns for many rows; where it fails, row by row.

    Parameters
    ----------
    pull : callable
        The iteration of the input.
    many : callable
        Takes rows; returns the resulting rows, of any number.
    each : callable
        Takes an iterator over elements; returns an iterator over the resulting ones.
    """

    def __init__(
        self, pull: Pull, many: Callable[[Rows], Rows], each: Callable[[Values], Values]
    ) -> None:
        self._pull, self._many, self._each = pull, many, each
        self._failed: Pull | None = None

    def __call__(self, ask: int) -> Rows:
        while True:
            if self._failed is not None:
                if rows := self._failed(ask):
                    return rows
                self._failed = None
            rows = self._pull(ask)
            if not rows.count:
                return rows
            try:
                found = self._many(rows)
            except Exception:
                self._failed = Each(self._each(rows.elements()))
                continue
            if rows.error is not None:
                return found.with_error(rows.error)
            if found.count:
                return found


def with_fallback(fast: Pull, slow: Callable[[], Pull]) -> Pull:
    """Return the rows of `fast` until one has an error, then the following ones of `slow`."""
    done = 0
    rest: Pull | None = None

    def pull(ask: int) -> Rows:
        nonlocal done, rest
        if rest is None:
            rows = fast(ask)
            if rows.error is None:
                done += rows.count
                return rows
            rest = skipped(slow(), done)
        return rest(ask)

    return pull


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
