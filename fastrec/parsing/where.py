# SPDX-License-Identifier: Apache-2.0
"""Parse conditions on records: the expressions of ``--where`` and of ``Batcher(where=)``.

Expressions are parsed here and evaluated on columns, never by Python::

    label == 3
    label in (3, 5) and not name =~ "^cat"
    len(tokens) > 512 or size(image/encoded) >= 1e6 or `odd name` != "x"

``isnan(loss)`` and ``isinf(loss)`` test floats. ``nan``, ``inf`` and ``-inf`` are numbers, and
``== nan`` is true for NaN. ``len`` of a feature list is its number of frames; comparisons use the
values of all frames.

A name alone is true if a record has values of that feature. A comparison is true if it is true for
any of the values; ``!=`` and ``!~`` are the negations of ``==`` and ``=~``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .conditions import (
    ORDERS,
    RESERVED,
    TESTS,
    Columns,
    Condition,
    Mask,
    Name,
    ParsedTerms,
    Terms,
    WhereError,
    compared,
    has_values,
    inverse,
    joined,
    tested,
)

__all__ = ["Where", "parse", "parse_names"]

_MOST_CHARACTERS = 4096  # length of an expression
_MOST_DEPTH = 64  # nesting of an expression, which is parsed recursively

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
_MEASURES = ("len", "size", *TESTS)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERATORS = (*ORDERS, "!=", "=~", "!~", "in")


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@dataclass(frozen=True)
class Where:
    """A condition on records.

    Attributes
    ----------
    names : frozenset of str
        The features that the condition uses.
    terms : tuple of Name
        The same features, with the measures that the condition uses, without repetitions.
    """

    names: frozenset[str]
    terms: tuple[Name, ...]
    _evaluate: Condition

    def mask(self, columns: Columns, count: int) -> Mask:
        """Return a mask of the records, out of `count`, that satisfy the condition.

        Raises
        ------
        WhereError
            If a feature holds bytes and is compared with a number, or vice versa.
        """
        return self._evaluate(ParsedTerms(columns, count))

    def mask_of(self, terms: Terms) -> Mask:
        """Return a mask of the records that satisfy the condition, from any source of terms.

        Raises
        ------
        WhereError
            If a feature holds bytes and is compared with a number, or vice versa.
        """
        return self._evaluate(terms)


def parse(text: str) -> Where:
    """Parse an expression.

    Raises
    ------
    WhereError
        With the column of the text at which parsing stops.

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
        With the column of the text at which parsing stops.

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
        """Consume the comma before another item of a list, if there is one."""
        return self._taken(",")

    def name(self) -> Name:
        """Parse a feature, its length or its size."""
        token = self._peek()
        term = self._term()
        if not isinstance(term, Name) or term.measure in TESTS:
            raise _unexpected(token, "a feature, len(feature) or size(feature)")
        return term

    def either(self, depth: int) -> Condition:
        if depth > _MOST_DEPTH:
            raise WhereError(f"parentheses and 'not' are nested deeper than {_MOST_DEPTH}")
        parts = [self._both(depth)]
        while self._taken("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else joined(np.logical_or, parts)

    def _both(self, depth: int) -> Condition:
        parts = [self._inverted(depth)]
        while self._taken("and"):
            parts.append(self._inverted(depth))
        return parts[0] if len(parts) == 1 else joined(np.logical_and, parts)

    def _inverted(self, depth: int) -> Condition:
        if self._taken("not"):
            if depth > _MOST_DEPTH:
                raise WhereError(f"parentheses and 'not' are nested deeper than {_MOST_DEPTH}")
            return inverse(self._inverted(depth + 1))
        if self._taken("("):
            found = self.either(depth + 1)
            self._expect(")")
            return found
        return self._comparison()

    def _comparison(self) -> Condition:
        left = self._term()
        negative = self._taken("not")
        token = self._peek()
        if token.text not in _OPERATORS or token.kind not in ("word", "sign"):
            if isinstance(left, Name) and left.measure in TESTS and not negative:
                return tested(left)
            if isinstance(left, Name) and not left.measure and not negative:
                return has_values(left.name)
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
        if isinstance(left, Name) and left.measure in TESTS:
            raise WhereError(f"{left.measure}({left.name}) is a condition, got {sign} after it")
        if not isinstance(left, Name):
            raise WhereError(f"{left!r} {sign} {right!r} names no feature")
        if self._peek().text in _OPERATORS:
            raise _unexpected(self._peek(), "'and' between comparisons")
        found = compared(left, sign, right)
        return inverse(found) if negative or sign in ("!=", "!~") else found

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
        reserved = token.kind == "word" and token.text in RESERVED
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
        value = ast.literal_eval(token.text)  # a literal, according to the pattern above
    except (ValueError, SyntaxError):
        raise WhereError(f"column {token.place}: {token.text!r} is not a valid string") from None
    assert isinstance(value, str)
    return value
