# SPDX-License-Identifier: Apache-2.0
"""Batches: of one thread's examples or of several's, in order or not, whole or what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf

BATCH, COUNT = 5, 33
train = tf.train


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def numbers(count: int = COUNT, start: int = 0) -> Any:
    """start, start + 1, ..."""
    return tf.cast(train.range_input_producer(count, 1, shuffle=False).dequeue(), tf.int64) + start


def all_of(fetches: Any) -> list[Any]:
    """Every batch until the end."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        try:
            while True:
                found.append(session.run(fetches))
        except tf.errors.OutOfRangeError as end:
            if end.__cause__ is not None:
                raise end.__cause__ from None
        coord.request_stop()
        coord.join(threads)
    return found


#: The four functions, over a list of examples each of which has a thread.
Make = Callable[..., Any]
FUNCTIONS: dict[str, Make] = {
    "batch": lambda examples, **how: train.batch(examples[0], BATCH, **how),
    "batch_join": lambda examples, **how: train.batch_join(examples, BATCH, **how),
    "shuffle_batch": lambda examples, **how: train.shuffle_batch(
        examples[0], BATCH, 32, 16, seed=1, **how
    ),
    "shuffle_batch_join": lambda examples, **how: train.shuffle_batch_join(
        examples, BATCH, 32, 16, seed=1, **how
    ),
}
MAYBE: dict[str, Make] = {
    "batch": lambda e, keep, **how: train.maybe_batch(e[0], keep, BATCH, **how),
    "batch_join": lambda e, keep, **how: train.maybe_batch_join(e, keep, BATCH, **how),
    "shuffle_batch": lambda e, keep, **how: train.maybe_shuffle_batch(
        e[0], BATCH, 32, 16, keep, **how
    ),
    "shuffle_batch_join": lambda e, keep, **how: train.maybe_shuffle_batch_join(
        e, BATCH, 32, 16, keep, **how
    ),
}


