# SPDX-License-Identifier: Apache-2.0
"""Choices and loops in functions of datasets, under TensorFlow and ``fastrec.compat.v2``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from v2_loop_programs import FUNCTIONS as LOOPS
from v2_loop_programs import LENGTHS, ROWS

import fastrec.compat.v2 as ours


def _drawn(tf: Any, x: Any) -> Any:
    def inner() -> Any:
        number = tf.random.normal([2], seed=3)
        return tf.cond(tf.random.uniform([], seed=9) < 0.5, lambda: number, lambda: tf.zeros(2))

    chance = tf.random.uniform([])
    return tf.cond(chance < 0.7, inner, lambda: 5 + tf.random.uniform([2], seed=4)), chance


def _distorted(tf: Any, x: Any) -> Any:
    """Distortions of an image, in an order that is drawn, each with the chance that it is made."""
    image = tf.reshape(
        tf.cast(tf.range(192), tf.float32) / 192 * tf.cast(x + 1, tf.float32), [8, 8, 3]
    )
    functions = [
        lambda image: tf.image.random_brightness(image, 0.8, seed=21),
        lambda image: tf.image.random_saturation(image, 0.2, 1.8, seed=23),
        lambda image: tf.image.random_hue(image, 0.2, seed=24),
    ]
    order = tf.random.shuffle(tf.range(3), seed=5)
    for i in range(3):
        now = image
        image = tf.switch_case(order[i], [lambda f=f, now=now: f(now) for f in functions])
        image = tf.clip_by_value(image, 0.0, 1.0)
    grey = tf.random.uniform([], seed=7) < 0.2
    return tf.cond(
        grey, lambda: tf.tile(tf.image.rgb_to_grayscale(image), [1, 1, 3]), lambda: image
    )


def _tried(tf: Any, x: Any) -> Any:
    """An image that is changed by the first draw that fits, and with a chance."""
    image = tf.ones([130, 140, 3]) * tf.cast(x, tf.float32)

    def changed() -> Any:
        found, done = image, False
        for _ in range(4):
            if not done:
                half = tf.random.uniform([], 0, 80, tf.int32)
                if 2 * half < 130:
                    row = tf.random.uniform([], 0, 130 - 2 * half, tf.int32)
                    mask = tf.pad(
                        tf.zeros([2 * half, 140]),
                        [[row, 130 - row - 2 * half], [0, 0]],
                        constant_values=1,
                    )
                    found = tf.where(mask[..., None] == 0, tf.random.normal([130, 140, 3]), found)
                    done = True
        return found

    return tf.cond(tf.random.uniform([]) < 0.8, changed, lambda: image), tf.random.uniform([])


def _total(tf: Any, x: Any) -> Any:
    begin = [tf.constant(0, tf.int64), tf.constant(0, tf.int64)]
    return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), begin)


def _padded(tf: Any, x: Any) -> Any:
    """A vector that grows in a loop."""
    begin = (tf.zeros([0], tf.int64), x)
    shapes = (tf.TensorShape([None]), tf.TensorShape([]))
    body = lambda row, left: (tf.concat([row, [left]], 0), left - 2)  # noqa: E731
    return tf.while_loop(lambda row, left: left > 0, body, begin, shapes)[0]


def _decided(tf: Any, x: Any) -> Any:
    """Draws without a seed of their own, of which each way counts its own."""
    first = tf.random.uniform([])
    if x % 3 == 0:
        return tf.random.uniform([])
    if x % 3 == 1 and first < 0.5:
        return tf.random.uniform([]) + 1
    return tf.random.uniform([]) + 2


def _tried(tf: Any, x: Any) -> Any:
    """A few trials, up to the first that is good."""
    done = False
    for _ in range(4):
        if not done:
            number = tf.random.uniform([])
            if number < 0.4 or number > 0.9:
                more = int(number * 100) * tf.random.uniform([], maxval=10, dtype=tf.int32)
                x += tf.cast(more, tf.int64)
                done = True
    return x, done


def _summed(tf: Any, x: Any) -> Any:
    total = tf.constant(0, tf.int64)
    for i in tf.range(x):
        if i % 2 == 0:
            continue
        if i > 8:
            break
        total += i
    while total > 5:
        total -= 4
    return total, len(tf.range(x)), float(x)


def _targets(tf: Any, x: Any) -> Any:
    """Arrays that nested loops write where some rows are passed over, in places all of them."""
    rows = tf.reshape(tf.range(12, dtype=tf.int64) * x % 7, [3, 4])
    places = tf.TensorArray(tf.int32, 1, dynamic_size=True)
    values = tf.TensorArray(tf.int64, 1, dynamic_size=True)
    count = 0
    for i in tf.range(tf.shape(rows)[0]):
        for j in tf.range(tf.shape(rows)[1]):
            if tf.equal(rows[i][j], 0):
                continue
            fits = tf.equal(rows[i][j], [3, 8, 5])
            if tf.reduce_any(fits):
                at = tf.cast(tf.where(fits), tf.int32)
                places = places.write(count, [i, j, at[0][0]])
                values = values.write(count, rows[i][j] + x)
                count += 1
    found = tf.zeros([3, 4, 3], tf.int64)
    return tf.tensor_scatter_nd_update(found, places.stack(), values.stack()), count


def _not_written(tf: Any, x: Any) -> Any:
    array = tf.TensorArray(tf.int64, 2, dynamic_size=True)
    for i in tf.range(x % 3):
        if i > 0:
            array = array.write(0, [i, x])
    return array.stack(), array.read(1), array.gather([0])


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "if": _decided,
    "trials": _tried,
    "loops": _summed,
    "targets": _targets,
    "not written": _not_written,
    "cond": lambda tf, x: tf.cond(x % 2 == 0, lambda: (x * 10, x), lambda: (-x, x + 1)),
    "sizes": lambda tf, x: tf.cond(x > 2, lambda: tf.range(x), lambda: tf.range(x * 2)),
    "strings": lambda tf, x: tf.cond(x > 2, lambda: tf.strings.as_string(x), lambda: "few"),
    "drawn": _drawn,
    "of the element": lambda tf, x: tf.cond(
        x % 3 == 0, lambda: tf.random.uniform([], seed=5), lambda: 0.0
    ),
    "distorted": _distorted,
    "tried": _tried,
    "sizes of the element": lambda tf, x: (
        tf.random.uniform([x + 1], seed=3),
        tf.random.shuffle(tf.range(x + 2)),
        tf.random.categorical(tf.zeros([x, 3]), 4, seed=1),
    ),
    "sizes of a side": lambda tf, x: tf.cond(
        x % 2 == 0, lambda: tf.random.uniform([x], seed=3), lambda: tf.random.normal([1], seed=4)
    ),
    "case": lambda tf, x: tf.case([(x < 2, lambda: 1), (x < 4, lambda: 2)], default=lambda: 3),
    "map_fn": lambda tf, x: tf.map_fn(lambda y: y * x, tf.range(x + 1)),
    "several": lambda tf, x: tf.map_fn(
        lambda y: (y, tf.cast(y, tf.float32) / 2),
        tf.range(x, x + 3),
        fn_output_signature=(tf.int64, tf.float32),
    ),
    "while": _total,
    "growing": _padded,
    "drawn in a loop": lambda tf, x: tf.while_loop(
        lambda i, _: i < x,
        lambda i, s: (i + 1, tf.cond(i % 2 == 0, lambda: s + tf.random.uniform([]), lambda: s * 2)),
        (tf.constant(0, tf.int64), tf.random.uniform([])),
        parallel_iterations=1,  # or TensorFlow may draw in another order
    ),
    "drawn by rows": lambda tf, x: (
        tf.scan(lambda a, b: a + tf.random.uniform([]), tf.zeros(3), parallel_iterations=1),
        tf.random.uniform([]),
    ),
    "rows in a loop": lambda tf, x: tf.while_loop(
        lambda i, _: i < x,
        lambda i, rows: (i + 1, tf.map_fn(lambda y: y + tf.cast(x, tf.float32), rows)),
        (tf.constant(0, tf.int64), tf.zeros(3)),
    ),
    "scan": lambda tf, x: tf.scan(lambda a, b: a + b, tf.range(x, x + 5)),
    "foldl": lambda tf, x: tf.foldl(lambda a, b: a * 2 + b, tf.range(x, x + 5), x),
    "foldr": lambda tf, x: tf.foldr(lambda a, b: a - b, tf.range(x, x + 5)),
}


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_choice_or_a_loop_is_that_of_tensorflow(name: str, batch: int) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    found = []
    for tf in (tensorflow, ours):
        tf.random.set_seed(7)
        elements = tf.data.Dataset.range(1, 13).map(lambda x, tf=tf: FUNCTIONS[name](tf, x))
        specs = tf.nest.flatten(elements.element_spec)
        sizes = [tuple(spec.shape.as_list()) for spec in specs]
        if batch and not any(None in each for each in sizes):
            elements = elements.batch(batch)
        values = [tf.nest.flatten(each) for each in elements]
        found.append((sizes, [[each.numpy() for each in value] for value in values]))
    assert found[0][0] == found[1][0]
    for theirs, mine in zip(found[0][1], found[1][1], strict=True):
        for one, other in zip(theirs, mine, strict=True):
            if name == "distorted":  # whose colours may differ in the last bit
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
            else:
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("batch", [0, 8])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_over_a_row_is_that_of_tensorflow(name: str, batch: int) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    found = []
    for tf in (tensorflow, ours):
        rows = tf.data.Dataset.from_tensor_slices((ROWS, LENGTHS))
        elements = rows.map(lambda v, n, tf=tf: LOOPS[name](tf, v, n)).ignore_errors()
        specs = tf.nest.flatten(elements.element_spec)
        kinds = [(spec.shape.as_list(), spec.dtype.name) for spec in specs]
        elements = elements.batch(batch) if batch else elements
        values = [tf.nest.flatten(each) for each in elements]
        found.append((kinds, [[np.asarray(each).tolist() for each in value] for value in values]))
    assert found[0] == found[1]
