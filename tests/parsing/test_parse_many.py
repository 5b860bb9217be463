# SPDX-License-Identifier: Apache-2.0
"""Records by index, parsed where they lie: the columns of read_many() and parse_example()."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core

SPEC = {
    "id": fastrec.FixedLenFeature((), np.int64),
    "image": fastrec.RawFeature((20, 10), np.uint8),
    "name": fastrec.FixedLenFeature((), bytes),
    "values": fastrec.RaggedFeature(np.float32),
    "some": fastrec.VarLenFeature(np.int64),
}


def example(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "image": np.full((20, 10), number % 251, np.uint8),
        "name": b"n%d" % number,
        "values": np.arange(number % 5, dtype=np.float32),
        "some": list(range(number % 3)),
    }


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    found = []
    for part in range(3):
        path = folder / f"part-{part}.tfrecord"
        with fastrec.Writer(path) as writer:
            for number in range(1000 * part, 1000 * (part + 1)):
                writer.write(example(number))
        found.append(path)
    return found


def assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for name in ours:
        assert np.array_equal(_plain(ours[name]), _plain(theirs[name])), name


def _plain(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, fastrec.Sparse):
        return np.concatenate([column.indices.ravel(), column.values])
    if isinstance(column, fastrec.Ragged):
        return np.concatenate([column.row_splits, column.values])
    return np.array(list(column), object)


@pytest.mark.parametrize("threads", [None, 1, 2, 7, 40])
@pytest.mark.parametrize("count", [0, 1, 64, 65, 129, 9000])
def test_the_columns_are_those_of_reading_and_then_parsing(
    paths: list[Path], count: int, threads: int | None
) -> None:
    reader = fastrec.Reader(paths)
    indices = np.random.default_rng(count).integers(-3000, 3000, count)
    columns = fastrec.parse_many(reader, indices, SPEC, threads=threads)
    assert_same(columns, fastrec.parse_example(reader.read_many(indices), SPEC, threads=1))


def test_indices_of_any_kind_are_taken(paths: list[Path]) -> None:
    reader = fastrec.Reader(paths)
    for indices in ([5, -1, 5], (5, -1, 5), np.array([5, 2999, 5], np.uint16)):
        assert fastrec.parse_many(reader, indices, SPEC)["id"].tolist() == [5, 2999, 5]


@pytest.mark.parametrize("indices", [[3000], [0, -3001], np.array([2**63], np.uint64)])
def test_indices_out_of_range_are_refused(paths: list[Path], indices: Any) -> None:
    with pytest.raises(IndexError, match="out of range"):
        fastrec.parse_many(fastrec.Reader(paths), indices, SPEC)


@pytest.mark.parametrize("indices", [[1.5], [[1]], ["a"]])
def test_indices_of_another_kind_are_refused(paths: list[Path], indices: Any) -> None:
    with pytest.raises(TypeError, match="indices must be"):
        fastrec.parse_many(fastrec.Reader(paths), indices, SPEC)


def test_threads_must_be_positive(paths: list[Path]) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1"):
        fastrec.parse_many(fastrec.Reader(paths), [0], SPEC, threads=0)


@pytest.mark.parametrize("threads", [1, 4])
def test_damage_names_file_record_and_offset(tmp_path: Path, threads: int) -> None:
    whole = tmp_path / "whole.tfrecord"
    broken = tmp_path / "broken.tfrecord"
    for path in (whole, broken):
        with fastrec.Writer(path, index=True) as writer:
            for number in range(2000):
                writer.write({"id": number, "more": b"x" * 1500})
    offset = int(fastrec.Index.load(broken).offsets[1234])
    data = bytearray(broken.read_bytes())
    data[offset + 100] ^= 1
    broken.write_bytes(data)
    reader = fastrec.Reader([whole, broken], index=False)
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.parse_many(reader, np.arange(4000), {"id": SPEC["id"]}, threads=threads)
    error = caught.value
    assert (error.path, error.record, error.offset) == (str(broken), 1234, offset)
    columns = fastrec.parse_many(reader, np.arange(3000), {"id": SPEC["id"]}, threads=threads)
    assert columns["id"].tolist() == [*range(2000), *range(1000)]


def test_a_record_of_another_kind_is_named_as_in_its_file(tmp_path: Path) -> None:
    for part in range(2):
        with fastrec.Writer(tmp_path / f"{part}.tfrecord") as writer:
            for number in range(10):
                writer.write({"other": 1} if part and number == 6 else {"id": number})
    reader = fastrec.Reader(str(tmp_path / "*.tfrecord"))
    with pytest.raises(
        fastrec.ExampleParseError, match=r"record 6 in .*1\.tfrecord.*'id'"
    ) as caught:
        fastrec.parse_many(reader, range(20), {"id": SPEC["id"]})
    assert (caught.value.record, caught.value.path) == (6, str(tmp_path / "1.tfrecord"))


def test_shapes_that_a_record_contradicts_are_named_as_in_its_file(tmp_path: Path) -> None:
    for part in range(2):
        with fastrec.Writer(tmp_path / f"{part}.tfrecord") as writer:
            for number in range(10):
                count = 5 if part and number == 3 else 4
                writer.write({"raw": bytes(count), "n": 4})
    reader = fastrec.Reader(str(tmp_path / "*.tfrecord"))
    with pytest.raises(fastrec.ExampleParseError) as caught:
        fastrec.parse_many(reader, range(20), {"raw": fastrec.RawFeature(("n",), np.uint8)})
    assert (caught.value.record, caught.value.path) == (3, str(tmp_path / "1.tfrecord"))


def test_a_file_that_shrank_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(5000)})
    reader = fastrec.Reader(path)
    assert len(reader) == 5000
    with open(path, "r+b") as file:
        file.truncate(4096)
    with pytest.raises(fastrec.TruncatedFileError, match=r"shrinks\.tfrecord"):
        fastrec.parse_many(reader, range(5000), {"id": SPEC["id"]})


def test_compressed_files_and_objects_have_the_same_columns(
    paths: list[Path], tmp_path: Path
) -> None:
    indices = np.random.default_rng(5).integers(-3000, 3000, 200)
    expected = fastrec.parse_many(fastrec.Reader(paths), indices, SPEC)
    zipped = []
    for path in paths:
        zipped.append(tmp_path / f"{path.name}.gz")
        zipped[-1].write_bytes(gzip.compress(path.read_bytes(), 1))
    assert_same(fastrec.parse_many(fastrec.Reader(zipped), indices, SPEC), expected)
    pytest.importorskip("fsspec")
    urls = [f"file://{path}" for path in paths]
    assert_same(fastrec.parse_many(fastrec.Reader(urls), indices, SPEC), expected)


def test_a_record_of_another_kind_in_a_compressed_file_is_named_as_in_it(tmp_path: Path) -> None:
    path = tmp_path / "odd.tfrecord.gz"
    with fastrec.Writer(path) as writer:
        for number in range(10):
            writer.write({"other": 1} if number == 6 else {"id": number})
    with pytest.raises(fastrec.ExampleParseError, match=r"record 6 in .*odd.*: ") as caught:
        fastrec.parse_many(fastrec.Reader(path), [1, 6], {"id": SPEC["id"]})
    assert (caught.value.record, caught.value.path) == (6, str(path))


def test_the_core_checks_numbers_itself(paths: list[Path]) -> None:
    from fastrec.features.spec import plan_example

    dataset = _core.Dataset([str(path) for path in paths])
    with pytest.raises(IndexError):
        _core.Schema(plan_example(SPEC)).gather(dataset, np.array([3000], np.uint64))
