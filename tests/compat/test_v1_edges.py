# SPDX-License-Identifier: Apache-2.0
"""Arguments at the edge: what TensorFlow gives for them is written down here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_programs import drained, until_the_end

import fastrec
import fastrec.compat.v1 as tf
from fastrec.compat.v1 import lowering


def value(text: str, **feeds: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.reshape(tf.range(6), [2, 3])
        n = tf.placeholder_with_default(0, [])
        return session.run(eval(text, {"tf": tf, "np": np, "x": x, "n": n}), {n: feeds.get("n", 0)})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tf.squeeze([[[1], [2]]], np.int64(0))", [[1], [2]]),
        ("tf.squeeze([[[1], [2]]], [0, -3])", [[1], [2]]),
        ("x[x > 3]", [4, 5]),
        ("tf.stack([[1, n], [3, 4]])", [[1, 0], [3, 4]]),
        ("tf.stack('a')", b"a"),
        ("tf.split(x, tf.constant([1, -1]), axis=1)[1]", [[1, 2], [4, 5]]),
        ("tf.gather(x, [[0], [2]], batch_dims=1)", [[0], [5]]),
        ("tf.gather_nd(x, np.zeros([2, 0], np.int32))", [[[0, 1, 2], [3, 4, 5]]] * 2),
        ("tf.gather_nd(x, [[0], [2]], batch_dims=1)", [0, 5]),
        ("tf.saturate_cast([3e9, -3e9], tf.int32)", [2147483520, -(2**31)]),
        ("tf.saturate_cast([1e9, np.inf], tf.float16)", [65504, 65504]),
        ("tf.constant([np.inf, 1.]) // [2., .1]", [np.inf, 10]),
        ("tf.truncatediv(tf.constant([-128], tf.int8), tf.constant([-3], tf.int8))", [42]),
        ("tf.round(tf.constant([2**60 + 1], tf.int64))", [2**60 + 1]),
        ("tf.cumsum([1., np.inf, 2.], exclusive=True)", [0, 1, np.inf]),
        ("tf.argmax([1., np.nan, 5.])", 2),
        ("tf.reduce_mean(tf.constant([255, 255, 200], tf.uint8))", 236),
        ("tf.reduce_mean(tf.zeros([0, 2], tf.int32), 0)", [0, 0]),
        ("tf.decode_csv(',', [7, 2])[0]", 7),
        ("tf.reduce_join([['a', 'b'], ['c', 'd']], [0, 1])", b"acbd"),
        ("tf.regex_replace('é[a]', '[[:alpha:]]', 'x')", "é[x]".encode()),
        ("tf.regex_replace('aab', 'a*', 'x')", b"xbx"),
        ("tf.regex_replace('é', '.', '\\\\0\\\\0')", "éé".encode()),
        ("tf.substr('hello', 1, -1)", b"ello"),
        ("tf.cond(n < 1, lambda: [1], lambda: [2])", 1),
        ("tf.cond(n < 1, lambda: {'a': 1}, lambda: {'a': 2})['a']", 1),
        ("tf.string_to_number('0x10')", 16),
        ("~tf.constant([1, 200], tf.uint8)", [254, 55]),
        ("tf.transpose(np.array([[1 + 2j]]), conjugate=True)", [[1 - 2j]]),
    ],
)
def test_an_edge_has_the_value_that_tensorflow_gives(text: str, wanted: Any) -> None:
    np.testing.assert_array_equal(value(text), wanted)


@pytest.mark.parametrize(
    "text",
    [
        "tf.sqrt(4)",
        "-tf.constant([1], tf.uint8)",
        "tf.saturate_cast(x, tf.bool)",
        "tf.slice(x, [0., 0.], [1, 1])",
        "tf.reduce_sum(x, 0.)",
        "tf.split(x, 0)",
        "tf.split(x, [1, 3], axis=1)",
        "tf.unstack(x, axis=2)",
        "tf.unstack(x, num=3)",
        "tf.squeeze(x, 2)",
        "tf.transpose(x, [0, 2])",
        "tf.concat([], 0)",
        "tf.reduce_all(x)",
        "tf.clip_by_value([1, 2], [[1], [2]], 3)",
    ],
)
def test_what_cannot_be_is_refused_while_the_graph_is_made(text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "tf.transpose(x, [0, 0])",
        "tf.tile([1], [-1])",
        "tf.image.per_image_standardization(tf.placeholder_with_default([1.], None))",
        "tf.image.flip_left_right(tf.placeholder_with_default(np.zeros([0, 2, 3]), None))",
    ],
)
def test_what_cannot_be_is_refused_by_the_run(text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        value(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tf.expand_dims(x[0], n)", [[0], [1], [2]]),
        ("tf.gather(x, [1], axis=n)", [[1], [4]]),
        ("tf.concat([x, x], n)", [[0, 1, 2, 0, 1, 2], [3, 4, 5, 3, 4, 5]]),
        ("tf.split(x, 3, axis=n)[2]", [[2], [5]]),
        ("tf.cumsum(x, n)", [[0, 1, 3], [3, 7, 12]]),
        ("tf.argmax(x, n)", [2, 2]),
        ("x[n]", [3, 4, 5]),
    ],
)
def test_a_default_is_not_taken_for_what_is_fed_in_its_place(text: str, wanted: Any) -> None:
    np.testing.assert_array_equal(value(text, n=1), wanted)


def rows(path: Path, build: Callable[[Any], Any], lowered: bool) -> tuple[list[Any], str]:
    """Rows that a runner enqueues, and the first line of the error that ended it."""
    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            files = tf.train.string_input_producer([str(path)], 1)
            row = build(tf.TFRecordReader().read(files)[1])
            found, error = drained(tf, tf.train.batch([row], 1, capacity=99))
            text = "" if error is None else str(getattr(error, "message", error))
            return [batch.tolist() for batch in found], text.split("\n")[0]
    finally:
        lowering.set_lowering(before)


def label(serialized: Any) -> Any:
    return tf.parse_single_example(serialized, {"a": tf.FixedLenFeature([], tf.int64)})["a"]


def with_chance(serialized: Any) -> Any:
    return label(serialized) + tf.random_uniform([], 0, 1000, tf.int64, seed=3)


def with_another_shape(serialized: Any) -> Any:
    flat = tf.decode_raw(tf.as_string(label(serialized) % 10), tf.uint8)
    flat.set_shape([3])
    return flat


@pytest.mark.parametrize("build", [with_chance, with_another_shape])
def test_an_error_leaves_what_record_by_record_leaves(
    tmp_path: Path, build: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    with fastrec.Writer(tmp_path / "a") as writer:
        for i in range(60):
            writer.write({"a": [1.5] if i == 40 else i})
    slow, fast = (rows(tmp_path / "a", build, lowered) for lowered in (False, True))
    assert slow == fast
    assert len(slow[0]) == (40 if build is with_chance else 0)
    assert slow[1]


def test_an_assertion_of_a_rank_beside_a_draw_leaves_a_queue_runner_its_batches() -> None:
    with tf.Graph().as_default():
        numbers = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        image = tf.fill([4, 6, 3], numbers)
        with tf.control_dependencies([tf.Assert(tf.equal(tf.rank(image), 3), ["rank"])]):
            crop = tf.random_crop(image, [2, 2, 3], seed=5)
        batches = until_the_end(tf, tf.train.batch([crop], 2))
    assert [batch[:, 0, 0, 0].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]


def test_a_broken_record_in_the_first_block_raises_its_own_error_beside_a_draw() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        image = tf.reshape(tf.range(12 + number // 4), [2, 2, 3])
        batch = tf.train.batch([tf.random_crop(image, [1, 2, 3], seed=5)], 2)
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert [session.run(batch).shape for _ in range(2)] == [(2, 1, 2, 3)] * 2
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
            coordinator.join(threads)
