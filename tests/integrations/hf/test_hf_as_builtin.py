# SPDX-License-Identifier: Apache-2.0
"""fastrec.huggingface.load_dataset takes and returns what datasets.load_dataset("parquet") does."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from fastrec.huggingface import TFRecord, load_dataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
SIZES = {"train": (40, 1, 62), "test": (7, 5)}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep ``datasets`` from telling the Hub that a builder of its own was used."""
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record files of two splits, and the same rows in Parquet files."""
    folder = tmp_path_factory.mktemp("sets")
    described = {
        "id": fastrec.FixedLenFeature((), np.int64),
        "x": fastrec.FixedLenFeature((3,), np.float32),
        "tokens": fastrec.RaggedFeature(np.int64),
        "name": fastrec.FixedLenFeature((), bytes),
    }
    number = 0
    for split, sizes in SIZES.items():
        for part, size in enumerate(sizes):
            path = folder / f"{split}-{part}.tfrecord"
            with fastrec.Writer(path) as writer:
                for _ in range(size):
                    row = {"id": number, "x": [number / 2] * 3, "tokens": [*range(number % 4 + 1)]}
                    writer.write({**row, "name": f"n{number}"})
                    number += 1
            fastrec.convert(path, path.with_suffix(".parquet"), features=described)
    return folder


def both(folder: Path, tmp_path: Path, **options: Any) -> tuple[Any, Any]:
    """Load the record files and the Parquet files in the same way."""
    files = {split: str(folder / f"{split}-*") for split in SIZES}
    options.setdefault("cache_dir", str(tmp_path))
    parquet = {split: f"{pattern}.parquet" for split, pattern in files.items()}
    text: Any = ["name"] if "name" in options.get("columns", ["name"]) else False
    return (
        load_dataset(
            {split: f"{each}.tfrecord" for split, each in files.items()}, text=text, **options
        ),
        datasets.load_dataset("parquet", data_files=parquet, **options),
    )


def sorted_row(row: Any) -> Any:
    return {name: row[name] for name in sorted(row)}


def check(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    assert sorted(found.column_names) == sorted(wanted.column_names)
    rows = [sorted_row(row) for row in found]
    assert rows
    assert rows == [sorted_row(row) for row in wanted]


@pytest.mark.parametrize("streaming", [False, True])
def test_splits_have_the_same_rows(folder: Path, tmp_path: Path, streaming: bool) -> None:
    found, wanted = both(folder, tmp_path, split=None, streaming=streaming)
    assert type(found) is type(wanted)
    assert list(found) == list(wanted) == ["train", "test"]
    for split in found:
        check(found[split], wanted[split])


@pytest.mark.parametrize("split", ["test", "train[10:20]", "train[:50%]", "train+test"])
def test_parts_of_splits(folder: Path, tmp_path: Path, split: str) -> None:
    check(*both(folder, tmp_path, split=split))


@pytest.mark.parametrize("streaming", [False, True])
def test_columns_are_chosen(folder: Path, tmp_path: Path, streaming: bool) -> None:
    options: dict[str, Any] = {"split": "train", "streaming": streaming}
    found, wanted = both(folder, tmp_path, columns=["tokens", "id"], **options)
    check(found, wanted)
    assert next(iter(found)).keys() == {"tokens", "id"}
    features = datasets.Features({"id": datasets.Value("int16"), "name": datasets.Value("string")})
    found, wanted = both(folder, tmp_path, columns=["id"], features=features, **options)
    check(found, wanted)
    assert found.features == wanted.features == {"id": datasets.Value("int16")}


def test_columns_of_sequence_examples_and_of_a_description(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write(fastrec.encode_sequence_example({"id": 1, "n": 2}, {"x": [[1], [2, 3]]}))
    for columns, row in ((["x", "id"], {"x": [[1], [2, 3]], "id": 1}), (["n"], {"n": 2})):
        assert list(load_dataset(path, streaming=True, columns=columns)) == [row]
    one = fastrec.FixedLenFeature((), np.int64)
    description = fastrec.SequenceFeatures({"id": one, "n": one})
    assert list(load_dataset(path, description, streaming=True, columns=["n"])) == [{"n": 2}]


def test_a_chosen_column_may_be_beside_one_that_appears_late(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        for number in range(1200):
            writer.write({"id": number, **({"late": 1} if number == 1100 else {})})
    rows = [*load_dataset(path, streaming=True, columns=["id"])]
    assert rows == [{"id": number} for number in range(1200)]


def test_processes_convert_the_files(folder: Path, tmp_path: Path) -> None:
    check(*both(folder, tmp_path, split="train", num_proc=2))


def test_the_cache_is_used_again_until_a_file_changes(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.tfrecord", str(tmp_path / "cache")

    def load(**options: Any) -> Any:
        description = {"id": fastrec.FixedLenFeature((), np.int64)}
        loaded = load_dataset(str(path), description, cache_dir=cache, **options)
        [file] = loaded.cache_files or [{"filename": None}]
        return loaded["id"][:], file["filename"]

    with fastrec.Writer(path) as writer:
        writer.write({"id": 1})
    rows, file = load()
    assert rows == [1]
    written = Path(file).stat().st_mtime_ns
    assert load() == ([1], file)
    assert Path(file).stat().st_mtime_ns == written
    assert load(download_mode="force_redownload") == ([1], file)
    assert Path(file).stat().st_mtime_ns > written
    assert load(keep_in_memory=True) == ([1], None)
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"id": np.arange(2, 4)})
    rows, other = load()
    assert rows == [2, 3]
    assert other != file


def test_a_stream_shuffles_and_selects_like_that_of_parquet(folder: Path, tmp_path: Path) -> None:
    found, wanted = both(folder, tmp_path, split="train", streaming=True)
    assert found.num_shards == wanted.num_shards == 3
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda each: each.select_columns(["id", "x"]),
        lambda each: each.filter(lambda row: row["id"] % 3 == 0).take(9),
        lambda each: each.shard(3, 2),
        lambda each: pickle.loads(pickle.dumps(each)),
    )
    for change in changes:
        check(change(found), change(wanted))
    shuffled = found.shuffle(seed=1, buffer_size=50)
    assert sorted(row["id"] for row in shuffled) == [row["id"] for row in wanted]
    assert [row["id"] for row in shuffled] != [row["id"] for row in wanted]


def test_options_have_the_names_of_datasets() -> None:
    functions = (load_dataset, datasets.load_dataset)
    found, wanted = (set(inspect.signature(each).parameters) for each in functions)
    own = {"description", "shards", "options"}
    assert found - wanted == own


def test_mistakes_in_options(folder: Path, tmp_path: Path) -> None:
    path = str(folder / "test-0.tfrecord")
    with pytest.raises(ValueError, match=r"columns: 'no' is not a column, choose from \['id', "):
        load_dataset(path, columns=["no"], streaming=True)
    with pytest.raises(TypeError, match="columns must be a list of names, got 'id'"):
        load_dataset(path, columns="id")
    for name, value in (("num_proc", 2), ("keep_in_memory", True)):
        options: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=f"{name} and streaming=True are mutually exclusive"):
            load_dataset(path, streaming=True, **options)
    with pytest.raises(ValueError, match="data_files is missing"):
        TFRecord(cache_dir=str(tmp_path)).as_streaming_dataset("train")
