# SPDX-License-Identifier: Apache-2.0
"""Queue runners: how their threads end, whom they tell, and that none stays behind."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_programs import until_the_end
from waiting import DEADLINE, until

import fastrec.compat.v1 as tf
from fastrec.compat.v1 import block_sources, lowering
from fastrec.compat.v1.graph import create_op


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        yield
    until(lambda: set(threading.enumerate()) <= before)


def counter(limit: int, error: Exception | None = None) -> tf.Tensor:
    """0, 1, ... in each session, and then `error`, or the end."""

    def kernel(step: Any) -> tuple[Any]:
        state = step.resource(op, lambda: iter(range(limit)))
        number = next(state, None)
        if number is None:
            raise error or tf.errors.OutOfRangeError(None, None, "no more")
        return (np.array(number),)

    op = create_op("Counter", (), [(tf.int64, [])], kernel, stateful=True)
    return op.outputs[0]


def runner_of(
    *tensors: tf.Tensor, capacity: int = 100, **how: Any
) -> tuple[tf.FIFOQueue, tf.train.QueueRunner]:
    queue = tf.FIFOQueue(capacity, tf.int64, [[]])
    return queue, tf.train.QueueRunner(queue, [queue.enqueue(t) for t in tensors], **how)


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()


def rest(session: tf.Session, queue: tf.FIFOQueue) -> list[int]:
    """Elements left in a queue that is closed."""
    taken = queue.dequeue()
    size = queue.size()
    found = [int(session.run(taken)) for _ in range(session.run(size))]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(taken)
    return found


def end_of(session: tf.Session, taken: tf.Tensor) -> Exception:
    """Error that ends the dequeues, after any elements left."""
    while True:
        try:
            session.run(taken)
        except tf.errors.OutOfRangeError as error:
            return error


def test_a_runner_fills_its_queue_and_closes_it() -> None:
    queue, runner = runner_of(counter(3))
    with tf.Session() as session:
        join(runner.create_threads(session, start=True))
        assert runner.exceptions_raised == []
        assert rest(session, queue) == [0, 1, 2]


def test_the_last_of_several_threads_closes_the_queue() -> None:
    queue, runner = runner_of(counter(3), counter(30))
    with tf.Session() as session:
        join(runner.create_threads(session, start=True))
        assert sorted(rest(session, queue)) == sorted([*range(3), *range(30)])


def test_one_operation_can_be_run_by_several_threads() -> None:
    queue = tf.FIFOQueue(1000, tf.int64, [[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(counter(100))] * 4)
    with tf.Session() as session:
        threads = runner.create_threads(session, start=True)
        join(threads)
        assert len(threads) == 4
        assert sorted(rest(session, queue)) == list(range(100))


def test_an_error_without_a_coordinator_is_kept_and_leaves_the_queue_open(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))
    queue, runner = runner_of(counter(2, tf.errors.DataLossError(None, None, "damaged")))
    closed = queue.is_closed()
    with tf.Session() as session, caplog.at_level(logging.ERROR):
        join(runner.create_threads(session, start=True))
        assert not session.run(closed)
    assert [type(error) for error in runner.exceptions_raised] == [tf.errors.DataLossError]
    assert raised == runner.exceptions_raised
    assert "Exception in QueueRunner: damaged" in caplog.text


def test_an_error_is_told_to_the_coordinator_and_is_the_cause_of_the_end() -> None:
    queue, runner = runner_of(counter(2, tf.errors.DataLossError(None, None, "damaged")))
    taken = queue.dequeue()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord=coord, start=True)
        join(threads)
        assert [int(session.run(taken)) for _ in range(2)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insuff") as end:
            session.run(taken)
        assert isinstance(end.value.__cause__, tf.errors.DataLossError)
        with pytest.raises(tf.errors.DataLossError, match="damaged"):
            coord.join(threads)


def test_the_cause_goes_through_the_queues_in_between() -> None:
    first, runner = runner_of(counter(2, tf.errors.DataLossError(None, None, "damaged")))
    second, after = runner_of(first.dequeue())
    taken = second.dequeue()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = after.create_threads(session, coord=coord, start=True)
        threads += runner.create_threads(session, coord=coord, start=True)
        join(threads)
        assert isinstance(end_of(session, taken).__cause__, tf.errors.DataLossError)


def test_the_usual_end_has_no_cause() -> None:
    queue, runner = runner_of(counter(0))
    taken = queue.dequeue()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord=coord, start=True)
        with pytest.raises(tf.errors.OutOfRangeError) as end:
            session.run(taken)
        assert end.value.__cause__ is None
        coord.request_stop()
        coord.join(threads)


def test_a_stop_ends_threads_that_wait_for_room_and_closes_the_queue() -> None:
    queue, runner = runner_of(counter(10**9), counter(10**9), capacity=2)
    full, closed = queue.size(), queue.is_closed()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord=coord, start=True)
        until(lambda: session.run(full) == 2)
        coord.request_stop()
        coord.join(threads)
        assert session.run(closed)
        assert len(rest(session, queue)) == 2


def test_threads_that_a_stop_awaits_do_nothing() -> None:
    queue, runner = runner_of(counter(3))
    size = queue.size()
    coord = tf.train.Coordinator()
    coord.request_stop()
    with tf.Session() as session:
        join(runner.create_threads(session, coord=coord, start=True))
        assert session.run(size) == 0


def test_other_exceptions_can_say_that_there_is_no_more() -> None:
    end = tf.errors.CancelledError(None, None, "enough")
    types = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    queue, runner = runner_of(counter(1, end), queue_closed_exception_types=types)
    with tf.Session() as session:
        join(runner.create_threads(session, start=True))
        assert runner.exceptions_raised == []
        assert rest(session, queue) == [0]


def test_threads_are_made_once_for_a_session_while_they_live() -> None:
    queue, runner = runner_of(counter(3))
    with tf.Session() as first, tf.Session() as second:
        threads = runner.create_threads(first)
        assert runner.create_threads(first) == []
        assert len(runner.create_threads(second, start=True)) == 1
        for thread in threads:
            thread.start()
        join(threads)
        again = runner.create_threads(first, start=True)
        assert len(again) == 1
        join(again)
        assert rest(first, queue) == rest(second, queue) == [0, 1, 2]


def test_threads_have_names_and_are_daemons_if_wanted() -> None:
    queue, runner = runner_of(counter(3))
    coord = tf.train.Coordinator()
    session = tf.Session()
    threads = runner.create_threads(session, coord=coord, daemon=True)
    assert [thread.name for thread in threads] == [
        f"QueueRunnerThread-{queue.name}-{queue.name}_enqueue",
        f"QueueRunnerThread-{queue.name}-close_on_stop",
    ]
    assert all(thread.daemon for thread in threads)
    assert runner.name == queue.name


def test_starting_starts_all_runners_of_the_graph_of_the_session() -> None:
    other = tf.Graph()
    with other.as_default():
        queue, runner = runner_of(counter(3))
        tf.train.add_queue_runner(runner)
        session = tf.Session()
    with session:
        join(tf.train.start_queue_runners(sess=session))
        with other.as_default():
            assert rest(session, queue) == [0, 1, 2]


def test_runners_are_in_a_collection_of_the_graph() -> None:
    _, runner = runner_of(counter(1))
    tf.train.queue_runner.add_queue_runner(runner)
    tf.add_to_collection("more", runner)
    assert tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS) == [runner]
    assert tf.get_collection_ref("more") == [runner]
    with tf.Session():
        assert tf.train.start_queue_runners(collection="none") == []
        join(tf.train.start_queue_runners(collection="more"))


def test_starting_needs_a_session() -> None:
    with pytest.raises(ValueError, match="Cannot start queue runners: No default session is"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"sess must be a `tf.Session` object. Given class: <class"):
        tf.train.start_queue_runners(sess="session")


def test_what_a_runner_needs() -> None:
    queue, _ = runner_of(counter(1))
    with pytest.raises(ValueError, match=r"Must provide queue and enqueue_ops\."):
        tf.train.QueueRunner(queue, [])
    for types in ((), [tf.errors.OutOfRangeError], (ValueError,), (1,)):
        with pytest.raises(TypeError, match=r"must be a tuple of tf\.error types"):
            runner_of(counter(1), queue_closed_exception_types=types)


# Nothing stays behind.


def test_closing_the_session_ends_the_threads_and_is_told_to_the_coordinator() -> None:
    _, runner = runner_of(counter(10**9), capacity=2)
    coord = tf.train.Coordinator()
    session = tf.Session()
    threads = runner.create_threads(session, coord=coord, start=True)
    session.close()
    with pytest.raises(tf.errors.CancelledError):
        coord.join(threads)


def test_closing_the_session_ends_threads_without_a_coordinator_quietly() -> None:
    _, runner = runner_of(counter(10**9), capacity=2)
    with tf.Session() as session:
        threads = runner.create_threads(session, start=True)
    join(threads)


@pytest.mark.parametrize("coordinated", [True, False])
def test_letting_go_of_the_session_ends_the_threads(coordinated: bool) -> None:
    queue, runner = runner_of(counter(10**9), capacity=2)
    taken, full = queue.dequeue(), queue.size()
    coord = tf.train.Coordinator() if coordinated else None

    def begin() -> list[threading.Thread]:
        session = tf.Session()
        started = runner.create_threads(session, coord=coord, start=True)
        session.run(taken)
        until(lambda: session.run(full) == 2)
        return started

    threads = begin()
    gc.collect()
    join(threads)


def at_the_end_of(program: str, tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    run = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.parametrize("coord", ["None", "tf.train.Coordinator()"])
def test_the_interpreter_ends_with_runners_that_nobody_stopped(
    tmp_path: Path, daemon: bool, coord: str
) -> None:
    said = at_the_end_of(
        f"""
        import fastrec.compat.v1 as tf
        tf.train.range_input_producer(3)
        batch = tf.train.batch([tf.train.range_input_producer(5).dequeue()], 2)
        session = tf.Session()
        coord = {coord}
        tf.train.start_queue_runners(session, coord, daemon={daemon})
        print(len(session.run(batch)))
        """,
        tmp_path,
    )
    assert said == "2\n"


@pytest.mark.parametrize("from_row", [None, 90])
def test_rows_come_in_blocks_until_one_takes_a_side_with_effects(
    from_row: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    blocks: list[int] = []
    real = lowering.BlockPlan._columns

    def counted(self: Any, step: Any, count: int) -> Any:
        blocks.append(count)
        return real(self, step, count)

    monkeypatch.setattr(lowering.BlockPlan, "_columns", counted)

    def noted(value: Any) -> Any:
        seen.append(int(value))
        return np.int32(-value)

    def run(lowered: bool) -> Any:
        before = lowering.set_lowering(lowered)
        try:
            with tf.Graph().as_default():
                source, queue = (
                    tf.FIFOQueue(200, tf.int32, [[]]),
                    tf.FIFOQueue(200, tf.float32, [[]]),
                )
                put, close = source.enqueue_many([list(range(150))]), source.close()
                row = source.dequeue()
                told = row >= (999 if from_row is None else from_row)
                row = tf.cond(told, lambda: tf.py_func(noted, [row], tf.int32), lambda: row)
                drawn = tf.cast(row, tf.float32) + tf.random_uniform([], seed=3)
                runner = tf.train.QueueRunner(queue, [queue.enqueue(drawn)])
                with tf.Session() as session:
                    session.run(put)
                    session.run(close)
                    for thread in runner.create_threads(session, start=True):
                        thread.join()
                    return session.run(queue.dequeue_many(150))
        finally:
            lowering.set_lowering(before)

    assert run(False).tolist() == run(True).tolist()
    assert seen == ([] if from_row is None else [*range(from_row, 150)] * 2)
    assert sum(blocks) == 150 if from_row is None else max(blocks) > 1


def test_few_elements_of_another_queue_are_taken_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = tf.train.range_input_producer(100, 1, shuffle=False).dequeue()
    queue = tf.FIFOQueue(3, [tf.int32, tf.string, tf.float32], [[], [], [2]])
    row = [number, tf.as_string(number), tf.fill([2], tf.to_float(number))]
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(row)]))
    number, text, pair = queue.dequeue()
    fetches = tf.train.batch(
        [number * 2, text + "x", tf.expand_dims(pair, 0)], 7, allow_smaller_final_batch=True
    )
    given: list[bool] = []
    real = block_sources.Elements.columns

    def columns(self: block_sources.Elements, wanted: Any, few: bool) -> Any:
        given.append(few)
        return real(self, wanted, few)

    monkeypatch.setattr(block_sources.Elements, "columns", columns)
    found = [np.concatenate(parts) for parts in zip(*until_the_end(tf, fetches), strict=True)]
    assert any(given)
    assert found[0].tolist() == list(range(0, 200, 2))
    assert found[1].tolist() == [b"%dx" % n for n in range(100)]
    assert found[2][:, 0, 1].tolist() == list(range(100))
