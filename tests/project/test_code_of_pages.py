# SPDX-License-Identifier: Apache-2.0
"""Code on all pages, also that which is not run: its names and arguments are there."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import re
import tarfile
import wave
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
import fastrec.tfds

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


def test_the_code_about_sounds_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((2, 2, 16000, 0, "NONE", ""))
        sound.writeframes(bytes(4000))
    with fastrec.Writer("speech-0.tfrecord") as writer:
        for number in range(8):
            writer.write({"speech": file.getvalue(), "label": number})
    names: dict[str, Any] = {}
    for each in blocks(ROOT / "docs" / "sound-and-video.md"):
        exec(compile(each, "page", "exec"), names)
    assert names["speech"].shape == (8, 16000, 1)
    assert names["clip"].shape == (112, 112)


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


def write_archive(path: Path, numbers: range) -> None:
    """Write an archive of samples as WebDataset does: a PNG and a JSON file each."""
    with tarfile.open(path, "w") as archive:
        for number in numbers:
            label = json.dumps({"label": number % 5}).encode()
            for extension, content in ("png", png(32, 24, 3)), ("json", label):
                member = tarfile.TarInfo(f"{number:03d}.{extension}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def write_robots() -> None:
    """Write episodes of 20 steps in RLDS form, with a camera."""
    connectors = fastrec.tfds.features
    observation = {
        "state": connectors.Tensor((6,), "float32"),
        "image": connectors.Image((24, 32, 3), encoding_format="png"),
    }
    step = {"observation": observation, "action": connectors.Tensor((6,), "float32")}
    frame = {"state": np.zeros(6, np.float32), "image": png(32, 24, 3)}
    episode = {"steps": [{"observation": frame, "action": np.ones(6, np.float32)}] * 20}
    description = {"steps": connectors.Dataset(step)}
    fastrec.tfds.write("robots", "arm", {"train": [episode] * 4}, description)


def test_the_loops_that_replace_those_of_other_libraries_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with fastrec.Writer("train.tfrecord") as writer:
        writer.write_batch({"x": np.ones((100, 8), np.float32)})
    with fastrec.Writer("tokens.tfrecord", shards=2) as writer:
        for number in range(100):
            writer.write({"tokens": np.arange(16), "text": f"text {number}"})
    with fastrec.Writer("reviews.tfrecord", shards=2) as writer:
        for number in range(100):
            writer.write({"text": "good", "label": number % 2})
    for folder, pattern in ("shards", "train-{:06d}.tar"), ("dataset", "shard_{}.tar"):
        Path(folder).mkdir()
        for number in range(2):
            start = 60 * number
            write_archive(Path(folder, pattern.format(number)), range(start, start + 60))
    write_robots()
    recipes = ("from nvidia.dali import", "import litdata", "import zephon")
    names = run_page("coming-from.md", {}, without=recipes)
    assert names["x"].shape == (32, 8)
    assert names["tokens"].shape == (100 % 32, 16)
    assert names["labels"].shape == (100 % 32,)
    assert names["images"].shape == (16, 3, 24, 32)
    assert names["batch"]["observation.state"].shape == (16, 2, 6)
    assert names["actions"].shape == (16, 8, 6)


def test_the_loops_of_other_libraries_are_python() -> None:
    """Their libraries are not installed, so these blocks are only compiled."""
    text = (ROOT / "docs" / "coming-from.md").read_text()
    loops = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    assert len(loops) >= 8  # one for each library
    for code in loops:
        compile(code, "coming-from.md", "exec")
