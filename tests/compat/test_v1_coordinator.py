# SPDX-License-Identifier: Apache-2.0
"""Coordinators: who is told to stop, what is waited for, and what is raised in the end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from waiting import until

import fastrec.compat.v1 as tf


def started(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def failing(coord: tf.train.Coordinator, error: Exception) -> Callable[[], None]:
    def work() -> None:
        with coord.stop_on_exception():
            raise error

    return work


def test_a_stop_is_seen_until_it_is_cleared() -> None:
    coord = tf.train.Coordinator()
    assert not coord.should_stop()
    assert not coord.wait_for_stop(0.001)
    coord.request_stop()
    assert coord.should_stop()
    assert coord.wait_for_stop()
    coord.clear_stop()
    assert not coord.should_stop()


def test_a_stop_wakes_whoever_waits_for_it() -> None:
    coord = tf.train.Coordinator()
    thread = started(coord.wait_for_stop)
    coord.request_stop()
    coord.join([thread])
    assert coord.joined


@pytest.mark.parametrize("register", [True, False])
def test_join_waits_for_registered_and_for_given_threads(register: bool) -> None:
    coord, let_go, ended = tf.train.Coordinator(), threading.Event(), []

    def work() -> None:
        let_go.wait()
        ended.append(1)

    threads = [started(work) for _ in range(3)]
    for thread in threads[: 2 if register else 0]:
        coord.register_thread(thread)
    started(let_go.set)
    coord.join(threads[2 if register else 0 :])
    assert ended == [1, 1, 1]
    assert not coord.should_stop()


def test_threads_that_do_not_end_in_their_grace_period_are_named_or_ignored() -> None:
    coord, let_go = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=let_go.wait, name="stubborn", daemon=True)
    thread.start()
    coord.request_stop()
    wanted = "^Coordinator stopped with threads still running: stubborn$"
    with pytest.raises(RuntimeError, match=wanted):
        coord.join([thread], stop_grace_period_secs=0.005)
    coord.clear_stop()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.005, ignore_live_threads=True)
    let_go.set()
    thread.join()


@pytest.mark.parametrize("how", ["exception", "exc_info", "handler"])
def test_join_raises_the_first_exception_that_was_reported(how: str) -> None:
    coord = tf.train.Coordinator()

    def work() -> None:
        try:
            raise ValueError("First")
        except ValueError as error:
            if how == "exception":
                coord.request_stop(error)
            elif how == "exc_info":
                coord.request_stop(sys.exc_info())  # type: ignore[arg-type]
            else:
                failing(coord, error)()

    first = started(work)
    first.join()
    second = started(failing(coord, ValueError("Second")))
    with pytest.raises(ValueError, match=r"^First$"):
        coord.join([first, second])


def test_an_exception_after_a_plain_stop_is_not_reported() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.join([started(failing(coord, ValueError("late")))])
    coord.raise_requested_exception()


def test_the_end_of_a_queue_is_a_clean_stop() -> None:
    coord = tf.train.Coordinator()
    coord.join([started(failing(coord, tf.errors.OutOfRangeError(None, None, "end")))])
    assert coord.should_stop()


def test_clean_exceptions_of_ones_own_replace_the_usual_ones() -> None:
    coord = tf.train.Coordinator(clean_stop_exception_types=(ValueError,))
    coord.join([started(failing(coord, ValueError("fine")))])
    coord.clear_stop()
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join([started(failing(coord, tf.errors.OutOfRangeError(None, None, "end")))])


def test_clearing_a_stop_forgets_its_exception() -> None:
    coord = tf.train.Coordinator()
    thread = started(failing(coord, ValueError("First")))
    with pytest.raises(ValueError, match="First"):
        coord.join([thread])
    coord.clear_stop()
    coord.raise_requested_exception()
    coord.join([])


def test_after_a_join_an_exception_is_raised_where_it_is_reported() -> None:
    coord = tf.train.Coordinator()
    coord.join([])
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "clean"))
    coord.request_stop()


def test_stop_on_exception_swallows_everything_and_goes_on_behind() -> None:
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        coord.raise_requested_exception()


# Loopers.


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1, 2), {}), ((), {"a": 1, "b": 2}), ((1,), {"b": 2})]
)
@pytest.mark.parametrize("pause", [None, 0.0001])
def test_a_looper_calls_until_it_is_told_to_stop(
    args: tuple[int, ...], kwargs: dict[str, int], pause: float | None
) -> None:
    coord, calls = tf.train.Coordinator(), []

    def target(a: int, b: int) -> None:
        calls.append((a, b))
        if len(calls) == 3:
            coord.request_stop()

    looper = tf.train.LooperThread.loop(coord, pause, target, args, kwargs)
    coord.join([looper])
    assert calls == [(1, 2)] * 3
    assert looper.daemon


def test_a_looper_reports_what_its_target_raises() -> None:
    coord = tf.train.Coordinator()

    def target() -> None:
        raise RuntimeError("broken")

    tf.train.LooperThread.loop(coord, None, target)
    with pytest.raises(RuntimeError, match="broken"):
        coord.join()


def test_a_looper_of_a_class_of_ones_own_starts_loops_and_stops() -> None:
    said: list[Any] = []

    class Mine(tf.train.LooperThread):
        def start_loop(self) -> None:
            said.append("start")

        def run_loop(self) -> None:
            said.append("run")
            coord.request_stop()

        def stop_loop(self) -> None:
            said.append("stop")

    coord = tf.train.Coordinator()
    Mine(coord, None).start()
    until(lambda: "stop" in said)
    coord.join()
    assert said == ["start", "run", "stop"]


def test_a_looper_wants_a_coordinator() -> None:
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        tf.train.LooperThread(None, None)  # type: ignore[arg-type]
