# SPDX-License-Identifier: Apache-2.0
"""Code on all pages, also that which is not run: its names and arguments are there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from event_messages import Value, event
from page_code import run_page
from pets import png

import fastrec

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def chain(node: ast.AST) -> str:
    """``fastrec.torch.collate`` for such an expression, and otherwise nothing."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    found = ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
    return found if found.startswith("fastrec.") else ""


def members(module: str) -> list[str]:
    """The public names of a module that is not imported, for it requires a framework."""
    path = ROOT.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__")


def found(name: str) -> Any:
    """What a name stands for; None where it requires a framework."""
    _, first, *rest = name.split(".")
    if first in fastrec._FRAMEWORKS:
        assert not rest or rest[0] in members(f"fastrec.{first}"), name
        try:
            importlib.import_module(f"fastrec.{first}")
        except ImportError:
            return None
    if first == "compat":
        return importlib.import_module(".".join(name.split(".")[:3]))
    thing: Any = fastrec
    for each in (first, *rest):
        thing = getattr(thing, each)
    return thing


def calls(code: str) -> Iterator[tuple[str, list[str]]]:
    """Each name of fastrec that is used, with the keywords of its call."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and chain(node.func):
            yield chain(node.func), [each.arg for each in node.keywords if each.arg]
        elif isinstance(node, ast.Attribute) and chain(node):
            yield chain(node), []
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastrec"):
            yield from ((f"{node.module}.{each.name}", []) for each in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_and_arguments_are_there(page: Path) -> None:
    for code in blocks(page):
        for name, keywords in calls(code):
            if name.startswith("fastrec.compat."):
                continue  # whose pages have programs that are run, and a registry of their names
            thing = found(name)
            if not keywords or not callable(thing):
                continue
            parameters = inspect.signature(thing).parameters
            if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
                assert set(keywords) <= set(parameters), f"{page.name}: {name}"


def test_the_code_about_images_and_batches_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"image/encoded": png(32, 24, 3), "image/class/label": i + 1} for i in range(8)]
    for number in range(1024):
        (tmp_path / f"train-{number:05d}-of-01024").touch()
    for name in ("train-00000-of-01024", "train-00000-of-00001.tfrecord"):
        (tmp_path / name).unlink(missing_ok=True)
        with fastrec.Writer(name) as writer:
            for row in rows:
                writer.write(row)
    names: dict[str, Any] = {
        "features": {"image/class/label": fastrec.FixedLenFeature((), np.int64)},
        "fastrec": fastrec,
        "jpeg": png(32, 24, 3),
    }
    code = [*blocks(ROOT / "docs" / "batches.md"), *blocks(ROOT / "docs" / "images.md")]
    ran = [each for each in code if "torch" not in each]
    assert len(ran) == 4
    for each in ran:
        exec(compile(each, "page", "exec"), names)
    assert names["images"].shape == (8, 3, 224, 224)
    assert names["video"][0].shape == (3, 64, 64, 3)


def test_the_code_about_events_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with fastrec.Writer("runs/events.out.tfevents.1.host") as writer:
        for step in range(3):
            writer.write(event(step, Value(tag="train/loss", simple_value=0.5 * step)))
    names = run_page("events.md", {"pandas": SimpleNamespace(DataFrame=dict)})
    assert names["frame"]["value"].tolist() == [0.0, 0.5, 1.0]


def test_the_code_about_migration_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = np.full((300, 32, 32, 3), 255, np.uint8)
    with fastrec.Writer("train.tfrecord") as writer:
        writer.write_batch({"image": images, "label": np.arange(300)})
    names = run_page("compat-v2.md", {})
    assert names["images"].shape == (300 % 128, 32, 32, 3)
    assert float(names["images"].numpy().max()) == 1.0
