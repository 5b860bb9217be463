# SPDX-License-Identifier: Apache-2.0
"""Switches and merges of graphs, by which preprocessing of TensorFlow 1 chooses at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as ours
from fastrec.compat.v2.data import set_lowering

Made = Callable[[Any, Any], Any]


def switch(tf: Any, data: Any, pred: Any) -> Any:
    return tf.raw_ops.Switch(data=data, pred=pred)


def any_of(tf: Any, x: Any, functions: list[Callable[[Any], Any]]) -> Any:
    """What one of the functions, by chance, gives."""
    chosen = tf.random_uniform([], maxval=len(functions), dtype=tf.int32, seed=2)
    made = [
        function(switch(tf, x, tf.equal(chosen, number))[1])
        for number, function in enumerate(functions)
    ]
    return tf.raw_ops.Merge(inputs=made)[0]


def several(tf: Any, x: Any) -> Any:
    """Merges that share what is drawn for them."""
    parts, made = [x, x * 2.0], []
    chosen = tf.random_uniform([], maxval=4, dtype=tf.int32, seed=2)
    for number in range(4):
        own = [switch(tf, each, tf.equal(chosen, number))[1] for each in parts]
        drawn = tf.random_uniform([3], maxval=tf.reduce_sum(own[0]) + 1.0, seed=number)
        made.append([own[0] + drawn * number, own[1] + drawn])
    return [tf.raw_ops.Merge(inputs=list(each))[0] for each in zip(*made, strict=True)]


def nested(tf: Any, x: Any) -> Any:
    def inner(value: Any) -> Any:
        return any_of(tf, value, [lambda v: v - 1.0, lambda v: v + tf.random_uniform([], seed=4)])

    return [any_of(tf, x, [lambda v: v * 3.0, inner, lambda v: inner(v) * 10.0])]


def sides(tf: Any, x: Any) -> Any:
    low, high = switch(tf, x, x > 4.0)
    value, number = tf.raw_ops.Merge(inputs=[low - 100.0, high + 100.0])
    return [value, number]


def within_a_condition(tf: Any, x: Any) -> Any:
    def chosen() -> Any:
        return any_of(tf, x, [lambda v: v + 1.0, lambda v: v * 2.0])

    return [tf.cond(x > 3.0, chosen, lambda: x)]


def around_a_condition(tf: Any, x: Any) -> Any:
    def decided(value: Any) -> Any:
        return tf.cond(
            value > 3.0, lambda: value * 2.0, lambda: value + tf.random_uniform([], seed=3)
        )

    return [any_of(tf, x, [decided, lambda v: v - 1.0])]


MADE: dict[str, Made] = {
    "one of several": lambda tf, x: [any_of(tf, x, [lambda v, n=n: v * n for n in range(3)])],
    "one of images": lambda tf, x: [
        any_of(tf, tf.fill([9, 8, 3], x), [tf.image.flip_up_down, lambda v: v / 2.0])
    ],
    "several": several,
    "nested": nested,
    "two sides": sides,
    "within a condition": within_a_condition,
    "around a condition": around_a_condition,
}


def in_session(tf: Any, made: Made) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        number = tf.placeholder(tf.float32, [])
        results = made(tf, number)
        shapes = [tensor.shape.as_list() for tensor in results]
        return shapes, [session.run(results, {number: n}) for n in range(12)]


def in_data_set(tf: Any, made: Made) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        data = tf.data.Dataset.range(24).map(lambda n: tuple(made(tf, tf.to_float(n)))).batch(8)
        following = tf.data.make_one_shot_iterator(data).get_next()
        return [session.run(following) for _ in range(3)]


def in_queue(tf: Any, made: Made) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        number = tf.train.range_input_producer(24, shuffle=False).dequeue()
        batch = tf.train.batch(made(tf, tf.to_float(number)), 8)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(batch) for _ in range(3)]
        coordinator.request_stop()
        coordinator.join(threads)
        return found


@pytest.mark.parametrize("run", [in_session, in_data_set, in_queue])
@pytest.mark.parametrize("name", MADE)
def test_merges_take_what_has_a_value(tf: Any, name: str, run: Callable[..., Any]) -> None:
    expected = run(tf.compat.v1, MADE[name])
    for fast in (True, False):
        before = set_lowering(fast)
        try:
            found = run(ours, MADE[name])
        finally:
            set_lowering(before)
        tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_what_has_no_value_cannot_be_fetched(tf: Any) -> None:
    for module in (tf.compat.v1, ours):
        with module.Graph().as_default(), module.Session() as session:
            side = switch(module, module.constant(3.0), module.constant(False))[1]
            with pytest.raises(module.errors.InvalidArgumentError, match="does not have value"):
                session.run(side * 2.0)


def test_a_merge_without_a_switch_is_refused() -> None:
    with ours.Graph().as_default(), pytest.raises(ValueError, match="has to depend on a switch"):
        ours.raw_ops.Merge(inputs=[ours.constant(1), ours.constant(2)])
