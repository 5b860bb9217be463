# SPDX-License-Identifier: Apache-2.0
"""Conditions on records: the expressions of ``--where`` and of ``Batcher(where=)``.

They are parsed here and evaluated on columns, never by Python::

    label == 3
    label in (3, 5) and not name =~ "^cat"
    len(tokens) > 512 or size(image/encoded) >= 1e6 or `odd name` != "x"

``isnan(loss)`` and ``isinf(loss)`` test floats, and ``nan``, ``inf`` and ``-inf`` are numbers;
``== nan`` holds for NaN. ``len`` of a feature list is its number of frames; comparisons use the
values of all frames.

A name alone holds where a record has values of that feature. A comparison holds where it holds for
any of the values; ``!=`` and ``!~`` hold where ``==`` and ``=~`` do not.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Union

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged

__all__ = ["Name", "Terms", "Where", "WhereError", "parse", "parse_names", "without_frames"]

_MOST_CHARACTERS = 4096
_MOST_DEPTH = 64

Mask = NDArray[np.bool_]
Columns = Mapping[str, Ragged]
Values = tuple[Any, Union[NDArray[np.int64], None]]  # noqa: UP007
"""Values of all records, and the row splits that divide them among the records; None instead of
the splits if each record has exactly one value."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[-+]inf(?![\w/.:-])|[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.]))
  | (?P<string>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
  | `(?P<quoted>[^`]+)`
  | (?P<word>[^\W\d][\w/.:-]*)
  | (?P<sign>==|!=|<=|>=|=~|!~|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TESTS: dict[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf}
_MEASURES = ("len", "size", *_TESTS)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERATORS = (*_ORDERS, "!=", "=~", "!~", "in")
_RESERVED = ("and", "or", "not", "in", "true", "false", "nan", "inf")


class WhereError(ValueError):
    """An expression that cannot be parsed, or does not fit a feature's kind."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class Name(NamedTuple):
    """A feature: its values, or with `measure` their number or their size in bytes."""

    name: str
    measure: str = ""

    def __str__(self) -> str:
        plain = re.fullmatch(r"[^\W\d][\w/.:-]*", self.name) and self.name not in _RESERVED
        name = self.name if plain else f"`{self.name}`"
        return f"{self.measure}({name})" if self.measure else name


class Terms(Protocol):
    """Answers to a condition: the values of records, their counts, and their sizes."""

    count: int
    """Number of records."""

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the number of values, or of frames, of each record; 0 without the feature."""

    def values(self, name: str) -> Values | None:
        """Return the values of all records; None if no record has any."""

    def sizes(self, name: str) -> Values | None:
        """Return the size in bytes of each value; None if no record has any."""


class _ParsedTerms:
    """Answers from the columns that a parser returned.

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
        column = self._columns.get(name)
        return np.zeros(self.count, np.int64) if column is None else column.row_lengths

    def values(self, name: str) -> Values | None:
        column = self._columns.get(name)
        if column is None:
            return None
        column = without_frames(column)
        return (column.values, column.row_splits) if len(column.values) else None

    def sizes(self, name: str) -> Values | None:
        found = self.values(name)
        if found is None:
            return None
        if not isinstance(found[0], Bytes):
            raise WhereError(f"feature {name!r} holds numbers: size() is of bytes")
        return np.diff(found[0].offsets), found[1]


@dataclass(frozen=True)
class Where:
    """A condition on records.

    Attributes
    ----------
    names : frozenset of str
        The features that it asks for.
    terms : tuple of Name
        The same features as the condition measures them, without repetitions.
    """

    names: frozenset[str]
    terms: tuple[Name, ...]
    _evaluate: Callable[[Terms], Mask]

    def mask(self, columns: Columns, count: int) -> Mask:
        """Tell for which of `count` records it holds.

        Raises
        ------
        WhereError
            When a feature holds bytes and is compared with a number, or the other way round.
        """
        return self._evaluate(_ParsedTerms(columns, count))

    def mask_of(self, terms: Terms) -> Mask:
        """Return a mask of the records that match, from any source of answers.

        Raises
        ------
        WhereError
            When a feature holds bytes and is compared with a number, or the other way round.
        """
        return self._evaluate(terms)


def parse(text: str) -> Where:
    """Parse an expression.

    Raises
    ------
    WhereError
        Naming the column where parsing stops.

    Examples
    --------
    >>> import fastrec
    >>> from fastrec.cli.rows import pieces
    >>> from fastrec.columns import Bytes
    >>> rows = [{"label": 3}, {"label": 5, "name": "cat"}, {"name": ["dog", "cats"]}]
    >>> records = Bytes.from_list([fastrec.encode_example(row) for row in rows])
    >>> [piece] = pieces(records)
    >>> parse("label > 3 or name =~ 's$'").mask(piece.columns, 3).tolist()
    [False, True, True]
    """
    parser = _Parser(text)
    found = parser.either(0)
    parser.end()
    terms = tuple(dict.fromkeys(parser.terms))
    return Where(frozenset(term.name for term in terms), terms, found)


def parse_names(text: str) -> list[Name]:
    """Parse a list of features, their lengths and their sizes, separated by commas.

    Raises
    ------
    WhereError
        Naming the column where parsing stops.

    Examples
    --------
    >>> [str(name) for name in parse_names("label, len(tokens), size(`my image`)")]
    ['label', 'len(tokens)', 'size(`my image`)']
    """
    parser = _Parser(text)
    names = [parser.name()]
    while parser.has_another():
        names.append(parser.name())
    parser.end()
    return names


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise WhereError(f"the expression is longer than {_MOST_CHARACTERS} characters")
        self._tokens = list(_tokens(text))
        self._next = 0
        self.terms: list[Name] = []

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _taken(self, *texts: str) -> bool:
        token = self._peek()
        if token.kind in ("word", "sign") and token.text in texts:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._taken(text):
            raise _unexpected(self._peek(), repr(text))

    def end(self) -> None:
        if self._peek().kind != "end":
            raise _unexpected(self._peek(), "'and', 'or' or the end")

    def has_another(self) -> bool:
        """Take the comma before another item of a list, if there is one."""
        return self._taken(",")

    def name(self) -> Name:
        """Take a feature, its length or its size."""
        token = self._peek()
        term = self._term()
        if not isinstance(term, Name) or term.measure in _TESTS:
            raise _unexpected(token, "a feature, len(feature) or size(feature)")
        return term

    def either(self, depth: int) -> Callable[[Terms], Mask]:
        if depth > _MOST_DEPTH:
            raise WhereError(f"parentheses and 'not' are nested deeper than {_MOST_DEPTH}")
        parts = [self._both(depth)]
        while self._taken("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else _joined(np.logical_or, parts)

    def _both(self, depth: int) -> Callable[[Terms], Mask]:
        parts = [self._inverted(depth)]
        while self._taken("and"):
            parts.append(self._inverted(depth))
        return parts[0] if len(parts) == 1 else _joined(np.logical_and, parts)

    def _inverted(self, depth: int) -> Callable[[Terms], Mask]:
        if self._taken("not"):
            if depth > _MOST_DEPTH:
                raise WhereError(f"parentheses and 'not' are nested deeper than {_MOST_DEPTH}")
            return _inverse(self._inverted(depth + 1))
        if self._taken("("):
            found = self.either(depth + 1)
            self._expect(")")
            return found
        return self._comparison()

    def _comparison(self) -> Callable[[Terms], Mask]:
        left = self._term()
        negative = self._taken("not")
        token = self._peek()
        if token.text not in _OPERATORS or token.kind not in ("word", "sign"):
            if isinstance(left, Name) and left.measure in _TESTS and not negative:
                return _tested(left)
            if isinstance(left, Name) and not left.measure and not negative:
                return lambda terms: terms.lengths(left.name) > 0
            raise _unexpected(token, "a comparison")
        sign = self._take().text
        if negative and sign != "in":
            raise _unexpected(token, "'in'")
        right = self._literals() if sign == "in" else self._term()
        if isinstance(right, Name):
            if isinstance(left, Name):
                hint = f"; isnan({left.name}) is true for NaN" if left == right else ""
                raise WhereError(
                    "two features are compared: one side must be a value, and texts are in quotes"
                    + hint
                )
            if sign in ("in", "=~", "!~"):
                raise _unexpected(token, "a feature on the left")
            left, right, sign = right, left, _MIRRORED.get(sign, sign)
        if isinstance(left, Name) and left.measure in _TESTS:
            raise WhereError(f"{left.measure}({left.name}) is a condition, got {sign} after it")
        if not isinstance(left, Name):
            raise WhereError(f"{left!r} {sign} {right!r} names no feature")
        if self._peek().text in _OPERATORS:
            raise _unexpected(self._peek(), "'and' between comparisons")
        found = _compared(left, sign, right)
        return _inverse(found) if negative or sign in ("!=", "!~") else found

    def _literals(self) -> tuple[Any, ...]:
        self._expect("(")
        found = [self._literal()]
        while self._taken(","):
            found.append(self._literal())
        self._expect(")")
        return tuple(found)

    def _literal(self) -> Any:
        value = self._term()
        if isinstance(value, Name):
            raise WhereError(f"a value was expected, not the feature {value.name!r}")
        return value

    def _term(self) -> Any:
        token = self._take()
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "string":
            return _string(token)
        if token.kind == "word" and token.text in ("true", "false"):
            return int(token.text == "true")
        if token.kind == "word" and token.text in ("nan", "inf"):
            return float(token.text)
        reserved = token.kind == "word" and token.text in _RESERVED
        if token.kind not in ("word", "quoted") or reserved:
            raise _unexpected(token, "a feature or a value")
        if token.kind == "word" and token.text in _MEASURES and self._taken("("):
            inner = self._take()
            if inner.kind not in ("word", "quoted"):
                raise _unexpected(inner, "a feature")
            self._expect(")")
            self.terms.append(Name(inner.text, token.text))
        else:
            self.terms.append(Name(token.text))
        return self.terms[-1]


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            rest = text[place:].strip()
            hint = "; write == to compare" if rest[0] == "=" else ""
            raise WhereError(f"column {len(text) - len(rest) + 1}: {rest[:20]!r} cannot be "
                             f"parsed{hint}")  # fmt: skip
        kind = found.lastgroup
        assert kind is not None
        yield _Token(kind, found.group(kind), found.start(kind) + 1)
        place = found.end()
    yield _Token("end", "the end", len(text) + 1)


def _unexpected(token: _Token, wanted: str) -> WhereError:
    what = token.text if token.kind == "end" else repr(token.text)
    return WhereError(f"column {token.place}: {wanted} was expected, got {what}")


def _number(text: str) -> int | float:
    try:
        return int(text, 16 if "x" in text.lower() else 10)
    except ValueError:
        return float(text)


def _string(token: _Token) -> str:
    try:
        value = ast.literal_eval(token.text)  # a literal, by the pattern above
    except (ValueError, SyntaxError):
        raise WhereError(f"column {token.place}: {token.text!r} is not a valid string") from None
    assert isinstance(value, str)
    return value


# -- Evaluation ------------------------------------------------------------------------------------


def _joined(
    join: Callable[[Mask, Mask], Mask], parts: list[Callable[[Terms], Mask]]
) -> Callable[[Terms], Mask]:
    def evaluate(terms: Terms) -> Mask:
        mask = parts[0](terms)
        for part in parts[1:]:
            mask = join(mask, part(terms))
        return mask

    return evaluate


def _inverse(part: Callable[[Terms], Mask]) -> Callable[[Terms], Mask]:
    return lambda terms: ~part(terms)


def _compared(left: Name, sign: str, right: Any) -> Callable[[Terms], Mask]:
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
        if found is None:  # then the kind is not known
            return np.zeros(terms.count, np.bool_)
        values, splits = found
        if not left.measure and isinstance(values, Bytes) != text:
            holds, wanted = ("bytes", "in quotes") if not text else ("numbers", "without quotes")
            raise WhereError(f"feature {left.name!r} holds {holds}: compare with a value {wanted}")
        return _any(np.asarray(test(values), np.bool_), splits)

    return evaluate


def _tested(name: Name) -> Callable[[Terms], Mask]:
    """Test whether any value of a record is NaN, or infinite."""

    def evaluate(terms: Terms) -> Mask:
        found = terms.values(name.name)
        if found is None:  # then the kind is not known
            return np.zeros(terms.count, np.bool_)
        values, splits = found
        if isinstance(values, Bytes):
            raise WhereError(f"feature {name.name!r} holds bytes: {name.measure}() is of numbers")
        return _any(np.asarray(_TESTS[name.measure](values), np.bool_), splits)

    return evaluate


def without_frames(column: Ragged) -> Ragged:
    """Return one row of values for each record, with the frames of a feature list joined."""
    inner = column.values
    if not isinstance(inner, Ragged):
        return column
    return Ragged(inner.values, inner.row_splits[column.row_splits])


def _any(mask: Mask, splits: NDArray[np.int64] | None) -> Mask:
    """Whether a row has any."""
    if splits is None:
        return mask
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return np.asarray(before[splits[1:]] > before[splits[:-1]], np.bool_)


def _number_test(sign: str, choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    order: Callable[[Any, Any], Any] = _ORDERS.get(sign, operator.eq)

    def test(values: NDArray[Any]) -> Any:
        found: Mask = np.zeros(len(values), np.bool_)
        for choice in choices:
            if choice != choice:  # NaN, which equals nothing
                found |= values != values
            elif values.dtype == np.float32:  # 0.1 is then the 0.1 of the file
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
            for place, byte in enumerate(wanted):  # most are out after the first few
                candidates = candidates[values.data[values.offsets[candidates] + place] == byte]
            found[candidates] = True
        return found

    return test


def _ordered_bytes(sign: str, choice: bytes) -> Callable[[Any], Any]:
    order = _ORDERS[sign]
    return lambda values: np.fromiter((order(value, choice) for value in values), np.bool_)


def _pattern_test(text: str) -> Callable[[Any], Any]:
    try:
        search = re.compile(text.encode("utf-8", "surrogateescape")).search
    except re.error as error:
        raise WhereError(f"{text!r} is not a valid regular expression: {error}") from None
    return lambda values: np.fromiter((search(value) is not None for value in values), np.bool_)
