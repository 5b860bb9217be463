# SPDX-License-Identifier: Apache-2.0
"""Loops in functions of datasets, whose rounds run for many elements at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from v2_loop_programs import FUNCTIONS, LENGTHS, ROWS

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map


def plain(value: Any) -> Any:
    return [np.asarray(each).tolist() for each in tf.nest.flatten(value)]


@pytest.mark.parametrize("count", [2, 8, 40])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loop_is_that_of_its_elements(name: str, count: int) -> None:
    rows = tf.data.Dataset.from_tensor_slices((ROWS, LENGTHS)).take(count)
    mapped = rows.map(lambda v, n: FUNCTIONS[name](tf, v, n))
    assert isinstance(mapped._node, Map)
    before = tf.data.set_lowering(False)
    try:
        wanted = []
        for v, n in rows:
            try:
                wanted.append(plain(FUNCTIONS[name](tf, v, n)))
            except tf.errors.InvalidArgumentError:
                assert name == "too far"
    finally:
        tf.data.set_lowering(before)
    assert [plain(each) for each in mapped.ignore_errors()] == wanted
    assert [plain(each) for each in mapped.ignore_errors().batch(1)] == [
        [[each] for each in value] for value in wanted
    ]


def test_rounds_that_change_nothing_count() -> None:
    def function(v: Any, n: Any) -> Any:
        total = tf.constant(0)
        for i in tf.range(n):
            if v[i] > 5:
                total = total * 2 + v[i]
        return total

    numbers = np.array([0, 9, 0, 0, 7, 0], np.int32)
    found = list(tf.data.Dataset.from_tensors((numbers, 6)).map(function))
    assert int(found[0]) == 25


def test_a_round_that_fails_fails_after_those_before_it() -> None:
    def function(v: Any, n: Any) -> Any:
        total = tf.constant(0)
        for i in tf.range(n):
            if total > 100:
                total = total // (v[i] - v[i])
            total += v[i] // (v[29 - i])
        return total

    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        list(tf.data.Dataset.from_tensors((np.arange(30, dtype=np.int32), 30)).map(function))
    found = tf.data.Dataset.from_tensors((np.arange(1, 31, dtype=np.int32), 30)).map(function)
    numbers = range(1, 31)
    assert int(next(iter(found))) == sum(
        a // b for a, b in zip(numbers, numbers[::-1], strict=True)
    )


def test_places_and_lengths_of_each_element_are_taken_from_columns() -> None:
    def function(v: Any, n: Any) -> Any:
        short = tf.minimum(n, 7)
        return v[:short], v[short:], v[short : short + 3], tf.range(short), v[short]

    elements = tf.data.Dataset.from_tensor_slices((ROWS, LENGTHS)).map(function)
    for found, row, length in zip(elements, ROWS, LENGTHS, strict=True):
        n = min(int(length), 7)
        wanted = [row[:n], row[n:], row[n : n + 3], np.arange(n), row[n]]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
    backwards = tf.data.Dataset.from_tensor_slices((ROWS, LENGTHS)).map(
        lambda v, n: tf.reduce_sum(v[-n - 1 :])
    )
    wanted = [row[-n - 1 :].sum() for row, n in zip(ROWS, LENGTHS, strict=True)]
    assert [int(each) for each in backwards] == wanted


def as_lists(elements: Any) -> list[Any]:
    return [np.asarray(each).tolist() for each in elements]


def texts(x: Any) -> Any:
    return tf.strings.as_string(tf.range(3) + tf.cast(x, tf.int32))


def join(a: Any, b: Any) -> Any:
    return tf.strings.join([a, b])


@pytest.mark.parametrize("initializer", [None, "q"])
@pytest.mark.parametrize("lowered", [True, False])
def test_a_scan_of_strings_is_that_of_its_steps(initializer: Any, lowered: bool) -> None:
    def scanned(x: Any) -> Any:
        return tf.scan(join, texts(x), initializer=initializer)

    first = (initializer or "").encode()
    wanted = []
    for x in range(6):
        steps = [b"%d" % (x + i) for i in range(3)]
        wanted.append([first + b"".join(steps[: i + 1]) for i in range(3)])
    before = tf.data.set_lowering(lowered)
    try:
        rows = tf.data.Dataset.range(6)
        assert as_lists(rows.map(scanned)) == wanted
        lengths = rows.map(lambda x: tf.strings.length(scanned(x))).batch(6)
        assert as_lists(lengths) == [[[len(each) for each in row] for row in wanted]]
        swapped = rows.map(lambda x: tf.scan(lambda a, b: (b, a[0]), texts(x), ("q", "z"))[1])
        assert as_lists(swapped.batch(6))[0][5] == [b"q", b"5", b"6"]
    finally:
        tf.data.set_lowering(before)


def test_a_scan_of_no_rows_needs_an_initializer() -> None:
    def total(rows: Any, *initializer: Any) -> Any:
        return tf.scan(lambda a, b: a + b, rows, *initializer)

    rows = tf.zeros([0, 3])
    assert total(rows, tf.zeros([3])).shape == [0, 3]
    for loop in (tf.scan, tf.foldl):
        with pytest.raises(tf.errors.InvalidArgumentError, match="no initializer"):
            loop(lambda a, b: a + b, rows)
    of_elements = tf.data.Dataset.from_tensors(rows.numpy())
    assert [each.shape for each in of_elements.map(lambda r: total(r, tf.zeros([3])))] == [[0, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no initializer"):
        list(of_elements.map(total))


def test_a_state_whose_shape_never_settles_is_computed_for_each_element() -> None:
    def rotated(x: Any) -> Any:
        def step(a: Any, b: Any) -> Any:
            return tf.ones([1, 1]) if a.shape[0] is None else tf.ones([1]) + b

        return tf.foldl(step, tf.range(4.0) + tf.cast(x, tf.float32), initializer=tf.zeros([3]))

    assert as_lists(tf.data.Dataset.range(2).map(rotated)) == [[4.0], [5.0]]


@pytest.mark.parametrize("lowered", [True, False])
def test_one_variable_of_a_loop_stays_in_its_list(lowered: bool) -> None:
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i: i < x, lambda i: i + 2, [tf.zeros([], tf.int64)])

    before = tf.data.set_lowering(lowered)
    try:
        elements = list(tf.data.Dataset.range(4).map(loop))
    finally:
        tf.data.set_lowering(before)
    assert [[int(part) for part in each] for each in elements] == [[0], [2], [2], [4]]
    assert [[int(part) for part in loop(tf.constant(x, tf.int64))] for x in (0, 3)] == [[0], [4]]
    assert int(tf.while_loop(lambda i: i < 3, lambda i: i + 2, 0)) == 4


def test_a_declared_type_of_map_fn_is_checked() -> None:
    def wrong(x: Any) -> Any:
        rows = tf.range(3) + tf.cast(x, tf.int32)
        return tf.map_fn(lambda a: tf.cast(a, tf.float32), rows, fn_output_signature=tf.int32)

    with pytest.raises(tf.errors.InvalidArgumentError, match="type int32, got float32"):
        wrong(1)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        list(tf.data.Dataset.range(3).map(wrong))


@pytest.mark.parametrize("fold", ["scan", "foldl", "foldr"])
@pytest.mark.parametrize("begins", [True, False])
def test_a_loop_over_known_rows_may_depend_on_the_element(fold: str, begins: bool) -> None:
    def looped(x: Any) -> Any:
        weight = tf.cast(x, tf.float32)
        start = tf.ones([2]) if begins else None
        rows = tf.reshape(tf.range(6.0), [3, 2])
        return getattr(tf, fold)(lambda a, b: a * weight + b, rows, initializer=start)

    dataset = tf.data.Dataset.range(1, 4).map(looped)
    assert dataset.element_spec.shape == ((3, 2) if fold == "scan" else (2,))
    assert as_lists(dataset) == [looped(tf.constant(x)).numpy().tolist() for x in (1, 2, 3)]
