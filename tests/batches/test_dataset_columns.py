# SPDX-License-Identifier: Apache-2.0
"""Columns of a dataset index: one file has the numbers of the records of all files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec import DatasetIndex
from fastrec.cli import main
from fastrec.errors import IndexMismatchError
from fastrec.parsing.index_columns import IndexColumns

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
COLUMNS = "i, name, score, len(tokens), size(name)"


def write(folder: Path, shards: int = 5, count: int = 83) -> Path:
    """Write a dataset; return the path that its index gets."""
    with fastrec.Writer(folder / "train.tfrecord", shards=shards, overwrite=True) as writer:
        for i in range(count):
            row: dict[str, Any] = {"i": i * 7, "tokens": [1] * (i % 5), "score": i / 4}
            if i % 3:
                row["name"] = f"n{i % 11}".encode()
            writer.write(row)
    return folder / "train.frdataset"


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("train-*-of-?????.tfrecord"))


def rows(source: Any, **options: Any) -> list[int]:
    batches = fastrec.Batcher(source, FEATURES, 8, **options)
    return [int(number) for batch in batches for number in batch["i"]]


SELECTIONS: list[dict[str, Any]] = [
    {"where": "i > 100 and name != 'n4'"},
    {"where": "len(tokens) in (1, 2) and score < 15"},
    {"where": "size(name) == 3", "shuffle": True, "seed": 1},
    {"weights": "score", "shuffle": True, "seed": 2},
    {"order": "-i"},
]


def forbid_reading(patch: pytest.MonkeyPatch) -> None:
    """Fail when columns are made from records."""

    def fail(*arguments: Any) -> None:
        raise AssertionError("records were read for columns")

    patch.setattr(IndexColumns, "_build", fail)


@pytest.mark.parametrize("options", SELECTIONS, ids=str)
def test_stored_columns_select_the_records_that_columns_of_files_select(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = write(tmp_path)
    expected = rows(files_of(tmp_path), **options)
    DatasetIndex.build(files_of(tmp_path), index, columns=COLUMNS)
    assert (tmp_path / "train.frdataset.frcolumns").exists()
    forbid_reading(monkeypatch)
    assert rows(index, **options) == expected
    assert len(expected) > 3


def test_columns_next_to_the_files_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = write(tmp_path)
    for path in files_of(tmp_path):
        fastrec.Index.build(path, columns=COLUMNS).save()
    forbid_reading(monkeypatch)
    DatasetIndex.build(files_of(tmp_path), index, columns="i, name")
    for path in tmp_path.glob("train-*.frcolumns"):
        path.unlink()
    assert sorted(rows(index, where="name == 'n4'")) == [28, 182, 259, 413, 490]


def test_a_selection_of_many_objects_takes_few_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    index = write(tmp_path, shards=40)
    DatasetIndex.build(files_of(tmp_path), index, columns="i")
    objects = Objects({path.name: path.read_bytes() for path in tmp_path.glob("train*")})
    forbid_reading(monkeypatch)
    with ObjectServer(objects) as server:
        assert rows(f"{server.url}/train.frdataset", where="i in (70, 490)") == [70, 490]
        side = [each.path for each in server.requests if not each.path.endswith(".tfrecord")]
    assert len(side) <= 10


def test_columns_of_another_index_are_refused(tmp_path: Path) -> None:
    index = write(tmp_path)
    DatasetIndex.build(files_of(tmp_path), index, columns="i")
    write(tmp_path, count=84)
    DatasetIndex.build(files_of(tmp_path), index, overwrite=True)
    with pytest.raises(IndexMismatchError, match=r"another dataset index.*--dataset --columns"):
        rows(index, where="i > 3")


def test_a_column_that_is_absent_names_the_command_that_adds_it(tmp_path: Path) -> None:
    index = write(tmp_path)
    DatasetIndex.build(files_of(tmp_path), index, columns="i")
    with pytest.raises(IndexMismatchError, match=r"--columns 'i,score' --overwrite --dataset"):
        rows(index, where="score > 3")
    with pytest.raises(ValueError, match="columns must name"):
        DatasetIndex.build(files_of(tmp_path), tmp_path / "b.frdataset", columns=[])
    assert not (tmp_path / "b.frdataset").exists()


def test_damaged_columns_are_refused(tmp_path: Path) -> None:
    index = write(tmp_path)
    DatasetIndex.build(files_of(tmp_path), index, columns="i")
    stored = tmp_path / "train.frdataset.frcolumns"
    data = stored.read_bytes()
    for damaged in (data[:-1], data[:-8] + bytes([data[-8] ^ 1]) + data[-7:], b"", data[:30]):
        stored.write_bytes(damaged)
        with pytest.raises(IndexMismatchError, match="damaged"):
            rows(index, where="i > 3")


def test_the_command_writes_columns_of_a_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = write(tmp_path)
    words = ["index", "--dataset", str(index), "--columns", "i,size(name)"]
    assert main([*words, *map(str, files_of(tmp_path))]) == 0
    forbid_reading(monkeypatch)
    assert rows(index, where="i == 70 and size(name) == 3") == [70]
    capsys.readouterr()
