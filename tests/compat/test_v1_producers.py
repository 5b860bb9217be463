# SPDX-License-Identifier: Apache-2.0
"""Producers: what a queue of inputs holds, epoch after epoch, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import Started, until

import fastrec
import fastrec.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def epochs(fetch: Any) -> list[Any]:
    """Everything until the end."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop() or coord.cause is None:
                found.append(session.run(fetch))
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        coord.join(threads)
    return found


def test_without_a_limit_a_tensor_is_itself() -> None:
    tensor = tf.constant(7)
    assert tf.train.limit_epochs(tensor) is tensor
    with pytest.raises(ValueError, match=r"^num_epochs must be > 0 not 0\.$"):
        tf.train.limit_epochs(tensor, num_epochs=0)


def test_a_limited_tensor_can_be_had_so_many_times() -> None:
    limited = tf.train.limit_epochs(tf.constant("x"), num_epochs=3)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert [session.run(limited) for _ in range(3)] == [b"x"] * 3
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
                session.run(limited)


def test_rows_come_in_order_once_an_epoch() -> None:
    rows = [[1, 2], [3, 4], [5, 6]]
    queue = tf.train.input_producer(tf.constant(rows), num_epochs=2, shuffle=False)
    assert [row.tolist() for row in epochs(queue.dequeue())] == rows * 2


def test_the_shape_of_a_row_can_be_said_where_the_tensor_does_not() -> None:
    given = tf.placeholder_with_default(tf.constant([[1, 2]]), None)
    with pytest.raises(ValueError, match="Either `input_tensor` must have a fully defined shape"):
        tf.train.input_producer(given)
    queue = tf.train.input_producer(given, element_shape=[2], num_epochs=1)
    assert queue.shapes[0].as_list() == [2]
    assert [row.tolist() for row in epochs(queue.dequeue())] == [[1, 2]]


def test_a_scalar_has_no_rows() -> None:
    with pytest.raises(ValueError, match=r"Shape \(\) must have rank at least 1"):
        tf.train.input_producer(tf.constant(1))


def test_seeded_strings_come_in_the_order_of_tensorflow() -> None:
    queue = tf.train.string_input_producer(list("abcd"), num_epochs=3, seed=3)
    assert b"".join(epochs(queue.dequeue())) == b"dcbadacbbdca"


def test_seeded_numbers_come_in_the_order_of_tensorflow_in_each_session() -> None:
    queue = tf.train.range_input_producer(4, num_epochs=3, seed=3)
    expected = ["abcd".index(c) for c in "dcbadacbbdca"]
    number = queue.dequeue()
    assert epochs(number) == expected
    assert epochs(number) == expected


def test_each_shuffled_epoch_is_complete_and_epochs_differ() -> None:
    number = tf.train.range_input_producer(50, num_epochs=3, capacity=7).dequeue()
    found = [int(n) for n in epochs(number)]
    orders = [found[i : i + 50] for i in range(0, 150, 50)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert orders[0] != orders[1]


def test_the_queue_of_strings_has_the_name_that_is_given() -> None:
    assert tf.train.string_input_producer(["a"], name="queue").name == "queue"
    assert tf.train.string_input_producer(["a"]).name == "input_producer"


def test_no_strings_are_refused_at_once_or_when_they_are_seen() -> None:
    text = "string_input_producer requires a non-null input tensor"
    with pytest.raises(ValueError, match=text):
        tf.train.string_input_producer([])
    queue = tf.train.string_input_producer(tf.constant([], dtype=tf.string, shape=[0]))
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError) as end:
            session.run(queue.dequeue())
        assert isinstance(end.value.__cause__, tf.errors.InvalidArgumentError)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            coord.join(threads)


def test_no_numbers_are_the_end_at_once() -> None:
    assert epochs(tf.train.range_input_producer(0, num_epochs=1).dequeue()) == []


def test_slices_are_of_the_same_row_of_each_tensor() -> None:
    numbers, words = tf.train.slice_input_producer(
        [tf.constant([[1, 10], [2, 20], [3, 30]]), tf.constant(["a", "b", "c"])], num_epochs=4
    )
    found = epochs([numbers, words])
    assert len(found) == 12
    assert {(tuple(n.tolist()), w) for n, w in found} == {
        ((1, 10), b"a"),
        ((2, 20), b"b"),
        ((3, 30), b"c"),
    }


def test_a_tensor_that_is_too_short_for_its_slice_is_an_error() -> None:
    slices = tf.train.slice_input_producer([[1, 2, 3], [1, 2]], num_epochs=1, shuffle=False)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert session.run(slices) == [1, 1]
        assert session.run(slices) == [2, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 2 is not in \[0, 2\)"):
            session.run(slices)
        coord.request_stop()
        coord.join(threads)


def test_no_tensors_have_no_slices() -> None:
    with pytest.raises(ValueError, match=r"Expected at least one tensor in slice_input_producer"):
        tf.train.slice_input_producer([])


@pytest.mark.parametrize("make", [tf.train.string_input_producer, tf.train.range_input_producer])
def test_producers_of_one_shared_name_share_their_queue(make: Any) -> None:
    given = 2 if make is tf.train.range_input_producer else ["a", "b"]
    queues = [make(given, shuffle=False, shared_name="both").queue_ref for _ in range(2)]
    assert [ref.op.get_attr("shared_name") for ref in queues] == [b"both", b"both"]
    with tf.Session() as session:
        first, second = session.run(queues)
        assert first is second


def test_epochs_that_nobody_initialised_end_the_queue_with_that_as_the_cause() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1).dequeue()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError) as end:
            session.run(number)
        assert isinstance(end.value.__cause__, tf.errors.FailedPreconditionError)
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"uninitialized.*epochs"):
            coord.join(threads)


def test_a_program_that_starts_no_runners_is_told(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    from fastrec.compat.v1 import _queueing

    monkeypatch.setattr(_queueing, "UNFED_SECONDS", 0.002)
    number = tf.train.range_input_producer(3).dequeue()
    session = tf.Session()
    waiting = Started(lambda: session.run(number))
    until(lambda: len(recwarn))
    session.close()
    with pytest.raises(tf.errors.CancelledError):
        waiting.result()
    assert "queue 'input_producer', which nothing feeds" in str(recwarn[0].message)
    assert len(recwarn) == 1


@pytest.mark.parametrize("at_once", [1, 4])
def test_examples_of_files_come_in_parsed_batches(tmp_path: Path, at_once: int) -> None:
    for shard in range(2):
        with fastrec.Writer(tmp_path / f"{shard}.tfrecord") as writer:
            for number in range(5):
                writer.write({"x": [10 * shard + number], "v": [0.5] * number})
    features = {"x": tf.FixedLenFeature([], tf.int64), "v": tf.VarLenFeature(tf.float32)}
    for random in (False, True):
        with tf.Graph().as_default():
            batch = tf.contrib.learn.read_batch_features(
                str(tmp_path / "*.tfrecord"),
                4,
                features,
                tf.TFRecordReader,
                randomize_input=random,
                num_epochs=1,
                queue_capacity=8,
                read_batch_size=at_once,
            )
            found = epochs(batch)
        numbers = [number for each in found for number in each["x"].tolist()]
        assert sorted(numbers) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
        assert [len(each["x"]) for each in found] == [4, 4, 2]
        assert random or numbers == sorted(numbers)
        assert sum(len(each["v"].values) for each in found) == 20
