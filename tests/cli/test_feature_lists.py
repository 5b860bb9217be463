# SPDX-License-Identifier: Apache-2.0
"""Every command takes feature lists of SequenceExamples, and values that are not finite."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jpegs
import numpy as np
import pytest

import fastrec
from fastrec.cli import main


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "s.tfrecord")
    with fastrec.Writer(name) as writer:
        for i in range(4):
            lists: dict[str, Any] = {"x": [[float(i), math.nan if i == 2 else 0.5]] * i}
            writer.write(fastrec.encode_sequence_example({"id": i, "void": None}, lists))
    return name


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("x", [1, 2, 3]),
        ("not x", [0]),
        ("len(x) >= 2", [2, 3]),
        ("x == 3", [3]),
        ("x > 2.5", [3]),
        ("isnan(x)", [2]),
        ("x == nan", [2]),
        ("x != nan", [0, 1, 3]),
        ("not isnan(x) and x", [1, 3]),
        ("isinf(x)", []),
        ("x < inf and id < 2", [1]),
        ("x > -inf and id < 2", [1]),
        ("void", []),
        ("void == 3", []),
    ],
)
def test_conditions_see_the_values_of_all_frames(
    path: str, capsys: pytest.CaptureFixture[str], where: str, ids: list[int]
) -> None:
    _, out, _ = run(capsys, "cat", "--json", "--where", where, path)
    assert [json.loads(line)["id"] for line in out.splitlines()] == [[number] for number in ids]


def test_statistics_count_the_values_of_all_frames(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "stats", "--json", path)
    features = {each["name"]: each for each in json.loads(out)["features"]}
    assert status == 0
    assert features["x"]["of_frames"]
    assert features["x"]["records"] == 3
    assert features["x"]["values"]["count"] == 12
    assert features["x"]["values"]["nan"] == 2
    assert features["void"]["kind"] == "none"
    assert features["void"]["records"] == 0
    _, out, _ = run(capsys, "stats", path)
    assert "float frames" in out
    assert "2 NaN" in out
    assert "void" in out


def test_schema_shows_values_that_are_not_finite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for value in (1.0, math.nan, math.inf, -math.inf):
            writer.write({"loss": value})
    for command in ("schema", "stats"):
        assert "1 NaN, 2 inf" in run(capsys, command, str(tmp_path / "a.tfrecord"))[1]


def test_images_of_frames_are_extracted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("PIL")
    image = jpegs.encode(np.zeros((4, 6, 3), np.uint8))
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write(fastrec.encode_sequence_example({"id": 1}, {"image": [[image]] * 3}))
    status, _, _ = run(capsys, "extract", str(tmp_path / "a.tfrecord"), "-o", str(tmp_path / "x"))
    assert status == 0
    assert [each.read_bytes() for each in sorted((tmp_path / "x").iterdir())] == [image] * 3


def test_the_first_record_may_have_no_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = str(tmp_path / "a.tfrecord"), str(tmp_path / "x")
    with fastrec.Writer(path) as writer:
        writer.write(fastrec.encode_sequence_example({"text": b"t"}, {"image": []}))
        writer.write(fastrec.encode_sequence_example({"text": b"t"}, {"image": [[b"GIF89a"]]}))
    status, out, err = run(capsys, "extract", path, "-o", folder)
    assert (status, err) == (0, "")
    assert "1 file into" in out
    assert out.endswith("; 1 record without 'image'\n")
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_many([fastrec.encode_example({"text": b"t"}), b"no message"])
    status, out, err = run(capsys, "extract", path, "-o", folder)
    assert (status, out) == (2, "")
    assert "1 record left out: not a readable tf.train.Example" in err
    assert "--feature names one of: text" in err


@pytest.mark.parametrize("command", ["head", "cat", "diff"])
def test_commands_show_the_frames(
    path: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    arguments = ["diff", path, path] if command == "diff" else [command, path]
    status, out, err = run(capsys, *arguments)
    assert "Traceback" not in err
    assert status in (0, 1)
    assert out


def test_frames_of_several_kinds_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = fastrec.train
    frames = [
        train.Feature(int64_list=train.Int64List(value=[7])),
        train.Feature(float_list=train.FloatList(value=[0.5])),
    ]
    message = train.SequenceExample(
        feature_lists=train.FeatureLists(feature_list={"x": train.FeatureList(feature=frames)})
    )
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write(message.SerializeToString())
    _, out, _ = run(capsys, "cat", "--json", str(tmp_path / "a.tfrecord"))
    assert json.loads(out) == {"x": [[7], [0.5]]}


def test_a_feature_and_a_feature_list_of_one_name_are_both_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write(fastrec.encode_sequence_example({"x": 1}, {"x": [[2]]}))
    _, out, _ = run(capsys, "cat", "--json", str(tmp_path / "a.tfrecord"))
    assert json.loads(out) == {"x": [[2]], "x (context)": [1]}
