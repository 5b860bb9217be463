# SPDX-License-Identifier: Apache-2.0
"""``fastrec bench`` on a little data, without peers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fastrec
from fastrec.cli import main

LITTLE = ["--quick", "--scale", "0.001", "--peers", "none"]


def bench(*words: str) -> int:
    return main(["bench", *LITTLE, *words])


def test_a_job_on_a_case_is_measured_and_held_against_its_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, whole = tmp_path / "page.md", tmp_path / "run.json"
    words = ["--job", "parse", "--case", "embed", "--markdown", str(page), "--json", str(whole)]
    assert bench(*words) == 0
    out = capsys.readouterr().out
    assert "Parse into dense batches" in out
    assert "tensorflow: not here" in out
    run = json.loads(whole.read_text())
    (comparison,) = run["comparisons"]
    assert (comparison["job"], comparison["case"]) == ("parse", "embed")
    by_name = {(m["peer"], m["variant"]): m for m in comparison["measurements"]}
    assert by_name["ours", ""]["agrees"] is by_name["ours", "1 thread"]["agrees"] is True
    assert len(by_name["ours", ""]["rounds"]) >= 3
    assert min(by_name["ceiling", "memcpy"]["rounds"]) > 0
    assert "| parse beside moving the payload | embed | memcpy | within 1.6x |" in page.read_text()


def test_jobs_run_on_a_file_of_the_users_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.tfrecord"
    random = np.random.default_rng(1)
    with fastrec.Writer(path) as writer:
        for number in range(300):
            writer.write({
                "id": number,
                "vector": random.standard_normal(4).astype(np.float32),
                "words": [b"word"] * (number % 4),
                "name": f"row {number}",
            })  # fmt: skip
    wanted = ("iterate", "parse", "gzip", "write", "memory")
    words = [word for job in wanted for word in ("--job", job)]
    assert bench("--file", str(path), "--json", "-", *words) == 0
    run = json.loads(capsys.readouterr().out)
    assert {c["case"] for c in run["comparisons"]} == {"own.tfrecord"}
    assert {c["job"] for c in run["comparisons"]} == set(wanted)
    for comparison in run["comparisons"]:
        assert comparison["records"] == 300
        for measurement in comparison["measurements"]:
            assert measurement["error"] is None, (comparison["job"], measurement)
            assert measurement["agrees"] is not False


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert bench("--job", "write", "--case", "embed", "--json", str(tmp_path / "run.json")) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--job", "fly"], "there is no job 'fly'"),
        (["--case", "cats"], "there is no case 'cats'"),
        (["--peers", "fast"], "there is no peer 'fast'"),
        (["--file", "x", "--case", "cifar"], "mutually exclusive"),
        (["--scale", "-1"], "--scale must be more than 0"),
        (["--rounds", "1"], "--rounds at least 3"),
    ],
)
def test_a_wrong_request_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--file", "nowhere.tfrecord") == 74
    assert "nowhere.tfrecord" in capsys.readouterr().err


def test_a_loop_over_a_file_says_what_limits_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"x": np.arange(300)})
    assert bench("--file", str(path), "--step-ms", "1", "--threads", "1") == 0
    headroom, counts, *_, bottleneck = capsys.readouterr().out.splitlines()
    assert " ms per step with batches of the loader, " in headroom
    assert counts.startswith("54 batches, ")
    assert bottleneck.startswith("bottleneck: ")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--step-ms", "1"], "--step-ms requires --file"),
        (["--file", "a", "--step-ms", "-1"], "--step-ms must be 0 to 60000"),
        (["--file", "a", "--step-ms", "nan"], "--step-ms must be 0 to 60000"),
        (["--file", "a", "--step-ms", "1", "--threads", "0"], "--threads must be at least 1"),
    ],
)
def test_a_loop_requires_a_file_and_a_time(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*words) == 2
    assert error in capsys.readouterr().err
