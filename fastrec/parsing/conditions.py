# SPDX-License-Identifier: Apache-2.0
"""Evaluate conditions on columns of records: comparisons, tests, and combinations of them.

:mod:`fastrec.parsing.where` defines the language of conditions.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Union

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged

__all__ = [
    "ORDERS", "TESTS", "Condition", "Name", "ParsedTerms", "Terms", "Values", "WhereError",
    "compared", "has_values", "inverse", "joined", "tested", "without_frames",
]  # fmt: skip

RESERVED = ("and", "or", "not", "in", "true", "false", "nan", "inf")

Mask = NDArray[np.bool_]
Columns = Mapping[str, Ragged]
Values = tuple[Any, Union[NDArray[np.int64], None]]  # noqa: UP007
"""Values of all records, and the row splits that divide them among the records; None instead of
the splits if each record has exactly one value."""

ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
TESTS: dict[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf}


class WhereError(ValueError):
    """An expression that cannot be parsed, or does not match the kind of a feature."""


class Name(NamedTuple):
    """A feature: its values, or with `measure` the number or the size in bytes of its values."""

    name: str
    measure: str = ""

    def __str__(self) -> str:
        plain = re.fullmatch(r"[^\W\d][\w/.:-]*", self.name) and self.name not in RESERVED
        name = self.name if plain else f"`{self.name}`"
        return f"{self.measure}({name})" if self.measure else name


class Terms(Protocol):
    """Data that a condition needs: values of records, their counts and their sizes."""

    count: int
    """Number of records."""

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the number of values, or of frames, in each record; 0 without the feature."""

    def values(self, name: str) -> Values | None:
        """Return the values of all records; None if all records lack values."""

    def sizes(self, name: str) -> Values | None:
        """Return the size in bytes of each value; None if all records lack values."""


