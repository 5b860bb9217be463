# SPDX-License-Identifier: Apache-2.0
"""The ``if``, ``for`` and ``while`` of functions of datasets are operations, as by AutoGraph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import EagerMap, Map


def mapped(function: Callable[..., Any], count: int = 10) -> list[Any]:
    """What a function that has become operations gives, in blocks and one by one."""
    elements = tf.data.Dataset.range(count).map(function)
    assert isinstance(elements._node, Map)
    found = [np.asarray(x).tolist() for x in elements]
    assert [x for batch in elements.batch(3) for x in np.asarray(batch).tolist()] == found
    before = tf.data.set_lowering(False)
    try:
        assert [np.asarray(x).tolist() for x in elements] == found
    finally:
        tf.data.set_lowering(before)
    return found


def of_python(function: Callable[..., Any], count: int = 10) -> list[Any]:
    return [np.asarray(function(tf.constant(x, tf.int64))).tolist() for x in range(count)]


def assigns(x: Any) -> Any:
    beside = tf.constant(7, tf.int64)
    if x % 2 == 0:
        y, beside = x * 2, x
    elif x > 5:
        y = x + 100
    else:
        y = -x
    return y + beside


def returns(x: Any) -> Any:
    if x == 0:
        return x - 1
    if x == 1:
        return x + 50
    y = x * 3
    if x > 4 and not tf.equal(x, 7):
        y = y + 1000 if x > 8 else y
        return y
    return -y


def loops(x: Any) -> Any:
    total = tf.constant(0, tf.int64)
    for i in tf.range(x):
        if i % 2 == 0:
            continue
        if i > 6:
            break
        total += i
    while total > 5 or total == 3:
        total -= 4
    return total


def repeats(x: Any) -> Any:
    """What is decided by numbers of Python stays as it is."""
    kept = []
    for number in (1, 2, 3, 4):
        if number == 2:
            continue
        if number == 4:
            break
        kept.append(number)
    else:
        kept.append(100)
    while len(kept) < 4:
        kept.append(len(kept))
    with tf.name_scope("inner"):
        if x > 3:
            return x * sum(kept)
        return x + number


class Change:
    """What programs have functions in."""

    def __init__(self, by: int) -> None:
        self.by = by

    @tf.function
    def more(self, x: Any) -> Any:
        return x + self.by if x > 3 else x

    def __call__(self, x: Any, times: int = 2) -> Any:
        for _ in range(times):
            x = self.more(x)
        return x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "if": assigns,
    "return": returns,
    "for and while": loops,
    "Python": repeats,
    "method": Change(5).more,
    "object": Change(5),
    "partial": functools.partial(Change(2), times=3),
    "lambda": lambda x: assigns(x) if x > 2 else -x,
    "two lambdas of a line": (lambda: (lambda x: x if x > 2 else -x, lambda x: x))()[0],
    "in a cond": lambda x: tf.cond(x > 1, lambda: returns(x), lambda: loops(x)),
    "in rows": lambda x: tf.map_fn(lambda row: row if row > x else -row, tf.range(x, x + 3)),
    "in a comprehension": lambda x: sum([x if n else x * 2 if x > 4 else x for n in range(3)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_statements_give_what_they_give_in_python(name: str) -> None:
    assert mapped(FUNCTIONS[name]) == of_python(FUNCTIONS[name])


def test_functions_that_a_loop_keeps_see_its_last_values() -> None:
    def function(x: Any) -> Any:
        kept, others = [], []
        for number in (1, 2, 3):
            kept.append(lambda: x * number)  # noqa: B023
            others.append(lambda number=number: x * number)
        return kept[0]() if x > 2 else others[0]()

    assert [int(x) for x in tf.data.Dataset.range(5).map(function)] == [0, 1, 2, 9, 12]


def test_numbers_and_lengths_of_python_are_those_of_tensors() -> None:
    def function(x: Any) -> Any:
        numbers = tf.range(x)
        total = 0
        for i in range(int(tf.cast(x, tf.float32) * 1.5)):
            total += i
        return tf.cast(total, tf.float32) + float(x) + float(len(numbers)) + len([1, 2])

    expected = [sum(range(int(x * 1.5))) + x + x + 2 for x in range(10)]
    assert mapped(function) == expected


def test_each_side_counts_its_draws_for_itself() -> None:
    def function(x: Any) -> Any:
        first = tf.random.uniform([])
        if first < 0.5:
            return tf.random.uniform([]) + 1
        return tf.random.uniform([]) + 2

    tf.random.set_seed(7)
    found = mapped(function, 30)
    drawn = [float(x) for x in tf.data.Dataset.range(30).map(lambda _: tf.random.uniform([]))]
    sides = [iter(drawn), iter(drawn)]
    expected = [
        float(np.float32(next(sides[n < 0.5])) + np.float32(1 if n < 0.5 else 2)) for n in drawn
    ]
    assert found == expected


def test_a_variable_of_one_side_is_gone_after_it() -> None:
    def function(x: Any) -> Any:
        if x > 2:
            late = x
        return late

    elements = tf.data.Dataset.range(3, 6).map(function)  # in Python it is there
    assert [int(x) for x in elements] == [3, 4, 5]
    with pytest.raises(UnboundLocalError):
        list(tf.data.Dataset.range(3).map(function))


def test_a_side_that_changes_a_dict_is_run_with_each_element() -> None:
    def function(x: Any) -> Any:
        found = {"a": x}
        if x > 2:
            found["a"] = x * 10
        return found["a"]

    elements = tf.data.Dataset.range(5).map(function)
    assert isinstance(elements._node, EagerMap)
    assert [int(x) for x in elements] == [0, 1, 2, 30, 40]


def test_sides_of_other_types_are_run_with_each_element() -> None:
    elements = tf.data.Dataset.range(4).map(lambda x: x if x > 2 else tf.cast(x, tf.int32))
    assert isinstance(elements._node, EagerMap)
    assert [int(x) for x in elements] == [0, 1, 2, 3]


def test_a_function_whose_file_has_changed_since_is_run_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    source = "def function(x):\n    if x > 2:\n        x = x * 10\n    return x\n"
    names: dict[str, Any] = {}
    exec(compile(source, path, "exec"), names)
    path.write_text(source.replace("10", "20"))
    elements = tf.data.Dataset.range(5).map(names["function"])
    assert isinstance(elements._node, EagerMap)
    assert [int(x) for x in elements] == [0, 1, 2, 30, 40]


def test_a_side_may_do_nothing_but_check() -> None:
    def function(x: Any) -> Any:
        if x > 2:
            tf.debugging.assert_less(x, tf.constant(4, tf.int64))
        return x

    elements = tf.data.Dataset.range(6).map(function)
    assert [int(x) for x in elements.ignore_errors()] == [0, 1, 2, 3]


def test_a_filter_decides_by_statements() -> None:
    def wanted(x: Any) -> Any:
        if x < 3:
            return False
        return x % 2 == 0

    assert [int(x) for x in tf.data.Dataset.range(9).filter(wanted)] == [4, 6, 8]


def copied(value: Any) -> Any:
    """A copy of a dict, with those in it."""
    found = {}
    for key, each in value.items():
        if isinstance(each, dict):
            found[key] = copied(each)
        else:
            found[key] = tf.identity(each)
    return found


def test_a_function_that_decides_may_call_another_that_calls_itself() -> None:
    class Chosen:
        def copied(self, value: Any) -> Any:  # has the name of what it calls
            if value["x"] > 2:
                return copied({**value, "inner": {"y": value["x"] * 10}})
            return copied({**value, "inner": {"y": value["x"]}})

    assert mapped(lambda x: Chosen().copied({"x": x})["inner"]["y"], 5) == [0, 1, 2, 30, 40]
