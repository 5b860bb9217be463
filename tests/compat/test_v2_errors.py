# SPDX-License-Identifier: Apache-2.0
"""Errors of ``fastrec.compat.v2`` come after the same elements on the fast and the slow path."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v2 as tf

ROWS = 40
BAD = 25


@pytest.fixture(params=[True, False], ids=["fast", "slow"])
def fast(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = tf.data.set_lowering(request.param)
    yield request.param
    tf.data.set_lowering(before)


def parse(record: Any) -> Any:
    found = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([], tf.int64)})
    return found["x"]


def parse_batch(records: Any) -> Any:
    return tf.io.parse_example(records, {"x": tf.io.FixedLenFeature([], tf.int64)})["x"]


PIPELINES: dict[str, Callable[[Any], Any]] = {
    "records": lambda ds: ds.map(parse),
    "records, ahead": lambda ds: ds.map(parse, num_parallel_calls=4).prefetch(4),
    "batches": lambda ds: ds.map(parse).batch(10),
    "parsed batches": lambda ds: ds.batch(10).map(parse_batch),
    "parsed batches, ahead": lambda ds: ds.batch(10).map(parse_batch, 2).prefetch(2),
    "filtered": lambda ds: ds.map(parse).filter(lambda x: x >= 0).batch(10),
}


def until_error(dataset: Any) -> tuple[list[int], Any]:
    found: list[int] = []
    try:
        for element in dataset:
            found += np.atleast_1d(element.numpy()).tolist()
    except tf.errors.OpError as error:
        return found, error
    return found, None


def write(path: Path, records: list[bytes]) -> str:
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    return str(path)


def examples() -> list[bytes]:
    return [fastrec.encode_example({"x": i}) for i in range(ROWS)]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (b"\x0a\x05abc", "Could not parse example input, value: '\x0a\x05abc'"),
        (fastrec.encode_example({"x": 1.5}), "Data types don't match"),
        (fastrec.encode_example({"x": [1, 2]}), "Key: x"),
        (b"", "Feature: x (data type: int64) is required but could not be found."),
    ],
)
def test_a_record_that_does_not_parse_is_told_in_its_place(
    tmp_path: Path, name: str, bad: bytes, text: str
) -> None:
    records = examples()
    records[BAD] = bad
    path = write(tmp_path / "bad.tfrecord", records)
    found, error = until_error(PIPELINES[name](tf.data.TFRecordDataset(path)))
    whole = BAD // 10 * 10 if "batch" in name or name == "filtered" else BAD
    assert found == list(range(whole))
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert isinstance(error, fastrec.ExampleParseError)
    assert text in error.message


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", PIPELINES)
def test_damage_is_told_in_its_place(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "damaged.tfrecord", examples())
    data = bytearray(Path(path).read_bytes())
    at = sum(16 + len(record) for record in examples()[:BAD])
    data[at + 12] ^= 1
    Path(path).write_bytes(data)
    found, error = until_error(PIPELINES[name](tf.data.TFRecordDataset(path)))
    whole = BAD // 10 * 10 if "batch" in name or name == "filtered" else BAD
    assert found == list(range(whole))
    assert isinstance(error, tf.errors.DataLossError)
    assert error.message == f"corrupted record at {at + 12}"


@pytest.mark.usefixtures("fast")
def test_a_file_that_ends_early_is_data_loss(tmp_path: Path) -> None:
    path = write(tmp_path / "torn.tfrecord", examples())
    os.truncate(path, os.path.getsize(path) - 3)
    found, error = until_error(tf.data.TFRecordDataset(path).map(parse))
    assert found == list(range(ROWS - 1))
    assert isinstance(error, tf.errors.DataLossError)
    assert isinstance(error, fastrec.TruncatedFileError)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", PIPELINES)
def test_a_file_that_is_not_there_is_told_after_those_that_are(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "there.tfrecord", examples())
    dataset = tf.data.TFRecordDataset([path, str(tmp_path / "none*")])
    found, error = until_error(PIPELINES[name](dataset))
    assert found == list(range(ROWS))
    assert isinstance(error, tf.errors.NotFoundError)
    assert isinstance(error, FileNotFoundError)
    assert error.message.endswith("none*; No such file or directory")


@pytest.mark.usefixtures("fast")
def test_a_compressed_file_needs_its_compression_named(tmp_path: Path) -> None:
    plain = Path(write(tmp_path / "plain.tfrecord", examples()))
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    dataset = (
        tf.data.TFRecordDataset([str(path)], compression_type="GZIP").batch(7).map(parse_batch)
    )
    assert until_error(dataset)[0] == list(range(ROWS))
    _, error = until_error(tf.data.TFRecordDataset(str(path)).batch(7).map(parse_batch))
    assert isinstance(error, tf.errors.DataLossError)
    with pytest.raises(ValueError, match="Not a valid compression_type"):
        tf.data.TFRecordDataset(str(path), compression_type="gzip")


@pytest.mark.usefixtures("fast")
def test_errors_are_ignored_when_asked(tmp_path: Path) -> None:
    records = examples()
    records[BAD] = b""
    path = write(tmp_path / "bad.tfrecord", records)
    dataset = tf.data.TFRecordDataset(path).map(parse).ignore_errors().batch(100)
    (found,) = dataset.as_numpy_iterator()
    assert found.tolist() == [i for i in range(ROWS) if i != BAD]
    with pytest.warns(UserWarning, match="required"):
        list(tf.data.TFRecordDataset(path).map(parse).ignore_errors(log_warning=True))
    missing = tf.data.TFRecordDataset(str(tmp_path / "none")).ignore_errors()
    with pytest.raises(tf.errors.NotFoundError):
        list(missing)


@pytest.mark.usefixtures("fast")
def test_after_damage_the_next_file_is_read_when_errors_are_ignored(tmp_path: Path) -> None:
    first = write(tmp_path / "a.tfrecord", examples())
    second = write(tmp_path / "b.tfrecord", examples()[:5])
    os.truncate(first, os.path.getsize(first) - 1)
    dataset = tf.data.TFRecordDataset([first, second]).ignore_errors().map(parse)
    assert until_error(dataset) == ([*range(ROWS - 1), *range(5)], None)


def test_the_end_is_out_of_range_for_get_next() -> None:
    iterator = iter(tf.data.Dataset.range(1))
    assert int(iterator.get_next()) == 0
    with pytest.raises(tf.errors.OutOfRangeError, match=r"^End of sequence$"):
        iterator.get_next()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda ds: ds.batch(0), "Batch size must be greater than zero."),
        (lambda ds: ds.shard(0, 0), "Number of shards must be greater than zero"),
        (lambda ds: ds.interleave(lambda x: ds, cycle_length=0), "`cycle_length` must be > 0"),
        (
            lambda ds: ds.padded_batch(2, padded_shapes=[1]).map(len),
            "not compatible with the shape",
        ),
    ],
)
def test_arguments_that_cannot_be_are_refused(make: Any, text: str) -> None:
    dataset = tf.data.Dataset.range(3)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError), match=text):
        list(make(dataset))


def test_a_generator_that_yields_something_else_is_refused() -> None:
    spec = tf.TensorSpec([2], tf.int32)
    dataset = tf.data.Dataset.from_generator(lambda: iter([[1, 2, 3]]), output_signature=spec)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"shape \(3,\) where an element of shape \(2,\)"
    ):
        list(dataset)


def test_an_unknown_name_says_what_is_covered() -> None:
    with pytest.raises(AttributeError, match=r"docs/compat-v2\.md"):
        tf.keras.layers  # type: ignore[attr-defined]  # noqa: B018
