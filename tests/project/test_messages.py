# SPDX-License-Identifier: Apache-2.0
"""The message of an error is made once, from its problem and its place; no code edits it."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastrec

PACKAGE = Path(fastrec.__file__).parent
EDITS = {
    "replace", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit",
    "strip",
}  # fmt: skip
ALLOWED = {"errors.py", "storage/adapters.py", "cli/convert.py"}
"""Texts of other libraries as one line, without credentials, and options named as a command has."""


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
                module = isinstance(value, ast.Name) and value.id == "re"
                if module and any(is_message(argument) for argument in node.args):
                    yield node.lineno
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
                is_text = isinstance(node.value, ast.Name) and node.value.id in texts
                if is_text or is_message(node.value):
                    yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        'text = str(error).replace("a", "b")',
        "text = str(error)\n    text = text.removeprefix('a')",
        "text = str(error)\n    text = text[3:]",
        'text = str(error).split("; ")[0]',
        'text = re.sub("record [0-9]+", "", str(error))',
    ],
)
def test_an_edited_message_is_found(line: str) -> None:
    assert list(edits_of(f"def locate(error):\n    {line}\n"))


def test_no_code_edits_the_message_of_an_error() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if "compat" not in path.parts and path.relative_to(PACKAGE).as_posix() not in ALLOWED
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
    first = fastrec.ExampleParseError("it is missing", feature="x", kind="schema")
    second = first.in_record(3)
    assert (str(second), second.record, second.path) == (
        "record 3: feature 'x': it is missing",
        3,
        None,
    )
    third = second.in_record(5, b"a", 80)
    assert str(third) == "record 5 in 'a': feature 'x': it is missing"
    assert (third.kind, third.record, third.path, third.offset) == ("schema", 5, "a", 80)


@pytest.mark.parametrize(
    "error",
    [
        fastrec.FastrecError("torn", cause="c", hint="h", path="p"),
        fastrec.CorruptRecordError("torn", hint="h", kind="torn-data", record=1),
        fastrec.ExampleParseError("torn", hint="h", feature="x", frame=2, path="p", record=1),
    ],
)
def test_an_error_is_the_same_after_pickling_and_says_its_hint_last(
    error: fastrec.FastrecError,
) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert str(error) == f"{error.headline}; h"
    assert error.problem in error.headline or error.cause == "c"


def test_an_error_has_record_feature_cause_and_hint(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write({"label": [1]})
    batcher = fastrec.Batcher(path, {"labels": fastrec.FixedLenFeature((), "int64")}, 1)
    with pytest.raises(fastrec.ExampleParseError) as caught:
        next(iter(batcher))
    error = caught.value
    assert (error.path, error.record, error.offset, error.feature) == (path, 0, 0, "labels")
    assert error.cause == "it is missing, and has no default"
    assert error.hint == "is it 'label'?"
    assert str(error) == f"record 0 in {path!a}: feature 'labels': {error.cause}; {error.hint}"
