# SPDX-License-Identifier: Apache-2.0
"""Loops of version 1 in functions of datasets, which run for many elements at once."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
from fastrec.compat._tf.columns import column_of
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.data.pipeline import set_lowering
from fastrec.compat.v1 import lowering

COUNT = 40


def number(x: Any) -> Any:
    return tf.cast(x, tf.float32)


def texts(x: Any) -> Any:
    return tf.as_string(tf.range(3) + tf.cast(x, tf.int32))


def join(a: Any, b: Any) -> Any:
    return tf.strings.join([a, b])


def up_to(x: Any, of_7: int, of_others: int) -> Any:
    return tf.slice(tf.range(8.0), [0], [tf.where(tf.equal(x % 10, 7), of_7, of_others)])


def count_up(x: Any) -> Any:
    return [tf.constant(0, tf.int64), x]


def growing(x: Any) -> Any:
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    grown = tf.while_loop(
        lambda i, n: i < x % 5,
        lambda i, n: (i + 1, tf.concat([n, [i]], 0)),
        [tf.constant(0, tf.int64), x[None]],
        shape_invariants=shapes,
    )[1]
    return tf.reduce_sum(grown)


LOOPS: dict[str, Callable[[Any], Any]] = {
    "while_loop": lambda x: tf.while_loop(
        lambda i, n: i < x % 5, lambda i, n: (i + 1, n * 2 + i), count_up(x)
    ),
    "maximum_iterations": lambda x: tf.while_loop(
        lambda i, n: i < x % 5,
        lambda i, n: (i + 1, n * 2 + i + x),
        count_up(x),
        maximum_iterations=tf.minimum(x, 3),
    ),
    "branch in a loop": lambda x: tf.while_loop(
        lambda i, n: i < x % 5,
        lambda i, n: (i + 1, tf.cond(n > 5, lambda: n * 2, lambda: n + i)),
        count_up(x),
    ),
    "scan": lambda x: tf.scan(lambda a, b: a * 0.5 + b * number(x), tf.range(1.0, 9.0) * number(x)),
    "scan of pairs": lambda x: tf.scan(
        lambda a, b: (a[0] + b, a[1] - b),
        tf.range(1.0, 9.0) * number(x),
        initializer=(0.0, number(x)),
        reverse=True,
    ),
    "foldl": lambda x: tf.foldl(lambda a, b: a * 0.5 + b, tf.range(1.0, 9.0) * number(x)),
    "foldr": lambda x: tf.foldr(
        lambda a, b: a * 0.5 + b, tf.range(1.0, 9.0) * number(x), initializer=number(x)
    ),
    "loop in a scan": lambda x: tf.scan(
        lambda a, b: tf.while_loop(lambda i, n: i < 2, lambda i, n: (i + 1, n + b), [0, a])[1],
        tf.range(1.0, 5.0) * number(x),
    ),
    "map_fn with an outer value": lambda x: tf.map_fn(lambda b: b * number(x), tf.range(1.0, 9.0)),
}
ROW_BY_ROW: dict[str, Callable[[Any], Any]] = {
    "growing variable": growing,
    "rows of different lengths": lambda x: tf.reduce_sum(
        tf.scan(lambda a, b: a * 0.5 + b, tf.range(number(x % 7) + 1))
    ),
    "strings": lambda x: tf.foldl(
        lambda a, b: tf.strings.join([a, b]), tf.as_string(tf.range(3) + tf.cast(x, tf.int32))
    ),
    "draws": lambda x: tf.while_loop(
        lambda i, n: i < x % 5,
        lambda i, n: (i + 1, n + tf.random_uniform([], maxval=9, dtype=tf.int64, seed=3)),
        count_up(x),
    ),
    "no rows": lambda x: tf.scan(lambda a, b: a + b, tf.zeros([0]) + number(x), number(x)),
    "lengths of joined strings": lambda x: tf.strings.length(tf.scan(join, texts(x))),
    "joined strings after a first one": lambda x: tf.scan(join, texts(x), initializer="q"),
    "strings that are passed on": lambda x: tf.scan(
        lambda a, b: (b, a[0]), texts(x), initializer=("q", "z")
    ),
    "a longer second column": lambda x: tf.foldl(
        lambda a, b: a + b[0] * b[1], (tf.range(3.0) * number(x), up_to(x, 4, 3)), initializer=0.0
    ),
}
FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a shorter second column": (
        lambda x: tf.scan(
            lambda a, b: a + b[0] * b[1],
            (tf.range(3.0) * number(x), up_to(x, 2, 3)),
            initializer=0.0,
        ),
        "element 2 in a list with 2",
    ),
    "a shorter second column of map_fn": (
        lambda x: tf.map_fn(
            lambda b: b[0] * b[1], (tf.range(3.0), up_to(x, 2, 3)), dtype=tf.float32
        ),
        "element 2 in a list with 2",
    ),
    "neither rows nor an initializer": (
        lambda x: tf.scan(lambda a, b: a + b, tf.range(tf.where(tf.equal(x, 7), 0.0, 3.0))),
        "where there is no initializer",
    ),
    "no rows of an unknown size": (
        lambda x: tf.map_fn(
            lambda a: a, tf.zeros(tf.stack([tf.where(tf.equal(x, 7), 0, 3), tf.cast(x, tf.int32)]))
        )[:, :1],
        r"empty list with non-fully-defined element_shape: \[\?\]",
    ),
}


def elements(function: Callable[[Any], Any], lowered: bool) -> list[Any]:
    before = set_lowering(lowered)
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            rows = tf.data.Dataset.range(COUNT).map(function).batch(8)
            following = rows.make_one_shot_iterator().get_next()
            leaves = tf.contrib.framework.nest.flatten(following)
            return [session.run(leaves) for _ in range(COUNT // 8)]
    finally:
        set_lowering(before)


@pytest.mark.parametrize("name", [*LOOPS, *ROW_BY_ROW])
def test_a_loop_gives_the_same_for_each_element_alone(name: str) -> None:
    function = {**LOOPS, **ROW_BY_ROW}[name]
    together, alone = elements(function, True), elements(function, False)
    for some, others in zip(together, alone, strict=True):
        for one, other in zip(some, others, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_runs_for_all_elements_of_a_block(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.Graph().as_default():
        node = tf.data.Dataset.range(COUNT).map(LOOPS[name])._build()._node
    assert isinstance(node, Map)

    def refuse(*_: Any) -> Any:
        raise AssertionError("an operation runs for each element")

    monkeypatch.setattr("fastrec.compat._tf.tracing.running._one_by_one", refuse)
    columns = node.trace.run_block(COUNT, [column_of(list(np.arange(COUNT)))])
    assert {len(column) for column in columns} == {COUNT}


def outcomes(function: Callable[[Any], Any], lowered: bool) -> list[Any]:
    """Return the element of each number up to 9, or the message of its error."""
    before, found = set_lowering(lowered), []
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            rows = tf.data.Dataset.range(10).map(function)
            following = rows.make_one_shot_iterator().get_next()
            for _ in range(10):
                try:
                    found.append(session.run(following).tolist())
                except tf.errors.InvalidArgumentError as error:
                    found.append(str(error))
            return found
    finally:
        set_lowering(before)


def test_strings_of_a_scan_are_those_of_its_steps() -> None:
    lengths = elements(ROW_BY_ROW["lengths of joined strings"], True)
    assert [row.tolist() for row in lengths[0][0][:4]] == [[1, 2, 3]] * 4
    joined = elements(ROW_BY_ROW["joined strings after a first one"], True)
    assert joined[0][0][1].tolist() == [b"q1", b"q12", b"q123"]
    passed = elements(ROW_BY_ROW["strings that are passed on"], True)
    assert passed[0][1][5].tolist() == [b"q", b"5", b"6"]


@pytest.mark.parametrize("name", FAULTS)
def test_an_error_in_a_loop_is_the_same_for_each_element_alone(name: str) -> None:
    function, message = FAULTS[name]
    together = outcomes(function, True)
    assert together == outcomes(function, False)
    errors = [each for each in together if isinstance(each, str)]
    assert len(errors) == 1
    assert errors[0] == together[7]
    assert re.search(message, errors[0])


@pytest.mark.parametrize("length", [2, 4])
def test_a_queue_aligns_the_columns_of_a_loop_with_and_without_blocks(length: int) -> None:
    assert dequeued(length, True) == dequeued(length, False)


def dequeued(length: int, blocks: bool) -> list[Any]:
    """Return folds of two columns, of which the second has another `length` for record 7."""
    before = lowering.set_lowering(blocks)
    found: list[Any] = []
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            number = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
            total = tf.foldl(
                lambda a, b: a + b[0] + b[1],
                (tf.range(3.0), up_to(number, length, 3)),
                initializer=0.0,
            )
            batch = tf.train.batch([total], 1, num_threads=1)
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for _ in range(7):
                assert session.run(batch).tolist() == [6.0]
            if length > 3:
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(batch)
                with pytest.raises(tf.errors.InvalidArgumentError, match="write to index 3 but"):
                    coordinator.join(threads)
                return found
            found = [session.run(batch).tolist() for _ in range(3)]
            assert found == [[4.0], [6.0], [6.0]]  # the missing row is zero
            coordinator.request_stop()
            coordinator.join(threads)
            return found
    finally:
        lowering.set_lowering(before)


@pytest.mark.parametrize("loop", [tf.scan, tf.foldl])
def test_a_state_that_changes_its_shape_is_refused(loop: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="has shape"):
        loop(lambda a, b: tf.transpose(a, [1, 2, 0]) + b, tf.range(3.0), tf.zeros([2, 2, 3]))
    with tf.Graph().as_default():
        kept = loop(lambda a, b: tf.reshape(a, tf.shape(a)), tf.range(3.0), tf.zeros([3]))
        assert kept.shape[-1:].as_list() == [3]


@pytest.mark.parametrize("loop", [tf.scan, tf.foldl, tf.map_fn])
def test_columns_of_different_static_lengths_are_refused(loop: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"\(3,\) and \(4,\) are"):
        loop(lambda *parts: parts[0], (tf.range(3.0), tf.range(4.0)))


def test_an_iterator_over_unknown_elements_is_refused() -> None:
    failures = itertools.count()

    def fails(x: Any) -> Any:
        raise tf.errors.InvalidArgumentError(None, None, f"failure {next(failures)}")

    with tf.Graph().as_default():
        rows = tf.data.Dataset.range(3).map(fails)
        for start in (rows.make_one_shot_iterator, rows.make_initializable_iterator):
            with pytest.raises(TypeError, match="which could not be computed"):
                start()


def test_a_declared_type_of_map_fn_is_checked() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match="type int32, got float32"),
    ):
        tf.map_fn(lambda a: tf.cast(a, tf.float32), tf.range(3), dtype=tf.int32)
