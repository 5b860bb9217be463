# SPDX-License-Identifier: Apache-2.0
"""The prose of the project stays readable, and every public name is documented with an example."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastrec

pytestmark = pytest.mark.sources
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import prose  # noqa: E402

MODULES = ("", "arrow", "events", "image", "tables", "tfds")


def public_objects() -> Iterator[tuple[str, Any, bool]]:
    """Public functions, classes and their members: name, object, and whether it is a member."""
    for module in MODULES:
        home = importlib.import_module(f"fastrec.{module}".rstrip("."))
        for name in home.__all__:
            value = getattr(home, name)
            if not callable(value) or not str(value.__module__).startswith("fastrec"):
                continue
            yield f"{home.__name__}.{name}", value, False
            if isinstance(value, type):
                for member, method in vars(value).items():
                    is_documented = isinstance(method, (property, staticmethod, classmethod))
                    if not member.startswith("_") and (is_documented or callable(method)):
                        yield f"{home.__name__}.{name}.{member}", method, True


def test_constructions_that_are_hard_to_follow_are_rare() -> None:
    if not (ROOT / "csrc").exists():
        pytest.skip("no sources here")
    folders, hits = prose.survey()
    for folder, (words, count) in folders.items():
        allowed = prose.MOST_PER_FOLDER * max(words, prose.LEAST_WORDS) / 1000
        assert count <= allowed, f"{folder}: run python tools/prose.py {folder}"
    words = sum(total[0] for total in folders.values())
    assert words > 100_000
    assert 1000 * len(hits) / words <= prose.MOST


@pytest.mark.parametrize(
    ("text", "construction"),
    [
        ("Of a raw feature: how it gets its shape.", "sentence that begins with 'Of'"),
        ("The data set of a node.", "'data set' for dataset"),
        ("A browser that goes away is none.", "negated noun"),
        ("files that nobody holds", "unnamed person"),
        ("the records of which it is made", "relative clause after a preposition"),
    ],
)
def test_each_riddle_is_found(tmp_path: Path, text: str, construction: str) -> None:
    for name, source in {
        "a.py": f'"""{text}"""\n', "b.py": f"# {text}\n", "c.h": f"/* {text} */\n",
        "d.pxi": f"x = 1  # {text}\n", "e.md": f"{text}\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(source)
        _, hits = prose.hits_of(tmp_path / name)
        assert construction in [hit.construction for hit in hits], name
    (tmp_path / "f.md").write_text(f"```\n{text}\n```\n")
    assert prose.hits_of(tmp_path / "f.md") == (0, [])


@pytest.mark.skipif(sys.flags.optimize > 1, reason="docstrings are removed")
def test_every_public_name_has_a_docstring_that_is_a_sentence() -> None:
    missing = []
    for name, value, _ in public_objects():
        paragraphs = (inspect.getdoc(value) or "").split("\n\n")
        # Cython puts the signature of a function first.
        summary = paragraphs[paragraphs[0].endswith(")") and len(paragraphs) > 1]
        if not summary.endswith((".", ":")):
            missing.append(name)
    assert missing == []


@pytest.mark.skipif(sys.flags.optimize > 1, reason="docstrings are removed")
def test_every_public_function_and_class_has_an_example() -> None:
    missing = []
    for name, value, is_member in public_objects():
        is_error = isinstance(value, type) and issubclass(value, Exception)
        # Classes of other modules are results of functions that have examples.
        is_result = isinstance(value, type) and name.count(".") > 1
        if is_member or is_error or is_result:
            continue
        if ">>>" not in (inspect.getdoc(value) or ""):
            missing.append(name)
    assert missing == []
    assert fastrec.__all__


@pytest.mark.parametrize("module", sorted(fastrec._FRAMEWORKS))
def test_every_name_of_a_framework_s_module_has_an_example(module: str) -> None:
    """The modules are parsed, because importing them requires the frameworks."""
    path = Path(fastrec.__file__).parent / module
    files = [*path.rglob("*.py")] if path.is_dir() else [path.with_suffix(".py")]
    trees = [ast.parse(file.read_text()) for file in files]
    documented = {
        node.name: ast.get_docstring(node) or ""
        for tree in trees
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    [names] = [
        ast.literal_eval(node.value)
        for file, tree in zip(files, trees, strict=True)
        if file.stem in ("__init__", module)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    # Types without a definition of their own are aliases.
    assert [name for name in names if not re.search(">>>|::\n", documented.get(name, ">>>"))] == []
