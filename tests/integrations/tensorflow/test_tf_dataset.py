# SPDX-License-Identifier: Apache-2.0
"""Batches as a tf.data.Dataset and as eager tensors."""

from __future__ import annotations

import gc
import io
import itertools
import json
import subprocess
import sys
import wave
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_values import plain

import fastrec
import fastrec.compat.v1
import fastrec.compat.v2
import fastrec.tensorflow
from fastrec.tensorflow import batches, dataset

pytestmark = pytest.mark.filterwarnings("ignore")


def joined(lists: Iterable[list[Any]]) -> list[Any]:
    return list(itertools.chain.from_iterable(lists))


EVERY_KIND: dict[str, Any] = {
    "fixed": fastrec.FixedLenFeature((2,), np.float32),
    "text": fastrec.FixedLenFeature((), bytes),
    "texts": fastrec.FixedLenFeature((2,), bytes),
    "small": fastrec.FixedLenFeature((), np.uint8),
    "flag": fastrec.FixedLenFeature((), np.bool_),
    "half": fastrec.FixedLenFeature((), np.float16),
    "padded": fastrec.FixedLenSequenceFeature((2,), np.int64, True),
    "sparse": fastrec.VarLenFeature(np.int64),
    "sparse_text": fastrec.VarLenFeature(bytes),
    "places": fastrec.SparseFeature("at", "value", np.float32, 9),
    "grid": fastrec.SparseFeature(["at", "down"], "value", np.float32, [9, 9]),
    "ragged": fastrec.RaggedFeature(np.float32),
    "ragged32": fastrec.RaggedFeature(np.int64, row_splits_dtype=np.int32),
    "ragged_text": fastrec.RaggedFeature(bytes),
    "rows": fastrec.RaggedFeature(
        np.float32, "ragged", [fastrec.RaggedFeature.RowLengths("lengths")]
    ),
    "pairs": fastrec.RaggedFeature(np.int64, "padded", [fastrec.RaggedFeature.UniformRowLength(2)]),
    "raw": fastrec.RawFeature((2, 2), np.int16),
    "raw_any": fastrec.RawFeature(None, np.int16),
    "raw_pad": fastrec.RawFeature(("height", 1), np.uint8, pad=(4, 1)),
    "sound": fastrec.AudioFeature(3, 2),
    "sounds": fastrec.AudioFeature(channels=1, dtype=np.int16),
    "json_scalar": fastrec.JsonFeature("number", (), np.int16),
    "json_fixed": fastrec.JsonFeature("pair", (2,), np.float32),
    "json_text": fastrec.JsonFeature("text", (), bytes),
    "json_ragged": fastrec.JsonFeature("list", None, np.int64),
}


