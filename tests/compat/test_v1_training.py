# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training``: batches of examples of one bucket, by queues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf

training: Any = tf.contrib.training


def batches_of(make: Any, count: int) -> list[Any]:
    """What all batches hold, of the numbers up to `count`."""
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        number = tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()
        batch = make(number)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
        try:
            while True:
                found.append(session.run(batch))
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_every_batch_is_of_one_bucket(threads: int) -> None:
    def make(number: Any) -> Any:
        example = {"a": number, "b": tf.cast(number, tf.float32) / 2}
        return training.bucket(
            example, number % 3, [4, 5, 6], 3, threads, allow_smaller_final_batch=True
        )

    found = batches_of(make, 50)
    for which, batch in found:
        assert set(batch["a"] % 3) == {which}
        assert len(batch["a"]) <= 4 + which
        np.testing.assert_array_equal(batch["b"], batch["a"] / 2)
    assert sorted(np.concatenate([batch["a"] for _, batch in found])) == list(range(50))


def test_only_whole_batches_of_what_is_kept() -> None:
    def make(number: Any) -> Any:
        return training.bucket([number], number % 2, 4, 2, keep_input=number < 14)

    found = batches_of(make, 30)
    assert sorted(which for which, _ in found) == [0, 1]
    for which, batch in found:
        assert batch.tolist() == [which, which + 2, which + 4, which + 6]


def test_sequences_of_similar_length() -> None:
    def make(number: Any) -> Any:
        length = number % 9 + 1
        return training.bucket_by_sequence_length(
            length,
            [tf.range(length), number],
            3,
            [3, 6],
            dynamic_pad=True,
            allow_smaller_final_batch=True,
            shapes=[[None], []],
        )

    found = batches_of(make, 40)
    seen: list[int] = []
    for lengths, (rows, numbers) in found:
        assert len({int(length >= 3) + int(length >= 6) for length in lengths}) == 1
        assert rows.shape == (len(lengths), max(lengths))
        for row, length, number in zip(rows, lengths, numbers, strict=True):
            assert length == number % 9 + 1
            assert row.tolist() == [*range(length), *[0] * (len(row) - length)]
        seen += numbers.tolist()
    assert sorted(seen) == list(range(40))


def test_arguments_that_cannot_be() -> None:
    with tf.Graph().as_default():
        number = tf.constant(1)
        with pytest.raises(ValueError, match="batch_size must have the same number"):
            training.bucket([number], number, [1, 2], 3)
        with pytest.raises(ValueError, match="num_buckets must be at least 1"):
            training.bucket([number], number, 1, 0)
        with pytest.raises(ValueError, match="bucket_boundaries must be ascending"):
            training.bucket_by_sequence_length(number, [number], 1, [3, 3])
        with pytest.raises(ValueError, match="at least one tensor"):
            training.bucket([], number, 1, 1)
        with pytest.raises(AttributeError, match=r"contrib\.training has no 'train'"):
            _ = training.train


@pytest.mark.parametrize("shares", [None, [0.9, 0.1]])
def test_batches_of_stratified_samples_have_their_classes_as_often_as_wished(shares: Any) -> None:
    numbers = np.random.RandomState(0).permutation(4000)

    def make(number: Any) -> Any:
        drawn = tf.gather(tf.constant(numbers), number)
        label = tf.cast(tf.equal(drawn % 10, 0), tf.int64)
        tf.set_random_seed(1)
        return training.stratified_sample([drawn], label, [0.5, 0.5], 50, shares)

    found = batches_of(make, 4000)
    assert len(found) > 5
    for (drawn,), label in found:
        assert ((drawn % 10 == 0) == label).all()
    assert 0.4 < np.mean([label for _, label in found[2:]]) < 0.6


def test_examples_are_kept_with_the_chance_that_a_function_says() -> None:
    def make(number: Any) -> Any:
        return training.rejection_sample(
            [number], lambda example: tf.cast(example[0] % 2, tf.float32), 10
        )

    found = batches_of(make, 100)
    assert [batch.tolist() for (batch,) in found] == np.arange(1, 100, 2).reshape(5, 10).tolist()
