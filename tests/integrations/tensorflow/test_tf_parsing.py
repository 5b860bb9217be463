# SPDX-License-Identifier: Apache-2.0
"""Functions with TensorFlow's arguments, against TensorFlow's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_values import plain

import fastrec
import fastrec.tensorflow
import fastrec.tensorflow as ours

pytestmark = pytest.mark.filterwarnings("ignore")
theirs = tf.data.experimental
SHARED = Path(__file__).parents[4] / "shared" / "data"

FEATURES: dict[str, Any] = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "x": tf.io.FixedLenFeature(tf.TensorShape([5]), tf.float32),
    "name": tf.io.FixedLenFeature([], tf.string),
    "absent": tf.io.FixedLenFeature([2], tf.float32, tf.constant([1.0, 2.0])),
    "tokens": tf.io.RaggedFeature(tf.int64),
}
PARTITIONED: dict[str, Any] = {
    "pairs": tf.io.RaggedFeature(
        tf.float32, "x", [tf.io.RaggedFeature.UniformRowLength(5)], tf.int32
    ),
}
OTHERS: dict[str, Any] = {
    "tokens": tf.io.VarLenFeature(tf.int64),
    "x": tf.io.FixedLenSequenceFeature([], tf.float32, True, -1.0),
    "at": tf.io.SparseFeature("id", "id", tf.int64, 200),
}


def paths(files: str) -> list[str]:
    return sorted(map(str, Path(files).parent.glob(Path(files).name)))


def flat(spec: Any) -> dict[str, Any]:
    return dict(fastrec.tensorflow.leaves.walk(spec))


def assert_same(one: tf.data.Dataset, other: tf.data.Dataset) -> None:
    for name, spec in flat(one.element_spec).items():
        expected = flat(other.element_spec)[name]
        # TensorFlow knows the number of rows of a sparse batch in some datasets only.
        sparse = isinstance(spec, tf.SparseTensorSpec)
        assert spec.is_compatible_with(expected) if sparse else spec == expected
    for left, right in zip(one, other, strict=True):
        assert plain(left) == plain(right)


@pytest.mark.parametrize("features", [FEATURES, OTHERS], ids=["features", "others"])
@pytest.mark.parametrize("drop", [False, True])
def test_batches_of_a_features_dataset_are_tensorflows(
    files: str, features: Any, drop: bool
) -> None:
    arguments: Any = {"num_epochs": 2, "shuffle": False, "drop_final_batch": drop}
    one = ours.make_batched_features_dataset(files, 10, features, **arguments)
    other = theirs.make_batched_features_dataset(files, 10, features, **arguments)
    assert_same(one, other)


def test_a_label_is_the_second_of_a_pair(files: str) -> None:
    arguments: Any = {"num_epochs": 1, "shuffle": False, "label_key": "id"}
    one = ours.make_batched_features_dataset(files, 10, FEATURES, **arguments)
    assert_same(one, theirs.make_batched_features_dataset(files, 10, FEATURES, **arguments))
    with pytest.raises(ValueError, match="`label_key` provided"):
        ours.make_batched_features_dataset(files, 10, FEATURES, label_key="y")


def test_shuffled_epochs_have_every_record(files: str) -> None:
    features = {"id": FEATURES["id"]}
    one = ours.make_batched_features_dataset(files, 10, features, num_epochs=2, shuffle_seed=1)
    numbers = [number for batch in one for number in plain(batch["id"])]
    assert sorted(numbers) == sorted([*range(103)] * 2)
    assert numbers != sorted(numbers)
    endless = ours.make_batched_features_dataset(files, 10, features)
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
    assert endless.element_spec == {"id": tf.TensorSpec((10,), tf.int64)}
    assert len(list(endless.take(30))) == 30


def test_compressed_files_are_named_as_for_tensorflow(tmp_path: Path, files: str) -> None:
    with fastrec.Writer(tmp_path / "a.gz") as writer:
        writer.write_many(list(fastrec.Reader(files)))
    arguments: Any = {"num_epochs": 1, "reader_args": ["GZIP"]}
    path = str(tmp_path / "a.gz")
    features = {"id": FEATURES["id"]}
    one = ours.make_batched_features_dataset(path, 10, features, shuffle=False, **arguments)
    assert_same(
        one, theirs.make_batched_features_dataset(path, 10, features, shuffle=False, **arguments)
    )
    mixed = ours.make_batched_features_dataset(path, 10, features, **arguments)
    assert sorted(n for batch in mixed for n in plain(batch["id"])) == list(range(103))
    assert_same(
        ours.read_examples(path, features, 10),
        tf.data.TFRecordDataset(path, "GZIP")
        .batch(10)
        .map(lambda records: tf.io.parse_example(records, features)),
    )


@pytest.mark.parametrize("name", ["make_batched_features_dataset", "parse_example_dataset"])
def test_signatures_are_those_of_tensorflow(name: str) -> None:
    one, other = (inspect.signature(getattr(module, name)) for module in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in one.parameters.values()] == [
        (p.name, p.default, p.kind) for p in other.parameters.values()
    ]


def test_readers_that_programs_pass(tmp_path: Path, files: str) -> None:
    features = {"id": FEATURES["id"]}
    arguments: Any = {"num_epochs": 1, "shuffle": False}
    for reader in (tf.data.TFRecordDataset, tf.compat.v1.data.TFRecordDataset):
        one = ours.make_batched_features_dataset(files, 10, features, reader, **arguments)
        assert isinstance(one, fastrec.tensorflow.bridge.SourceDataset)
        assert len(list(one)) == 11

    with fastrec.Writer(tmp_path / "a.gz") as writer:
        writer.write_many(list(fastrec.Reader(files)))

    def compressed(names: Any) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(names, compression_type="GZIP")

    path = str(tmp_path / "a.gz")
    one = ours.make_batched_features_dataset(path, 10, features, compressed, **arguments)
    assert isinstance(one, fastrec.tensorflow.bridge.SourceDataset)
    assert_same(
        one, theirs.make_batched_features_dataset(path, 10, features, compressed, **arguments)
    )
    mixed = ours.make_batched_features_dataset(path, 10, features, compressed, num_epochs=1)
    assert sorted(n for batch in mixed for n in plain(batch["id"])) == list(range(103))


def test_a_reader_of_other_files_is_left_to_tensorflow(files: str) -> None:
    def every_second(names: Any) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(names).shard(2, 0)

    arguments: Any = {"num_epochs": 1, "shuffle": False, "label_key": "id"}
    assert_same(
        ours.make_batched_features_dataset(files, 10, FEATURES, every_second, **arguments),
        theirs.make_batched_features_dataset(files, 10, FEATURES, every_second, **arguments),
    )


def test_names_of_files_as_programs_have_them(files: str) -> None:
    features = {"id": FEATURES["id"]}
    expected = list(range(103))
    for names in (
        tf.constant(paths(files)),
        tf.data.Dataset.list_files(files, shuffle=False),
        np.array(paths(files)),
        [path.encode() for path in paths(files)],
        [tf.constant(path) for path in paths(files)],
        tf.constant(files),
    ):
        one = ours.read_examples(names, features, 10)
        assert [n for batch in one for n in plain(batch["id"])] == expected


def test_an_endless_dataset_by_its_number_of_epochs(files: str) -> None:
    one = ours.make_batched_features_dataset(files, 10, {"id": FEATURES["id"]}, num_epochs=-1)
    assert one.cardinality() == tf.data.INFINITE_CARDINALITY
    assert one.element_spec == {"id": tf.TensorSpec((None,), tf.int64)}
    assert len(list(one.take(30))) == 30


@pytest.mark.parametrize(
    "features", [FEATURES, OTHERS, {"pairs": PARTITIONED["pairs"]}], ids=["all", "others", "pairs"]
)
@pytest.mark.parametrize("drop", [False, True])
def test_read_examples_in_batches(files: str, features: Any, drop: bool) -> None:
    records = tf.data.TFRecordDataset(paths(files)).batch(10, drop_remainder=drop)
    one = ours.read_examples(paths(files), features, 10, drop_remainder=drop)
    assert_same(one, records.map(lambda batch: tf.io.parse_example(batch, features)))


@pytest.mark.parametrize(
    "features", [FEATURES, OTHERS, {"id": FEATURES["id"], "name": FEATURES["name"]}]
)
def test_read_examples_one_by_one(files: str, features: Any) -> None:
    records = tf.data.TFRecordDataset(paths(files))
    assert_same(
        ours.read_examples(files, features),
        records.map(lambda record: tf.io.parse_single_example(record, features)),
    )


@pytest.mark.parametrize("features", [FEATURES, OTHERS], ids=["features", "others"])
def test_parse_example_dataset_parses_records_of_either(files: str, features: Any) -> None:
    expected = (
        tf.data.TFRecordDataset(paths(files))
        .batch(10)
        .map(lambda batch: tf.io.parse_example(batch, features))
    )
    native = ours.dataset(fastrec.Batcher(files, None, 10))
    assert_same(native.apply(ours.parse_example_dataset(features)), expected)
    records = tf.data.TFRecordDataset(paths(files)).batch(10)
    assert_same(records.apply(ours.parse_example_dataset(features, 2, True)), expected)
    with pytest.raises(ValueError, match="must be vectors of strings"):
        tf.data.Dataset.range(3).apply(ours.parse_example_dataset(features))


@pytest.mark.parametrize("features", [{"x": tf.int64}, {"x": None}])
def test_an_invalid_feature_is_named(files: str, features: Any) -> None:
    for call in (
        lambda: ours.read_examples(files, features, 2),
        lambda: ours.parse_example_dataset(features),
        lambda: ours.make_batched_features_dataset(files, 2, features),
    ):
        with pytest.raises(ValueError, match=r"feature 'x' must be a feature of tf\.io"):
            call()
    with pytest.raises(TypeError, match="features must map names"):
        ours.read_examples(files, [FEATURES["id"]], 2)  # type: ignore[arg-type]


REAL: dict[str, dict[str, Any]] = {
    "mnist.tfrecord": {
        "image_floats": tf.io.FixedLenFeature([784], tf.float32),
        "image_class": tf.io.FixedLenFeature([], tf.int64),
    },
    "penguin.tfrecord.gz": {"species": tf.io.FixedLenFeature([], tf.int64)},
    "taxi-0000?-of-00002.tfrecord.gz": {
        "fare": tf.io.VarLenFeature(tf.float32),
        "company": tf.io.RaggedFeature(tf.string),
        "trip_start_hour": tf.io.FixedLenFeature([], tf.int64),
    },
}


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_as_tensorflow_reads_them(name: str) -> None:
    if not SHARED.exists():
        pytest.skip("the files of other projects are not here")
    found = sorted(map(str, SHARED.glob(name)))
    features = dict(REAL[name])
    if name.startswith("penguin"):
        floats = [key for key, each in fastrec.infer_features(found).items() if key != "species"]
        features |= {key: tf.io.FixedLenFeature([], tf.float32) for key in floats}
    records = tf.data.TFRecordDataset(found, "GZIP" if name.endswith("gz") else "")
    assert_same(
        ours.read_examples(found, features, 100),
        records.batch(100).map(lambda batch: tf.io.parse_example(batch, features)),
    )
    one = ours.read_examples(found, features).take(50)
    expected = records.map(lambda record: tf.io.parse_single_example(record, features)).take(50)
    assert [plain(each) for each in one] == [plain(each) for each in expected]
