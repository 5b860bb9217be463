# SPDX-License-Identifier: Apache-2.0
"""Queues without a graph: what waits, what wakes it, what closing and calling off do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from waiting import Started, until

import fastrec.compat.v1 as tf
from fastrec.compat.v1 import _queueing
from fastrec.compat.v1._queueing import FifoQueue, PaddingQueue, PriorityQueue, Queue, ShuffleQueue
from fastrec.compat.v1._runtime import Cancellation

INT = np.dtype(np.int64)


class Never:
    """A cancellation that never happens."""

    cancelled = False

    def register(self, callback: Callable[[], None]) -> None:
        """Do nothing."""

    def deregister(self, handle: Any) -> None:
        """Do nothing."""


ALWAYS = Never()
KINDS = ("fifo", "shuffle", "padding", "priority")


def make(kind: str, capacity: int = 10, shape: Any = ()) -> Queue:
    """A queue of single integers; of the kind that has priorities, each with itself as its own."""
    if kind == "shuffle":
        return ShuffleQueue(capacity, 0, (87654321, 7), [INT], [shape], name="q")
    if kind == "padding":
        return PaddingQueue(capacity, [INT], [shape], name="q")
    if kind == "priority":
        return PriorityQueue(capacity, [INT, INT], [(), shape], name="q")
    return FifoQueue(capacity, [INT], [shape], name="q")


def put(queue: Queue, *numbers: int, step: Any = ALWAYS) -> None:
    column = np.array(numbers, np.int64)
    queue.enqueue_many((column,) * len(queue.dtypes), step)


def take(queue: Queue, count: int, **how: Any) -> list[int]:
    batch = queue.dequeue_many(count, how.pop("step", ALWAYS), **how)
    return [int(number) for number in batch[-1]]


def take_one(queue: Queue, step: Any = ALWAYS) -> int:
    return int(queue.dequeue(step)[-1])


def close(queue: Queue, cancel: bool = False) -> None:
    queue.close(ALWAYS, cancel_pending_enqueues=cancel)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_goes_in_comes_out(kind: str) -> None:
    queue = make(kind)
    put(queue, 1, 2, 3)
    queue.enqueue((np.array(4),) * len(queue.dtypes), ALWAYS)
    assert queue.size() == 4
    assert sorted([take_one(queue), *take(queue, 2), take_one(queue)]) == [1, 2, 3, 4]
    assert queue.size() == 0


@pytest.mark.parametrize("size", [2, 1 << 13])
def test_an_element_is_a_copy_of_what_was_put_in(kind: str, size: int) -> None:
    queue = make(kind, shape=(size,))
    rows = np.arange(2 * size).reshape(2, size)
    queue.enqueue_many((np.arange(2), rows) if kind == "priority" else (rows,), ALWAYS)
    rows[:] = -1
    found = sorted(queue.dequeue_many(2, ALWAYS)[-1].tolist())
    assert [number for row in found for number in row] == list(range(2 * size))


@pytest.mark.parametrize("count", [3, 100])
def test_large_elements_that_are_given_away_come_out_as_copies(kind: str, count: int) -> None:
    queue = make(kind, capacity=count, shape=(1 << 13,))
    rows = np.repeat(np.arange(count), 1 << 13).reshape(count, -1)
    columns = (np.arange(count), rows) if kind == "priority" else (rows,)
    queue.enqueue_many(columns, ALWAYS, given=True)
    (*_, batch), (*_, one) = queue.dequeue_many(count - 1, ALWAYS), queue.dequeue(ALWAYS)
    assert sorted([*batch[:, 0].tolist(), int(one[0])]) == list(range(count))
    batch[:], one[:] = -1, -1
    assert (rows[:, -1] == np.arange(count)).all()
    assert queue.dequeue_many(0, ALWAYS)[-1].shape == (0, 1 << 13)


def test_slots_are_used_again(kind: str) -> None:
    queue = make(kind, capacity=3)
    for i in range(200):
        put(queue, i, i + 1)
        assert sorted(take(queue, 2)) == [i, i + 1]


def test_a_batch_of_many_elements_is_gathered_in_order() -> None:
    queue = make("fifo", capacity=-1)
    put(queue, *range(1000))
    put(queue, *range(1000, 3000))
    assert take(queue, 2500) == list(range(2500))


def _line_is(queue: Queue, length: int) -> bool:
    return len(queue.enqueues) == length


def test_a_full_queue_makes_enqueues_wait_in_their_order(kind: str) -> None:
    queue = make(kind, capacity=1)
    put(queue, 0)
    waiting = []
    for i in (1, 2, 3):
        waiting.append(Started(partial(put, queue, i)))
        until(partial(_line_is, queue, i))
    found = [take_one(queue) for _ in range(4)]
    for each in waiting:
        each.result()
    assert found == [0, 1, 2, 3]


def test_a_batch_larger_than_the_queue_goes_in_as_room_comes(kind: str) -> None:
    queue = make(kind, capacity=2)
    putting = Started(lambda: put(queue, *range(6)))
    found = [take_one(queue) for _ in range(6)]
    putting.result()
    assert sorted(found) == list(range(6))


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "padding"])
def test_a_batch_larger_than_the_queue_comes_out_as_elements_come(kind: str) -> None:
    queue = make(kind, capacity=2)
    taking = Started(lambda: take(queue, 5))
    until(lambda: queue.dequeues)
    put(queue, *range(5))
    assert sorted(taking.result()) == [0, 1, 2, 3, 4]


def test_a_waiting_batch_holds_its_elements_and_later_dequeues_wait_behind_it() -> None:
    queue = make("fifo")
    first = Started(lambda: take(queue, 3))
    until(lambda: len(queue.dequeues) == 1)
    second = Started(lambda: take_one(queue))
    until(lambda: len(queue.dequeues) == 2)
    put(queue, 1, 2)
    assert queue.size() == 0
    assert second.running
    put(queue, 3, 4)
    assert first.result() == [1, 2, 3]
    assert second.result() == 4


def test_a_batch_by_priority_waits_until_it_is_there_whole() -> None:
    queue = make("priority")
    taking = Started(lambda: take(queue, 3))
    until(lambda: queue.dequeues)
    put(queue, 9, 5)
    assert queue.size() == 2
    put(queue, 1)
    assert taking.result() == [1, 5, 9]


def test_equal_priorities_come_in_the_order_of_tensorflow() -> None:
    queue = PriorityQueue(10, [INT, INT], [(), ()])
    queue.enqueue_many((np.zeros(8, np.int64), np.arange(8)), ALWAYS)
    assert take(queue, 8) == [0, 2, 6, 5, 7, 4, 1, 3]


def test_a_seeded_shuffle_is_that_of_tensorflow_in_batches_and_one_by_one() -> None:
    one, many = make("shuffle"), make("shuffle")
    put(one, *range(10))
    put(many, *range(10))
    expected = [7, 1, 5, 6, 4, 3, 2, 0, 9, 8]
    assert [take_one(one) for _ in range(10)] == expected
    assert [*take(many, 3), *take(many, 7)] == expected


def test_elements_stay_behind_until_the_queue_is_closed() -> None:
    queue = ShuffleQueue(10, 2, (0, 0), [INT], [()])
    put(queue, 1, 2, 3)
    found = [take_one(queue)]
    waiting = Started(lambda: take_one(queue))
    until(lambda: queue.dequeues)
    assert waiting.running
    close(queue)
    found += [waiting.result(), take_one(queue)]
    assert sorted(found) == [1, 2, 3]


def test_batches_are_padded_to_their_largest_element() -> None:
    queue = PaddingQueue(10, [INT, np.dtype(object)], [(None, 2), (None,)])
    words = np.array([b"a", b"b"], object)
    queue.enqueue((np.ones((1, 2), np.int64), words[:1]), ALWAYS)
    queue.enqueue((np.ones((3, 2), np.int64), words), ALWAYS)
    numbers, strings = queue.dequeue_many(2, ALWAYS)
    assert numbers.tolist() == [[[1, 1], [0, 0], [0, 0]], [[1, 1]] * 3]
    assert strings.tolist() == [[b"a", b""], [b"a", b"b"]]
    empty = queue.dequeue_many(0, ALWAYS)
    assert [part.shape for part in empty] == [(0, 0, 2), (0, 0)]


# Closing.


def test_a_closed_queue_gives_what_it_has_and_then_the_end(kind: str) -> None:
    queue = make(kind)
    put(queue, 1, 2, 3)
    close(queue)
    assert len(take(queue, 2)) == 2
    wanted = r"Queue 'q' is closed and has insufficient elements \(requested 2, current size 1\)"
    with pytest.raises(tf.errors.OutOfRangeError, match=wanted):
        take(queue, 2)
    assert take_one(queue) in (1, 2, 3)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 1, current size 0\)"):
        take_one(queue)


def test_a_closed_queue_takes_no_more_but_an_empty_batch(kind: str) -> None:
    queue = make(kind)
    close(queue)
    with pytest.raises(tf.errors.CancelledError, match=f"^{queue.label} is closed.$"):
        put(queue, 1)
    put(queue)
    assert take(queue, 0) == []


def test_a_second_close_is_refused_unless_it_cancels(kind: str) -> None:
    queue = make(kind)
    close(queue)
    close(queue, cancel=True)
    with pytest.raises(tf.errors.CancelledError, match=r"^Queue 'q' is already closed\.$"):
        close(queue)


def test_closing_waits_for_the_enqueues_before_it_and_later_ones_fail(kind: str) -> None:
    queue = make(kind, capacity=1)
    put(queue, 0)
    before = Started(lambda: put(queue, 1))
    until(lambda: len(queue.enqueues) == 1)
    closing = Started(lambda: close(queue))
    until(lambda: len(queue.enqueues) == 2)
    after = Started(lambda: put(queue, 2))
    until(lambda: len(queue.enqueues) == 3)
    assert not queue.closed
    assert sorted([take_one(queue), take_one(queue)]) == [0, 1]
    before.result()
    closing.result()
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        after.result()
    assert queue.closed


def test_a_cancelling_close_calls_waiting_enqueues_off_and_keeps_what_is_in(kind: str) -> None:
    queue = make(kind, capacity=2)
    waiting = Started(lambda: put(queue, 0, 1, 2, 3))
    until(lambda: queue.size() == 2)
    close(queue, cancel=True)
    with pytest.raises(tf.errors.CancelledError, match=r"^Enqueue operation was cancelled$"):
        waiting.result()
    assert sorted(take(queue, 2)) == [0, 1]


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "padding"])
def test_a_batch_that_cannot_be_completed_is_put_back(kind: str) -> None:
    queue = make(kind)
    waiting = Started(lambda: take(queue, 5))
    until(lambda: queue.dequeues)
    put(queue, 1, 2, 3)
    close(queue)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 2, current size 0\)"):
        waiting.result()
    assert sorted(take(queue, 3)) == [1, 2, 3]


def test_up_to_takes_the_rest_of_a_closed_queue(kind: str) -> None:
    queue = make(kind)
    put(queue, 1, 2)
    waiting = Started(lambda: take(queue, 5, up_to=True))
    until(lambda: queue.dequeues)
    close(queue)
    assert sorted(waiting.result()) == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 5, current size 0\)"):
        take(queue, 5, up_to=True)


def test_up_to_by_priority_loses_nothing_where_tensorflow_does() -> None:
    # There, it takes what is left of a closed queue, waits for more, and fails empty-handed.
    queue = make("priority")
    put(queue, 3, 1)
    close(queue)
    assert take(queue, 3, up_to=True) == [1, 3]


def test_up_to_waits_for_all_while_the_queue_is_open(kind: str) -> None:
    queue = make(kind)
    waiting = Started(lambda: take(queue, 3, up_to=True))
    until(lambda: queue.dequeues)
    put(queue, 1, 2)
    assert waiting.running
    put(queue, 3)
    assert sorted(waiting.result()) == [1, 2, 3]


# Calling off.


def test_a_cancelled_dequeue_gives_back_what_it_had(kind: str) -> None:
    queue, step = make(kind), Cancellation()
    waiting = Started(lambda: take(queue, 3, step=step))
    until(lambda: queue.dequeues)
    put(queue, 1, 2)
    step.cancel()
    with pytest.raises(tf.errors.CancelledError, match=r"^Dequeue operation was cancelled$"):
        waiting.result()
    assert sorted(take(queue, 2)) == [1, 2]


def test_a_cancelled_enqueue_lets_the_next_one_in() -> None:
    queue, step = make("fifo", capacity=1), Cancellation()
    put(queue, 0)
    first = Started(lambda: put(queue, 1, step=step))
    until(lambda: len(queue.enqueues) == 1)
    second = Started(lambda: put(queue, 2))
    until(lambda: len(queue.enqueues) == 2)
    step.cancel()
    with pytest.raises(tf.errors.CancelledError, match=r"^Enqueue operation was cancelled$"):
        first.result()
    assert [take_one(queue), take_one(queue)] == [0, 2]
    second.result()


def test_a_step_that_was_cancelled_before_does_nothing(kind: str) -> None:
    queue, step = make(kind), Cancellation()
    step.cancel()
    with pytest.raises(tf.errors.CancelledError, match="Enqueue operation was cancelled"):
        put(queue, 1, step=step)
    with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
        take_one(queue, step)
    assert queue.size() == 0


# What is refused.


def test_shapes_are_checked(kind: str) -> None:
    queue = make(kind, shape=(2,))
    last = len(queue.dtypes) - 1
    wanted = re.escape(f"Shape mismatch in tuple component {last}. Expected [2], got [3]")
    wanted_of_many = wanted.replace(r"\[2\]", r"\[4,2\]").replace(r"\[3\]", r"\[4,3\]")
    row = (np.zeros((), np.int64), np.zeros(3, np.int64))[-len(queue.dtypes) :]
    with pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
        queue.enqueue(row, ALWAYS)
    batch = (np.zeros(4, np.int64), np.zeros((4, 3), np.int64))[-len(queue.dtypes) :]
    with pytest.raises(tf.errors.InvalidArgumentError, match=wanted_of_many):
        queue.enqueue_many(batch, ALWAYS)
    assert queue.size() == 0


def test_components_of_different_lengths_are_refused() -> None:
    queue = FifoQueue(10, [INT, INT])
    wanted = "Component 1 has 1, and should have 2"
    with pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
        queue.enqueue_many((np.arange(2), np.arange(1)), ALWAYS)


def test_batches_need_shapes() -> None:
    queue = FifoQueue(10, [INT])
    queue.enqueue((np.arange(3),), ALWAYS)
    wanted = "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified"
    with pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
        queue.dequeue_many(1, ALWAYS)
    assert queue.dequeue(ALWAYS)[0].tolist() == [0, 1, 2]


def test_a_negative_batch_is_refused(kind: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^DequeueManyOp requested -1 < 0"):
        take(make(kind), -1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^DequeueUpToOp requested -1 < 0"):
        take(make(kind), -1, up_to=True)


# What nothing feeds.


def test_waiting_for_a_queue_that_nothing_feeds_is_said_once_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_queueing, "UNFED_SECONDS", 0.005)
    queue = FifoQueue(10, [INT], [()], op_name="input_producer")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        waiting = Started(lambda: take_one(queue))
        until(lambda: said)
        put(queue, 5)
        assert waiting.result() == 5
    text = r"'input_producer', which nothing feeds: no queue runner.*tf.train.start_queue_runners"
    assert [bool(re.search(text, str(each.message))) for each in said] == [True]


def test_a_queue_that_is_fed_is_waited_for_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_queueing, "UNFED_SECONDS", 0.001)
    queue = make("fifo")
    queue.feeder_comes()
    waiting = Started(lambda: take_one(queue))
    until(lambda: queue.dequeues)
    put(queue, 1)
    assert waiting.result() == 1


def test_a_large_element_that_is_given_is_kept_unless_it_is_a_part_of_something_larger() -> None:
    queue = make("fifo", shape=(300, 300))
    whole, part = np.ones((300, 300), np.int64), np.ones((4, 300, 300), np.int64)[2]
    for given in (False, True):
        for value in (whole, part):
            queue.enqueue((value,), ALWAYS, given=given)
    shared = [np.shares_memory(row, whole) for (row,) in queue.order.take(4)]
    assert shared == [False, False, True, False]


def test_many_threads_lose_and_double_nothing(kind: str) -> None:
    queue = make(kind, capacity=5)

    def fill(start: int) -> None:
        for i in range(start, start + 100, 4):
            put(queue, *range(i, i + 4))

    putting = [Started(partial(fill, 100 * i)) for i in range(4)]
    taking = [
        Started(lambda: [take_one(queue) for _ in range(100)]),
        Started(lambda: [n for _ in range(75) for n in take(queue, 4)]),
    ]
    found = [number for each in taking for number in each.result()]
    for each in putting:
        each.result()
    assert sorted(found) == list(range(400))
