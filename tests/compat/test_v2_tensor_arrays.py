# SPDX-License-Identifier: Apache-2.0
"""Arrays of tensors in functions of datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map


def of_both(function: Any, count: int = 5) -> list[Any]:
    """The elements of a map, traced and not; they are the same."""
    elements = tf.data.Dataset.range(count).map(function)
    assert isinstance(elements._node, Map)
    found = [tf.nest.map_structure(lambda t: t.numpy().tolist(), each) for each in elements]
    before = tf.data.set_lowering(False)
    try:
        eager = [
            tf.nest.map_structure(lambda t: t.numpy().tolist(), function(tf.constant(i, tf.int64)))
            for i in range(count)
        ]
    finally:
        tf.data.set_lowering(before)
    assert found == eager
    return found


def squares(x: Any) -> Any:
    array = tf.TensorArray(tf.int64, size=x)
    one = tf.constant(1, tf.int64)
    loop = tf.while_loop(lambda i, _: i < x, lambda i, a: (i + 1, a.write(i, [i, i * i])), (
        one * 0, array
    ))  # fmt: skip
    return loop[1].stack()


def test_a_loop_that_writes_an_array_is_an_operation() -> None:
    assert of_both(squares)[3] == [[0, 0], [1, 1], [2, 4]]
    spec = tf.data.Dataset.range(2).map(squares).element_spec
    assert spec == tf.TensorSpec([None, 2], tf.int64)


def test_an_array_grows_on_one_side_of_a_choice() -> None:
    def evens(x: Any) -> Any:
        array = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])

        def step(i: Any, a: Any) -> Any:
            return i + 1, tf.cond(i % 2 == 0, lambda: a.write(a.size(), i), lambda: a)

        begin = tf.constant(0, tf.int64)
        _, array = tf.while_loop(lambda *_: True, step, (begin, array), maximum_iterations=x)
        return array.stack(), array.size()

    assert of_both(evens)[4] == ([0, 2], 2)


def test_a_for_over_rows_that_writes_an_array_is_an_operation() -> None:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])
        for i in tf.range(x):
            if i != 1:
                array = array.write(array.size(), i * i)
        return array.stack()

    assert [each.tolist() for each in tf.data.Dataset.range(5).map(function).as_numpy_iterator()][
        4
    ] == [0, 4, 9]
    assert tf.data.Dataset.range(5).map(function).element_spec == tf.TensorSpec([None], tf.int64)


def test_a_loop_that_passes_rows_over_may_have_variables_of_its_own() -> None:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.int64, 1, dynamic_size=True)
        count = 0
        for i in tf.range(x):
            for j in tf.range(x):
                if i == j:
                    continue
                total = i * j
                if total > 5:
                    array = array.write(count, [i, j])
                    count += 1
        return array.stack(), count

    elements = tf.data.Dataset.range(5).map(function)
    assert isinstance(elements._node, Map)
    assert elements.element_spec[0] == tf.TensorSpec([None, 2], tf.int64)
    found = [each[0].tolist() for each in elements.as_numpy_iterator()]
    assert found == [[[0, 0]]] * 4 + [[[2, 3], [3, 2]]]


def test_a_tensor_that_no_step_has_written_has_the_shape_that_is_known() -> None:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 2)
        if x > 1:
            array = array.write(0, [1.0, 2.0])
        return array.stack(), array.read(1), array.gather([1])

    found = [
        [v.tolist() for v in each]
        for each in tf.data.Dataset.range(3).map(function).as_numpy_iterator()
    ]
    none = [0.0, 0.0]
    assert found[0] == found[1] == [[none, none], none, [none]]
    assert found[2] == [[[1.0, 2.0], none], none, [none]]


def test_a_loop_may_fill_dicts_of_its_own() -> None:
    def function(x: Any) -> Any:
        state = {"sum": x * 0, "last": x}
        for i in tf.range(x):
            new = {}
            for key in ("sum", "last"):
                new[key] = state[key] + i
            state = new
        return state

    assert of_both(function)[4] == {"sum": 6, "last": 10}


def test_a_loop_that_fills_a_dict_of_others_is_run_for_each_element() -> None:
    def function(x: Any) -> Any:
        state = {"sum": x * 0}
        for i in tf.range(x):
            state["sum"] = state["sum"] + i
        other = {}
        if x > 2:
            other = {"a": x}
            kept = other
        else:
            kept = {"a": x * 0}
        return state["sum"], kept["a"]

    found = list(tf.data.Dataset.range(5).map(function).as_numpy_iterator())
    assert found == [(0, 0), (0, 0), (1, 0), (3, 3), (6, 4)]


def test_arrays_give_what_they_hold() -> None:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.int64, size=3).unstack([x, x, x + 1]).write(0, x * 5)
        parts = tf.TensorArray(tf.int64, size=2, infer_shape=False).split(tf.range(x + 2), [x, 2])
        rows = tf.TensorArray(tf.int64, size=2).scatter([1, 0], [x, x * x])
        return array.stack(), array.read(2), array.gather([2, 0]), parts.concat(), rows.stack()

    assert of_both(function)[2] == ([10, 2, 3], 3, [3, 10], [0, 1, 2, 3], [4, 2])
    specs = tf.data.Dataset.range(2).map(function).element_spec
    assert [spec.shape.sizes for spec in specs] == [(3,), (), (2,), None, (2,)]


def test_an_array_that_another_was_written_from_is_as_it_was() -> None:
    def function(x: Any) -> Any:
        first = tf.TensorArray(tf.int64, size=0, dynamic_size=True).write(0, x)
        one, other = first.write(1, x + 1), first.write(1, x + 2)
        return first.stack(), one.stack(), other.write(0, x + 9).stack(), other.stack()

    found = list(tf.data.Dataset.range(1).map(function).as_numpy_iterator())
    assert [each.tolist() for each in found[0]] == [[0], [0, 1], [9, 2], [0, 2]]


def test_what_an_array_does_not_take_is_refused() -> None:
    def beyond(x: Any) -> Any:
        return tf.TensorArray(tf.int64, size=2).write(x, x).stack()

    with pytest.raises(tf.errors.OutOfRangeError, match="index 2 but array is not resizeable"):
        beyond(tf.constant(2, tf.int64))
    kept = tf.data.Dataset.range(4).map(beyond).ignore_errors()
    assert [np.asarray(each).tolist() for each in kept] == [[0, 0], [0, 1]]
    with pytest.raises(ValueError, match="Incompatible shape"):
        tf.TensorArray(tf.int64, size=2, element_shape=[3]).write(0, tf.range(1, dtype=tf.int64))


def test_an_array_is_an_element() -> None:
    def function(x: Any) -> Any:
        return tf.TensorArray(tf.int64, size=2).unstack([x, x + 1])

    elements = tf.data.Dataset.range(2).map(function)
    assert elements.element_spec == tf.TensorArraySpec([], tf.int64, False, True)
    assert [each.stack().numpy().tolist() for each in elements] == [[0, 1], [1, 2]]
    assert [int(x) for x in elements.map(lambda array: array.read(1))] == [1, 2]


def test_a_size_that_never_changes_is_known_after_a_loop() -> None:
    def filled(x: Any) -> Any:
        array = tf.TensorArray(tf.int64, size=3)
        for i in tf.range(x - x + 3):
            array = array.write(tf.cast(i, tf.int32), [i, x])
        return array.stack()

    spec = tf.data.Dataset.range(2).map(filled).element_spec
    assert spec == tf.TensorSpec([3, 2], tf.int64)
    assert of_both(filled)[2] == [[0, 2], [1, 2], [2, 2]]


def test_rows_are_as_many_as_the_first_tensor_has() -> None:
    def function(x: Any) -> Any:
        rows = tf.range(x), tf.range(x * 2) * 10
        return tf.map_fn(lambda row: row[0] + row[1], rows, fn_output_signature=tf.int64)

    found = tf.data.Dataset.range(4).map(function)
    assert [each.numpy().tolist() for each in found] == [[], [0], [0, 11], [0, 11, 22]]
    short = tf.data.Dataset.range(2, 4).map(
        lambda x: tf.foldl(lambda a, row: a + row[0] + row[1], (tf.range(x), tf.range(x - 1)), x)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="access element 1 in a list with 1"):
        next(iter(short))
