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
