# SPDX-License-Identifier: Apache-2.0
"""Variables and control flow of ``fastrec.compat.v1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_variable_has_a_value_once_it_is_initialized(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(v)
    assert session.run(tf.report_uninitialized_variables()).tolist() == [b"v"]
    session.run(tf.global_variables_initializer())
    assert session.run(v).tolist() == [1, 2]
    assert session.run(v + 1).tolist() == [2, 3]
    assert session.run(v[1]) == 2
    assert session.run(tf.report_uninitialized_variables()).tolist() == []


def test_assignments_are_seen_by_what_depends_on_them(session: tf.Session) -> None:
    v = tf.Variable(10, name="v")
    session.run(v.initializer)
    assert session.run(tf.assign_add(v, 5)) == 15
    assert session.run(v.assign_sub(1)) == 14
    with tf.control_dependencies([v.assign(3)]):
        after = tf.identity(v)
        also = v.read_value()
    assert session.run([after, also]) == [3, 3]
    v.load(8)
    assert v.eval() == 8
    with pytest.raises(ValueError, match="incompatible"):
        v.assign([1, 2])


def test_each_session_has_its_own_values(session: tf.Session) -> None:
    v = tf.Variable(0)
    other = tf.Session()
    session.run(v.initializer)
    other.run(v.initializer)
    session.run(v.assign_add(1))
    assert (session.run(v), other.run(v)) == (1, 0)


def test_what_is_fetched_is_not_the_variable_itself(session: tf.Session) -> None:
    v = tf.Variable([1, 2])
    session.run(v.initializer)
    session.run(v)[:] = 9
    session.run(tf.identity(v))[:] = 9
    assert session.run(v).tolist() == [1, 2]


def test_local_variables_are_not_global_ones(session: tf.Session) -> None:
    tf.Variable(1, name="g")
    tf.Variable(2, name="l", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert [v.name for v in tf.global_variables()] == ["g:0"]
    assert [v.name for v in tf.local_variables()] == ["l:0"]
    assert [v.name for v in tf.trainable_variables()] == ["g:0"]
    session.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
    assert session.run(tf.global_variables() + tf.local_variables()) == [1, 2]


def test_counting_ends_at_the_limit(session: tf.Session) -> None:
    v = tf.Variable(np.int64(0))
    session.run(v.initializer)
    count = v.count_up_to(2)
    assert [session.run(count), session.run(count)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
        session.run(count)
    assert session.run(v) == 2


def test_a_named_variable_is_made_once(session: tf.Session) -> None:
    with tf.variable_scope("outer"):
        w = tf.get_variable("w", [2], initializer=tf.ones)
        with pytest.raises(ValueError, match=r"Variable outer/w already exists, disallowed\."):
            tf.get_variable("w", [2])
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("w") is w
        with pytest.raises(ValueError, match="outer/x does not exist"):
            tf.get_variable("x", [2])
    assert w.name == "outer/w:0"
    session.run(w.initializer)
    assert session.run(w).tolist() == [1, 1]


def test_an_assertion_that_does_not_hold_says_what_was_there(session: tf.Session) -> None:
    p = tf.placeholder(tf.int32, [None])
    check = tf.Assert(tf.reduce_all(p > 0), ["not positive:", p])
    with tf.control_dependencies([check]):
        checked = tf.identity(p)
    assert session.run(checked, {p: [1, 2]}).tolist() == [1, 2]
    text = r"assertion failed: \[not positive:\] \[1 0 3\.\.\.\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(checked, {p: [1, 0, 3, 4]})


def test_checks_take_their_arguments_in_the_order_of_version_1(session: tf.Session) -> None:
    p = tf.placeholder(tf.int32, None)
    checks = [
        tf.assert_less(p, [5], ["data", p], 1, "message"),
        tf.assert_positive(p, ["data", p], 1, "message"),
        tf.assert_rank(tf.constant([1]), 1),
    ]
    with tf.control_dependencies(checks):
        checked = tf.identity(p)
    assert session.run(checked, {p: [1, 2]}).tolist() == [1, 2]
    text = r"assertion failed: \[message\] \[data\] \[1\.\.\.\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(checked, {p: [1, 7]})


def test_only_the_chosen_branch_runs(session: tf.Session) -> None:
    count = tf.Variable(0)
    session.run(count.initializer)
    p, x = tf.placeholder(tf.bool, []), tf.constant([1.0, 2.0])
    result = tf.cond(
        p,
        lambda: (x * 2, tf.cast(count.assign_add(1), tf.float32)),
        lambda: (x - 1, tf.constant(-1.0)),
    )
    assert [v.tolist() for v in session.run(result, {p: True})] == [[2, 4], 1]
    assert [v.tolist() for v in session.run(result, {p: False})] == [[0, 1], -1]
    assert session.run(count) == 1
    with pytest.raises(TypeError, match="same type"):
        tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(1.0))
    with pytest.raises(TypeError, match="same structure"):
        tf.cond(p, lambda: (1, (2,)), lambda: (3, 4))


def test_branches_give_tensors_of_all_kinds_within_structures(session: tf.Session) -> None:
    p = tf.placeholder(tf.bool, [])
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    ragged = tf.ragged.constant([[1], [2, 3]])

    def changed() -> Any:
        less = tf.sparse.slice(sparse, [0, 0], [1, 2])
        return {"b": [array.write(0, 7), tf.constant(1)], "a": (less, ragged * 2)}

    found = tf.cond(p, changed, lambda: {"b": [array, tf.constant(2)], "a": (sparse, ragged)})
    assert list(found) == ["b", "a"]
    assert isinstance(found["b"], list)
    size = found["b"][0].size()
    assert session.run([size, found["b"][1]], {p: True}) == [1, 1]
    assert session.run([size, found["b"][1]], {p: False}) == [0, 2]
    for chosen, shape, rows in ((True, [1, 2], [[2], [4, 6]]), (False, [3, 2], [[1], [2, 3]])):
        one, other = session.run(found["a"], {p: chosen})
        assert (one.dense_shape.tolist(), other.to_list()) == (shape, rows)


def test_a_function_is_mapped_over_rows(session: tf.Session) -> None:
    x, y = tf.constant([[1, 2], [3, 4]]), tf.constant(10)
    assert session.run(tf.map_fn(lambda row: row * y, x)).tolist() == [[10, 20], [30, 40]]
    both = tf.map_fn(lambda rows: rows[0] + rows[1], (x, x), dtype=tf.int32)
    assert session.run(both).tolist() == [[2, 4], [6, 8]]
    first, other = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    sums = tf.map_fn(lambda rows: rows[0] + rows[1], (first, other), dtype=tf.int32)
    assert session.run(sums, {first: [1, 3], other: [2]}).tolist() == [3, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not resizeable and size is: 1"):
        session.run(sums, {first: [1], other: [2, 3]})
    strings = tf.map_fn(lambda s: s + "!", tf.constant(["a", "b"]))
    assert session.run(strings).tolist() == [b"a!", b"b!"]


def test_a_tuple_is_there_when_all_of_it_is(session: tf.Session) -> None:
    v = tf.Variable(1)
    session.run(v.initializer)
    parts = tf.tuple([tf.constant(5), tf.constant(6)], control_inputs=[v.assign(7)])
    assert session.run(parts[0]) == 5
    assert session.run(v) == 7
