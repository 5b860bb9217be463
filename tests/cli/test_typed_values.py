# SPDX-License-Identifier: Apache-2.0
"""Values of datasets that TFDS has described are shown as it means them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import Captured, objects, printed
from hypothesis import given
from hypothesis import strategies as st

import fastrec.tfds
from fastrec.cli.values import number_text
from fastrec.tfds import features

BIG = 2**64 - 1


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    described = {
        "big": features.Scalar(np.uint64),
        "flags": features.Sequence(features.Scalar(np.bool_)),
        "label": features.ClassLabel(names=["cat", "\x1b[31mdog"]),
        "number": features.ClassLabel(3),
    }
    rows = [
        {"big": BIG - i, "flags": [True, i == 0], "label": i % 2, "number": 2} for i in range(4)
    ]
    return Path(fastrec.tfds.write(str(tmp_path), "pets", {"train": rows}, described))


def test_head_shows_types_and_names_of_classes(directory: Path, capsys: Captured) -> None:
    [first, second] = printed(capsys, "head", "-n", 2, directory)
    assert json.loads(first) == {
        "big": BIG, "flags": [True, True], "label": "0 (cat)", "number": 2
    }  # fmt: skip
    assert json.loads(second)["label"].startswith("12 bytes: 31 20 28 1b")  # not to a terminal


def test_json_has_types_and_numbers_of_classes(directory: Path, capsys: Captured) -> None:
    [found] = objects(capsys, "cat", "--json", "--where", "label == 1", "-n", 1, directory)
    assert found == {"big": [BIG - 1], "flags": [True, False], "label": [1], "number": [2]}
    [counted] = objects(capsys, "stats", "--json", directory)
    values = {each["name"]: each for each in counted["features"]}
    assert values["big"]["values"]["max"] == BIG
    assert {each["value"] for each in values["big"]["top"]} == {BIG - i for i in range(4)}


def test_stats_and_the_page_have_the_names(directory: Path, capsys: Captured) -> None:
    lines = [line.split() for line in printed(capsys, "stats", directory)]
    assert ["label", "0", "(cat)", "2", "50", "%"] in lines
    page = directory.parent / "page.html"
    printed(capsys, "view", "--html", page, directory)
    assert '"0 (cat)"' in page.read_text()
    assert str(BIG) in page.read_text()


@given(st.floats(-1e300, 1e300), st.integers(2, 8))
def test_a_number_for_people_is_close_to_the_number(value: float, digits: int) -> None:
    text = number_text(value, digits)
    assert math.isclose(float(text), value, rel_tol=0.6 * 10 ** (1 - digits))
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        assert "e" not in text
    assert len(text) <= 20


def test_numbers_for_people_have_exponents_only_if_they_are_extreme() -> None:
    values = {26910.4: "26910", 0.49271: "0.4927", 7.125: "7.125", 3.0: "3", 1.2e-7: "1.2e-07"}
    values |= {2**62: str(2**62), float("inf"): "inf", -0.0: "-0", 1e20: "1e+20"}
    assert {value: number_text(value) for value in values} == values


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pythonClassName": "x"}', b"\xff"])
def test_a_description_that_is_none_leaves_values_as_they_are(
    directory: Path, capsys: Captured, content: bytes
) -> None:
    (directory / "features.json").write_bytes(content)
    [path] = directory.glob("*tfrecord*")
    assert json.loads(printed(capsys, "head", "-n", 1, path)[0])["big"] == -1


def test_standard_input_is_of_no_data_set(
    directory: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = directory.glob("*tfrecord*")
    monkeypatch.chdir(directory)
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert json.loads(printed(capsys, "head", "-n", 1, "-")[0])["big"] == -1


def test_files_of_several_sets_have_the_types_of_each(directory: Path, capsys: Captured) -> None:
    [path] = directory.glob("*tfrecord*")
    other = directory.parent / "plain.tfrecord"
    shutil.copy(path, other)
    shown, plain = (json.loads(printed(capsys, "head", "-n", 1, each)[0]) for each in (path, other))
    assert (shown["label"], plain["label"]) == ("0 (cat)", 0)
    [found] = objects(capsys, "stats", "--json", path, other)
    assert {each["name"]: each for each in found["features"]}["big"]["values"]["max"] == -1
