# SPDX-License-Identifier: Apache-2.0
"""`fastrec doctor`: sound records have no findings, and each fault is found and named."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Captured, objects, printed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pets import png
from verbs import write, write_examples

import fastrec
from fastrec import cli
from fastrec.cli.doctor import REMEDIES

Row = dict[str, Any]
COUNT = 120
STEPS = 12


@lru_cache(maxsize=256)
def image(shade: int) -> bytes:
    return png(3, 2, shade)


@lru_cache(maxsize=4)
def encoded(seed: int) -> tuple[bytes, ...]:
    return tuple(map(fastrec.encode_example, sound(seed)))


def sound(seed: int) -> list[Row]:
    """Episodes of a robot, as TFDS stores them, with a label and texts."""
    draw = np.random.default_rng(seed)
    rows = []
    for number in range(COUNT):
        steps = STEPS + int(draw.integers(3))
        times = 1_700_000_000_000 + np.cumsum(draw.integers(90, 110, steps))
        shades = draw.integers(256) + np.arange(steps)
        rows.append(
            {
                "id": number,
                "label": int(draw.integers(5)),
                "name": f"episode {number}",
                "optional": [f"word {number}"] * int(draw.integers(2)),
                "tokens": draw.integers(0, 99, 3 + draw.integers(40)),
                "steps/is_first": [1] + [0] * (steps - 1),
                "steps/is_last": [0] * (steps - 1) + [1],
                "steps/is_terminal": [0] * (steps - 1) + [int(draw.integers(2))],
                "steps/reward": np.zeros(steps, np.float32),
                "steps/action": draw.normal(size=3 * steps).astype(np.float32),
                "steps/timestamp": times,
                "steps/image": [image(int(shade) % 256) for shade in shades],
            }
        )
    return rows


def replaced(name: str, value: Any) -> Callable[[Row], None]:
    def fault(row: Row) -> None:
        if value is None:
            del row[name]
        else:
            row[name] = value(row[name]) if callable(value) else value

    return fault


def at(index: int, value: Any) -> Callable[[Any], Any]:
    """Replace one value of a list."""

    def change(values: Any) -> Any:
        changed = copy.copy(values)
        changed[index] = value(values) if callable(value) else value
        return changed

    return change


# The check and the feature of the finding, and what is wrong in one record.
FAULTS: list[tuple[str, str, Callable[[Row], None]]] = [
    ("missing", "label", replaced("label", None)),
    ("missing", "name", replaced("name", [])),
    ("kind", "label", replaced("label", 2.0)),
    ("kind", "name", replaced("name", 3)),
    ("length", "label", replaced("label", [1, 2])),
    ("length", "steps/action", replaced("steps/action", lambda x: np.concatenate([x, x]))),
    ("steps", "steps/action", replaced("steps/action", lambda x: x[:-1])),
    ("steps", "steps/is_last", replaced("steps/is_last", None)),
    ("steps", "steps/is_first", replaced("steps/is_first", lambda x: x[:-1])),
    ("nan", "steps/action", replaced("steps/action", at(5, np.nan))),
    ("nan", "steps/action", replaced("steps/action", at(0, -np.inf))),
    ("range", "steps/action", replaced("steps/action", at(4, 1e4))),
    ("range", "steps/action", replaced("steps/action", at(4, -999.0))),
    ("label", "label", replaced("label", 5)),
    ("label", "label", replaced("label", -1)),
    ("time", "steps/timestamp", replaced("steps/timestamp", lambda x: x[::-1])),
    ("time", "steps/timestamp", replaced("steps/timestamp", at(4, lambda x: x[3]))),
    ("time", "steps/timestamp", replaced(
        "steps/timestamp", lambda x: x + 900 * (np.arange(len(x)) > 5))),
    ("episode", "steps/is_first", replaced("steps/is_first", at(0, 0))),
    ("episode", "steps/is_first", replaced("steps/is_first", at(4, 1))),
    ("episode", "steps/is_last", replaced("steps/is_last", at(-1, 0))),
    ("episode", "steps/is_last", replaced("steps/is_last", at(0, 1))),
    ("episode", "steps/is_terminal", replaced("steps/is_terminal", at(3, 1))),
    ("image", "steps/image", replaced("steps/image", at(2, lambda x: x[2][:60]))),
    ("image", "steps/image", replaced("steps/image", at(2, b"\x01\x80 neither"))),
    ("size", "steps/image", replaced("steps/image", at(2, png(4, 2, 9)))),
    ("repeated", "steps/image", replaced("steps/image", at(2, lambda x: x[1]))),
    ("empty", "name", replaced("name", "")),
    ("empty", "steps/image", replaced("steps/image", at(2, b""))),
    ("text", "name", replaced("name", "Zo\xeb".encode("latin-1"))),
]  # fmt: skip


def doctor(capsys: Captured, path: Path, *words: str) -> tuple[list[Any], Any]:
    """Return the findings, and the summary."""
    status = cli.main(["doctor", "--json", "--labels", "label=5", *words, str(path)])
    *found, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert status == (1 if found else 0)
    return found, summary


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1))
def test_sound_records_have_no_findings(tmp_path: Path, capsys: Captured, seed: int) -> None:
    path = write(tmp_path / "a.tfrecord", encoded(seed))
    assert doctor(capsys, path) == (
        [], {"records": COUNT, "bytes": path.stat().st_size - 16 * COUNT, "files": 1,
             "not_examples": 0, "features_left_out": False, "findings": {}},
    )  # fmt: skip


@settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1), st.integers(0, COUNT - 1))
@pytest.mark.parametrize(
    "fault", FAULTS, ids=[f"{check}-{n}" for n, (check, *_) in enumerate(FAULTS)]
)
def test_the_one_fault_is_found_and_named(
    tmp_path: Path, capsys: Captured, fault: Any, seed: int, number: int
) -> None:
    check, feature, damage = fault
    records = list(encoded(seed))
    [row] = [each for each in sound(seed) if each["id"] == number]
    damage(row)
    records[number] = fastrec.encode_example(row)
    path = write(tmp_path / "a.tfrecord", records)
    found, summary = doctor(capsys, path)
    [each] = [each for each in found if each["feature"] == feature and each["check"] == check]
    assert (each["path"], each["record"]) == (str(path), number)
    assert each["finding"]
    assert each["remedy"] == REMEDIES[check]
    assert summary["findings"][check] >= 1
    assert {other["record"] for other in found} == {number}, "no other record is named"
    assert doctor(capsys, path, "--ignore", ",".join(summary["findings"]))[0] == []


def test_a_second_record_of_the_same_bytes_is_found(tmp_path: Path, capsys: Captured) -> None:
    rows = sound(1)
    path = write_examples(tmp_path / "a.tfrecord", [*rows, rows[7]])
    [found], _ = doctor(capsys, path)
    assert (found["check"], found["record"]) == ("duplicate", COUNT)
    assert found["finding"] == "equal to record 7"
    write_examples(tmp_path / "b.tfrecord", rows[:1])
    found = doctor(capsys, tmp_path)[0]
    assert found[1]["finding"] == f"equal to record 0 of {path}"


def test_records_of_few_different_values_are_no_duplicates(
    tmp_path: Path, capsys: Captured
) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"label": n % 5} for n in range(COUNT)])
    assert doctor(capsys, path)[0] == []


@pytest.mark.parametrize("value", [0.5, 7, [png(3, 2, 1)] * 2])
def test_a_feature_that_is_always_the_same_is_found(
    tmp_path: Path, capsys: Captured, value: Any
) -> None:
    rows = [{**row, "x": value, "has_x": 1} for row in sound(2)]
    [found], _ = doctor(capsys, write_examples(tmp_path / "a.tfrecord", rows))
    assert (found["check"], found["feature"]) == ("constant", "x")


def test_flags_of_episodes_that_no_record_has_are_found(tmp_path: Path, capsys: Captured) -> None:
    rows = sound(3)
    for row in rows:
        del row["steps/is_last"]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    [found], _ = doctor(capsys, path)
    assert (found["check"], found["feature"]) == ("episode", "steps/is_last")
    assert doctor(capsys, path, "--features", "steps/is_first,label") == (
        [], {**doctor(capsys, path)[1], "findings": {}},
    )  # fmt: skip


def test_a_record_that_is_not_an_example_is_found(tmp_path: Path, capsys: Captured) -> None:
    records = [fastrec.encode_example({"label": n % 5, "n": n}) for n in range(9)]
    path = write(tmp_path / "a.tfrecord", [*records, b"\xff\xfe other"])
    [found], summary = doctor(capsys, path)
    assert (found["check"], found["record"]) == ("message", 9)
    assert summary["not_examples"] == 1


def test_labels_of_tfds_are_compared_with_its_classes(tmp_path: Path, capsys: Captured) -> None:
    from fastrec.tfds import features
    from fastrec.tfds import write as write_tfds

    rows = [{"n": n, "label": n % 3} for n in range(9)]
    path = write_tfds(
        tmp_path, "set", {"train": rows}, {"n": np.int64, "label": features.ClassLabel(3)}
    )
    assert printed(capsys, "doctor", path)[-1].endswith("no findings")
    [file] = Path(path).glob("*.tfrecord*")
    write_examples(file, [{"n": 1, "label": 3}, {"n": 2, "label": -1}])
    found, summary = objects(capsys, "doctor", "--json", path, status=1)
    assert (found["finding"], found["record"]) == ("3 is out of range (-1 to 2)", 0)
    assert summary["findings"] == {"label": 1}


def test_feature_lists_are_examined_as_lists(tmp_path: Path, capsys: Captured) -> None:
    records = [
        fastrec.encode_sequence_example({"id": n}, {"timestamp": [[1], [2], [2 + n % 2]]})
        for n in range(2)
    ]
    [found], _ = doctor_without_labels(capsys, write(tmp_path / "a.tfrecord", records))
    assert (found["check"], found["record"], found["feature"]) == ("time", 0, "timestamp")


def doctor_without_labels(capsys: Captured, path: Path) -> tuple[list[Any], Any]:
    *found, summary = objects(capsys, "doctor", "--json", path, status=1)
    return found, summary


def test_findings_are_bounded_and_do_not_depend_on_threads(
    tmp_path: Path, capsys: Captured
) -> None:
    rows = [{"id": n, "x": [np.nan, float(n)]} for n in range(5000)]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    found = [printed(capsys, "doctor", "-j", threads, path, status=1) for threads in (1, 4)]
    assert found[0] == found[1]
    assert len(found[0]) == 12
    assert found[0][0] == (
        f"nan        {path}:0: x: value 0 is nan; {REMEDIES['nan']}"
    )  # fmt: skip
    assert found[0][-2] == "nan        ... and 4,990 more"
    assert found[0][-1].endswith("kB of data: 5,000 nan")
    *_, more, summary = objects(capsys, "doctor", "--json", path, status=1)
    assert more == {"check": "nan", "feature": "x", "more": 4990}
    assert summary["findings"] == {"nan": 5000}


def test_a_feature_that_comes_late_is_missing_in_the_first_records(
    tmp_path: Path, capsys: Captured
) -> None:
    rows = [{"id": n, "x": [n] * (n > 1)} for n in range(4000)]
    found, _ = doctor_without_labels(capsys, write_examples(tmp_path / "a.tfrecord", rows))
    assert [each["record"] for each in found] == [0, 1]
    late = [{"id": n, **({"y": n} if n > 1 else {})} for n in range(4000)]
    found, _ = doctor_without_labels(capsys, write_examples(tmp_path / "b.tfrecord", late))
    assert [(each["feature"], each["record"]) for each in found] == [("y", 0), ("y", 1)]


def test_unknown_names_are_errors(tmp_path: Path, capsys: Captured) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"label": 1}])
    assert cli.main(["doctor", "--labels", "lable=3", str(path)]) == 1
    assert "no record has a feature 'lable'" in capsys.readouterr().err
    for words in (["--labels", "label"], ["--labels", "label=0"], ["--ignore", "nans"]):
        with pytest.raises(SystemExit) as raised:
            cli.main(["doctor", *words, str(path)])
        assert raised.value.code == 2


def test_real_record_files_have_no_findings_but_true_ones(
    shared_data: Path, capsys: Captured
) -> None:
    for name in ("mnist.tfrecord", "penguin.tfrecord.gz", "sequence.tfrecord.gz", "taxi-*"):
        assert printed(capsys, "doctor", shared_data / name)[-1].endswith("no findings")
    robot = shared_data / "tfds" / "bridge_dataset" / "1.0.0"
    *_, summary = objects(capsys, "doctor", "--json", robot, status=1)
    # The two splits are equal, episodes were cut after ten steps, and one camera has no images.
    assert summary["findings"] == {"duplicate": 25, "episode": 50, "constant": 1}
