# SPDX-License-Identifier: Apache-2.0
"""Choices and loops in functions of datasets are operations, and run for many elements at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map


def both_ways(function: Callable[..., Any], data: Any = None) -> list[Any]:
    """What a map gives in blocks; the same as element by element."""
    found = []
    for lowering in (True, False):
        before = tf.data.set_lowering(lowering)
        try:
            tf.random.set_seed(11)
            elements = (tf.data.Dataset.range(40) if data is None else data).map(function)
            assert isinstance(elements._node, Map)
            batched = [x for batch in elements.batch(8) for x in np.asarray(batch).tolist()]
            assert batched == [np.asarray(each).tolist() for each in elements]
            found.append(batched)
        finally:
            tf.data.set_lowering(before)
    assert found[0] == found[1]
    return found[0]


def test_an_element_comes_to_one_side_of_a_choice() -> None:
    found = both_ways(lambda x: tf.cond(x % 3 == 0, lambda: x * 100, lambda: -x))
    assert found == [x * 100 if x % 3 == 0 else -x for x in range(40)]


def test_a_side_is_not_run_for_elements_that_do_not_come_to_it() -> None:
    def function(x: Any) -> Any:
        def refused() -> Any:
            tf.debugging.assert_less(x, tf.constant(0, tf.int64))
            return x

        return tf.cond(x < 100, lambda: x, refused)

    assert both_ways(function) == list(range(40))


def test_an_error_in_a_side_is_one_of_its_element() -> None:
    def function(x: Any) -> Any:
        def checked() -> Any:
            tf.debugging.assert_none_equal(x, tf.constant(6, tf.int64))
            return -x

        return tf.cond(x % 2 == 0, checked, lambda: x)

    found = tf.data.Dataset.range(9).map(function).ignore_errors()
    assert [int(x) for x in found] == [0, 1, -2, 3, -4, 5, 7, -8]


def test_each_side_draws_for_the_elements_that_come_to_it() -> None:
    def function(x: Any) -> Any:
        return tf.cond(
            tf.random.uniform([], seed=1) < 0.3,
            lambda: tf.random.uniform([], seed=2),
            lambda: tf.cond(
                tf.random.uniform([], seed=3) < 0.5,
                lambda: 1 + tf.random.uniform([], seed=4),
                lambda: tf.constant(9.0),
            ),
        )

    tf.random.set_seed(11)
    alone = [
        [
            float(x)
            for x in tf.data.Dataset.range(40).map(lambda _, s=s: tf.random.uniform([], seed=s))
        ]
        for s in (1, 2, 3, 4)
    ]
    drawn = [iter(each) for each in alone]
    expected = []
    for _ in range(40):
        if next(drawn[0]) < 0.3:
            expected.append(next(drawn[1]))
        elif next(drawn[2]) < 0.5:
            expected.append(float(np.float32(1) + np.float32(next(drawn[3]))))
        else:
            expected.append(9.0)
    assert both_ways(function) == expected


def test_what_is_drawn_may_depend_on_the_element() -> None:
    found = both_ways(
        lambda x: tf.cond(x % 4 == 1, lambda: tf.random.uniform([], seed=5), lambda: 0.0)
    )
    tf.random.set_seed(11)
    drawn = tf.data.Dataset.range(10).map(lambda _: tf.random.uniform([], seed=5))
    assert found[1::4] == [float(x) for x in drawn]


def test_a_function_of_python_that_decides_what_is_drawn_is_called_once() -> None:
    calls = []

    def function(x: Any) -> Any:
        def rest(n: Any) -> Any:
            calls.append(int(n))
            return n % 3

        chosen = tf.py_function(rest, [x], tf.int64)
        return tf.cond(chosen > 0, lambda: tf.random.uniform([], seed=5), lambda: 0.0)

    found = [float(x) > 0 for x in tf.data.Dataset.range(6).map(function)]
    assert found == [False, True, True] * 2
    assert calls == list(range(6))


def test_how_much_is_drawn_may_depend_on_the_element() -> None:
    tf.random.set_seed(11)
    found = tf.data.Dataset.range(1, 9).map(lambda x: tf.random.shuffle(tf.range(x), seed=3))
    assert isinstance(found._node, Map)
    assert [sorted(x.numpy().tolist()) for x in found] == [list(range(n)) for n in range(1, 9)]
    wrong = tf.data.Dataset.range(-1, 3).map(lambda x: tf.random.uniform([x], seed=3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be >= 0"):
        list(wrong)
    assert [x.shape[0] for x in wrong.ignore_errors()] == [0, 1, 2]


def test_what_is_drawn_may_depend_on_a_number_that_comes_with_an_image() -> None:
    def function(x: Any) -> Any:
        image = tf.zeros([130, 130, 1]) + tf.cast(x, tf.float32)
        chance = tf.random.uniform([], seed=1)
        image, done = tf.cond(
            chance < 0.5,
            lambda: (image + tf.random.uniform([], seed=2), True),
            lambda: (image, False),
        )
        image = tf.cond(done, lambda: image, lambda: image - tf.random.uniform([], seed=3))
        return tf.stack([tf.reduce_max(image), chance])

    tf.random.set_seed(11)
    chances = tf.data.Dataset.range(40).map(lambda x: tf.random.uniform([], seed=1))
    found = both_ways(function)
    assert [chance for _, chance in found] == [float(each) for each in chances]
    assert all((most > x) == (chance < 0.5) for x, (most, chance) in enumerate(found))


def test_a_value_that_has_no_function_comes_to_the_last_one() -> None:
    functions = [lambda: 0, lambda: 10, lambda: 20]
    found = both_ways(lambda x: tf.switch_case(tf.cast(x, tf.int32) - 1, functions))
    assert found[:5] == [20, 0, 10, 20, 20]


def test_the_first_condition_that_holds_decides() -> None:
    found = both_ways(
        lambda x: tf.case([(x < 2, lambda: 1), (x < 4, lambda: 2)], default=lambda: 3)
    )
    assert found[:6] == [1, 1, 2, 2, 3, 3]


def test_sides_that_return_other_types_are_refused() -> None:
    elements = tf.data.Dataset.range(4)
    with pytest.raises(TypeError, match="same number, type, and overall structure"):
        elements.map(lambda x: tf.cond(x < 2, lambda: x, lambda: tf.cast(x, tf.int32)))


def test_sizes_that_differ_between_sides_are_not_known() -> None:
    elements = tf.data.Dataset.range(4).map(
        lambda x: tf.cond(x < 2, lambda: tf.zeros([2, 3]), lambda: tf.zeros([5, 3]))
    )
    assert elements.element_spec == tf.TensorSpec([None, 3], tf.float32)
    assert [x.shape[0] for x in elements] == [2, 2, 5, 5]


def test_rows_of_all_elements_are_mapped_at_once() -> None:
    data = tf.data.Dataset.from_tensor_slices(np.arange(24).reshape(8, 3))
    found = both_ways(lambda v: tf.map_fn(lambda y: y * y, v), data)
    assert found == (np.arange(24).reshape(8, 3) ** 2).tolist()
    words = tf.data.Dataset.from_tensor_slices(["a bc", "def", "gh i j"])
    lengths = words.map(
        lambda t: tf.map_fn(tf.strings.length, tf.strings.split(t), fn_output_signature=tf.int32)
    )
    assert [x.numpy().tolist() for x in lengths] == [[1, 2], [3], [2, 1, 1]]


def test_rows_that_become_arrays_of_other_shapes_are_refused() -> None:
    elements = tf.data.Dataset.range(1, 3).map(lambda x: tf.map_fn(tf.range, tf.range(x + 1)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="unequal shapes"):
        list(elements)


def test_a_loop_ends_where_its_test_does() -> None:
    def total(x: Any) -> Any:
        start = [tf.constant(0, tf.int64), tf.constant(0, tf.int64)]
        return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), start)[1]

    assert both_ways(total) == [x * (x - 1) // 2 for x in range(40)]


def test_what_rows_come_to_in_order() -> None:
    data = tf.data.Dataset.from_tensor_slices(np.arange(12.0).reshape(4, 3))
    assert both_ways(lambda v: tf.scan(lambda a, b: a + b, v), data)[1] == [3, 7, 12]
    one = tf.constant(1.0, tf.float64)
    assert both_ways(lambda v: tf.foldl(lambda a, b: a - b, v, one), data)[1] == -11
    assert both_ways(lambda v: tf.foldr(lambda a, b: a - b, v), data)[1] == -2


def test_a_choice_within_an_if_is_made_for_each_element() -> None:
    def function(x: Any) -> Any:
        if x % 2 == 0:
            return tf.cond(x < 4, lambda: tf.random.uniform([], seed=3) * 0, lambda: 1.0)
        return tf.constant(2.0)

    elements = tf.data.Dataset.range(6).map(function)
    assert [float(x) for x in elements] == [0, 2, 0, 2, 1, 2]


def test_rows_are_mapped_with_what_is_made_of_the_element_alone() -> None:
    def function(x: Any) -> Any:
        def more(row: Any) -> Any:
            return row + tf.reduce_sum(tf.ones([2]) * tf.cast(x, tf.float32))

        return tf.map_fn(lambda row: tf.cond(x > 1, lambda: more(row), lambda: row), tf.ones(3))

    assert both_ways(function) == [[1.0 + (2 * x if x > 1 else 0)] * 3 for x in range(40)]


def test_rows_are_mapped_within_a_loop() -> None:
    def function(x: Any) -> Any:
        def body(i: Any, rows: Any) -> Any:
            return i + 1, tf.map_fn(lambda row: row + tf.cast(x, tf.float32), rows)

        begin = (tf.constant(0, tf.int64), tf.zeros(2))
        return tf.while_loop(lambda i, _: i < x, body, begin)[1]

    assert both_ways(function) == [[float(x * x)] * 2 for x in range(40)]


def _drawn(function: Callable[..., Any], count: int = 12) -> list[Any]:
    elements = tf.data.Dataset.range(count).map(function)
    found = [np.asarray(each).tolist() for each in elements]
    assert found == [np.asarray(each).tolist() for each in elements]
    return found


def _numbers(seed: int, count: int) -> list[float]:
    return _drawn(lambda _: tf.random.uniform([], seed=seed), count)


def test_what_a_loop_draws_goes_on_with_each_row() -> None:
    found = _drawn(
        lambda _: tf.map_fn(lambda row: row + tf.random.uniform([], seed=1), tf.zeros(3))
    )
    assert np.ravel(found).tolist() == _numbers(1, 36)


def test_what_a_loop_draws_goes_on_while_its_test_holds() -> None:
    def function(x: Any) -> Any:
        begin = (tf.constant(0, tf.int64), tf.zeros([0]))
        row = lambda i, found: (i + 1, tf.concat([found, tf.random.uniform([1], seed=1)], 0))  # noqa: E731
        return tf.while_loop(lambda i, _: i < x % 3, row, begin)[1]

    found = [each for row in _drawn(function) for each in row]
    assert found == _numbers(1, 12)


def test_draws_after_an_if_do_not_depend_on_its_answer() -> None:
    def function(x: Any) -> Any:
        first = tf.random.uniform([], seed=1) if x % 3 == 0 else tf.constant(0.0)
        return first, tf.random.uniform([], seed=2)

    first, second = zip(*_drawn(function), strict=True)
    assert list(second) == _numbers(2, 12)
    assert list(first[::3]) == _numbers(1, 4)


def test_a_filter_draws_on_the_side_of_each_element() -> None:
    def keeps(x: Any) -> Any:
        return tf.cond(
            x % 2 == 0,
            lambda: tf.random.uniform([], seed=1) < 0.5,
            lambda: tf.random.uniform([], seed=2) < 0.5,
        )

    found = [int(x) for x in tf.data.Dataset.range(40).filter(keeps)]
    sides = [_numbers(1, 20), _numbers(2, 20)]
    assert found == [x for x in range(40) if sides[x % 2][x // 2] < 0.5]


def test_a_scan_draws_anew_with_each_iteration() -> None:
    def step(state: Any, x: Any) -> Any:
        return state + x, tf.random.uniform([], seed=1)

    elements = tf.data.Dataset.range(5).scan(tf.constant(0, tf.int64), step)
    assert [float(x) for x in elements] == [float(x) for x in elements] == _numbers(1, 5)


def test_of_conditions_that_exclude_each_other_two_are_refused() -> None:
    def function(x: Any) -> Any:
        pairs = [(x < 6, lambda: x), (x > 3, lambda: -x)]
        return tf.case(pairs, default=lambda: x * 100, exclusive=True)

    elements = tf.data.Dataset.range(8).map(function).ignore_errors()
    assert [int(x) for x in elements] == [0, 1, 2, 3, -6, -7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        function(tf.constant(4))
