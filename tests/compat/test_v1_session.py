# SPDX-License-Identifier: Apache-2.0
"""Graphs and sessions of ``fastrec.compat.v1``: what may be asked for, and what a run does."""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from waiting import DEADLINE

import fastrec.compat.v1 as tf
from fastrec.compat.v1._runtime import Step
from fastrec.compat.v1.graph import create_op


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


class Pair(NamedTuple):
    first: Any
    second: Any


def test_a_fetch_comes_back_in_the_structure_that_was_asked_for() -> None:
    a, b = tf.constant(1), tf.constant([2.0, 3.0])
    with tf.Session() as session:
        assert session.run(a) == 1
        assert type(session.run(a)) is np.int32
        pair = session.run(Pair(a, [b, (a,)]))
        assert type(pair) is Pair
        assert pair.first == 1
        assert pair.second[0].tolist() == [2, 3]
        assert pair.second[1] == (1,)
        ordered = session.run(collections.OrderedDict([("z", a), ("y", {"x": a})]))
        assert type(ordered) is collections.OrderedDict
        assert list(ordered) == ["z", "y"]
        assert ordered["y"] == {"x": 1}
        assert session.run([]) == []
        assert session.run([a.op, "Const:0", "Const"]) == [None, 1, None]


def test_strings_are_fetched_as_bytes() -> None:
    with tf.Session() as session:
        assert session.run(tf.constant("ä")) == b"\xc3\xa4"
        both = session.run(tf.constant([b"a\0", "b"]))
        assert both.dtype == object
        assert both.tolist() == [b"a\0", b"b"]


def test_what_cannot_be_fetched_is_refused_with_a_reason() -> None:
    tf.constant(1)
    with tf.Graph().as_default():
        stranger = tf.constant(1)
    session = tf.Session()
    with pytest.raises(TypeError, match='Argument `fetch` = None has invalid type "NoneType"'):
        session.run(None)
    with pytest.raises(TypeError, match="Can not convert a int into a Tensor or Operation"):
        session.run(3)
    with pytest.raises(ValueError, match="The operation, 'q', does not exist in the graph"):
        session.run("q:0")
    with pytest.raises(ValueError, match="is not an element of this graph"):
        session.run(stranger)
    with pytest.raises(RuntimeError, match="graph is empty"):
        tf.Session(graph=tf.Graph()).run([])


def test_a_placeholder_must_be_fed_with_its_shape_and_type() -> None:
    p = tf.placeholder(tf.float32, [None, 2], name="p")
    q = p * 2
    session = tf.Session()
    assert session.run(q, {p: [[1, 2]]}).tolist() == [[2, 4]]
    assert session.run(q, {"p:0": np.ones((1, 2), np.int8)}).tolist() == [[2, 2]]
    assert session.run(p, {p: [[1, 2]]}).dtype == np.float32
    text = r"You must feed a value for placeholder tensor 'p' with dtype float and shape \[\?,2\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text) as caught:
        session.run(q)
    assert caught.value.op is p.op
    assert "[[{{node p}}]]" in str(caught.value)
    assert f"made at {__file__}:" in str(caught.value)
    text = r"Cannot feed value of shape \(1, 3\) for Tensor p:0, which has shape \(\?, 2\)"
    with pytest.raises(ValueError, match=text):
        session.run(q, {p: [[1, 2, 3]]})
    with pytest.raises(TypeError, match=r"feed cannot be a tf\.Tensor"):
        session.run(q, {p: tf.zeros_like(p) if hasattr(tf, "zeros_like") else q})


def test_anything_can_be_fed_and_then_what_is_before_it_does_not_run() -> None:
    p = tf.placeholder(tf.int32, [])
    doubled = p * 2
    with tf.Session() as session:
        assert session.run(doubled + 1, {doubled: 10}) == 11
        assert session.run([doubled, doubled + 1], {doubled: 10}) == [10, 11]


def test_results_belong_to_the_caller() -> None:
    p = tf.placeholder(tf.int32, [2])
    fed = np.array([1, 2], np.int32)
    c = tf.constant([5, 6])
    with tf.Session() as session:
        for fetch, feed in ((c, None), (tf.identity(c), None), (p, {p: fed})):
            first = session.run(fetch, feed)
            before = first.tolist()
            first[:] = 0
            assert session.run(fetch, feed).tolist() == before
    assert fed.tolist() == [1, 2]


def test_each_operation_runs_once_in_a_run_and_constants_once_at_all() -> None:
    calls: list[str] = []

    def counting(name: str, stateful: bool, *inputs: tf.Tensor) -> tf.Tensor:
        def kernel(step: Step, *values: Any) -> tuple[Any]:
            calls.append(name)
            return (np.int32(len(calls)),)

        return create_op(name, inputs, [(tf.int32, [])], kernel, stateful=stateful).outputs[0]

    folded = counting("Folded", False, tf.constant(1))
    state = counting("State", True)
    both = state + state + folded
    with tf.Session() as session:
        session.run([both, state, both])
        session.run([both, state, both])
    assert calls == ["Folded", "State", "State"]


def test_control_dependencies_run_first() -> None:
    order: list[str] = []

    def noting(name: str) -> tf.Operation:
        def kernel(step: Step) -> tuple[()]:
            order.append(name)
            return ()

        return create_op(name, (), [], kernel, stateful=True)

    first = noting("first")
    with tf.control_dependencies([first]):
        second = noting("second")
        with tf.control_dependencies(None):
            third = noting("third")
    with tf.Session() as session:
        session.run(second)
        session.run(third)
    assert order == ["first", "second", "third"]


