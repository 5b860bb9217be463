# SPDX-License-Identifier: Apache-2.0
"""The scripts beside the benchmarks: the guard's verdict, the pages that show a run, the data."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastrec

FOLDER = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REPORT: dict[str, float] = {"schedule": 100, "parse-tabular": 100}


def guarded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, counts: dict[str, float], *words: str
) -> int:
    """The guard's exit status where valgrind counts `counts` and 100 of each was recorded."""
    guard = script("callgrind")
    baseline = tmp_path / "guard.json"
    counts = {**REPORT, **counts}
    if not baseline.exists():
        recorded = {
            "compiler": "unknown", "instructions_a_record": dict.fromkeys(["a", "b", *REPORT], 100)
        }  # fmt: skip
        baseline.write_text(json.dumps(recorded))
    driver = tmp_path / "driver"
    driver.write_bytes(b"")
    monkeypatch.setattr(guard, "BASELINE", baseline)
    monkeypatch.setattr(guard, "LOOPS", dict.fromkeys(counts, 1))
    monkeypatch.setattr(guard, "instructions", lambda driver, loop, records: counts[loop])
    monkeypatch.setattr(sys, "argv", ["callgrind.py", str(driver), *words])
    status: int = guard.main()
    return status


def test_the_guard_lets_pass_a_tenth_more_and_no_further(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(monkeypatch, tmp_path, {"a": 110, "b": 50}) == 0
    assert guarded(monkeypatch, tmp_path, {"a": 111, "b": 100}) == 1
    assert "never recorded: a; if it is meant: make guard-update" in capsys.readouterr().err


def test_the_guard_does_not_pass_a_loop_that_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert guarded(monkeypatch, tmp_path, {"a": 100, "c": 100}) == 1


def test_the_guard_does_not_pass_a_report_that_takes_a_hundredth_of_parsing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = script("callgrind").BATCH
    cheap = {"schedule": 100.0, "parse-tabular": 100.0}
    assert guarded(monkeypatch, tmp_path, cheap) == 0
    dear = {"schedule": 100.0, "parse-tabular": 9_900 / batch}
    assert guarded(monkeypatch, tmp_path, dear) == 1
    assert "of parsing for a report" in capsys.readouterr().err


def test_the_guard_records_what_it_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert guarded(monkeypatch, tmp_path, {"a": 150, "c": 10}, "--update") == 0
    assert guarded(monkeypatch, tmp_path, {"a": 150, "c": 11}) == 0


def test_the_recorded_baseline_is_of_the_loops_that_are_counted() -> None:
    guard = script("callgrind")
    recorded = json.loads((FOLDER / "guard.json").read_text())
    assert recorded["instructions_a_record"].keys() == guard.LOOPS.keys()
    assert recorded["pinned"] == guard.PINNED


def measured(peer: str, rounds: list[float], agrees: bool | None = True) -> dict[str, Any]:
    return {"peer": peer, "variant": "", "records": 10, "rounds": rounds, "agrees": agrees}


def test_the_short_form_says_times_as_fast_and_hides_what_is_wrong() -> None:
    page = script("page")
    ours = measured("ours", [1.0, 2.0, 3.0])
    comparisons = [
        {"job": "parse", "case": "cifar",
         "measurements": [ours, measured("tensorflow", [9.0, 10.0, 11.0])]},
        {"job": "parse", "case": "photo",
         "measurements": [ours, measured("tensorflow", [99.0], agrees=False)]},
    ]  # fmt: skip
    about = {"date": "today", "cpu": "a processor", "cpus": "2", "system": "a system"}
    verdicts = [{"reached": True, "share": 2.0}, {"reached": False, "share": None}]
    run = {
        "comparisons": comparisons,
        "about": about,
        "versions": {},
        "warnings": ["noisy"],
        "verdicts": verdicts,
    }
    text = "\n".join(page.short(run))
    assert "| parse into batches | 5.0 |  |  |" in text
    assert "1 of 1 speed targets are met" in text
    assert "*Noisy.*" in text


def test_a_run_replaces_what_stands_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured -->\nold\n<!-- /measured -->\nafter\n")
    script("page").put(page, [r"new \1"])
    expected = "before\n<!-- measured -->\nnew \\1\n<!-- /measured -->\nafter\n"
    assert page.read_text() == expected


def test_the_pages_have_a_place_for_a_run() -> None:
    for path in (FOLDER / "README.md", FOLDER.parent / "README.md"):
        text = path.read_text(encoding="utf-8")
        assert text.count("<!-- measured -->\n") == text.count("<!-- /measured -->") == 1


def test_the_data_is_made_from_a_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path), "--case", "embed", "--case", "small", "--scale", "0.001"]
    monkeypatch.setattr(sys, "argv", ["data.py", *words])
    assert script("data").main() == 0
    _, embed, small = capsys.readouterr().out.splitlines()
    assert fastrec.verify(embed).records == 256
    assert fastrec.verify(small).records == 500
