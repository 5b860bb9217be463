# SPDX-License-Identifier: Apache-2.0
"""Every command with files of every message, and with standard streams that are closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pets import png

import fastrec
from fastrec.cli import main
from fastrec.cli.grammar import VERBS

COUNT = 3


def write_sequences(path: str) -> None:
    with fastrec.Writer(path) as writer:
        for number in range(COUNT):
            lists: dict[str, Any] = {
                "x": [[float(n), float("nan")] for n in range(number)],
                "image": [[png(4, 3, 3)] for _ in range(number)],
            }
            writer.write(fastrec.encode_sequence_example({"id": number, "x/y": None}, lists))


def write_events(path: str) -> None:
    with fastrec.Writer(path) as writer:
        writer.write(b"\x09" + np.float64(1.5).tobytes() + b"\x1a\x0dbrain.Event:2")
        for step in range(1, COUNT):
            simple = b"\x0a\x04loss\x15" + np.float32(step).tobytes()
            value = b"\x0a" + bytes([len(simple)]) + simple
            summary = b"\x2a" + bytes([len(value)]) + value
            writer.write(b"\x09" + np.float64(step).tobytes() + b"\x10" + bytes([step]) + summary)


# What follows each verb; {file} is the input, and {out} a name that is free.
WORDS = {
    "head": "{file}",
    "tail": "{file}",
    "cat": "{file} --json",
    "grep": "brain {file}",
    "schema": "{file}",
    "count": "{file}",
    "stats": "{file} --json",
    "doctor": "{file} --ignore nan,repeated",
    "verify": "{file}",
    "repair": "{file}",
    "diff": "{file} {file}",
    "index": "{file}",
    "split": "{file} -o {out} --shard-records 2",
    "merge": "{file} -o {out}",
    "reshard": "{file} -o {out} --shards 2",
    "convert": "{file} -o {out}.jsonl --base64",
    "extract": "{file} -o {out} --feature image",
    "view": "{file} --html {out}.html",
}
OTHERS = {"images", "demo", "bench", "clean", "completion", "man", "sql"}  # no file arguments


def words_of(verb: str, folder: Path, file: str) -> list[str]:
    text = WORDS[verb].format(file=file, out=folder / "out")
    return [verb, *text.split()]


def run(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, str, str]:
    try:
        status = main(words)
    except SystemExit as error:
        status = int(error.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def need_packages(verb: str) -> None:
    """Skip the test of a verb whose optional package is not installed."""
    if verb == "convert":
        pytest.importorskip("pyarrow")


def test_the_table_has_every_verb() -> None:
    assert set(VERBS) <= set(WORDS) | OTHERS


@pytest.mark.parametrize("verb", [verb for verb in WORDS if verb in VERBS])
@pytest.mark.parametrize("kind", ["sequences", "events"])
def test_every_verb_takes_every_message_or_names_what_it_is(
    verb: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_packages(verb)
    file = str(tmp_path / "in.tfrecord")
    (write_sequences if kind == "sequences" else write_events)(file)
    status, out, err = run(capsys, words_of(verb, tmp_path, file))
    assert "Traceback" not in err
    if kind == "events" and verb in ("schema", "stats", "convert", "extract", "grep"):
        assert status in (0, 1)
        if status and verb not in ("grep", "extract"):
            assert "Event" in err, err
        return
    if verb == "grep":
        assert status == 1
        return
    assert status == 0, err
    rows = {
        "head": lambda: len(out.splitlines()),
        "cat": lambda: len(out.splitlines()),
        "count": lambda: int(out.split()[0].replace(",", "")),
        "merge": lambda: fastrec.count(tmp_path / "out"),
        "convert": lambda: len((tmp_path / "out.jsonl").read_text().splitlines()),
    }
    if verb in rows:
        assert rows[verb]() == COUNT, out
    if kind == "events":
        return
    if verb in ("head", "cat", "schema", "stats"):
        assert "image" in out
        assert '"x"' in out or " x " in out
    if verb == "convert":
        last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
        assert last["x"] == [[0.0, None], [1.0, None]] or str(last["x"]).lower().count("nan") == 2
        assert len(last["image"]) == 2
    if verb == "extract":
        assert len(list((tmp_path / "out").iterdir())) == 3
    if verb == "view":
        assert b"image" in (tmp_path / "out.html").read_bytes()


def test_every_function_takes_sequences_or_names_what_a_record_is(tmp_path: Path) -> None:
    path = str(tmp_path / "in.tfrecord")
    write_sequences(path)
    assert set(fastrec.infer_features(path).keys()) == {"id", "x/y", "x", "image"}
    pa = pytest.importorskip("pyarrow")
    table = pa.table(fastrec.arrow.table(path))
    assert set(table.column_names) == {"id", "x/y", "x", "image"}
    assert [len(row) for row in table["x"].to_pylist()] == [0, 1, 2]
    features = {"id": fastrec.FixedLenFeature((), np.int64)}
    assert fastrec.parse_example(fastrec.Reader(path), features)["id"].tolist() == [0, 1, 2]
    with pytest.raises(fastrec.ExampleParseError, match="'x'"):
        fastrec.parse_example(fastrec.Reader(path), {"x": fastrec.FixedLenFeature((), np.float32)})


def test_functions_about_features_name_events(tmp_path: Path) -> None:
    path = str(tmp_path / "in.tfrecord")
    write_events(path)
    with pytest.raises(fastrec.ExampleParseError, match="it is an Event of TensorBoard"):
        fastrec.infer_features(path)
    pytest.importorskip("pyarrow")
    for function in (fastrec.arrow.table, lambda path: fastrec.convert(path, f"{path}.parquet")):
        with pytest.raises(fastrec.ExampleParseError, match="it is an Event of TensorBoard"):
            function(path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
@pytest.mark.parametrize("verb", [verb for verb in WORDS if verb in VERBS])
def test_every_verb_reports_closed_standard_streams(verb: str, tmp_path: Path) -> None:
    need_packages(verb)
    file = str(tmp_path / "in.tfrecord")
    write_sequences(file)
    before = Path(file).read_bytes()
    command = [sys.executable, "-m", "fastrec", *words_of(verb, tmp_path, file)]
    cases = (("0<&- 1>&-", (0, 1, 74)), ("1>&- 2>&-", (0, 1, 74)), ("2>&-", (0, 1)))
    for number, (closed, statuses) in enumerate(cases):
        words = [word.replace(str(tmp_path / "out"), f"{tmp_path}/out{number}") for word in command]
        done = subprocess.run(
            ["bash", "-c", f'"$@" {closed}', "bash", *words], capture_output=True, check=False
        )
        assert done.returncode in statuses, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
        if done.returncode == 74 and "2>" not in closed:
            assert done.stderr.endswith(b"Bad file descriptor\n"), done.stderr
        assert Path(file).read_bytes() == before
