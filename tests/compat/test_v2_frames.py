# SPDX-License-Identifier: Apache-2.0
"""SequenceExamples in a map: blocks of them give what each alone gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.pipeline import set_lowering

train = tf.train
WIDTH = 8


def _feature(**values: Any) -> Any:
    kinds = {"b": train.BytesList, "i": train.Int64List, "f": train.FloatList}
    names = {"b": "bytes_list", "i": "int64_list", "f": "float_list"}
    ((kind, value),) = values.items()
    return train.Feature(**{names[kind]: kinds[kind](value=value)})


def _record(number: int, frames: int) -> bytes:
    draw = np.random.default_rng(number)
    context = {"id": _feature(b=[b"v%d" % number]), "labels": _feature(i=range(number % 3))}
    lists = {
        "rgb": [_feature(b=[draw.bytes(WIDTH)]) for _ in range(frames)],
        "points": [_feature(f=draw.random(3)) for _ in range(frames)],
        "numbers": [_feature(i=[n]) for n in range(frames)],
        "several": [_feature(i=range(n)) for n in range(frames)],
        "pairs": [_feature(b=[b"a", b"%d" % n]) for n in range(frames)],
    }
    return train.SequenceExample(
        context=train.Features(feature=context),
        feature_lists=train.FeatureLists(
            feature_list={key: train.FeatureList(feature=each) for key, each in lists.items()}
        ),
    ).SerializeToString()


RECORDS = [_record(n, (3, 0, 5, 1)[n % 4]) for n in range(50)]
CONTEXT = {"id": tf.io.FixedLenFeature([], tf.string), "labels": tf.io.VarLenFeature(tf.int64)}
LISTS = {
    "rgb": tf.io.FixedLenSequenceFeature([], tf.string),
    "points": tf.io.FixedLenSequenceFeature([3], tf.float32),
    "numbers": tf.io.FixedLenSequenceFeature([], tf.int64),
    "several": tf.io.VarLenFeature(tf.int64),
    "pairs": tf.io.FixedLenSequenceFeature([2], tf.string),
    "none": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    "ragged": tf.io.RaggedFeature(tf.int64, "several"),
}


def parsed(record: Any, *keys: str) -> Any:
    found = tf.io.parse_single_sequence_example(record, CONTEXT, {k: LISTS[k] for k in keys})
    return found if len(keys) != 1 else found[1][keys[0]]


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, tf.sparse.SparseTensor):
        return [plain(part) for part in (value.indices, value.values, value.dense_shape)]
    if isinstance(value, tf.RaggedTensor):
        return value.dtype.name, value.to_list()
    array = np.asarray(value.numpy())
    return array.dtype.name, array.shape, array.tolist()


def outcomes(dataset: Any) -> list[Any]:
    """Elements, and the errors between them."""
    found: list[Any] = []
    iterator = iter(dataset)
    while True:
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            return found
        except tf.errors.OpError as error:
            found.append((type(error).__name__, error.message))


def pixels(record: Any) -> Any:
    raw = tf.io.decode_raw(parsed(record, "rgb"), tf.uint8)
    return tf.cast(tf.reshape(raw, [-1, WIDTH]), tf.float32)


MAPS: dict[str, Callable[[Any], Any]] = {
    "all kinds": lambda r: parsed(r, *LISTS),
    "decoded": lambda r: tf.io.decode_raw(parsed(r, "rgb"), tf.int16),
    "of one length": lambda r: tf.io.decode_raw(parsed(r, "rgb"), tf.uint8, fixed_length=4),
    "shapes": lambda r: (tf.shape(pixels(r)), tf.size(pixels(r))),
    "no frames are of no size": lambda r: tf.shape(tf.io.decode_raw(parsed(r, "rgb"), tf.uint8)),
    "scaled": lambda r: pixels(r) * (4.0 / 255.0) + (4.0 / 512.0 - 2.0),
    "by channel": lambda r: (pixels(r) - np.arange(WIDTH, dtype=np.float32)) > 3.0,
    "larger": lambda r: parsed(r, "points") + tf.zeros([1, 1, 3]),
    "of two": lambda r: pixels(r) * pixels(r) - pixels(r),
    "cut": lambda r: (pixels(r)[:2], pixels(r)[1:3], pixels(r)[9:], parsed(r, "numbers")[1:]),
    "reshaped": lambda r: [tf.reshape(pixels(r), size) for size in ([-1], [-1, 4, 2], [-1, 1, 8])],
    "stacked": lambda r: [tf.stack([parsed(r, "numbers")] * 3, axis) for axis in (0, 1, -1)],
    "joined": lambda r: tf.concat([parsed(r, "points"), pixels(r)[:, :3], parsed(r, "none")], 0),
    "joined by name": lambda r: tf.concat([parsed(r, "points")[:, :2], parsed(r, "none")], 0),
    "turned": lambda r: tf.transpose(
        tf.concat([tf.expand_dims(parsed(r, "numbers"), 0)] * 4 + [parsed(r, "numbers")[None]], 0)
    ),
    "of one row": lambda r: [tf.expand_dims(parsed(r, "points"), axis) for axis in (0, 1, 2, -1)],
    "of no such shape": lambda r: tf.reshape(pixels(r), [3, 8]),
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "frames.tfrecord")
    with fastrec.Writer(name) as writer:
        for record in RECORDS:
            writer.write(record)
    return name


def both(make: Callable[[], Any]) -> tuple[list[Any], list[Any]]:
    """Outcomes with blocks, and one by one."""
    found = outcomes(make())
    before = set_lowering(False)
    try:
        return found, outcomes(make())
    finally:
        set_lowering(before)


@pytest.mark.parametrize("name", MAPS)
def test_blocks_are_as_records(name: str, path: str) -> None:
    blocks, alone = both(lambda: tf.data.TFRecordDataset(path).map(MAPS[name]))
    assert len(alone) == len(RECORDS)
    assert blocks == alone


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.map(lambda r: parsed(r, "points")).padded_batch(7, [None, 3]),
        lambda d: d.map(lambda r: parsed(r, "points")).padded_batch(7, [6, 3], -1.0),
        lambda d: d.map(lambda r: parsed(r, "points")).padded_batch(7, [2, 3]),
        lambda d: d.map(lambda r: parsed(r, "rgb")).padded_batch(7, [None], b"-"),
        lambda d: d.map(lambda r: parsed(r, "rgb")).padded_batch(7, [9]),
        lambda d: d.map(lambda r: parsed(r, "rgb")).shuffle(9, seed=1).padded_batch(7, [9], b"-"),
        lambda d: d.map(lambda r: parsed(r, "points")).shuffle(9, seed=1).padded_batch(7),
        lambda d: d.map(lambda r: parsed(r, "rgb")).padded_batch(7, [2]),
        lambda d: d.map(lambda r: tf.zeros([2, 3]) + 1.0).padded_batch(7, [3, 4], 2.0),
        lambda d: d.map(lambda r: tf.stack([r, b"+"])).padded_batch(7, [3], b"-"),
        lambda d: d.map(lambda r: parsed(r, "points")).batch(7),
        lambda d: d.map(lambda r: parsed(r, "numbers", "rgb")[0]).batch(7),
        lambda d: d.shard(4, 2).map(lambda r: parsed(r, "points") * 2.0).batch(5),
        lambda d: d.shard(4, 2).map(lambda r: parsed(r, "several", "ragged")).batch(5),
        lambda d: d.map(pixels).filter(lambda x: tf.shape(x)[0] > 2).unbatch().batch(4),
        lambda d: d.map(pixels).shuffle(9, seed=3).map(lambda x: x + 1.0),
    ],
)
def test_what_follows_takes_blocks(make: Callable[[Any], Any], path: str) -> None:
    blocks, alone = both(lambda: make(tf.data.TFRecordDataset(path)))
    assert blocks == alone


def test_frames_are_parsed_in_blocks(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    inner = fastrec._core.parse_sequences

    def counted(context: Any, lists: Any, records: Any, *misfits: Any) -> Any:
        calls.append(len(records))
        return inner(context, lists, records, *misfits)

    monkeypatch.setattr(fastrec._core, "parse_sequences", counted)
    dataset = tf.data.TFRecordDataset(path).map(pixels).padded_batch(25, [None, WIDTH])
    assert [batch.shape[0] for batch in dataset] == [25, 25]
    assert calls == [50]


def test_damaged_records_of_a_block_fail_alone(tmp_path: Path) -> None:
    name = str(tmp_path / "frames.tfrecord")
    short = train.SequenceExample.FromString(RECORDS[0])
    short.feature_lists.feature_list["points"].feature[0].float_list.value.pop()
    records = [*RECORDS[:7], b"\xff\xff", *RECORDS[7:9], short.SerializeToString(), RECORDS[9]]
    with fastrec.Writer(name) as writer:
        for record in records:
            writer.write(record)
    blocks, alone = both(lambda: tf.data.TFRecordDataset(name).map(lambda r: parsed(r, "points")))
    assert blocks == alone
    wrong = [each for each in blocks if isinstance(each[1], str)]
    assert [name for name, _ in wrong] == ["ParseInvalidArgumentError"] * 2
    assert wrong[0][1].endswith("Invalid protocol message input, example id: <unknown>")
    assert wrong[1][1].endswith("Total values size: 8 is not consistent with output shape: [?,3]")


def decided(record: Any) -> Any:
    """What depends on the record, in three places."""
    lists = parsed(record, "points", "numbers")[1]
    points, numbers = lists["points"], lists["numbers"]
    found = tf.cond(tf.shape(numbers)[0] > 2, lambda: points * 2.0, lambda: points[:, ::-1] - 1.0)
    if tf.size(numbers) == 0:
        return found, tf.constant([7], tf.int64), b"none"
    return found, tf.cond(numbers[-1] > 3, lambda: numbers[1:], lambda: numbers), b"some"


@pytest.mark.parametrize("size", [1, 7, 40])
def test_ways_through_a_function_are_taken_by_blocks(size: int, path: str) -> None:
    shapes: Any = ([None, 3], [None], [])
    blocks, alone = both(
        lambda: tf.data.TFRecordDataset(path).map(decided).padded_batch(size, shapes)
    )
    assert len(alone) == -(-len(RECORDS) // size)
    assert blocks == alone


def test_ways_of_blocks_are_those_of_records(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    inner = fastrec._core.parse_sequences

    def counted(context: Any, lists: Any, records: Any, *misfits: Any) -> Any:
        calls.append(len(records))
        return inner(context, lists, records, *misfits)

    dataset = tf.data.TFRecordDataset(path).map(decided)
    monkeypatch.setattr(fastrec._core, "parse_sequences", counted)
    assert len(list(dataset)) == len(RECORDS)
    assert len(calls) < 15  # for each way to a question, and to an end