@pytest.fixture(params=list(FUNCTIONS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def examples_for(name: str) -> list[tf.Tensor]:
    return [numbers(), numbers(COUNT, 100)] if name.endswith("join") else [numbers()]


def expected_for(name: str) -> list[int]:
    both = list(range(COUNT)) + list(range(100, 100 + COUNT))
    return both if name.endswith("join") else both[:COUNT]


def test_batches_hold_what_belongs_together_and_the_rest_is_lost(name: str) -> None:
    examples = [[n, n * 2, tf.constant("s")] for n in examples_for(name)]
    fetches = FUNCTIONS[name](examples)
    assert [part.shape.as_list() for part in fetches] == [[BATCH]] * 3
    found = all_of(fetches)
    expected = expected_for(name)
    assert len(found) == len(expected) // BATCH
    seen = [int(n) for first, _, _ in found for n in first]
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(expected)
    for first, second, words in found:
        np.testing.assert_array_equal(second, first * 2)
        assert words.tolist() == [b"s"] * BATCH


def test_one_thread_keeps_the_order() -> None:
    found = all_of(train.batch([numbers()], BATCH))
    assert np.concatenate(found).tolist() == list(range(30))


def test_shuffled_batches_are_in_another_order() -> None:
    found = np.concatenate(all_of(train.shuffle_batch([numbers()], BATCH, 32, 16))).tolist()
    assert found != sorted(found)


def test_what_is_left_can_be_a_smaller_batch(name: str) -> None:
    fetch = FUNCTIONS[name]([[n] for n in examples_for(name)], allow_smaller_final_batch=True)
    assert fetch.shape.as_list() == [None]
    found = all_of(fetch)
    expected = expected_for(name)
    assert [len(batch) for batch in found][-1] == len(expected) % BATCH
    assert sorted(np.concatenate(found).tolist()) == expected


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_share_the_work(threads: int) -> None:
    fetch = train.batch([numbers()], BATCH, num_threads=threads, allow_smaller_final_batch=True)
    assert len(tf.get_default_graph().get_collection("queue_runners")[-1].enqueue_ops) == threads
    assert sorted(np.concatenate(all_of(fetch)).tolist()) == list(range(COUNT))


def test_dictionaries_come_back_as_dictionaries(name: str) -> None:
    examples = [{"b": n, 7: n + 1} for n in examples_for(name)]
    for batch in all_of(FUNCTIONS[name](examples)):
        assert sorted(batch, key=str) == [7, "b"]
        np.testing.assert_array_equal(batch[7], batch["b"] + 1)


def test_a_dictionary_of_one_stays_one(name: str) -> None:
    found = all_of(FUNCTIONS[name]([{"only": n} for n in examples_for(name)]))
    assert all(list(batch) == ["only"] for batch in found)


def test_many_examples_at_once(name: str) -> None:
    examples = [[tf.stack([n * 2, n * 2 + 1])] for n in examples_for(name)]
    fetch = FUNCTIONS[name](examples, enqueue_many=True)
    assert fetch.shape.as_list() == [BATCH]
    seen = np.concatenate(all_of(fetch)).tolist()
    every = [m for n in expected_for(name) for m in (2 * n, 2 * n + 1)]
    assert len(seen) == len(every) // BATCH * BATCH
    assert set(seen) <= set(every)


@pytest.mark.parametrize("join", [False, True])
def test_open_dimensions_are_padded(join: bool) -> None:
    def example(n: tf.Tensor) -> list[tf.Tensor]:
        return [tf.fill([tf.cast(n % 4, tf.int32)], n), n]

    if join:
        fetches = train.batch_join([example(numbers())], BATCH, dynamic_pad=True)
    else:
        fetches = train.batch(example(numbers()), BATCH, dynamic_pad=True)
    assert fetches[0].shape.as_list() == [BATCH, None]
    for filled, ns in all_of(fetches):
        assert filled.shape == (BATCH, max(n % 4 for n in ns))
        for row, n in zip(filled, ns, strict=True):
            assert row.tolist() == [n] * (n % 4) + [0] * (len(row) - n % 4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float64, np.bool_, "U1"])
def test_every_kind_of_element_goes_through(dtype: Any) -> None:
    column = np.array([0, 1, 1, 0], dtype)
    (row,) = train.slice_input_producer([column], 1, shuffle=False)
    (found,) = all_of(train.batch([row], 4))
    assert found.tolist() == tf.Session().run(tf.constant(column)).tolist()


def test_batches_of_one_shared_name_come_from_one_queue(name: str) -> None:
    how = {"shared_name": "both"}
    fetches = [FUNCTIONS[name]([[tf.constant(i)]], **how) for i in range(2)]
    queues = [fetch.op.inputs[0] for fetch in fetches]
    with tf.Session() as session:
        first, second = session.run(queues)
        assert first is second
        assert first.name == "both"


# What is kept.


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("constant", [True, False])
def test_examples_can_be_left_out(name: str, keep: bool, constant: bool) -> None:
    examples = [[n] for n in examples_for(name)]
    keeping = tf.constant(keep) if constant else tf.equal(examples[0][0] * 0, 0 if keep else 1)
    found = all_of(MAYBE[name](examples, keeping))
    assert bool(found) is keep


@pytest.mark.parametrize("per_example", [True, False])
def test_of_many_examples_some_can_be_left_out(name: str, per_example: bool) -> None:
    pairs = [tf.stack([n * 2, n * 2 + 1]) for n in examples_for(name)]
    keep = tf.constant([False, True]) if per_example else tf.constant(True)
    seen = np.concatenate(all_of(MAYBE[name]([[p] for p in pairs], keep, enqueue_many=True)))
    assert {int(n) % 2 for n in seen} == ({1} if per_example else {0, 1})


@pytest.mark.parametrize(
    ("keep", "many", "text"),
    [
        ([True, False], False, "`keep_input` cannot be a vector when `enqueue_many=False`."),
        ([[True]], True, "`keep_input` must be 0 or 1 dimensions."),
        (None, True, "`keep_input` dimensions must be known at graph construction."),
    ],
)
def test_what_to_keep_is_a_scalar_or_a_vector(name: str, keep: Any, many: bool, text: str) -> None:
    tensor = tf.placeholder(tf.bool) if keep is None else tf.constant(keep)
    with pytest.raises(ValueError, match=text):
        MAYBE[name]([[tf.zeros([2])]], tensor, enqueue_many=many)


# What is refused.


def test_ranks_must_be_known(name: str) -> None:
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank: Tensor"):
        FUNCTIONS[name]([[tf.placeholder(tf.int32)]])


def test_open_dimensions_need_padding(name: str) -> None:
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        FUNCTIONS[name]([[tf.placeholder(tf.int32, [None])]])


def test_shapes_can_be_said_where_tensors_do_not() -> None:
    given = tf.placeholder(tf.int32)
    assert train.batch([given], 3, shapes=[[2]]).shape.as_list() == [3, 2]


def test_many_examples_are_not_a_scalar(name: str) -> None:
    with pytest.raises(ValueError, match=r"Shape \(\) must have rank at least 1"):
        FUNCTIONS[name]([[tf.constant(1)]], enqueue_many=True)


def test_there_must_be_a_tensor(name: str) -> None:
    text = "Expected at least one set of tensors" if "join" in name else "Expected at least one te"
    with pytest.raises(ValueError, match=text):
        FUNCTIONS[name]([] if "join" in name else [[]])


@pytest.mark.parametrize("function", ["batch_join", "shuffle_batch_join"])
def test_examples_that_are_joined_must_be_alike(function: str) -> None:
    make = FUNCTIONS[function]
    one, half, pair = tf.constant(1), tf.constant(0.5), tf.constant([1, 2])
    with pytest.raises(ValueError, match="All dictionaries in tensors_list must have the same key"):
        make([{"a": one}, {"b": one}])
    with pytest.raises(TypeError, match=r"to be consistent: int32 vs. float32\."):
        make([[one], [half]])
    with pytest.raises(ValueError, match=r"Shapes"):
        make([[one], [pair]])


def test_a_shuffle_needs_room() -> None:
    with pytest.raises(ValueError, match=r"^capacity 5 must be bigger than min_after_dequeue 5\.$"):
        train.shuffle_batch([tf.constant(1)], 2, capacity=5, min_after_dequeue=5)


# How it ends.


def test_an_error_lets_whole_batches_through_and_is_the_cause_of_the_end() -> None:
    n = numbers(13)
    bad = tf.gather(tf.range(12), tf.cast(n, tf.int32))
    fetch = train.batch([bad], BATCH)
    coord = train.Coordinator()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        threads = train.start_queue_runners(session, coord)
        for thread in threads:
            thread.join()
        assert [session.run(fetch).tolist() for _ in range(2)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements") as end:
            session.run(fetch)
        assert isinstance(end.value.__cause__, tf.errors.InvalidArgumentError)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 12\)"):
            coord.join(threads)


# Sparse tensors.


def sparse_of(n: tf.Tensor) -> tf.SparseTensor:
    """[n, n, ...]: n % 4 of them."""
    count = tf.cast(n % 4, tf.int64)
    indices = tf.reshape(tf.range(count), [-1, 1])
    return tf.SparseTensor(indices, tf.fill([tf.cast(count, tf.int32)], n), tf.stack([count]))


def test_sparse_tensors_come_back_as_sparse_batches(name: str) -> None:
    examples = [{"sparse": sparse_of(n), "n": n} for n in examples_for(name)]
    fetches = FUNCTIONS[name](examples)
    assert fetches["sparse"].dense_shape.shape.as_list() == [2]
    found = all_of(fetches)
    assert len(found) == len(expected_for(name)) // BATCH
    for batch in found:
        rows = [(int(n), i) for i, n in enumerate(batch["n"])]
        assert batch["sparse"].indices.tolist() == [[i, j] for n, i in rows for j in range(n % 4)]
        assert batch["sparse"].values.tolist() == [n for n, _ in rows for _ in range(n % 4)]
        assert batch["sparse"].dense_shape.tolist() == [BATCH, max(n % 4 for n, _ in rows)]


def test_rows_of_sparse_tensors_are_many_examples(name: str) -> None:
    def rows(n: tf.Tensor) -> tf.SparseTensor:
        return tf.SparseTensor([[0, 2], [1, 0]], tf.stack([n, n + 1]), [3, 4])

    fetch = FUNCTIONS[name]([[rows(n)] for n in examples_for(name)], enqueue_many=True)
    for batch in all_of(fetch):
        assert batch.dense_shape.tolist() == [BATCH, 4]
        assert len(batch.values) == len(batch.indices)
        columns = batch.indices[:, 1]
        found = np.stack([columns, (batch.values - columns) % 2], axis=1)
        assert {*map(tuple, found.tolist())} <= {(2, 0), (2, 1), (0, 0), (0, 1)}


def test_sparse_tensors_can_be_left_out(name: str) -> None:
    numbered = examples_for(name)
    examples = [{"sparse": sparse_of(n), "n": n} for n in numbered]
    keep = tf.equal(numbered[0] % 2, 0)
    for batch in all_of(MAYBE[name](examples, keep)):
        assert batch["sparse"].values.tolist() == [int(n) for n in batch["n"] for _ in range(n % 4)]


@pytest.mark.parametrize("function", ["batch_join", "shuffle_batch_join"])
def test_sparse_and_dense_are_not_joined(function: str) -> None:
    n = tf.constant(3, tf.int64)
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
        FUNCTIONS[function]([[n, sparse_of(n)], [sparse_of(n), n]])
