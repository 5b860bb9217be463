# SPDX-License-Identifier: Apache-2.0
"""Files that TensorFlow, TFX, TensorBoard and Nucleus wrote, where they are at hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, train

COUNTS = {
    "mnist.tfrecord": 1000,
    "taxi-00000-of-00002.tfrecord.gz": 826,
    "taxi-00001-of-00002.tfrecord.gz": 826,
    "penguin.tfrecord.gz": 234,
    "sequence.tfrecord.gz": 10_500,
    "events.out.tfevents": 7,
    "reads.fastq.tfrecord": 4,
    "reads.fastq.tfrecord.gz": 4,
}
KINDS = {"int64_list": np.int64, "float_list": np.float32, "bytes_list": bytes}


@pytest.mark.parametrize("name", COUNTS)
def test_every_record_is_there_and_sound(shared_data: Path, name: str) -> None:
    path = shared_data / name
    assert fastrec.count(path) == COUNTS[name]
    assert fastrec.verify(path).records == COUNTS[name]
    assert sum(1 for _ in fastrec.Reader(path)) == COUNTS[name]


@pytest.mark.parametrize("name", ["events.out.tfevents", "reads.fastq.tfrecord"])
def test_records_of_other_messages_are_read_raw(shared_data: Path, name: str) -> None:
    path = shared_data / name
    assert reference.read_frames(path.read_bytes()) == (list(fastrec.Reader(path)), None)


def test_plain_and_gzip_hold_the_same_records(shared_data: Path) -> None:
    plain = fastrec.Reader(shared_data / "reads.fastq.tfrecord")
    assert list(fastrec.Reader(shared_data / "reads.fastq.tfrecord.gz")) == plain[:]


def test_the_digits_are_floats_and_their_classes(shared_data: Path) -> None:
    features = {
        "image_floats": FixedLenFeature((28, 28), np.float32),
        "image_class": FixedLenFeature((), np.uint8),
    }
    batches = list(fastrec.Batcher(shared_data / "mnist.tfrecord", features, 250))
    images = np.concatenate([batch["image_floats"] for batch in batches])
    classes = np.concatenate([batch["image_class"] for batch in batches])
    assert images.shape == (1000, 28, 28)
    assert set(classes.tolist()) == set(range(10))
    for i, record in enumerate(fastrec.Reader(shared_data / "mnist.tfrecord")[::97]):
        example = train.Example.FromString(record).features.feature
        assert images[97 * i].ravel().tolist() == list(example["image_floats"].float_list.value)
        assert classes[97 * i] == example["image_class"].int64_list.value[0]


@pytest.mark.parametrize("name", ["taxi-*.tfrecord.gz", "penguin.tfrecord.gz", "mnist.tfrecord"])
def test_every_value_is_what_protobuf_reads(shared_data: Path, name: str) -> None:
    records = list(fastrec.Reader(str(shared_data / name)))[:400]
    examples = [train.Example.FromString(record).features.feature for record in records]
    kinds: dict[str, str] = {}
    for example in examples:
        for key, feature in example.items():
            kinds[key] = feature.WhichOneof("kind") or kinds.get(key, "")
    wanted = {key: RaggedFeature(KINDS[kind]) for key, kind in kinds.items() if kind}
    columns = fastrec.parse_example(records, wanted)
    for key in wanted:
        for i, example in enumerate(examples):
            feature = example[key] if key in example else train.Feature()
            found = columns[key][i]
            if kinds[key] == "float_list":
                assert found.tobytes() == reference.floats(feature).tobytes()
            else:
                assert list(found) == list(getattr(feature, kinds[key]).value)
        assert fastrec.encode_example(
            {key: columns[key][0]} if kinds[key] != "bytes_list" else {key: list(columns[key][0])}
        )


def test_missing_values_of_the_taxi_trips_take_their_default(shared_data: Path) -> None:
    path = str(shared_data / "taxi-*.tfrecord.gz")
    features: dict[str, Any] = {
        "fare": FixedLenFeature((), np.float32, -1.0),
        "payment_type": FixedLenFeature((), bytes, b"?"),
        "pickup_census_tract": FixedLenFeature((), np.int64, -1),
        "dropoff_latitude": RaggedFeature(np.float32),
    }
    missing: Counter[str] = Counter()
    for record in fastrec.Reader(path):
        present = train.Example.FromString(record).features.feature
        for key in features:
            missing[key] += not (key in present and present[key].WhichOneof("kind"))
    columns = fastrec.parse_example(list(fastrec.Reader(path)), features)
    assert len(columns["fare"]) == 1652
    assert (columns["pickup_census_tract"] == -1).sum() == missing["pickup_census_tract"] > 0
    assert (columns["dropoff_latitude"].row_lengths == 0).sum() == missing["dropoff_latitude"] > 0
    assert (columns["fare"] == -1).sum() >= missing["fare"]


def test_a_feature_that_is_missing_without_default_is_named(shared_data: Path) -> None:
    features = {"dropoff_latitude": FixedLenFeature((), np.float32)}
    with pytest.raises(fastrec.ExampleParseError, match=r"dropoff_latitude.*missing") as caught:
        list(fastrec.Batcher(str(shared_data / "taxi-*.tfrecord.gz"), features, 100))
    assert caught.value.record is not None


def test_sequences_are_parsed_with_the_message_class(shared_data: Path) -> None:
    with_context = with_lists = 0
    for record in fastrec.Reader(shared_data / "sequence.tfrecord.gz"):
        sequence = train.SequenceExample.FromString(record)
        with_context += bool(sequence.context.feature)
        with_lists += bool(sequence.feature_lists.feature_list)
    assert with_lists == 10_500
    assert with_context > 0


@pytest.mark.parametrize("name", COUNTS)
def test_inferring_never_fails_but_says_when_there_are_no_examples(
    shared_data: Path, name: str
) -> None:
    try:
        features = fastrec.infer_features(shared_data / name, limit=200)
    except fastrec.ExampleParseError:
        assert name.startswith(("events", "reads", "sequence"))
        return
    if name.startswith(("mnist", "taxi", "penguin")):
        batches = fastrec.Batcher(shared_data / name, features, 64)
        assert sum(len(next(iter(batch.values()))) for batch in batches) == COUNTS[name]
