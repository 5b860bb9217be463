# SPDX-License-Identifier: Apache-2.0
"""`fastrec stats`: exact statistics of each feature, in tables and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Captured, objects, printed
from pets import png
from verbs import write, write_examples

from fastrec import cli
from fastrec.cli import stats
from fastrec.cli.report import Report
from fastrec.records.content import image_size


def test_statistics_are_those_of_numpy(tmp_path: Path, capsys: Captured) -> None:
    draw = np.random.default_rng(0)
    rows = []
    for number in range(3000):
        row: dict[str, Any] = {"x": draw.normal(3, 2, number % 3).astype(np.float32)}
        row["label"] = int(draw.integers(5))
        row["text"] = f"word {int(draw.integers(40))}"
        rows.append(row)
    path = write_examples(tmp_path / "a.tfrecord", rows)
    [found] = objects(capsys, "stats", "--json", "-j", 3, path)
    assert found["records"] == 3000
    features = {each["name"]: each for each in found["features"]}
    x = np.concatenate([row["x"] for row in rows]).astype(np.float64)
    values = features["x"]["values"]
    assert values["count"] == len(x) == 3000
    assert (values["min"], values["max"]) == (x.min(), x.max())
    assert values["mean"] == pytest.approx(x.mean())
    assert values["deviation"] == pytest.approx(x.std())
    assert values["quantiles"]["0.5"] == pytest.approx(np.median(x))
    assert sum(values["histogram"]["counts"]) == 3000
    assert features["x"]["lengths"]["count"] == 2000
    assert features["x"]["distinct"] == pytest.approx(len(set(x)), rel=0.1)
    assert not features["x"]["distinct_is_exact"]
    labels = np.array([row["label"] for row in rows])
    assert features["label"]["distinct"] == 5
    top = {each["value"]: each["count"] for each in features["label"]["top"]}
    assert top == dict(
        zip(*map(np.ndarray.tolist, np.unique(labels, return_counts=True)), strict=True)
    )
    assert features["text"]["distinct"] == 40
    texts = [row["text"] for row in rows]
    assert features["text"]["top"][0]["count"] == max(map(texts.count, texts))


def test_common_values_and_shares_are_separate_and_empty_texts_are_visible(
    tmp_path: Path, capsys: Captured
) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"n": i % 2, "s": ""} for i in range(4)])
    lines = [line.split() for line in printed(capsys, "stats", path)]
    assert ["n", "0", "2", "50", "%"] in lines
    assert ["s", '""', "4", "100", "%"] in lines


def test_statistics_do_not_depend_on_threads(tmp_path: Path, capsys: Captured) -> None:
    draw = np.random.default_rng(1)
    rows = [{"x": draw.random(40), "n": int(draw.integers(2**62))} for _ in range(5000)]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    found = [printed(capsys, "stats", "--json", "-j", threads, path) for threads in (1, 4)]
    assert found[0] == found[1]
    [each] = [json.loads(line) for line in found[0]]
    quantiles = {item["name"]: item for item in each["features"]}["x"]["values"]["quantiles"]
    for share, value in quantiles.items():  # of a sample, of uniform numbers
        assert value == pytest.approx(float(share), abs=0.02)


def test_statistics_of_not_a_number_and_of_none(tmp_path: Path, capsys: Captured) -> None:
    rows: list[dict[str, Any]] = [
        {"x": np.array([np.nan, np.inf, 0, 2], np.float32)},
        {"y": np.array([], np.int64)},
    ]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    [found] = objects(capsys, "stats", "--json", path)
    values = found["features"][0]["values"]
    assert [values[name] for name in ("count", "nan", "infinite", "zeros", "mean")] == [
        4,
        1,
        1,
        1,
        1,
    ]
    assert printed(capsys, "stats", path)[0].startswith("2 records in 1 file")
    empty = write(tmp_path / "empty.tfrecord", [])
    assert cli.main(["stats", str(empty)]) == 1
    assert capsys.readouterr().err == "fastrec: error: no records\n"


def test_the_table_of_statistics_fits_the_terminal(pets: Path) -> None:
    from fastrec.cli.select import Selector

    class Narrow(Report):
        width = 60

    out = io.StringIO()
    narrow = Narrow(out, io.StringIO(), rich=False)
    found = stats.survey(Selector(narrow), ["pets.tfrecord"], 1)
    stats._print_table(found, narrow)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].split()[:3] == ["feature", "kind", "present"]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(24, 16, 0), (24, 16)),
        (b"GIF89a\3\0\2\0", (3, 2)),
        (b"BM is a text that begins so", None),
        (b"RIFF\0\0\0\0WAVEfmt and some more data", None),
        (
            b"\xff\xd8\xff\xe0\0\4ab\xff\xc4\0\2\xff\xff\xc0\0\x0b\x08\x01\x02\x03\x04",
            (0x304, 0x102),
        ),
        (b"\xff\xd8\xff" + b"\xff" * 100, None),
        (b"\xff\xd8\xff\xe0\0\0" * 50, None),
    ],
)
def test_the_size_of_an_image_is_that_of_its_header(
    data: bytes, size: tuple[int, int] | None
) -> None:
    assert image_size(data) == size
