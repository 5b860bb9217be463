# SPDX-License-Identifier: Apache-2.0
"""Sessions of ``fastrec.compat.v1`` that several threads run in, and what is left of them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
from waiting import DEADLINE

import fastrec.compat.v1 as tf
from fastrec.compat.v1._runtime import Step
from fastrec.compat.v1.graph import create_op


def at_once(count: int, work: Any) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert not any(thread.is_alive() for thread in threads)


def test_no_assignment_is_lost_between_threads() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0)
        session.run(v.initializer)
        add = v.assign_add(1)
        at_once(8, lambda: [session.run(add) for _ in range(200)])
        assert session.run(v) == 1600


def test_state_is_made_once_for_threads_that_come_together() -> None:
    made: list[int] = []
    gate = threading.Barrier(8)

    def make() -> object:
        made.append(1)
        return object()

    def kernel(step: Step) -> tuple[Any]:
        return (step.resource("state", make),)

    with tf.Graph().as_default(), tf.Session() as session:
        op = create_op("State", (), [(tf.resource, [])], kernel, stateful=True)
        found: list[Any] = []

        def run() -> None:
            gate.wait(DEADLINE)
            found.append(session.run(op.outputs[0]))

        at_once(8, run)
    assert made == [1]
    assert len(set(map(id, found))) == 1


def test_random_numbers_are_drawn_once_whoever_draws_them() -> None:
    with tf.Graph().as_default():
        x = tf.random_uniform([4], 0, 1000, tf.int32, seed=1)
        with tf.Session() as session:
            alone = [tuple(session.run(x)) for _ in range(160)]
        with tf.Session() as session:
            found: list[Any] = []
            at_once(8, lambda: found.extend([tuple(session.run(x)) for _ in range(20)]))
    assert sorted(found) == sorted(alone)


def test_graphs_are_built_in_threads_of_their_own() -> None:
    results: list[Any] = []

    def build() -> None:
        with tf.Graph().as_default() as graph, tf.name_scope("inside"):
            c = tf.constant(1, name="c") + 1
            with tf.Session() as session:
                results.append((session.run(c), c.op.name, tf.get_default_graph() is graph))

    at_once(8, build)
    assert results == [(2, "inside/add", True)] * 8


def test_a_session_and_what_it_keeps_go_when_nobody_has_them() -> None:
    class State:
        pass

    kept: list[weakref.ref[Any]] = []

    def make() -> Any:
        state = State()
        kept.append(weakref.ref(state))
        return state

    def kernel(step: Step) -> tuple[Any]:
        step.resource("state", make)
        return (np.int32(1),)

    before = set(threading.enumerate())
    with tf.Graph().as_default():
        c = create_op("Keep", (), [(tf.int32, [])], kernel, stateful=True).outputs[0]
        session: Any = tf.Session()
        session.run([c, c + 1])
        closed = tf.Session()
        closed.run(c)
        closed.close()
        assert kept[1]() is None
        gone = weakref.ref(session)
        del session
        gc.collect()
    assert gone() is None
    assert kept[0]() is None
    assert set(threading.enumerate()) <= before


PROGRAM = """
import os, signal, threading
import fastrec.compat.v1 as tf

signal.signal(signal.SIGINT, signal.default_int_handler)
queues = [tf.FIFOQueue(2, tf.int32, [[]]) for _ in range(2)]
session = tf.Session()
for fetch in (queues[0].dequeue(), [queue.dequeue() for queue in queues]):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        session.run(fetch)
    except KeyboardInterrupt:
        timer.join()
        print("interrupted", threading.active_count())
session.run(queues[0].enqueue(5))
print(session.run(queues[0].dequeue()))
"""


def test_ctrl_c_ends_a_run_that_waits_and_the_session_goes_on() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    assert run.stdout.splitlines() == ["interrupted 1", "interrupted 1", "5"], run.stderr
