# SPDX-License-Identifier: Apache-2.0
"""Messages that queue runners and datasets of version 1 parse in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from queue_programs import until_the_end

import fastrec
import fastrec.compat.v1 as tf
from fastrec.compat._tf.data.pipeline import set_lowering as set_data_lowering
from fastrec.compat.v1 import lowering

COUNT, WIDTH = 90, 6
SIDES = ("ymin", "xmin")


def _frames(number: int, count: int) -> bytes:
    draw = np.random.default_rng(number)
    return fastrec.encode_sequence_example(
        {"labels": list(range(number % 3)), "id": b"v%d" % number},
        {
            "rgb": [draw.bytes(WIDTH) for _ in range(count)],
            "points": [draw.random(2, np.float32) for _ in range(count)],
        },
    )


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("messages")
    found = {name: str(folder / f"{name}.tfrecord") for name in ("boxes", "frames", "damaged")}
    with fastrec.Writer(found["boxes"]) as writer:
        for n in range(COUNT):
            row: dict[str, Any] = {side: np.arange(n % 4, dtype=np.float32) + n for side in SIDES}
            writer.write({**row, "label": np.arange(n % 4), "text": [b"%d" % n] * (n % 3)})
    frames = [_frames(n, (3, 0, 5, 1)[n % 4]) for n in range(COUNT)]
    for name in ("frames", "damaged"):
        with fastrec.Writer(found[name]) as writer:
            for n, record in enumerate(frames):
                writer.write(b"\xff\xff" if name == "damaged" and n == 40 else record)
    return found


def boxes(record: Any) -> list[Any]:
    kinds: dict[str, Any] = {side: tf.VarLenFeature(tf.float32) for side in SIDES}
    kinds |= {"label": tf.VarLenFeature(tf.int64), "text": tf.VarLenFeature(tf.string)}
    found = tf.parse_single_example(record, kinds)
    sides = [tf.sparse_tensor_to_dense(found[side]) for side in SIDES]
    turned = tf.transpose(tf.concat([tf.expand_dims(found[side].values, 0) for side in SIDES], 0))
    texts = tf.sparse_tensor_to_dense(found["text"], default_value="")
    labels = found["label"]
    return [
        *(tf.stack(sides, 1), turned, texts, tf.shape(texts)),
        *(labels.indices, labels.values, labels.dense_shape),
    ]


def frames(record: Any) -> list[Any]:
    context, lists = tf.parse_single_sequence_example(
        record,
        context_features={
            "labels": tf.VarLenFeature(tf.int64),
            "id": tf.FixedLenFeature([], tf.string),
        },
        sequence_features={
            "rgb": tf.FixedLenSequenceFeature([], tf.string),
            "points": tf.FixedLenSequenceFeature([2], tf.float32),
            "several": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        },
    )
    pixels = tf.cast(tf.reshape(tf.decode_raw(lists["rgb"], tf.uint8), [-1, WIDTH]), tf.float32)
    labels = tf.sparse_tensor_to_dense(context["labels"])
    return [pixels * 2.0 - 1.0, labels, context["id"], lists["points"], lists["several"]]


PROGRAMS: dict[str, Callable[[Any], list[Any]]] = {"boxes": boxes, "frames": frames}


def queued(path: str, program: Callable[[Any], list[Any]]) -> list[Any]:
    """Elements of a queue, one by one."""
    with tf.Graph().as_default():
        names = tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
        parts = program(tf.TFRecordReader().read(names)[1])
        queue = tf.FIFOQueue(32, [part.dtype for part in parts])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(parts)]))
        taken = queue.dequeue()
        for tensor, part in zip(taken, parts, strict=True):
            tensor.set_shape(part.shape)
        return [[np.asarray(part) for part in row] for row in until_the_end(tf, taken)]


def of_a_dataset(path: str, program: Callable[[Any], list[Any]]) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.TFRecordDataset(path).map(lambda record: tuple(program(record)))
        following = dataset.make_one_shot_iterator().get_next()
        found = []
        while True:
            try:
                found.append([np.asarray(part) for part in session.run(following)])
            except tf.errors.OutOfRangeError:
                return found


def plain(rows: list[Any]) -> list[Any]:
    return [[(part.dtype, part.shape, part.tolist()) for part in row] for row in rows]


@pytest.mark.parametrize("run", [queued, of_a_dataset])
@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_are_as_records(name: str, run: Any, paths: dict[str, str]) -> None:
    blocks = plain(run(paths[name], PROGRAMS[name]))
    before = lowering.set_lowering(False), set_data_lowering(False)
    try:
        alone = plain(run(paths[name], PROGRAMS[name]))
    finally:
        lowering.set_lowering(before[0])
        set_data_lowering(before[1])
    assert len(alone) == COUNT
    assert blocks == alone


def test_what_precedes_a_damaged_record_is_queued(paths: dict[str, str]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.TFRecordDataset(paths["damaged"]).map(lambda r: tuple(frames(r)))
        following = dataset.make_one_shot_iterator().get_next()
        for _ in range(40):
            session.run(following)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid protocol message input"):
            session.run(following)
        assert session.run(following)[2] == b"v41"


def test_messages_are_parsed_in_blocks(
    paths: dict[str, str], monkeypatch: pytest.MonkeyPatch, records_are_quick: None
) -> None:
    calls: list[int] = []
    inner = fastrec._core.parse_sequences

    def counted(context: Any, lists: Any, records: Any, *misfits: Any) -> Any:
        calls.append(len(records))
        return inner(context, lists, records, *misfits)

    monkeypatch.setattr(fastrec._core, "parse_sequences", counted)
    assert len(queued(paths["frames"], frames)) == COUNT
    assert sum(calls) == COUNT
    assert len(calls) < 8