def test_state_belongs_to_the_session_and_is_made_once() -> None:
    def kernel(step: Step) -> tuple[Any]:
        count = step.resource("count", lambda: [0])
        count[0] += 1
        return (np.int64(count[0]),)

    counter = create_op("Counter", (), [(tf.int64, [])], kernel, stateful=True).outputs[0]
    one, other = tf.Session(), tf.Session()
    assert [one.run(counter), one.run(counter), other.run(counter)] == [1, 2, 1]


def waiting(event: threading.Event, sets: threading.Event | None = None) -> tf.Operation:
    """An operation that sets one event and waits for another, as a queue's would."""

    def kernel(step: Step) -> tuple[()]:
        done = threading.Event()
        handle = step.cancellation.register(done.set)
        if sets is not None:
            sets.set()
        while not event.wait(0.01):
            if step.cancellation.cancelled:
                assert done.is_set()
                raise tf.errors.CancelledError(None, None, "Dequeue operation was cancelled")
        step.cancellation.deregister(handle)
        return ()

    return create_op("Wait", (), [], kernel, blocking=True, stateful=True)


def test_operations_that_wait_for_each_other_do_not_deadlock() -> None:
    left, right = threading.Event(), threading.Event()
    pair = [waiting(left, right), waiting(right, left)]
    before = set(threading.enumerate())
    with tf.Session() as session:
        assert session.run(pair) == [None, None]
    assert set(threading.enumerate()) <= before


def test_an_error_beside_an_operation_that_waits_calls_it_off() -> None:
    def failing(step: Step) -> tuple[()]:
        raise tf.errors.OutOfRangeError(None, None, "past the end")

    fails = create_op("Fails", (), [], failing, blocking=True, stateful=True)
    before = set(threading.enumerate())
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError, match="past the end"):
        session.run([waiting(threading.Event()), fails])
    assert set(threading.enumerate()) <= before


def test_a_run_that_takes_too_long_is_called_off() -> None:
    before = set(threading.enumerate())
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting"),
    ):
        session.run(waiting(threading.Event()), options=tf.RunOptions(timeout_in_ms=50))
    assert set(threading.enumerate()) <= before


def test_closing_a_session_calls_off_what_runs_in_it() -> None:
    session = tf.Session()
    op, started = waiting(event := threading.Event(), begun := threading.Event()), begun
    caught: list[BaseException] = []

    def run() -> None:
        try:
            session.run(op)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(DEADLINE)
    call = session.make_callable(op)
    session.close()
    thread.join(DEADLINE)
    assert not event.is_set()
    assert not thread.is_alive()
    assert "Dequeue operation was cancelled" in str(caught[0])
    with pytest.raises(RuntimeError, match=r"Attempted to use a closed Session\."):
        session.run(op)
    with pytest.raises(tf.errors.CancelledError, match=r"Session has been closed\."):
        call()


def test_the_default_session_is_the_innermost_one() -> None:
    c = tf.constant(4)
    with pytest.raises(ValueError, match="No default session is registered"):
        c.eval()
    with tf.Session() as outer, tf.Session() as inner:
        assert tf.get_default_session() is inner
        assert c.eval() == 4
        c.op.run()
        with outer.as_default():
            assert tf.get_default_session() is outer
    interactive = tf.InteractiveSession()
    assert c.eval() == 4
    interactive.close()
    assert tf.get_default_session() is None


def test_a_callable_takes_its_feeds_in_order() -> None:
    a, b = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    with tf.Session() as session:
        call = session.make_callable([a - b], [a, b])
        assert call(5, 3) == [2]
        with pytest.raises(ValueError, match="expected 2 arguments"):
            call(1)


def test_a_name_outside_the_family_says_what_is_covered() -> None:
    missing: Any = tf
    with pytest.raises(AttributeError, match=r"'nosuch'.*docs/compat-v1.md"):
        missing.nosuch()


def test_a_number_that_the_type_does_not_have_is_not_fed() -> None:
    p = tf.placeholder(tf.uint8)
    session = tf.Session()
    for value in (300, -1, [300]):
        with pytest.raises(TypeError, match="is not compatible with Tensor type"):
            session.run(p, {p: value})
    assert session.run(p + 1, {p: [255]}).tolist() == [0]
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: The name 'x:0'"):
        session.run(p, {"x:0": 1})


def test_a_tensor_is_not_taken_for_its_value() -> None:
    c = tf.constant([1, 2])
    with pytest.raises(NotImplementedError, match="Cannot convert a symbolic"):
        np.array(c)
    with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
        bool(c)
    with pytest.raises(TypeError, match="Iterating over a symbolic"):
        list(c)
    with pytest.raises(TypeError, match="len is not well defined"):
        len(c)
    with tf.Session() as session:
        assert session.run(np.array([1, 2], np.int32) + c).tolist() == [2, 4]


def test_values_that_are_known_before_a_graph_runs() -> None:
    sizes = tf.shape(tf.zeros([2, 3]))
    assert tf.get_static_value(sizes).tolist() == [2, 3]
    assert tf.get_static_value(tf.placeholder(tf.int32)) is None
    assert tf.get_static_value([4]) == [4]


def test_a_run_holds_no_value_after_its_last_use() -> None:
    made: list[weakref.ref[Any]] = []

    def make() -> Any:
        array = np.ones(8, np.float32)
        made.append(weakref.ref(array))
        return array

    whole = tf.py_func(make, [], tf.float32)
    total = tf.reduce_sum(whole)
    is_held = tf.py_func(lambda _: made[-1]() is not None, [total], tf.bool)
    with tf.Session() as session:
        assert session.run([total, is_held]) == [8, False]
        assert session.run([whole, is_held])[1]
