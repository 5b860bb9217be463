# SPDX-License-Identifier: Apache-2.0
"""Dataset indexes: one file describes all files of a dataset, and stands for them as a source."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import DatasetIndex
from fastrec.errors import IndexMismatchError

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


def write(folder: Path, shards: int = 4, count: int = 103, **options: Any) -> Path:
    """Write a dataset with its index, and return the path of the index."""
    name = "train.tfrecord.gz" if options.get("compression") == "GZIP" else "train.tfrecord"
    with fastrec.Writer(folder / name, shards=shards, index="dataset", **options) as writer:
        writer.write_batch({"i": np.arange(count)})
    return folder / "train.frdataset"


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("train-*-of-*"))


def rows(source: Any, **options: Any) -> list[int]:
    batches = fastrec.Batcher(source, FEATURES, 8, **options)
    return [int(number) for batch in batches for number in batch["i"]]


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("shuffle", [False, True, "blocks", 10])
def test_an_index_gives_the_batches_of_its_files(
    tmp_path: Path, shuffle: object, compression: str | None
) -> None:
    index = write(tmp_path, compression=compression)
    assert len(list(tmp_path.iterdir())) == 5
    for shard in None, (1, 3):
        options = {"shuffle": shuffle, "seed": 3, "shard": shard}
        assert rows(index, **options) == rows(files_of(tmp_path), **options)


def test_every_function_takes_an_index_as_a_path(tmp_path: Path) -> None:
    index = write(tmp_path)
    reader = fastrec.Reader(index)
    assert len(reader) == fastrec.count(index) == 103
    assert [*reader] == [*fastrec.Reader(files_of(tmp_path))]
    assert reader[50] == fastrec.Reader(files_of(tmp_path))[50]
    assert reader.paths == [str(path) for path in files_of(tmp_path)]
    assert fastrec.verify(index).records == 103
    again = fastrec.Reader([index, files_of(tmp_path)[0]], shards="any")
    assert len(again) == 103 + len(fastrec.Reader(files_of(tmp_path)[0], shards="any"))
    assert rows(pickle.loads(pickle.dumps(index))) == rows(index)
    assert len(pickle.loads(pickle.dumps(DatasetIndex.open(index)))) == 4


def test_a_pattern_and_a_folder_leave_an_index_out(tmp_path: Path) -> None:
    write(tmp_path)
    assert fastrec.Reader(tmp_path).paths == fastrec.Reader(tmp_path / "train*").paths


def test_an_index_moves_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    index = write(tmp_path / "a")
    expected = rows(index)
    os.rename(tmp_path / "a", tmp_path / "b")
    assert rows(tmp_path / "b" / index.name) == expected


def test_a_state_of_an_index_resumes_exactly(tmp_path: Path) -> None:
    index = write(tmp_path)
    batcher = fastrec.Batcher(index, FEATURES, 8, shuffle=True, seed=1)
    batches = iter(batcher)
    next(batches)
    state = batches.state_dict()
    rest = [batch["i"].tolist() for batch in batches]
    other = fastrec.Batcher(index, FEATURES, 8, shuffle=True, seed=1)
    other.load_state_dict(state)
    assert [batch["i"].tolist() for batch in other] == rest


def test_a_file_of_another_size_names_file_index_and_remedy(tmp_path: Path) -> None:
    index = write(tmp_path)
    path = files_of(tmp_path)[2]
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write(b"another")
    for read in (fastrec.Reader, fastrec.count, fastrec.Batcher):
        with pytest.raises(IndexMismatchError, match=r"fastrec index --dataset") as caught:
            read(index)
        assert path.name in str(caught.value)
        assert index.name in str(caught.value)
    files_of(tmp_path)[1].unlink()
    with pytest.raises(FileNotFoundError, match="00001-of-00004"):
        fastrec.Reader(index)


def refusal(index: Path, expected: list[int]) -> str | None:
    """Return why an index is refused; None if it gives the records it has to give."""
    try:
        assert rows(index) == expected
    except IndexMismatchError as error:
        return str(error)
    return None


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_changed_or_cut_index_never_gives_other_records(
    tmp_path: Path, compression: str | None
) -> None:
    """Every byte of the head, the table and the sections is flipped, and every length is tried."""
    index = write(tmp_path, shards=2, count=5, compression=compression)
    expected, data = rows(index), index.read_bytes()
    refused = 0
    step = 1 if compression is None else 3
    for at in range(0, len(data), step):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]):
            index.write_bytes(damaged)
            text = refusal(index, expected)
            refused += text is not None
            assert index.name in (text or index.name)
    assert refused >= len(data) // step


def test_files_outside_the_folder_of_an_index_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="write the index into the folder of the files"):
        DatasetIndex.build(files_of(tmp_path), tmp_path / "other" / "train.frdataset")
    with pytest.raises(ValueError, match=r"must end in \.frdataset"):
        DatasetIndex.build(files_of(tmp_path), tmp_path / "train.index")


def test_the_command_writes_an_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fastrec.cli import main

    write(tmp_path).unlink()
    target = tmp_path / "all.frdataset"
    words = ["index", "--dataset", str(target), str(tmp_path / "train-*")]
    assert main(words) == 0
    assert "all.frdataset: 4 files, 103 records" in capsys.readouterr().out
    assert main(words) != 0  # the index exists
    assert main([*words, "--overwrite", "--json"]) == 0
    assert '"files": 4' in capsys.readouterr().out
    assert rows(target) == [*rows(files_of(tmp_path))]
