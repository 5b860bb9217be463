# SPDX-License-Identifier: Apache-2.0
"""The message of an error is made once, from its problem and its place; no code edits it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastrec

PACKAGE = Path(fastrec.__file__).parent
EDITS = {"replace", "removeprefix", "removesuffix"}


def is_message(node: ast.expr) -> bool:
    """Whether an expression is ``str(error)``, by the names that errors have here."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "str"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in {"error", "failure", "failed", "raised", "exc", "found", "problem"}
    )


def edits_of(code: str) -> Iterator[int]:
    """Yield the lines that edit the text of an error."""
    for function in ast.walk(ast.parse(code)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        texts = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and is_message(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                value = node.func.value
                named = isinstance(value, ast.Name) and value.id in texts
                if node.func.attr in EDITS and (named or is_message(value)):
                    yield node.lineno


@pytest.mark.parametrize(
    "line",
    ['text = str(error).replace("a", "b")', "text = str(error)\n    text = text.removeprefix('a')"],
)
def test_an_edited_message_is_found(line: str) -> None:
    assert list(edits_of(f"def locate(error):\n    {line}\n"))


def test_no_code_edits_the_message_of_an_error() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if not {"compat", "cli"} & set(path.parts)  # a command names its options for parameters
        for line in edits_of(path.read_text())
    ]
    found += [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in (PACKAGE / "native").glob("*.pxi")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(f"str(error).{edit}(" in line for edit in EDITS)
    ]
    assert found == []


def test_an_error_in_another_record_has_the_same_problem() -> None:
    first = fastrec.ExampleParseError("feature 'x' is missing")
    first.kind = "schema"
    second = first.in_record(3)
    assert (str(second), second.record, second.path) == (
        "record 3: feature 'x' is missing",
        3,
        None,
    )
    third = second.in_record(5, b"a", 80)
    assert str(third) == "record 5 in 'a': feature 'x' is missing"
    assert (third.kind, third.record, third.path, third.offset) == ("schema", 5, "a", 80)
