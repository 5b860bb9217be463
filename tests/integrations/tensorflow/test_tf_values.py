# SPDX-License-Identifier: Apache-2.0
"""Values, structure and static shapes against TensorFlow's own pipeline.

The records are those of the benchmarks, and like those that other systems write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_values import plain

import fastrec
from fastrec.bench import cases
from fastrec.tensorflow import batches, dataset, read_examples

pytestmark = pytest.mark.filterwarnings("ignore")
BATCH, RECORDS = 16, 70
DTYPES: dict[str, Any] = {"int64": np.int64, "float": np.float32, "bytes": bytes}


def native(column: Any) -> Any:
    """Return a column of the benchmarks as a column of fastrec."""
    if isinstance(column, cases.Ragged):
        return fastrec.Ragged(native(column.values), column.splits)
    if isinstance(column, cases.Strings):
        return fastrec.Bytes(column.data, column.offsets)
    return column.reshape(len(column), -1) if column.dtype == np.uint8 else column


def feature(field: cases.Field, module: Any) -> Any:
    """Return the feature of a field, in terms of fastrec or of ``tf.io``."""
    if field.kind == "raw" and module is fastrec:
        return fastrec.RawFeature(field.shape, np.uint8)
    dtype: Any = DTYPES["bytes" if field.kind == "raw" else field.kind]
    if module is tf.io:
        dtype = tf.string if dtype is bytes else dtype
    if field.shape is None:
        splits = {"row_splits_dtype": tf.int64} if module is tf.io else {}
        return module.RaggedFeature(dtype, **splits)
    return module.FixedLenFeature(() if field.kind == "raw" else field.shape, dtype)


def assert_same(ours: tf.data.Dataset, theirs: tf.data.Dataset) -> None:
    """Compare element specs, and types, values and static shapes of all elements."""
    assert ours.element_spec == theirs.element_spec
    count = 0
    for one, other in zip(ours, theirs, strict=True):
        assert plain(one) == plain(other)
        for left, right in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
            assert (type(left), left.dtype) == (type(right), right.dtype)
            assert left.shape.as_list() == right.shape.as_list()
        count += 1
    assert count > 1


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("name", ["cifar", "tabular", "ragged", "tokens", "embed"])
def test_records_of_the_benchmarks_have_tensorflows_values_and_shapes(
    tmp_path: Path, name: str, drop: bool
) -> None:
    case = replace(cases.CASES[name], records=RECORDS)
    path = str(tmp_path / name)
    with fastrec.Writer(path) as writer:
        writer.write_batch({k: native(each) for k, each in cases.columns_of(case, 3).items()})
    ours = {field.name: feature(field, fastrec) for field in case.fields}
    theirs = {field.name: feature(field, tf.io) for field in case.fields}
    raw = [field for field in case.fields if field.kind == "raw"]

    def parse(records: Any) -> Any:
        parsed = tf.io.parse_example(records, theirs)
        for field in raw:
            pixels = tf.io.decode_raw(parsed[field.name], tf.uint8)
            parsed[field.name] = tf.reshape(pixels, [BATCH if drop else -1, *(field.shape or ())])
        return parsed

    batcher = fastrec.Batcher(path, ours, BATCH, drop_remainder=drop)
    expected = tf.data.TFRecordDataset(path).batch(BATCH, drop_remainder=drop).map(parse)
    assert_same(dataset(batcher), expected)
    assert int(dataset(batcher).cardinality()) == (RECORDS // BATCH if drop else 5)
    eager = list(batches(batcher))
    assert [plain(each) for each in eager] == [plain(each) for each in expected]
    if not raw:
        assert_same(read_examples(path, theirs, BATCH, drop_remainder=drop), expected)
        assert_same(
            read_examples(path, theirs),
            tf.data.TFRecordDataset(path).map(
                lambda record: tf.io.parse_single_example(record, theirs)
            ),
        )


# --- records that TensorFlow writes ---------------------------------------------------------------


def write(path: Path, messages: Iterator[Any], compression: str = "") -> None:
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for message in messages:
            writer.write(message.SerializeToString())


def example(**columns: Any) -> Any:
    """Return an Example; a value of None is a feature of no kind, as some systems write it."""
    message = tf.train.Example()
    for name, values in columns.items():
        target = message.features.feature[name]
        if values is None:
            continue
        if isinstance(values[0], bytes):
            target.bytes_list.value.extend(values)
        elif isinstance(values[0], float):
            target.float_list.value.extend(values)
        else:
            target.int64_list.value.extend(values)
    return message


def test_compressed_shards_with_missing_values(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)

    def trips(count: int) -> Iterator[Any]:
        for number in range(count):
            yield example(
                fare=None if number % 3 == 0 else [float(draw.random())],
                company=None if number % 4 == 0 else [b"company %d" % number],
                payment=[b"Cash", b"Card"][: number % 3] or None,
                hour=[number % 24],
            )

    paths = [tmp_path / f"trips-0000{number}-of-00002.gz" for number in range(2)]
    for number, path in enumerate(paths):
        write(path, trips(30 + number), "GZIP")
    names = [str(path) for path in paths]
    features = {
        "fare": tf.io.VarLenFeature(tf.float32),
        "company": tf.io.FixedLenFeature([], tf.string, b"unknown"),
        "payment": tf.io.RaggedFeature(tf.string),
        "hour": tf.io.FixedLenFeature([], tf.int64),
        "padded": tf.io.FixedLenSequenceFeature([], tf.float32, True, -1.0),
    }
    records = tf.data.TFRecordDataset(names, "GZIP")
    expected = records.batch(BATCH).map(lambda each: tf.io.parse_example(each, features))
    assert_same(read_examples(names, features, BATCH), expected)
    assert_same(read_examples(str(tmp_path / "trips-*"), features, BATCH), expected)


def test_records_of_floats_and_a_class(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    images = (
        example(image_floats=draw.random(784).tolist(), image_class=[number % 10])
        for number in range(RECORDS)
    )
    write(tmp_path / "digits", images)
    theirs = {
        "image_floats": tf.io.FixedLenFeature([784], tf.float32),
        "image_class": tf.io.FixedLenFeature([], tf.int64),
    }
    ours = {
        "image_floats": fastrec.FixedLenFeature((784,), np.float32),
        "image_class": fastrec.FixedLenFeature((), np.int64),
    }
    path = str(tmp_path / "digits")
    expected = (
        tf.data.TFRecordDataset(path)
        .batch(BATCH, drop_remainder=True)
        .map(lambda each: tf.io.parse_example(each, theirs))
    )
    assert_same(dataset(fastrec.Batcher(path, ours, BATCH, drop_remainder=True)), expected)


CONTEXT: dict[str, Any] = {"label": np.int64, "title": bytes}
LISTS: dict[str, Any] = {"ids": np.int64, "words": bytes}


def assert_same_sequences(path: str, compression: str, context: Any, lists: Any) -> None:
    """Compare the first batches of SequenceExamples whose lists are ragged."""

    def kinds(columns: Any, module: Any, name: str) -> Any:
        tensorflow = module is tf.io
        return {
            key: getattr(module, name)(
                tf.string if tensorflow and dtype is bytes else dtype,
                **({"row_splits_dtype": tf.int64} if tensorflow and name[0] == "R" else {}),
            )
            for key, dtype in columns.items()
        }

    features = fastrec.SequenceFeatures(
        kinds(context, fastrec, "VarLenFeature"), kinds(lists, fastrec, "RaggedFeature")
    )
    ours = dataset(fastrec.Batcher(path, features, BATCH))

    def parse(records: Any) -> Any:
        parsed: Any = tf.io.parse_sequence_example(
            records, kinds(context, tf.io, "VarLenFeature"), kinds(lists, tf.io, "RaggedFeature")
        )
        return parsed

    theirs = tf.data.TFRecordDataset(path, compression).batch(BATCH).map(parse)
    assert ours.element_spec[:2] == theirs.element_spec[:2]
    pairs = list(zip(ours.take(4), theirs.take(4), strict=True))
    assert len(pairs) == 4
    for one, other in pairs:
        assert plain(one[:2]) == plain(other[:2])


def test_compressed_sequence_examples(tmp_path: Path) -> None:
    def sequences() -> Iterator[Any]:
        for number in range(RECORDS):
            message = tf.train.SequenceExample()
            message.context.feature["label"].int64_list.value.append(number)
            message.context.feature["title"].bytes_list.value.extend([b"t"] * (number % 3))
            for frame in range(number % 4):
                for name in LISTS:
                    target = message.feature_lists.feature_list[name].feature.add()
                    if name == "ids":
                        target.int64_list.value.extend(range(frame + number % 2))
                    else:
                        target.bytes_list.value.append(b"word %d" % frame)
            yield message

    write(tmp_path / "sequences.gz", sequences(), "GZIP")
    assert_same_sequences(str(tmp_path / "sequences.gz"), "GZIP", CONTEXT, LISTS)


def test_records_of_other_messages_are_strings(tmp_path: Path) -> None:
    records = [b"", b"\0\xff" * 9, b"x" * 70_000, b"@read\nACGT\n", b"brain.Event:2"]
    for path, compression in ((tmp_path / "other", ""), (tmp_path / "other.gz", "GZIP")):
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for record in records:
                writer.write(record)
        expected = tf.data.TFRecordDataset(str(path), compression)
        assert_same(dataset(fastrec.Batcher(path, None, None)), expected)
        assert_same(dataset(fastrec.Batcher(path, None, 2)), expected.batch(2))


@pytest.mark.parametrize("name", ["events.out.tfevents", "reads.fastq.tfrecord.gz"])
def test_real_records_of_other_messages(shared_data: Path, name: str) -> None:
    path = shared_data / name
    expected = tf.data.TFRecordDataset(str(path), "GZIP" if name.endswith("gz") else "")
    assert_same(dataset(fastrec.Batcher(path, None, None)), expected)