class ParsedTerms:
    """Terms from the columns that a parser returned.

    Parameters
    ----------
    columns : mapping of str to Ragged
    count : int
        Number of records.
    """

    def __init__(self, columns: Columns, count: int) -> None:
        self._columns = columns
        self.count = count

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the number of values, or of frames, in each record; 0 without the feature."""
        column = self._columns.get(name)
        return np.zeros(self.count, np.int64) if column is None else column.row_lengths

    def values(self, name: str) -> Values | None:
        """Return the values of all records; None if all records lack values."""
        column = self._columns.get(name)
        if column is None:
            return None
        column = without_frames(column)
        return (column.values, column.row_splits) if len(column.values) else None

    def sizes(self, name: str) -> Values | None:
        """Return the size in bytes of each value; None if all records lack values."""
        found = self.values(name)
        if found is None:
            return None
        if not isinstance(found[0], Bytes):
            raise WhereError(f"feature {name!r} holds numbers: size() is of bytes")
        return np.diff(found[0].offsets), found[1]


Condition = Callable[[Terms], Mask]
"""Tells for which records a condition holds."""


def has_values(name: str) -> Condition:
    """Return the condition that a record has values of a feature."""
    return lambda terms: terms.lengths(name) > 0


def joined(join: Callable[[Mask, Mask], Mask], parts: list[Condition]) -> Condition:
    """Return the condition that combines the results of `parts` with `join`."""

    def evaluate(terms: Terms) -> Mask:
        mask = parts[0](terms)
        for part in parts[1:]:
            mask = join(mask, part(terms))
        return mask

    return evaluate


def inverse(part: Condition) -> Condition:
    """Return the condition that holds where `part` does not."""
    return lambda terms: ~part(terms)


def compared(left: Name, sign: str, right: Any) -> Condition:
    """Return the condition that compares a feature with a value or a tuple of choices."""
    choices = right if isinstance(right, tuple) else (right,)
    strings = {isinstance(choice, str) for choice in choices}
    if len(strings) > 1:
        raise WhereError(f"the values for {left.name!r} must be all strings or all numbers")
    text = strings.pop()
    if left.measure and text:
        raise WhereError(f"{left.measure}({left.name}) is a number, got a string")
    if sign in ("=~", "!~"):
        if not text:
            raise WhereError(f"{sign} requires a pattern in quotes")
        test = _pattern_test(right)
    elif text:
        raw = [choice.encode("utf-8", "surrogateescape") for choice in choices]
        test = _equal_bytes(raw) if sign in ("==", "!=", "in") else _ordered_bytes(sign, raw[0])
    else:
        test = _number_test(sign, choices)

    def evaluate(terms: Terms) -> Mask:
        if left.measure == "len":
            return np.asarray(test(terms.lengths(left.name)), np.bool_)
        found = terms.sizes(left.name) if left.measure else terms.values(left.name)
        if found is None:  # the kind is unknown
            return np.zeros(terms.count, np.bool_)
        values, splits = found
        if not left.measure and isinstance(values, Bytes) != text:
            holds, wanted = ("bytes", "in quotes") if not text else ("numbers", "without quotes")
            raise WhereError(f"feature {left.name!r} holds {holds}: compare with a value {wanted}")
        return _any(np.asarray(test(values), np.bool_), splits)

    return evaluate


def tested(name: Name) -> Condition:
    """Return the condition that a record has a value that is NaN, or infinite."""

    def evaluate(terms: Terms) -> Mask:
        found = terms.values(name.name)
        if found is None:  # the kind is unknown
            return np.zeros(terms.count, np.bool_)
        values, splits = found
        if isinstance(values, Bytes):
            raise WhereError(f"feature {name.name!r} holds bytes: {name.measure}() is of numbers")
        return _any(np.asarray(TESTS[name.measure](values), np.bool_), splits)

    return evaluate


def without_frames(column: Ragged) -> Ragged:
    """Return one row of values per record, with the frames of a feature list joined."""
    inner = column.values
    if not isinstance(inner, Ragged):
        return column
    return Ragged(inner.values, inner.row_splits[column.row_splits])


def _any(mask: Mask, splits: NDArray[np.int64] | None) -> Mask:
    """Return whether each row has any true element."""
    if splits is None:
        return mask
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return np.asarray(before[splits[1:]] > before[splits[:-1]], np.bool_)


def _number_test(sign: str, choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    order: Callable[[Any, Any], Any] = ORDERS.get(sign, operator.eq)

    def test(values: NDArray[Any]) -> Any:
        found: Mask = np.zeros(len(values), np.bool_)
        for choice in choices:
            if choice != choice:  # NaN, which is not equal to anything
                found |= values != values
            elif values.dtype == np.float32:  # compares with 0.1 as float32, as stored in the file
                with np.errstate(over="ignore"):
                    found |= order(values, np.float32(_as_float(choice)))
            else:
                found |= order(values, choice)
        return found

    return test


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _equal_bytes(choices: list[bytes]) -> Callable[[Any], Any]:
    def test(values: Bytes) -> Mask:
        found = np.zeros(len(values), np.bool_)
        sizes = np.diff(values.offsets)
        for choice in choices:
            wanted = np.frombuffer(choice, np.uint8)
            candidates = np.flatnonzero(sizes == len(choice))
            for place, byte in enumerate(wanted):  # the first few bytes exclude most values
                candidates = candidates[values.data[values.offsets[candidates] + place] == byte]
            found[candidates] = True
        return found

    return test


def _ordered_bytes(sign: str, choice: bytes) -> Callable[[Any], Any]:
    order = ORDERS[sign]
    return lambda values: np.fromiter((order(value, choice) for value in values), np.bool_)


def _pattern_test(text: str) -> Callable[[Any], Any]:
    try:
        search = re.compile(text.encode("utf-8", "surrogateescape")).search
    except re.error as error:
        raise WhereError(f"{text!r} is not a valid regular expression: {error}") from None
    return lambda values: np.fromiter((search(value) is not None for value in values), np.bool_)
