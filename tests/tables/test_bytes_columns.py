# SPDX-License-Identifier: Apache-2.0
"""Parquet files that other tools open: text as text, images as images, arrays as plain lists."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import cli

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
TOOLS: dict[str, Callable[[str], list[Any]]] = {}


def tool(function: Callable[[str], list[Any]]) -> Callable[[str], list[Any]]:
    TOOLS[function.__name__] = function
    return function


@tool
def pyarrow(path: str) -> list[Any]:
    rows: list[Any] = pq.read_table(path).to_pylist()
    return rows


@tool
def pandas(path: str) -> list[Any]:
    rows: list[Any] = pytest.importorskip("pandas").read_parquet(path).to_dict("records")
    return rows


@tool
def polars(path: str) -> list[Any]:
    rows: list[Any] = pytest.importorskip("polars").read_parquet(path).to_dicts()
    return rows


@tool
def duckdb(path: str) -> list[Any]:
    table = pytest.importorskip("duckdb").sql(f"select * from '{path}'").to_arrow_table()
    rows: list[Any] = table.to_pylist()
    return rows


@tool
def lance(path: str) -> list[Any]:
    library = pytest.importorskip("lance")
    data = library.write_dataset(pq.read_table(path), f"{path}.lance")
    rows: list[Any] = data.to_table().to_pylist()
    return rows


@tool
def datasets(path: str) -> list[Any]:
    library = pytest.importorskip("datasets")
    data = library.load_dataset("parquet", data_files=path, cache_dir=f"{path}.cache")["train"]
    assert type(data.features["image"]).__name__ == "Image"
    return list(data.cast_column("image", library.Image(decode=False)))


@tool
def spark(path: str) -> list[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    rows = session.getOrCreate().read.parquet(path).collect()
    return [row.asDict(recursive=True) for row in rows]


def write(path: Path, change: Callable[[int, dict[str, Any]], Any] = lambda i, row: row) -> str:
    with fastrec.Writer(path) as writer:
        for i in range(100):
            row = {
                "image": PNG + bytes([i]),
                "matrix": np.arange(6, dtype=np.float32).reshape(2, 3) + i,
                "title": f"Grüße {i}",
                "words": [f"w{j}" for j in range(i % 3)],
                "pixels": bytes([i % 32] * 4),
                "number": i,
            }
            change(i, row)
            writer.write(row)
    return str(path)


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.filterwarnings("ignore")
def test_other_tools_read_the_same_values(tmp_path: Path, name: str) -> None:
    source, target = write(tmp_path / "a.tfrecord"), str(tmp_path / "a.parquet")
    done = fastrec.convert(source, target)
    assert (done.text, done.images) == (["title", "words"], ["image"])
    rows = TOOLS[name](target)
    assert len(rows) == 100
    for i, row in enumerate(rows):
        assert bytes(row["image"]["bytes"]) == PNG + bytes([i])
        assert row["image"]["path"] is None
        assert list(row["matrix"]) == list(range(i, i + 6))
        assert row["title"] == f"Grüße {i}"
        words = [f"w{j}" for j in range(i % 3)]
        assert row["words"] is None if not words else list(row["words"]) == words  # [] has no kind
        assert bytes(row["pixels"]) == bytes([i % 32] * 4)
        assert row["number"] == i


@pytest.mark.parametrize(
    "options",
    [{}, {"tensors": True}, {"text": False, "images": False}, {"images": ["image", "pixels"]}],
    ids=str,
)
def test_the_records_come_back_from_every_choice(tmp_path: Path, options: Any) -> None:
    source, target = write(tmp_path / "a.tfrecord"), tmp_path / "a.parquet"
    fastrec.convert(source, target, **options)
    fastrec.convert(target, tmp_path / "b.tfrecord")
    originals = [fastrec.train.Example.FromString(each) for each in fastrec.Reader(source)]
    copies = map(fastrec.train.Example.FromString, fastrec.Reader(tmp_path / "b.tfrecord"))
    for copy, original in zip(copies, originals, strict=True):
        if not original.features.feature["words"].bytes_list.value:
            original.features.feature["words"].Clear()
            copy.features.feature["words"].Clear()
        assert copy == original


@pytest.mark.parametrize(
    ("value", "is_text"),
    [
        (b"plain", True),
        ("schön\t\r\n\f".encode(), True),
        (b"\xff", False),
        ("schön".encode("latin-1"), False),
        (b"\0", False),
        (b"a\x1bb", False),
        (b"\x7f", False),
        (b"\xed\xa0\x80", False),
        (b"", True),
    ],
)
def test_one_value_in_the_last_row_decides_what_is_text(
    tmp_path: Path, value: bytes, is_text: bool
) -> None:
    def change(i: int, row: dict[str, Any]) -> None:
        if i == 99:
            row |= {"title": value, "words": ["x", value]}

    target = tmp_path / "a.parquet"
    done = fastrec.convert(write(tmp_path / "a.tfrecord", change), target)
    assert done.text == (["title", "words"] if is_text else [])
    last = pq.read_table(target).to_pylist()[-1]
    assert last["title"] == (value.decode() if is_text else value)


def test_a_column_of_empty_values_stays_bytes(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord", lambda i, row: row.update(title=b"", words=[b""]))
    assert fastrec.convert(source, tmp_path / "a.parquet").text == []


def test_described_features_are_examined_too(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord")
    features = {
        "title": fastrec.FixedLenFeature((), bytes),
        "image": fastrec.FixedLenFeature((), bytes),
        "number": fastrec.FixedLenFeature((), np.int64),
    }
    done = fastrec.convert(source, tmp_path / "a.parquet", features=features)
    assert (done.text, done.images) == (["title"], ["image"])


def test_feature_lists_of_text_become_text(tmp_path: Path) -> None:
    source = tmp_path / "a.tfrecord"
    with fastrec.Writer(source) as writer:
        frames = {"tokens": [["a", "b"], ["c"]], "codes": [[b"\0"]]}
        writer.write(fastrec.encode_sequence_example({"title": "one"}, frames))
    target = tmp_path / "a.parquet"
    assert sorted(fastrec.convert(source, target).text) == ["title", "tokens"]
    row = pq.read_table(target).to_pylist()[0]
    assert (row["title"], row["tokens"]) == ("one", [["a", "b"], ["c"]])
    fastrec.convert(target, tmp_path / "b.tfrecord")
    assert list(fastrec.Reader(tmp_path / "b.tfrecord")) == list(fastrec.Reader(source))


def test_damaged_records_are_reported_once(tmp_path: Path) -> None:
    source = Path(write(tmp_path / "a.tfrecord"))
    data = bytearray(source.read_bytes())
    data[40] ^= 1
    source.write_bytes(data)
    errors: list[Any] = []
    features = {"title": fastrec.FixedLenFeature((), bytes)}
    done = fastrec.convert(
        source, tmp_path / "a.parquet", features=features, on_error=errors.append
    )
    assert (done.records, len(errors)) == (99, 1)


def test_images_that_are_only_paths_are_refused(tmp_path: Path) -> None:
    image = pa.array([{"bytes": PNG, "path": None}, {"bytes": None, "path": "cat.png"}])
    pq.write_table(pa.table({"image": image}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="column 'image' has paths of images; embed the images"):
        fastrec.convert(tmp_path / "a.parquet", tmp_path / "b.tfrecord")
    assert not (tmp_path / "b.tfrecord").exists()


def test_images_of_datasets_become_bytes(tmp_path: Path) -> None:
    image = pa.array([{"bytes": PNG, "path": "cat.png"}, None, {"bytes": None, "path": None}])
    pq.write_table(pa.table({"image": image}), tmp_path / "a.parquet")
    fastrec.convert(tmp_path / "a.parquet", tmp_path / "b.tfrecord")
    records = [
        fastrec.train.Example.FromString(each) for each in fastrec.Reader(tmp_path / "b.tfrecord")
    ]
    assert [list(each.features.feature["image"].bytes_list.value) for each in records] == [
        [PNG], [], []
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("a.arrow", {"images": ["image"]}, "images require Parquet"),
        ("a.csv", {"tensors": True}, "tensors require Parquet or Arrow"),
        ("a.parquet", {"images": ["imgae"]}, "images: 'imgae' is not a column"),
        ("a.parquet", {"text": ["titel"]}, "text: 'titel' is not a column"),
        ("a.parquet", {"text": ["image"], "images": False}, "feature 'image'.*UTF-8|not UTF-8"),
    ],
)
def test_choices_that_cannot_be_are_refused(
    tmp_path: Path, target: str, options: dict[str, Any], message: str
) -> None:
    source = write(tmp_path / "a.tfrecord")
    with pytest.raises(ValueError, match=message):
        fastrec.convert(source, tmp_path / target, **options)
    assert not (tmp_path / target).exists()


def test_the_command_says_which_columns_are_text_and_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tfrecord")
    assert cli.main(["convert", "a.tfrecord", "-o", "a.parquet"]) == 0
    expected = "wrote    a.parquet: 100 records\ntext     title, words\nimages   image\n"
    assert capsys.readouterr().out == expected
    assert cli.main(["convert", "a.tfrecord", "-o", "b.parquet", "--keep-bytes"]) == 0
    assert capsys.readouterr().out == "wrote    b.parquet: 100 records\n"
    assert pq.read_schema("b.parquet").field("title").type == pa.large_binary()
