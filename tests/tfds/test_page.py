# SPDX-License-Identifier: Apache-2.0
"""The code of docs/tfds.md and the example run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.tfds
from fastrec import cli
from fastrec.tfds import features

ROOT = Path(__file__).parents[2]


def flowers(i: int) -> dict[str, Any]:
    return {"image": np.full((9, 8, 3), i, np.uint8), "label": i % 2}


def episode(i: int) -> dict[str, Any]:
    image = np.full((32, 40, 3), i, np.uint8)
    return {"steps": [{"observation": {"image": image}, "action": [t] * 7} for t in range(20)]}


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    label = features.ClassLabel(names=["daisy", "rose"])
    described: dict[str, Any] = {"image": features.Image(), "label": label}
    fastrec.tfds.write("data", "flowers", {"train": map(flowers, range(80))}, described)
    step = {"observation": {"image": features.Image()}, "action": features.Tensor((7,))}
    described = {"steps": features.Dataset(step)}
    fastrec.tfds.write("data", "arm", {"train": map(episode, range(8))}, described)
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tfds.md").read_text(), re.S):
        exec(compile(code, "tfds.md", "exec"), names)
    assert names["batch"]["action"].shape == (160 - 128, 16, 7)
    assert names["batch"]["action"].max() <= 1.1
    assert names["items"]["observation.images.image"].shape == (64, 3, 64, 64)
    assert names["items"]["action_is_pad"].shape == (64, 16)
    assert len(fastrec.tfds.load("data", "train", name="pets")) == 100
    pytest.importorskip("pyarrow")
    for code in re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "tfds.md").read_text(), re.S):
        exec(compile(code, "tfds.md", "exec"), names)
    assert len(fastrec.tfds.load(names["path"], "train")) == 8


def test_the_schema_command_describes_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "tests" / "data" / "tfds" / "sequences" / "1.0.0"
    assert cli.main(["schema", str(path)]) == 0
    name, splits, table, _, code = capsys.readouterr().out.split("\n\n", 4)
    assert name == "sequences/1.0.0"
    assert [line.split() for line in splits.splitlines()][2:] == [
        ["train", "4", "1"],
        ["test", "1", "1"],
    ]
    assert ["labels", "ClassLabel", "int64", "(None,)"] in [
        line.split(maxsplit=3) for line in table.splitlines()
    ]
    names: dict[str, Any] = {}
    exec("import fastrec.tfds\n" + code, names)
    assert len(names["ds"]) == 4


def test_the_example_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("PIL")
    program = runpy.run_path(str(ROOT / "examples" / "rlds_pytorch.py"))
    errors = program["main"](epochs=2)
    assert errors[-1] < errors[0]
