# SPDX-License-Identifier: Apache-2.0
"""fastrec.huggingface: a builder of datasets, streaming with state, generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jpegs
import numpy as np
import pytest

import fastrec

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from fastrec.huggingface import load_dataset  # noqa: E402

COUNT = 103
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def check(rows: Any) -> None:
    found = sorted(rows, key=lambda row: row["id"])
    assert [row["id"] for row in found] == list(range(COUNT))
    for row in found:
        number = row["id"]
        assert row["x"] == [number] * 5
        assert row["name"] == b"n%d" % number
        assert len(row["tokens"]) == number % 4


def test_files_become_a_data_set(files: str, features: dict[str, Any], tmp_path: Path) -> None:
    loaded = load_dataset(files, features, cache_dir=str(tmp_path))
    assert isinstance(loaded, datasets.Dataset)
    assert len(loaded) == COUNT
    assert loaded.features["x"] == datasets.List(datasets.Value("float32"), length=5)
    check(loaded)
    assert loaded.with_format("numpy")[3]["x"].tolist() == [3] * 5


def test_features_are_found_out(files: str, tmp_path: Path) -> None:
    loaded = load_dataset({"train": files, "test": files}, split=None, cache_dir=str(tmp_path))
    assert set(loaded) == {"train", "test"}
    check(loaded["test"])


def test_chosen_columns_and_types(files: str, tmp_path: Path) -> None:
    description = {"id": fastrec.FixedLenFeature((), np.int64)}
    wanted = datasets.Features({"id": datasets.Value("int32")})
    loaded = load_dataset(files, description, cache_dir=str(tmp_path), features=wanted)
    assert loaded.features == wanted
    assert loaded["id"][:] == list(range(COUNT))


@pytest.mark.parametrize("taken", [1, 40, 60, COUNT])
def test_streaming_goes_on_from_a_state(files: str, taken: int) -> None:
    stream = load_dataset(files, streaming=True, batch_size=10)
    assert stream.num_shards == 3
    check(stream)
    rows = iter(stream)
    first = [next(rows)["id"] for _ in range(taken)]
    state = stream.state_dict()
    again = load_dataset(files, streaming=True, batch_size=10)
    again.load_state_dict(state)
    assert first + [row["id"] for row in again] == list(range(COUNT))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shards_take_every_record_once(files: str, count: int) -> None:
    parts = [load_dataset(files, streaming=True).shard(count, i) for i in range(count)]
    check([row for part in parts for row in part])


def test_a_generator_of_a_checkout_imports_fastrec_itself(tmp_path: Path) -> None:
    def rows() -> Any:
        import fastrec

        yield {"size": len(fastrec.Bytes.from_list([b"a", b"b"]))}

    made = datasets.Dataset.from_generator(rows, cache_dir=str(tmp_path))
    assert made["size"][:] == [2]


def test_a_data_set_of_a_generator(files: str, tmp_path: Path) -> None:
    reader = fastrec.Reader(files)

    def records() -> Any:
        for record in reader:
            yield {"bytes": len(record)}

    made = datasets.Dataset.from_generator(records, cache_dir=str(tmp_path))
    assert made["bytes"][:] == [len(record) for record in reader]


def test_damage_is_an_error(files: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(5)})
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    description = {"id": fastrec.FixedLenFeature((), np.int64)}
    with pytest.raises(fastrec.CorruptRecordError, match=r"x\.tfrecord"):
        list(load_dataset(str(path), description, streaming=True))
    with pytest.raises(FileNotFoundError):
        load_dataset(str(tmp_path / "missing.tfrecord"))


def test_a_stream_infers_from_the_first_records(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        for number in range(3000):
            writer.write({"id": number, **({"late": 1} if number == 2500 else {})})
    stream = load_dataset(path, streaming=True)
    assert next(iter(stream)) == {"id": 0}
    with pytest.raises(fastrec.ExampleParseError, match=r"record 2500 in .*: feature 'late'"):
        list(stream)
    loaded = load_dataset(path, cache_dir=str(tmp_path))
    assert loaded["late"][2500] == 1


def test_feature_lists_are_columns_of_lists(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write(fastrec.encode_sequence_example({"id": 1}, {"x": [[1], [2, 3]]}))
    for loaded in (
        load_dataset(path, cache_dir=str(tmp_path)),
        load_dataset(path, streaming=True),
    ):
        assert list(loaded) == [{"id": 1, "x": [[1], [2, 3]]}]


def test_images_are_decoded_by_features(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    path = str(tmp_path / "a.tfrecord")
    image = jpegs.encode(np.full((4, 6, 3), 9, np.uint8), "PNG")
    with fastrec.Writer(path) as writer:
        for count in (1, 2, 3):
            writer.write({"image": image, "images": [image] * count})
    nested = datasets.Sequence(datasets.Image())
    wanted = datasets.Features({"image": datasets.Image(), "images": nested})
    for streaming in (False, True):
        loaded = load_dataset(path, streaming=streaming, features=wanted, cache_dir=str(tmp_path))
        for count, row in enumerate(loaded, 1):
            assert [each.size for each in (row["image"], *row["images"])] == [(6, 4)] * (count + 1)
        assert count == 3


@pytest.mark.parametrize("text", [True, ["word"]])
def test_bytes_become_text_on_request(tmp_path: Path, text: bool | list[str]) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write({"word": "one"})
    [row] = load_dataset(path, streaming=True, text=text)
    assert row == {"word": "one"}
    with pytest.raises(ValueError, match="text: 'other' is not a column"):
        load_dataset(path, streaming=True, text=["other"])


def test_sets_of_shards_are_checked_and_indexes_left_out(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "t.tfrecord", shards=3, index=True) as writer:
        for number in range(9):
            writer.write({"i": number})
    options: dict[str, Any] = {"streaming": True, "cache_dir": str(tmp_path / "cache")}
    assert len(list(load_dataset(f"{tmp_path}/t-*", **options))) == 9
    (tmp_path / "t-00001-of-00003.tfrecord").unlink()
    with pytest.raises(fastrec.MissingRecordsError, match=r"00001-of-00003\.tfrecord' is missing"):
        load_dataset(f"{tmp_path}/t-*", **options)
    assert len(list(load_dataset(f"{tmp_path}/t-*", shards="any", **options))) == 6
    assert len(list(load_dataset(f"{tmp_path}/t-00002-of-00003.tfrecord", **options))) == 3
