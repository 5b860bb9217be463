# SPDX-License-Identifier: Apache-2.0
"""Queues in a graph: how they are made, what they take and give, and what they have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from waiting import Started, until

import fastrec.compat.v1 as tf

KINDS: dict[str, Callable[..., Any]] = {
    "fifo": lambda **how: tf.FIFOQueue(10, how.pop("dtypes"), **how),
    "shuffle": lambda **how: tf.RandomShuffleQueue(10, 0, how.pop("dtypes"), **how),
    "padding": lambda **how: tf.PaddingFIFOQueue(10, how.pop("dtypes"), **how),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# How they are made.


def test_queues_know_their_types_shapes_and_names(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.int32, tf.string], shapes=[[2], []], names=["i", "s"], name="q")
    assert queue.dtypes == [tf.int32, tf.string]
    assert [shape.as_list() for shape in queue.shapes] == [[2], []]
    assert queue.names == ["i", "s"]
    assert queue.name == queue.queue_ref.op.name == "q"
    assert KINDS[kind](dtypes=tf.int32, shapes=[[]], name="q").name == "q_1"


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [((), []), ([()], []), ([], []), ([[]], []), ([2], [2]), ((2, 3), [2, 3]), ([[2]], [2])],
)
def test_a_single_shape_needs_no_list(shapes: Any, expected: list[int]) -> None:
    assert tf.FIFOQueue(3, tf.int32, shapes).shapes[0].as_list() == expected
    assert tf.FIFOQueue(3, tf.int32, tf.TensorShape(expected)).shapes[0].as_list() == expected


def test_without_shapes_nothing_is_known() -> None:
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32])
    assert [shape.ndims for shape in queue.shapes] == [None, None]
    assert [tensor.shape.ndims for tensor in queue.dequeue()] == [None, None]


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"shapes": [[1], [2]]}, ValueError, "Queue shapes must have the same length as dtypes"),
        ({"shapes": [[None]]}, ValueError, r"All shapes must be fully defined: \[TensorShape"),
        ({"shapes": 3}, TypeError, "Shapes must be a TensorShape or a list or tuple of TensorShap"),
        ({"names": ["a", "b"]}, ValueError, "List of names must have the same length as the list"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(
    settings: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tf.FIFOQueue(3, tf.int32, **settings)


def test_a_padding_queue_needs_shapes_of_known_rank() -> None:
    for shapes in (None, [None], []):
        with pytest.raises(
            ValueError, match="When providing partial shapes, a list of shapes must"
        ):
            tf.PaddingFIFOQueue(3, tf.int32, shapes)
    with pytest.raises(ValueError, match="Shapes must be provided for all components"):
        tf.PaddingFIFOQueue(3, tf.int32, [[2], [3]])
    with pytest.raises(ValueError, match="All shapes must have a defined rank"):
        tf.PaddingFIFOQueue(3, tf.int32, [tf.TensorShape(None)])


@pytest.mark.parametrize(("least", "text"), [(3, "must be < capacity 3"), (-1, "must be >= 0")])
def test_a_shuffle_needs_room_for_what_stays_behind(least: int, text: str) -> None:
    queue = tf.RandomShuffleQueue(3, least, tf.int32)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=f"min_after_dequeue {least} {text}"),
    ):
        session.run(queue.size())


def test_a_negative_capacity_is_none() -> None:
    queue = tf.RandomShuffleQueue(-1, 5, tf.int32, [[]])
    put, size = queue.enqueue_many([list(range(1000))]), queue.size()
    with tf.Session() as session:
        session.run(put)
        assert session.run(size) == 1000


# What they take and give.


DTYPES = [
    *(tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shaped", [True, False])
def test_every_type_of_elements(dtype: Any, shaped: bool) -> None:
    values = np.arange(6).reshape(3, 2).astype(dtype.as_numpy_dtype)
    queue = tf.FIFOQueue(10, dtype, [[2]] if shaped else None)
    put, one = queue.enqueue_many([values]), queue.dequeue()
    with tf.Session() as session:
        session.run(put)
        found = np.stack([session.run(one) for _ in range(3)])
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


def test_numbers_of_python_take_the_type_of_the_queue() -> None:
    queue = tf.FIFOQueue(10, [tf.float16, tf.int64])
    put, taken = queue.enqueue([1, 2]), queue.dequeue()
    with tf.Session() as session:
        session.run(put)
        first, second = session.run(taken)
    assert (first.dtype, second.dtype) == (np.float16, np.int64)


def test_an_empty_batch_takes_the_type_of_the_queue(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.float32, tf.int32], shapes=[[], [2]])
    put, size = queue.enqueue_many([[], np.empty((0, 2), np.int32)]), queue.size()
    with tf.Session() as session:
        session.run(put)
        assert session.run(size) == 0


def test_wrong_types_and_shapes_are_refused_when_the_operation_is_made(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.int32], shapes=[[2]])
    with pytest.raises(ValueError, match="requested dtype int32 for Tensor with dtype float32"):
        queue.enqueue(tf.constant([0.5, 1.5]))
    with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\) are incompatible"):
        queue.enqueue(tf.constant([1, 2, 3]))
    with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\) are incompatible"):
        queue.enqueue_many(tf.constant([[1, 2, 3]]))
    with pytest.raises(ValueError, match="must have rank at least 1"):
        queue.enqueue_many(tf.constant(1))


def test_shapes_that_only_a_run_knows_are_refused_then(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.int32], shapes=[[2]])
    given = tf.placeholder(tf.int32)
    one, many = queue.enqueue(given), queue.enqueue_many(given)
    with tf.Session() as session:
        text = re.escape("Shape mismatch in tuple component 0. Expected [2], got [3]")
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(one, {given: [1, 2, 3]})
        text = re.escape("Shape mismatch in tuple component 0. Expected [1,2], got [1,3]")
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(many, {given: [[1, 2, 3]]})


def test_what_is_static_of_what_comes_out(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.int32, tf.string], shapes=[[2, 3], []])
    count = tf.placeholder(tf.int32, [])
    found = [queue.dequeue(), queue.dequeue_many(4), queue.dequeue_many(count)]
    assert [[t.shape.as_list() for t in each] for each in found] == [
        [[2, 3], []],
        [[4, 2, 3], [4]],
        [[None, 2, 3], [None]],
    ]
    assert [t.shape.as_list() for t in queue.dequeue_up_to(4)] == [[None, 2, 3], [None]]
    with pytest.raises(ValueError, match="Input 'n' must be >= 0, but is -1"):
        queue.dequeue_many(-1)


def test_how_many_can_be_a_tensor(kind: str) -> None:
    queue = KINDS[kind](dtypes=tf.int32, shapes=[[]])
    count = tf.placeholder(tf.int32, [])
    put, many = queue.enqueue_many([list(range(5))]), queue.dequeue_many(count)
    with tf.Session() as session:
        session.run(put)
        assert [len(session.run(many, {count: n})) for n in (0, 3, 2)] == [0, 3, 2]


def test_named_components_are_dictionaries(kind: str) -> None:
    queue = KINDS[kind](dtypes=[tf.int32, tf.string], shapes=[[], []], names=["i", "s"])
    one, many = queue.enqueue({"s": "a", "i": 1}), queue.enqueue_many({"i": [2], "s": ["b"]})
    taken, batch = queue.dequeue(), queue.dequeue_many(1)
    assert sorted(taken) == sorted(batch) == ["i", "s"]
    with tf.Session() as session:
        session.run(one)
        assert session.run(taken) == {"i": 1, "s": b"a"}
        session.run(many)
        assert session.run(batch)["s"].tolist() == [b"b"]
    with pytest.raises(ValueError, match=r"Keys in dictionary to enqueue do not match names of Qu"):
        queue.enqueue({"i": 1})
    with pytest.raises(ValueError, match="You must enqueue a dictionary in a Queue with names"):
        queue.enqueue([1, "a"])
    with pytest.raises(ValueError, match="Queue must have names to enqueue a dictionary"):
        tf.FIFOQueue(3, tf.int32).enqueue({"i": 1})


def test_a_priority_is_an_int64_scalar() -> None:
    queue = tf.PriorityQueue(9, [tf.string], [[]])
    assert queue.dtypes == [tf.int64, tf.string]
    with pytest.raises(TypeError, match="Expected int64"):
        queue.enqueue((0.5, "a"))
    with pytest.raises(ValueError, match="requested dtype int64 for Tensor with dtype int32"):
        queue.enqueue((tf.constant(1), "a"))
    with pytest.raises(ValueError, match=r"Shapes \(1,\) and \(\) are incompatible"):
        queue.enqueue((tf.constant([1], tf.int64), "a"))
    put, taken = queue.enqueue_many([[3, 1, 2], ["c", "a", "b"]]), queue.dequeue_many(3)
    with tf.Session() as session:
        session.run(put)
        numbers, names = session.run(taken)
    assert (numbers.tolist(), names.tolist()) == ([1, 2, 3], [b"a", b"b", b"c"])


# One among several.


def test_a_queue_can_be_chosen_by_a_tensor() -> None:
    queues: list[Any] = [
        tf.FIFOQueue(9, tf.int32, [[]]),
        tf.RandomShuffleQueue(9, 0, tf.int32, [[]]),
    ]
    which = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(which, queues)
    put, sizes = chosen.enqueue(7), [queue.size() for queue in queues]
    with tf.Session() as session:
        session.run(put, {which: 1})
        assert session.run(sizes) == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 2 is not in \[0, 2\)"):
            session.run(put, {which: 2})


def test_queues_to_choose_from_are_alike() -> None:
    one = tf.FIFOQueue(9, [tf.int32, tf.int32], [[2, 3], [1]])
    other = tf.FIFOQueue(9, [tf.int32, tf.int32], [[2, 4], [1]])
    chosen = tf.QueueBase.from_list(0, [one, other])
    assert [shape.as_list() for shape in chosen.shapes] == [[2, None], [1]]
    with pytest.raises(TypeError, match="A list of queues expected"):
        tf.QueueBase.from_list(0, [])
    with pytest.raises(TypeError, match="Queues do not have matching component dtypes"):
        tf.QueueBase.from_list(0, [one, tf.FIFOQueue(9, tf.int32)])


# Sessions and names.


def test_sessions_have_queues_of_their_own_even_of_one_shared_name() -> None:
    first = tf.FIFOQueue(9, tf.int32, [[]], shared_name="it")
    second = tf.FIFOQueue(9, tf.int32, [[]], shared_name="it")
    alone = tf.FIFOQueue(9, tf.int32, [[]])
    put, size, other = first.enqueue(1), second.size(), alone.size()
    with tf.Session() as session, tf.Session() as another:
        session.run(put)
        assert session.run([size, other]) == [1, 0]
        assert another.run(size) == 0


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"capacity": 4}, "has capacity 3 but requested capacity was 4"),
        ({"dtypes": tf.float32}, "has component types int32 but requested component types were fl"),
        ({"shapes": [[2]]}, "has component shapes [[]] but requested component shapes were [[2]]"),
        ({"shapes": None}, "has component shapes [[]] but requested component shapes were []"),
    ],
)
def test_queues_of_one_shared_name_are_alike(other: dict[str, Any], text: str) -> None:
    settings: dict[str, Any] = {"capacity": 3, "dtypes": tf.int32, "shapes": [[]]}
    first = tf.FIFOQueue(**settings, shared_name="it").size()
    second = tf.FIFOQueue(**{**settings, **other}, shared_name="it").size()
    shuffled = tf.RandomShuffleQueue(3, 1, tf.int32, [[]], shared_name="it").size()
    with tf.Session() as session:
        session.run(first)
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
            session.run(second)
        wanted = "Expected FIFOQueue, found RandomShuffleQueueV2"
        with pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
            session.run(shuffled)


def test_shuffles_of_one_shared_name_have_one_seed() -> None:
    sizes = [
        tf.RandomShuffleQueue(3, least, tf.int32, seed=seed, shared_name="it").size()
        for least, seed in ((1, 5), (2, 5), (1, 6))
    ]
    with tf.Session() as session:
        session.run(sizes[0])
        text = "has min_after_dequeue 1 but requested min_after_dequeue was 2"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(sizes[1])
        text = r"has random seeds \(87654321, 5\) but requested seeds are \(87654321, 6\)"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(sizes[2])


def test_a_run_can_time_out_and_the_queue_goes_on() -> None:
    queue = tf.FIFOQueue(9, tf.int32, [[]])
    taken, put = queue.dequeue_many(2), queue.enqueue(5)
    with tf.Session() as session:
        session.run(put)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=5))
        session.run(put)
        assert session.run(taken).tolist() == [5, 5]


def test_an_enqueue_and_a_dequeue_in_one_run_do_not_wait_for_each_other(kind: str) -> None:
    queue = KINDS[kind](dtypes=tf.int32, shapes=[[]])
    put, taken = queue.enqueue(3), queue.dequeue()
    with tf.Session() as session:
        assert session.run([taken, put])[0] == 3


def test_closing_the_session_ends_what_waits(kind: str) -> None:
    queue = KINDS[kind](dtypes=tf.int32, shapes=[[]])
    taken = queue.dequeue()
    session = tf.Session()
    state = session.run(queue.queue_ref)
    waiting = Started(lambda: session.run(taken))
    until(lambda: state.dequeues)
    session.close()
    with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
        waiting.result()
