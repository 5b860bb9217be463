# SPDX-License-Identifier: Apache-2.0
"""The expressions of --where, held against Python on the same rows."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.cli.rows import pieces, rows_of
from fastrec.columns import Bytes
from fastrec.parsing.conditions import WhereError
from fastrec.parsing.where import parse

ROWS: list[dict[str, Any]] = [
    {"n": 3, "name": "cat", "x": 0.1},
    {"n": [1, 5], "name": ["dog", "cats"], "image/class.label-x": 2},
    {"name": "", "x": [0.5, -1.5]},
    {},
    {"n": -(2**62), "name": b"\xff\0", "or": 1},
]
RECORDS = Bytes.from_list([fastrec.encode_example(row) for row in ROWS])


def holds(text: str) -> list[int]:
    [piece] = pieces(RECORDS)
    assert piece.columns is not None
    return np.flatnonzero(parse(text).mask(piece.columns, len(ROWS))).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("n == 3", [0]), ("n==5", [1]), ("n != 3", [1, 2, 3, 4]), ("3 < n", [1]),
        ("n <= 3", [0, 1, 4]),

        ("n in (3, 5)", [0, 1]), ("n not in (3, 5)", [2, 3, 4]),
         ("not n", [2, 3]), ("name", [0, 1, 2, 4]),
        ("x == 0.1", [0]), ("x > .05 and x < 1e0", [0, 2]), ("n == 3 or x == 0.5", [0, 2]),
        ("not (n == 3 or x == 0.5)", [1, 3, 4]), ("name == 'cat'", [0]), ('name == "cats"', [1]),
        ("name =~ '^c'", [0, 1]), ("name !~ '^c'", [2, 3, 4]), ("name == ''", [2]),
        ("name in ('dog', 'cat')", [0, 1]), ("name < 'd'", [0, 1, 2]), ("len(n) == 2", [1]),
        ("len(n) == 0", [2, 3]), ("size(name) >= 4", [1]), ("image/class.label-x == 2", [1]),
        ("`or` == 1", [4]), ("n < -4e18", [4]), ("n == 99999999999999999999999", []),
        ("n == 0x3", [0]), ("missing == 1", []), ("not missing", [0, 1, 2, 3, 4]),
        (r"name == '\x63at'", [0]), ("n == 3 and n == 3 and n == 3", [0]), ("true == n", [1]),
    ],
)  # fmt: skip
def test_an_expression_holds_for_these_rows(text: str, rows: list[int]) -> None:
    assert holds(text) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a feature or a value was expected, got the end"),
        ("n = 3", "write == to compare"), ("n ==", "was expected, got the end"),
        ("n == 3)", "'and', 'or' or the end"), ("(n == 3", r"'\)' was expected"),
        ("n == m", "two features"), ("3 == 3", "names no feature"), ("1 < n < 3", "'and' between"),
        ("n in 3", r"'\(' was expected"), ("n in ()", "a feature or a value"),
         ("n == 'a", "cannot be parsed"),
        ("n =~ 3", "pattern in quotes"), ("n =~ '('", "not a valid regular expression"),
        ("n in (1, 'a')", "all strings or all numbers"), ("len(n) == 'a'", "is a number"),
        ("__import__('os')", "'and', 'or' or the end"), ("n; m", "cannot be parsed"),
        ("n == 1 if n", "'and', 'or'"),
        ("len(3) == 1", "a feature was expected"), ("not " * 100 + "n", "nested deeper"),
        ("(" * 100 + "n", "nested deeper"), ("n" * 5000, "longer than"),
        ("n == 3x", "cannot be parsed"),
    ],
)  # fmt: skip
def test_what_cannot_be_parsed_says_where(text: str, message: str) -> None:
    with pytest.raises(WhereError, match=message):
        parse(text)


@pytest.mark.parametrize("text", ["n == 'a'", "name == 3", "size(n) > 1", "n =~ 'a'"])
def test_a_value_of_another_kind_is_an_error(text: str) -> None:
    with pytest.raises(WhereError, match="feature"):
        holds(text)


numbers = st.lists(st.integers(-3, 3), max_size=3)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries({}, optional={"a": numbers, "b": numbers}), min_size=1, max_size=6
    ),
    sign=st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), value=st.integers(-3, 3),
    other=st.integers(-3, 3), join=st.sampled_from(["and", "or"]), negative=st.booleans(),
)  # fmt: skip
def test_it_is_what_python_says(
    rows: list[dict[str, list[int]]], sign: str, value: int, other: int, join: str, negative: bool
) -> None:
    def compared(values: list[int], sign: str, value: int) -> bool:
        if sign == "!=":
            return all(each != value for each in values)
        return any(eval(f"{each} {sign} {value}") for each in values)

    text = f"{'not ' * negative}(a {sign} {value}) {join} b == {other}"
    wanted = []
    for row in rows:
        left = compared(row.get("a", []), sign, value) != negative
        right = compared(row.get("b", []), "==", other)
        wanted.append((left and right) if join == "and" else (left or right))
    typed = [{name: np.array(values, np.int64) for name, values in row.items()} for row in rows]
    records = Bytes.from_list([fastrec.encode_example(row) for row in typed])
    [piece] = pieces(records)
    assert piece.columns is not None
    assert parse(text).mask(piece.columns, len(rows)).tolist() == wanted


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab()'\"`<>=!~., 019-nlesizeornotiand"), max_size=30))
def test_whatever_is_typed_is_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(WhereError):
        assert parse(text).names


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_whatever_is_in_a_record_becomes_a_row_or_none(records: list[bytes]) -> None:
    rows = list(rows_of(Bytes.from_list(records)))
    assert len(rows) == len(records)
