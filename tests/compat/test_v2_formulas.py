# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in functions of datasets, run as formulas, gives what each operation gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.tracing.formulas import _Formula

RNG = np.random.default_rng(4)
ROWS = RNG.standard_normal((6, 8, 9, 3)).astype(np.float32)
ROWS[2, 3] = np.nan
BYTES = RNG.integers(0, 256, (6, 8, 9, 3), np.uint8)


def rows(*sizes: int | None) -> Any:
    """Arrays of these sizes, of which so much is known."""
    spec = tf.TensorSpec(sizes, tf.float32)
    return tf.data.Dataset.from_generator(lambda: iter(ROWS), output_signature=spec)


def compared(x: Any) -> Any:
    y = tf.abs(x) - 0.5
    inside = tf.logical_and(y > 0.0, tf.logical_not(tf.greater_equal(x, y)))
    either = tf.logical_or(inside, tf.equal(x, y))
    chosen = tf.where(either, -x, tf.math.squared_difference(x, y))
    return tf.maximum(tf.minimum(chosen, 2.0), -1.0), either, tf.cast(inside, tf.float32) * 2.0


def by_rows(x: Any) -> Any:
    low, high = x[:, :1], x[:, -1:]
    return (x - low) / (high - low) * 2.0 - tf.constant([1.0, 0.5, 2.0])


def used_between(x: Any) -> Any:
    one = x * 2.0 + 1.0
    mean = tf.reduce_mean(one, axis=0)
    return (one - mean) * 3.0 + x, one


def in_one_after_all(x: Any) -> Any:
    weight = tf.reduce_max(x)
    return x * 2.0 * weight + x[::-1] * (1.0 - weight)


@pytest.mark.parametrize("sizes", [(8, 9, 3), (None, None, None), (None, 9, None)])
@pytest.mark.parametrize("function", [compared, by_rows, used_between, in_one_after_all])
def test_elements_have_the_same_bits(function: Callable[..., Any], sizes: Any) -> None:
    made = rows(*sizes).map(function)
    assert isinstance(made._node, Map)
    assert any("+" in node.op.name for node in made._node.trace.fused)
    assert any("+" in node.op.name for node in made._node.trace.columns)
    compare(lambda: rows(*sizes).map(function))
    compare(lambda: rows(*sizes).map(function, num_parallel_calls=2).batch(4))
    compare(lambda: rows(*sizes).batch(4).map(function))


def compare(make: Callable[[], Any]) -> None:
    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            found.append(list(make().as_numpy_iterator()))
        finally:
            tf.data.set_lowering(before)
    for one, other in zip(*found, strict=True):
        parts = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
        for a, b in parts:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_bytes_are_cast_with_what_follows() -> None:
    def function(x: Any, weight: Any) -> Any:
        whole = tf.cast(x, tf.float32)
        return whole / 255.0 - weight, whole

    compare(lambda: tf.data.Dataset.from_tensor_slices((BYTES, ROWS)).map(function).batch(2))


def test_shapes_that_only_values_tell_are_brought_together() -> None:
    def function(x: Any) -> Any:
        part = x[: tf.cast(tf.reduce_sum(x[0, 0, :1]) * 0.0, tf.int32) + 1]
        return (part + 1.0) * x - part

    compare(lambda: rows(None, None, None).take(2).map(function))


def test_shapes_that_do_not_go_together_are_an_error_of_the_element() -> None:
    def function(x: Any) -> Any:
        return (x + 1.0) * x[: tf.cast(x[0, 0, 0] * 0.0, tf.int32) + 3] + 2.0

    found = rows(None, None, None).take(1).map(function)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        list(found)


def test_numbers_and_vectors_are_calculated_so_too() -> None:
    def function(x: Any, i: Any) -> Any:
        scaled = (x - 0.5) / 2.0
        weight = tf.cast(i, tf.float32) / 3.0 - 1.0
        return scaled * weight + x, weight, tf.where(x > weight, x, -x)

    data = tf.data.Dataset.from_tensor_slices((ROWS[:, 0, :, 0], np.arange(6)))
    made = data.map(function)
    assert isinstance(made._node, Map)
    assert any("+" in node.op.name for node in made._node.trace.columns)
    compare(lambda: data.map(function))
    compare(lambda: data.shuffle(3, seed=1).map(function).batch(4))


def test_long_formulas_are_run_in_parts() -> None:
    def function(x: Any) -> Any:
        one, other = x, x + 1.0
        for number in range(150):
            one, other = other * 0.5 + float(number), one - other
        return one

    made = rows(8, 9, 3).map(function)
    assert isinstance(made._node, Map)
    assert 10 < len(made._node.trace.columns) < 40
    compare(lambda: rows(8, 9, 3).map(function))


@pytest.mark.parametrize("width", [1, 7])
def test_arrays_that_differ_in_size_are_one_pass(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.array([5, 1, 31, 2], np.int32)

    def scaled(count: Any) -> Any:
        x = tf.reshape(tf.cast(tf.range(count * width), tf.float32), [-1, width])
        return x * (4.0 / 255.0) - 2.0, x < 9.0, x * tf.linspace(0.0, 1.0, width) + 1.0

    apart: list[Any] = []  # what is run as one operation after the other
    wanted = [[part.numpy() for part in scaled(tf.constant(count))] for count in counts]
    with monkeypatch.context() as patch:
        patch.setattr(_Formula, "_apart", lambda *given: apart.append(given))
        columns = tf.data.Dataset.from_tensor_slices(counts).map(scaled)._node.start(4)(4).columns
    assert not apart
    for column, parts in zip(columns, zip(*wanted, strict=True), strict=True):
        for row, part in zip(column, parts, strict=True):
            np.testing.assert_array_equal(row, part, strict=True)
