# SPDX-License-Identifier: Apache-2.0
"""``fastrec.compat.tfrecord``: the functions of the ``tfrecord`` package."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.tfrecord as tfrecord
from fastrec.train import Example, Feature, Features, Int64List

Row = dict[str, Any]


def write(path: Path, count: int) -> str:
    writer = tfrecord.TFRecordWriter(str(path))
    for i in range(count):
        writer.write({"id": (i, "int"), "x": ([i, 0.5], "float"), "name": (b"%d" % i, "byte")})
    writer.close()
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "ten.tfrecord", 10)


@pytest.fixture
def index(path: str) -> str:
    tfrecord.tools.create_index(path, path + ".idx")
    return path + ".idx"


def ids(rows: Any) -> list[int]:
    return [int(row["id"][0]) for row in rows]


def test_values_are_bytes_and_arrays_of_one_dimension(path: str) -> None:
    rows = list(tfrecord.tfrecord_loader(path, None))
    assert len(rows) == 10
    assert rows[3].keys() == {"id", "x", "name"}
    assert rows[3]["name"] == b"3"
    assert (rows[3]["id"].dtype, rows[3]["id"].tolist()) == (np.int64, [3])
    assert (rows[3]["x"].dtype, rows[3]["x"].tolist()) == (np.float32, [3.0, 0.5])


def test_what_a_loader_gives_is_the_callers(path: str) -> None:
    rows = list(tfrecord.tfrecord_loader(path, None))
    rows[0]["x"][:] = -1
    assert rows[1]["x"].tolist() == [1.0, 0.5]


@pytest.mark.parametrize("description", [["id"], {"id": "int"}])
def test_a_description_names_what_is_read(path: str, description: Any) -> None:
    rows = list(tfrecord.example_loader(path, None, description))
    assert rows[2] == {"id": np.array([2])}
    assert ids(rows) == list(range(10))


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_an_empty_description_reads_everything(path: str, nothing: Any) -> None:
    assert next(iter(tfrecord.tfrecord_loader(path, None, nothing))).keys() == {"id", "x", "name"}


def test_another_type_than_described_is_refused_in_the_packages_words(path: str) -> None:
    with pytest.raises(TypeError) as caught:
        list(tfrecord.tfrecord_loader(path, None, {"id": "float"}))
    assert str(caught.value) == "Incompatible type 'float' for `id` (should be 'int')."


def test_a_missing_feature_is_a_key_error_that_lists_what_there_is(path: str) -> None:
    with pytest.raises(KeyError, match="Key y doesn't exist") as caught:
        list(tfrecord.tfrecord_loader(path, None, ["y"]))
    assert "'name'" in str(caught.value)


def records_of(rows: list[Row]) -> list[bytes]:
    return [fastrec.encode_example(row) for row in rows]


def load(tmp_path: Path, records: list[bytes], description: Any = None) -> list[Row]:
    path = tmp_path / "mixed.tfrecord"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_many(records)
    return list(tfrecord.tfrecord_loader(path, None, description))


def test_records_may_have_different_features_and_kinds(tmp_path: Path) -> None:
    rows: list[Row] = [{"a": [1, 2]}, {"a": [0.5], "b": 1}, {"a": b"x"}, {"b": np.zeros(0, int)}]
    found = load(tmp_path, records_of(rows))
    assert [sorted(row) for row in found] == [["a"], ["a", "b"], ["a"], ["b"]]
    assert found[0]["a"].tolist() == [1, 2]
    assert found[1]["a"].dtype == np.float32
    assert found[2]["a"] == b"x"
    assert found[3]["b"].shape == (0,)


def test_a_feature_without_a_kind_is_one_that_is_not_there(tmp_path: Path) -> None:
    record = Example(
        features=Features(feature={"a": Feature(), "b": Feature(int64_list=Int64List(value=[1]))})
    )
    (row,) = load(tmp_path, [record.SerializeToString()])
    assert row.keys() == {"b"}


def test_strings_keep_the_zeros_at_their_ends(tmp_path: Path) -> None:
    (row,) = load(tmp_path, records_of([{"a": [b"a\0\0", b"bcd"]}]))
    assert row["a"].tolist() == [b"a\0\0", b"bcd"]
    (row,) = load(tmp_path, records_of([{"a": [b"ab", b"c"]}]))
    assert row["a"].dtype == "S2"


def test_long_files_go_through_in_blocks(tmp_path: Path) -> None:
    path = write(tmp_path / "long.tfrecord", 1000)
    assert ids(tfrecord.tfrecord_loader(path, None)) == list(range(1000))


def test_views_of_records_stay_what_they_were(path: str) -> None:
    views = list(tfrecord.tfrecord_iterator(path))
    assert all(isinstance(view, memoryview) for view in views)
    assert [bytes(view) for view in views] == list(fastrec.Reader(path))


def test_with_an_index_reading_begins_at_the_first_record(path: str, index: str) -> None:
    assert ids(tfrecord.tfrecord_loader(path, index)) == list(range(10))


@pytest.mark.parametrize("count", [1, 3, 4, 10, 12])
@pytest.mark.parametrize("indexed", [True, False])
def test_shards_are_runs_of_records_that_cover_the_file(
    path: str, index: str, indexed: bool, count: int
) -> None:
    parts = [
        ids(tfrecord.tfrecord_loader(path, index if indexed else None, shard=(i, count)))
        for i in range(count)
    ]
    assert [len(p) for p in parts] == [
        10 * (i + 1) // count - 10 * i // count for i in range(count)
    ]
    assert list(itertools.chain(*parts)) == list(range(10))


def zipped(path: str) -> str:
    Path(path + ".gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    return path + ".gz"


def test_gzip_files_are_read_and_sharded(path: str, index: str) -> None:
    loader = tfrecord.tfrecord_loader
    gz = zipped(path)
    assert ids(loader(gz, None, compression_type="gzip")) == list(range(10))
    assert ids(loader(gz, index, shard=(1, 3), compression_type="gzip")) == [3, 4, 5]
    parts = [ids(loader(gz, None, shard=(i, 3), compression_type="gzip")) for i in range(3)]
    assert sorted(itertools.chain(*parts)) == list(range(10))


def test_the_last_shard_has_what_an_index_of_a_gzip_file_does_not_know_of(
    path: str, index: str
) -> None:
    short = Path(index)
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:4]))
    parts = [
        ids(tfrecord.tfrecord_loader(zipped(path), index, shard=(i, 2), compression_type="gzip"))
        for i in range(2)
    ]
    assert parts == [[0, 1], list(range(2, 10))]


def test_an_index_that_is_not_numbers_is_refused_for_gzip_files(path: str, index: str) -> None:
    Path(index).write_text("0 60\na b\n")
    with pytest.raises(ValueError, match="not lines of two numbers"):
        list(tfrecord.tfrecord_iterator(zipped(path), index, (0, 2), "gzip"))


@pytest.mark.parametrize("shard", [(-1, 2), (2, 2), (0, 0), (0, -1)])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_shard_that_there_is_not_is_refused(
    path: str, shard: tuple[int, int], compression: str | None
) -> None:
    source = path if compression is None else zipped(path)
    with pytest.raises((IndexError, ValueError)):
        list(tfrecord.tfrecord_iterator(source, None, shard, compression))


@pytest.mark.parametrize("size", [0, -1, 1.5, None])
def test_the_size_of_a_queue_is_an_integer_above_0(size: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        list(tfrecord.iterator_utils.shuffle_iterator(iter(range(3)), size))


def test_only_gzip_is_a_compression(path: str) -> None:
    with pytest.raises(ValueError, match="compression_type should be either 'gzip' or None"):
        list(tfrecord.tfrecord_iterator(path, compression_type="zlib"))


def test_a_name_is_no_pattern(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        list(tfrecord.tfrecord_iterator(path.replace("ten", "*")))


@pytest.mark.parametrize(
    ("left", "part"), [(3, "record size"), (9, "start token"), (13, "record"), (-2, "end token")]
)
def test_a_file_that_ends_early_is_the_packages_error(path: str, left: int, part: str) -> None:
    data = Path(path).read_bytes()
    last = len(data) - len(list(fastrec.Reader(path))[-1]) - 16
    Path(path).write_bytes(data[: last + left] if left > 0 else data[:left])
    rows = tfrecord.tfrecord_loader(path, None)
    assert ids(itertools.islice(rows, 9)) == list(range(9))
    with pytest.raises(RuntimeError, match=rf"^Failed to read the {part}\.$") as caught:
        next(rows)
    assert isinstance(caught.value, fastrec.TruncatedFileError)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_flipped_bit_is_found(path: str, index: str, indexed: bool) -> None:
    data = bytearray(Path(path).read_bytes())
    data[-10] ^= 1
    Path(path).write_bytes(data)
    with pytest.raises(RuntimeError, match="corrupted record") as caught:
        list(tfrecord.tfrecord_loader(path, index if indexed else None, shard=(0, 1)))
    assert isinstance(caught.value, fastrec.CorruptRecordError)


def test_sequences_are_a_context_and_lists_of_steps(tmp_path: Path) -> None:
    path = str(tmp_path / "seq.tfrecord")
    with tfrecord.TFRecordWriter(path) as writer:
        writer.write({"id": (7, "int")}, {"tokens": ([[1, 2], [3]], "int"), "w": ([b"a"], "byte")})
    ((context, lists),) = tfrecord.tfrecord_loader(path, None, None, None, [])
    assert context["id"].tolist() == [7]
    assert [step.tolist() for step in lists["tokens"]] == [[1, 2], [3]]
    assert lists["w"] == [b"a"]
    ((context, lists),) = tfrecord.sequence_loader(path, None, {"id": "int"}, ["w"])
    assert lists.keys() == {"w"}
    with pytest.raises(TypeError, match="Incompatible type 'byte' for `tokens`"):
        list(tfrecord.sequence_loader(path, None, None, {"tokens": "byte"}))


def test_several_files_are_drawn_by_weight(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.tfrecord", 20)
    pattern = str(tmp_path / "{}.tfrecord")
    np.random.seed(0)  # noqa: NPY002
    rows = tfrecord.multi_tfrecord_loader(pattern, None, {"a": 1, "b": 3}, infinite=False)
    assert sorted(ids(rows)) == sorted([*range(20)] * 2)
    rows = tfrecord.multi_tfrecord_loader(pattern, None, {"a": 1, "b": 0})
    assert ids(itertools.islice(rows, 45)) == [*range(20), *range(20), *range(5)]


def test_an_unknown_name_says_what_is_covered() -> None:
    with pytest.raises(AttributeError, match="compat-tfrecord"):
        tfrecord.nothing  # noqa: B018
