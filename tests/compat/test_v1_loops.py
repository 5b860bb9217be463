# SPDX-License-Identifier: Apache-2.0
"""Loops of version 1 in functions of datasets, which run for many elements at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
from fastrec.compat._tf.columns import column_of
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.data.pipeline import set_lowering

COUNT = 40


def number(x: Any) -> Any:
    return tf.cast(x, tf.float32)


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
    "no rows": lambda x: tf.scan(lambda a, b: a + b, tf.zeros([0]) + number(x)),
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
