# SPDX-License-Identifier: Apache-2.0
"""The verbs convert and reshard: what they write, what they say, and how they end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fastrec
from fastrec import cli

pq = pytest.importorskip("pyarrow.parquet")

Captured = pytest.CaptureFixture[str]


def test_convert_writes_a_table_and_records_again(pets: Path, capsys: Captured) -> None:
    words = ["convert", "train-*.tfrecord", "-o", "a.parquet", "--text", "name", "-j", "1"]
    assert cli.main([*words, "--row-group", "25", "--compression", "zstd", "--level", "5"]) == 0
    assert capsys.readouterr().out == (
        "wrote    a.parquet: 60 records\ntext     name\nimages   image\n"
    )
    file = pq.ParquetFile("a.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [25, 25, 10]
    assert str(file.schema_arrow.field("name").type) == "large_string"
    assert cli.main(["convert", "a.parquet", "-o", "b", "--features", "id,name"]) == 0
    record = fastrec.train.Example.FromString(next(iter(fastrec.Reader("b"))))
    assert sorted(record.features.feature) == ["id", "name"]


def test_convert_keeps_whole_records(pets: Path, capsys: Captured) -> None:
    assert cli.main(["convert", "--raw", "pets.tfrecord", "-o", "a.jsonl"]) == 0
    assert cli.main(["convert", "--raw", "a.jsonl", "-o", "b.tfrecord"]) == 0
    assert (pets / "b.tfrecord").read_bytes() == (pets / "pets.tfrecord").read_bytes()
    assert (
        cli.main(
            ["convert", "pets.tfrecord", "-o", "c.arrow", "--shard-records", "40", "--keep-bytes"]
        )
        == 0
    )
    shards = "wrote    c-00000-of-00002.arrow to c-00001-of-00002.arrow: 60 records\n"
    assert capsys.readouterr().out.endswith(shards)
    words = ["convert", "c-00000-of-00002.arrow", "-o", "d.x", "--to", "jsonl"]
    assert cli.main(words) == 2  # neither is of records
    error = capsys.readouterr().err
    assert "got two tables: 'c-00000-of-00002.arrow' and 'd.x' (arrow and jsonl)" in error
    for name in ("a.json", "a.npy", "a.xlsx"):
        assert cli.main(["convert", "pets.tfrecord", "-o", name]) == 2
        error = capsys.readouterr().err
        assert "must be a table (.parquet, .pq, .arrow, .feather, .ipc, .csv, .jsonl, " in error
        assert f"got 'pets.tfrecord' and '{name}'; --from and --to name" in error


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["pets.tfrecord", "-o", "a.csv"], 2, "has lists, which CSV has not"),
        (["pets.tfrecord", "-o", "a.csv", "--features", "image"], 2, "UTF-8"),
        (["pets.tfrecord", "-o", "a.parquet", "--features", "wings"], 2, "'wings' is in no record"),
        (["pets.tfrecord", "-o", "a.parquet", "--text", "wings"], 2, "'wings' is not a column"),
        (["pets.tfrecord", "-o", "a.tfrecord"], 2, "`fastrec reshard`"),
        (["damaged.tfrecord", "-o", "a.parquet"], 1, "record 7"),
        (["none.tfrecord", "-o", "a.parquet"], 74, "No such file"),
        (["pets.tfrecord", "-o", "-"], 2, "--from and --to name"),
        (["pets.tfrecord", "-o", "-", "--shard-records", "9"], 2, "mutually exclusive"),
        (
            ["pets.tfrecord", "-o", "changed.parquet"],
            74,
            "changed.parquet: the file exists; --overwrite replaces it",
        ),
    ],
)
def test_convert_says_why_it_cannot(
    pets: Path, capsys: Captured, words: list[str], status: int, message: str
) -> None:
    (pets / "changed.parquet").touch()
    before = sorted(os.listdir(pets))
    assert cli.main(["convert", *words]) == status
    assert message in capsys.readouterr().err
    assert sorted(os.listdir(pets)) == before


def test_convert_leaves_damage_out_when_told(pets: Path, capsys: Captured) -> None:
    words = ["convert", "--skip-damage", "damaged.tfrecord", "-o", "a.arrow", "--raw"]
    assert cli.main(words) == 1
    kept = len(list(fastrec.Reader("damaged.tfrecord", on_error="skip")))
    captured = capsys.readouterr()
    assert captured.out == f"wrote    a.arrow: {kept} records\n"
    assert captured.err.count("fastrec: damage: ") == 2
    words = ["reshard", "--skip-damage", "damaged.tfrecord", "-o", "a.tfrecord", "--shards", "2"]
    assert cli.main([*words, "--shuffle"]) == 1
    captured = capsys.readouterr()
    assert captured.out.endswith(f": {kept} records\n")
    assert captured.err.count("fastrec: damage: ") == 2  # once, though files are read twice


def test_reshard_shuffles_as_a_batcher_does(pets: Path, capsys: Captured) -> None:
    words = ["reshard", "train-*.tfrecord", "-o", "x.tfrecord", "--shuffle", "--seed", "3"]
    assert cli.main([*words, "--shards", "4", "--memory", "1Mi"]) == 0
    shards = "wrote    x-00000-of-00004.tfrecord to x-00003-of-00004.tfrecord: 60 records\n"
    assert capsys.readouterr().out == shards
    batcher = fastrec.Batcher("train-*.tfrecord", None, batch_size=60, shuffle=True, seed=3)
    (wanted,) = batcher
    assert list(fastrec.Reader("x-*.tfrecord")) == list(wanted)
    words = ["reshard", "train-*.tfrecord", "-o", "all.tfrecord", "--shuffle", "--seed", "3"]
    assert cli.main(words) == 0
    assert list(fastrec.Reader("all.tfrecord")) == list(wanted)
    assert cli.main(["reshard", "x-*.tfrecord", "-o", "y.tfrecord", "--size", "50k"]) == 0
    assert cli.main(["reshard", "x-*.tfrecord", "-o", "z.tfrecord", "--shard-records", "50"]) == 0
    assert list(fastrec.Reader("y-*.tfrecord")) == list(fastrec.Reader("z-*.tfrecord"))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["pets.tfrecord", "-o", "a", "--seed", "3"], 2, "seed requires shuffle"),
        (["pets.tfrecord", "-o", "a", "--memory", "1k"], 2, "memory must be at least 1048576"),
        (["pets.tfrecord", "-o", "changed.tfrecord"], 74, "changed.tfrecord: the file exists"),
        (["damaged.tfrecord", "-o", "a"], 1, "record at 103510"),
        (["-", "-o", "a", "--resume"], 2, "--resume and standard input"),
        (["pets.tfrecord", "-o", "-", "--shards", "2"], 2, "--output - and several shards"),
    ],
)
def test_reshard_says_why_it_cannot(
    pets: Path, capsys: Captured, words: list[str], status: int, message: str
) -> None:
    before = sorted(os.listdir(pets))
    assert cli.main(["reshard", *words]) == status
    assert message in capsys.readouterr().err
    assert sorted(os.listdir(pets)) == before