def wav(count: int) -> bytes:
    """Return a sound of two channels."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((2, 2, 8000, 0, "NONE", ""))
        writer.writeframes(np.arange(count, dtype="<i2").tobytes())
    return file.getvalue()


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("kinds") / "kinds.tfrecord"
    with fastrec.Writer(path) as writer:
        for i in range(11):
            count = i % 3
            writer.write(
                fastrec.encode_example(
                    {
                        "fixed": [i, i + 0.5],
                        "text": b"t\0%d" % i,
                        "texts": [b"", b"x" * i],
                        "small": i,
                        "flag": i % 2,
                        "half": float(i),
                        "padded": list(range(2 * count)),
                        "sparse": list(range(count)),
                        "sparse_text": [b"s%d" % i] * count,
                        "at": list(range(count)),
                        "down": list(range(count)),
                        "value": [0.5 * i] * count,
                        "ragged": [1.0 * i] * count,
                        "lengths": [count],
                        "ragged32": list(range(count)),
                        "ragged_text": [b"r%d" % i] * count,
                        "raw": np.full((2, 2), i, np.int16).tobytes(),
                        "raw_any": np.arange(i, dtype=np.int16).tobytes(),
                        "raw_pad": bytes(range(count)),
                        "height": count,
                        "sound": wav(2 * i),
                        "sounds": wav(2 * i),
                        "json": json.dumps(
                            {"number": i, "pair": [i, 0.5], "text": "t", "list": [i] * count}
                        ),
                    }
                )
            )
    return str(path)


@pytest.mark.parametrize("batch_size", [4, None])
@pytest.mark.parametrize("name", EVERY_KIND)
def test_a_feature_of_every_kind_becomes_a_tensor_of_its_spec(
    kinds: str, name: str, batch_size: int | None
) -> None:
    batcher = fastrec.Batcher(kinds, {name: EVERY_KIND[name]}, batch_size)
    result = dataset(batcher)
    tensors = [plain(batch) for batch in result]
    assert tensors == [plain(batch) for batch in batcher]
    assert tensors == [plain(batch) for batch in batches(batcher)]
    for batch in result:  # whose static shapes are those of the spec, or TensorFlow raises
        assert result.element_spec[name].is_compatible_with(batch[name])
    assert isinstance(next(iter(batches(batcher)))[name], type(next(iter(result))[name]))


def test_all_kinds_together_keep_the_structure_and_its_names(kinds: str) -> None:
    batcher = fastrec.Batcher(kinds, EVERY_KIND, 4, drop_remainder=True)
    result = dataset(batcher)
    assert list(result.element_spec) == list(EVERY_KIND)
    assert result.element_spec["raw"] == tf.TensorSpec((4, 2, 2), tf.int16)
    assert result.element_spec["rows"] == tf.RaggedTensorSpec((4, None, None), tf.float32, 2)
    assert result.element_spec["ragged32"].row_splits_dtype == tf.int32
    assert [plain(batch) for batch in result] == [plain(batch) for batch in batcher]


def test_specs_are_those_of_tensorflow_for_features_that_it_has(kinds: str) -> None:
    names = ["fixed", "text", "sparse", "places", "ragged", "rows", "pairs"]
    ours = dataset(fastrec.Batcher(kinds, {name: EVERY_KIND[name] for name in names}, 4))
    theirs = (
        tf.data.TFRecordDataset(kinds)
        .batch(4)
        .map(
            lambda records: tf.io.parse_example(
                records,
                {
                    "fixed": tf.io.FixedLenFeature((2,), tf.float32),
                    "text": tf.io.FixedLenFeature((), tf.string),
                    "sparse": tf.io.VarLenFeature(tf.int64),
                    "places": tf.io.SparseFeature("at", "value", tf.float32, 9),
                    "ragged": tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64),
                    "rows": tf.io.RaggedFeature(
                        tf.float32,
                        "ragged",
                        [tf.io.RaggedFeature.RowLengths("lengths")],
                        row_splits_dtype=tf.int64,
                    ),
                    "pairs": tf.io.RaggedFeature(
                        tf.int64,
                        "padded",
                        [tf.io.RaggedFeature.UniformRowLength(2)],
                        row_splits_dtype=tf.int64,
                    ),
                },
            )
        )
    )
    assert ours.element_spec == theirs.element_spec
    for mine, other in zip(ours, theirs, strict=True):
        assert plain(mine) == plain(other)


def test_records_and_single_records_are_strings(files: str) -> None:
    whole = dataset(fastrec.Batcher(files, None, 50))
    single = dataset(fastrec.Batcher(files, None, None))
    assert whole.element_spec == tf.TensorSpec((None,), tf.string)
    assert single.element_spec == tf.TensorSpec((), tf.string)
    records = list(fastrec.Reader(files))
    assert [record for batch in whole for record in batch.numpy()] == records
    assert [record.numpy() for record in single] == records


def test_sequence_features_are_three_dicts(tmp_path: Path) -> None:
    from fastrec.train import Feature, FeatureList, FeatureLists, Features, Int64List
    from fastrec.train import SequenceExample as Example

    def ints(*values: int) -> Feature:
        return Feature(int64_list=Int64List(value=list(values)))

    with fastrec.Writer(tmp_path / "sequences") as writer:
        for count in (3, 0, 2):
            frames = FeatureList(feature=[ints(n, n) for n in range(count)])
            lists = FeatureLists(feature_list={"dense": frames, "ragged": frames, "sparse": frames})
            context = Features(feature={"label": ints(count)})
            writer.write(Example(context=context, feature_lists=lists).SerializeToString())
    features = fastrec.SequenceFeatures(
        {"label": fastrec.FixedLenFeature((), np.int64)},
        {
            "dense": fastrec.FixedLenSequenceFeature((2,), np.int64),
            "ragged": fastrec.RaggedFeature(np.int64),
            "sparse": fastrec.VarLenFeature(np.int64),
        },
    )
    batcher = fastrec.Batcher(tmp_path / "sequences", features, 2)
    result = dataset(batcher)
    assert result.element_spec[1]["ragged"] == tf.RaggedTensorSpec((None, None, None), tf.int64, 2)
    expected = [plain(batch) for batch in batcher]
    assert [plain(batch) for batch in result] == expected
    assert [plain(batch) for batch in batches(batcher)] == expected


def test_buckets_give_padded_tensors_and_their_lengths(files: str, features: Any) -> None:
    buckets = fastrec.Buckets("tokens", [1, 3])
    batcher = fastrec.Batcher(files, features, 8, buckets=buckets)
    result = dataset(batcher)
    assert result.element_spec["tokens"] == tf.TensorSpec((None, None), tf.int64)
    assert result.element_spec["tokens/length"] == tf.TensorSpec((None,), tf.int64)
    assert [plain(batch) for batch in result] == [plain(batch) for batch in batcher]
    assert result.cardinality() == tf.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("drop", [False, True])
def test_the_cardinality_is_the_number_of_batches(files: str, features: Any, drop: bool) -> None:
    batcher = fastrec.Batcher(files, features, 10, drop_remainder=drop)
    result = dataset(batcher)
    assert int(result.cardinality()) == len(result) == len(batcher)
    assert int(result.map(lambda batch: batch["id"]).prefetch(1).cardinality()) == len(batcher)
    assert result.element_spec["x"].shape.as_list() == [10 if drop else None, 5]
    endless = fastrec.Batcher(files, features, 10, epochs=None)
    assert dataset(endless).cardinality() == tf.data.INFINITE_CARDINALITY
    assert len(list(dataset(endless).take(25))) == 25


def test_each_iteration_is_the_next_epoch(files: str, features: Any) -> None:
    def batcher() -> fastrec.Batcher:
        return fastrec.Batcher(files, {"id": features["id"]}, 10, shuffle=True, seed=3)

    ours, expected = dataset(batcher()), batcher()
    seen = [[plain(batch["id"]) for batch in ours] for _ in range(3)]
    assert seen == [[plain(batch["id"]) for batch in expected] for _ in range(3)]
    assert seen[0] != seen[1]
    assert all(sorted(joined(epoch)) == list(range(103)) for epoch in seen)
    eager = batcher()
    assert seen == [[plain(batch["id"]) for batch in batches(eager)] for _ in range(3)]


def test_iterators_that_take_turns_have_passes_of_their_own(files: str, features: Any) -> None:
    result = dataset(fastrec.Batcher(files, {"id": features["id"]}, 10))
    first, second = iter(result), iter(result)
    for _ in range(11):
        assert plain(next(first)) == plain(next(second))
    for both in tf.data.Dataset.zip(result, result):
        assert plain(both[0]) == plain(both[1])


def test_an_iterator_that_is_given_up_ends_its_pass(files: str, features: Any) -> None:
    result = dataset(fastrec.Batcher(files, features, 1))
    iterator = iter(result)
    next(iterator)
    assert len(result._feed._passes) == 1
    del iterator
    gc.collect()
    assert not result._feed._passes


def test_transformations_of_tensorflow_follow(files: str, features: Any) -> None:
    result = dataset(fastrec.Batcher(files, {"id": features["id"]}, 10))
    rows = result.unbatch().filter(lambda row: row["id"] % 2 == 0).batch(7).prefetch(2)
    assert joined(plain(batch["id"]) for batch in rows) == list(range(0, 103, 2))
    repeated = result.map(lambda batch: tf.reduce_sum(batch["id"])).repeat(2)
    assert sum(plain(each) for each in repeated) == 2 * sum(range(103))


def test_a_graph_function_iterates_over_it(files: str, features: Any) -> None:
    result = dataset(fastrec.Batcher(files, {"id": features["id"]}, 10))

    @tf.function  # type: ignore[untyped-decorator]
    def total() -> Any:
        count = tf.constant(0, tf.int64)
        for batch in result:
            count += tf.reduce_sum(batch["id"])
        return count

    assert [int(total()), int(total())] == [sum(range(103))] * 2


def test_auto_sharding_is_off(files: str, features: Any) -> None:
    options = dataset(fastrec.Batcher(files, features, 10)).options()
    policy = options.experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.OFF


def test_tensors_are_the_memory_of_the_batch_and_own_it(files: str, features: Any) -> None:
    batcher = fastrec.Batcher(files, {"x": features["x"]}, 3)
    iterator = iter(batcher)
    batch = next(iterator)
    tensor = fastrec.tensorflow.leaves.eager(batch)["x"]
    assert np.asarray(memoryview(tensor)).ctypes.data == batch["x"].ctypes.data

    kept = [tensors["x"] for _ in range(20) for tensors in batches(batcher)]
    gc.collect()
    expected = [batch["x"] for _ in range(20) for batch in batcher]
    assert all((one.numpy() == other).all() for one, other in zip(kept, expected, strict=True))


# --- transforms -----------------------------------------------------------------------------------


def pair(batch: Any) -> Any:
    return {"x": batch["x"].astype(np.float64)}, batch["id"] % 2, [b"a"] * len(batch["id"])


def test_a_transform_is_described_by_its_first_batch(files: str, features: Any) -> None:
    batcher = fastrec.Batcher(files, features, 10, transform=pair)
    result = dataset(batcher)
    assert result.element_spec == (
        {"x": tf.TensorSpec((None, 5), tf.float64)},
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((None,), tf.string),
    )
    assert batcher.epoch == 0  # looking at the first batch begins no epoch
    assert [plain(x) for x, _, _ in result] == [plain(x) for x, _, _ in batcher]
    eager = list(batches(batcher))
    assert [plain(each) for each in eager] == [plain(each) for each in result]


def test_a_batch_that_differs_from_the_spec_is_an_error(files: str, features: Any) -> None:
    def widened(batch: Any) -> Any:
        return np.zeros((len(batch["id"]), 2 + int(batch["id"][0] > 30)))

    batcher = fastrec.Batcher(files, features, 10, transform=widened)
    with pytest.raises(ValueError, match=r"must be of TensorSpec\(shape=\(None, 2\).*\(10, 3\)"):
        list(dataset(batcher))
    spec = tf.TensorSpec((None, None), tf.float64)
    assert len(list(dataset(batcher, element_spec=spec))) == len(batcher)
    with pytest.raises(TypeError, match=r"float32.*got dtype float64"):
        list(dataset(batcher, element_spec=tf.TensorSpec((None, None), tf.float32)))
    with pytest.raises(ValueError, match="must have the structure"):
        list(dataset(batcher, element_spec=(spec, spec)))


# --- images ---------------------------------------------------------------------------------------


def test_images_arrive_decoded(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with fastrec.Writer(tmp_path / "images") as writer:
        for i in range(5):
            encoded = io.BytesIO()
            image.new("RGB", (8 + i, 8), (i, 2, 3)).save(encoded, "PNG")
            writer.write(fastrec.encode_example({"image": encoded.getvalue()}))
    from fastrec.image import Normalize

    features = {"image": fastrec.ImageFeature((6, 4), fit="resize")}
    result = dataset(fastrec.Batcher(tmp_path / "images", features, 5, drop_remainder=True))
    assert result.element_spec["image"] == tf.TensorSpec((5, 6, 4, 3), tf.uint8)
    assert next(iter(result))["image"].numpy()[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4]

    floats = fastrec.ImageFeature(
        (6, 4), fit="resize", transforms=[Normalize((0,) * 3, (1,) * 3)], channels_first=True
    )
    result = dataset(fastrec.Batcher(tmp_path / "images", {"image": floats}, 5))
    assert result.element_spec["image"] == tf.TensorSpec((None, 3, 6, 4), tf.float32)
    assert next(iter(result))["image"].shape == (5, 3, 6, 4)

    augment = fastrec.Augment((3, 3), "random", standardize=True)
    batcher = fastrec.Batcher(tmp_path / "images", features, 5, augment={"image": augment}, seed=1)
    result = dataset(batcher)
    assert result.element_spec["image"] == tf.TensorSpec((None, 3, 3, 3), tf.float32)
    assert next(iter(result))["image"].shape == (5, 3, 3, 3)

    batcher = fastrec.Batcher(tmp_path / "images", {"image": fastrec.ImageFeature()}, 5)
    with pytest.raises(TypeError, match=r"no common shape.*crop_or_pad"):
        next(iter(batches(batcher)))


def test_a_shape_of_each_records_own_is_refused(kinds: str) -> None:
    features = {"raw": fastrec.RawFeature(("height", 1), np.uint8)}
    with pytest.raises(ValueError, match=r"'raw' has a shape of its own.*`pad` or `crop_or_pad`"):
        dataset(fastrec.Batcher(kinds, features, 4))
    sound = {"sound": fastrec.AudioFeature(3)}
    with pytest.raises(ValueError, match=r"'sound' has a shape of its own.*channels="):
        dataset(fastrec.Batcher(kinds, sound, 4))


# --- errors ---------------------------------------------------------------------------------------


def damaged(path: Path, files: str) -> str:
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_many(list(fastrec.Reader(files)))
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    return str(path)


def test_iterators_raise_the_exception_of_the_source(
    tmp_path: Path, files: str, features: Any
) -> None:
    path = damaged(tmp_path / "damaged", files)
    result = dataset(fastrec.Batcher(path, features, 10))
    iterator = iter(result)
    for _ in range(10):  # the batches before it
        next(iterator)
    with pytest.raises(fastrec.CorruptRecordError, match="damaged"):
        next(iterator)
    iterator = iter(dataset(fastrec.Batcher(path, features, 103)))
    with pytest.raises(fastrec.CorruptRecordError):
        iterator.get_next()


def test_an_exception_of_a_transform_reaches_the_loop(files: str, features: Any) -> None:
    def failing(batch: Any) -> Any:
        if batch["id"][0] >= 50:
            raise LookupError("the fifth batch")
        return batch["id"]

    batcher = fastrec.Batcher(files, features, 10, transform=failing)
    with pytest.raises(LookupError, match="the fifth batch"):
        list(dataset(batcher))


def test_skipped_records_leave_the_cardinality_open(
    tmp_path: Path, files: str, features: Any
) -> None:
    path = damaged(tmp_path / "damaged", files)
    batcher = fastrec.Batcher(path, features, 10, on_error="skip", drop_remainder=True)
    result = dataset(batcher)
    assert result.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert result.element_spec["id"].shape.as_list() == [None]
    assert sum(len(batch["id"]) for batch in result) >= 90


def test_a_state_makes_the_next_pass_shorter(files: str, features: Any) -> None:
    def batcher() -> fastrec.Batcher:
        return fastrec.Batcher(files, {"id": features["id"]}, 10, shuffle=True, seed=0)

    first = batcher()
    iterator = iter(first)
    before = [plain(next(iterator)["id"]) for _ in range(4)]
    state = iterator.state_dict()

    late = batcher()
    result = dataset(late)
    late.load_state_dict(state)
    with pytest.raises(ValueError, match=r"7 batches, and the dataset 11: .*load_state_dict"):
        list(result)

    resumed = batcher()
    resumed.load_state_dict(state)
    result = dataset(resumed)
    assert result.cardinality() == tf.data.UNKNOWN_CARDINALITY
    after = [plain(batch["id"]) for batch in result]
    assert sorted(joined(before + after)) == list(range(103))
    assert len(list(result)) == 11


@pytest.mark.parametrize("source", [[{"x": 1}], "a.tfrecord", None, {}])
@pytest.mark.parametrize("function", [dataset, batches])
def test_another_source_is_refused(function: Any, source: Any) -> None:
    with pytest.raises(TypeError, match=r"source must be a fastrec\.Batcher or a dataset of"):
        function(source)


def test_a_transform_of_a_stream_needs_a_spec(files: str, features: Any) -> None:
    with fastrec.Reader(files) as reader:
        records = list(reader)
    stream = io.BytesIO()
    with fastrec.Writer(stream) as writer:
        writer.write_many(records)

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    batcher = fastrec.Batcher(Pipe(stream.getvalue()), features, 10, transform=pair)
    with pytest.raises(ValueError, match="element_spec must be given"):
        dataset(batcher)


# --- fastrec.compat.v2 ----------------------------------------------------------------------------


def compat(files: str) -> Any:
    ours = fastrec.compat.v2
    description = {
        "id": ours.io.FixedLenFeature([], ours.int64),
        "x": ours.io.FixedLenFeature([5], ours.float32),
        "name": ours.io.FixedLenFeature([], ours.string),
        "tokens": ours.io.RaggedFeature(ours.int64),
    }
    sparse = {"tokens": ours.io.VarLenFeature(ours.int64)}

    def parse(records: Any) -> Any:
        parsed = ours.io.parse_example(records, description)
        return parsed, (ours.io.parse_example(records, sparse)["tokens"], parsed["id"] % 2)

    paths = sorted(str(path) for path in Path(files).parent.glob(Path(files).name))
    return ours.data.TFRecordDataset(paths).batch(10).map(parse)


def test_a_compat_dataset_keeps_structure_types_and_values(files: str) -> None:
    source = compat(files)
    result = dataset(source)
    assert result.element_spec == (
        {
            "id": tf.TensorSpec((None,), tf.int64),
            "x": tf.TensorSpec((None, 5), tf.float32),
            "name": tf.TensorSpec((None,), tf.string),
            "tokens": tf.RaggedTensorSpec((None, None), tf.int64, 1, tf.int32),
        },
        (tf.SparseTensorSpec((None, None), tf.int64), tf.TensorSpec((None,), tf.int64)),
    )
    expected = [plain(element) for element in source]
    assert [plain(element) for element in result] == expected
    assert [plain(element) for element in batches(source)] == expected


def test_a_compat_dataset_keeps_its_cardinality(files: str) -> None:
    ours = fastrec.compat.v2
    numbers = ours.data.Dataset.range(7)
    assert [int(n) for n in dataset(numbers)] == list(range(7))
    assert len(dataset(numbers)) == 7
    assert dataset(numbers.repeat()).cardinality() == tf.data.INFINITE_CARDINALITY
    assert dataset(compat(files)).cardinality() == tf.data.UNKNOWN_CARDINALITY
    with pytest.raises(TypeError, match="must be a dense, ragged or sparse tensor"):
        dataset(numbers.window(2))
    one: Any = fastrec.compat.v1.data.Dataset.range(3)
    with pytest.raises(TypeError, match=r"source must be a fastrec\.Batcher or a dataset of"):
        dataset(one)


def test_none_is_a_part_of_an_element_as_in_tensorflow(files: str, features: Any) -> None:
    ours = fastrec.compat.v2
    source = ours.data.Dataset.range(3).map(lambda i: (i, None))
    theirs = tf.data.Dataset.range(3).map(lambda i: (i, None))
    for result in (dataset(source), dataset(source).map(lambda i, none: (i, none))):
        assert result.element_spec == theirs.element_spec
        assert list(result) == list(theirs)
    assert list(batches(source)) == list(theirs)
    batcher = fastrec.Batcher(files, features, 50, transform=lambda batch: (batch["id"], None))
    assert [(len(x), y) for x, y in dataset(batcher)] == [(50, None), (50, None), (3, None)]
    spec = dataset(batcher).element_spec
    other = fastrec.Batcher(files, features, 50, transform=lambda batch: (batch["id"], 1))
    with pytest.raises(TypeError, match=r"\[1\] must be None, got int"):
        list(dataset(other, element_spec=spec))


def test_lists_of_images_are_ragged(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with fastrec.Writer(tmp_path / "lists") as writer:
        for count in (2, 0, 1):
            encoded = io.BytesIO()
            image.new("RGB", (4, 4), (count, 2, 3)).save(encoded, "PNG")
            writer.write(fastrec.encode_example({"image": [encoded.getvalue()] * count}))
    features = {"image": fastrec.ImageFeature((4, 4), ragged=True)}
    batcher = fastrec.Batcher(tmp_path / "lists", features, 3)
    result = dataset(batcher)
    assert result.element_spec["image"] == tf.RaggedTensorSpec((None, None, 4, 4, 3), tf.uint8, 1)
    (batch,) = result
    assert batch["image"].row_lengths().numpy().tolist() == [2, 0, 1]
    assert batch["image"].values.shape == (3, 4, 4, 3)


@pytest.mark.parametrize(
    ("module", "stub", "message"),
    [
        ("tensorflow", {"__version__": "2.15.1"}, "requires TensorFlow 2.16 or later, got 2.15.1"),
        ("keras", {"__version__": "2.15.0"}, "requires Keras 3.5 or later, got 2.15.0"),
    ],
)
def test_a_release_that_is_too_old_is_named(
    module: str, stub: dict[str, str], message: str
) -> None:
    code = (
        "import sys, types\n"
        f"stub = types.ModuleType({module!r})\n"
        f"vars(stub).update({stub!r}, utils=types.SimpleNamespace())\n"
        f"sys.modules[{module!r}] = stub\n"
        f"import fastrec.{module}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert f"fastrec.{module} {message}" in done.stderr.splitlines()[-1]
