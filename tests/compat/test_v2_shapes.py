# SPDX-License-Identifier: Apache-2.0
"""Shapes of elements that are known before any is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fastrec.compat.v2 as tf

ROWS = tf.data.Dataset.from_generator(
    lambda: iter([]), output_signature=tf.TensorSpec([1, None], tf.float32)
)


def shape_of(function: Callable[[Any], Any], data: Any = ROWS) -> Any:
    return data.map(function).element_spec.shape


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: tf.zeros(tf.shape(x)), [1, None]),
        (lambda x: tf.zeros([tf.shape(x)[0], 2]), [1, 2]),
        (lambda x: tf.zeros([tf.shape(x)[1], 2]), [None, 2]),
        (lambda x: tf.zeros(tf.shape(x)[:1]), [1]),
        (lambda x: tf.zeros(tf.cast(tf.shape(x), tf.int64)[:1]), [1]),
        (lambda x: tf.zeros(tf.unstack(tf.shape(x))[:1]), [1]),
        (lambda x: tf.range(tf.shape(x)[0]), [1]),
        (lambda x: tf.zeros(tf.shape(x)[0]), [1]),
        (lambda x: tf.ones(tf.shape(x, tf.int64)[1]), [None]),
        (lambda x: tf.random.uniform([tf.shape(x)[0]]), [1]),
        (lambda x: tf.meshgrid(x[0], tf.range(3))[0], [3, None]),
        (lambda x: tf.meshgrid(x[0], tf.range(3), [1], indexing="ij")[0], [None, 3, 1]),
    ],
)
def test_a_size_that_is_known_is_known_in_what_is_made_of_it(function: Any, shape: Any) -> None:
    assert shape_of(function).as_list() == shape


def shuffled_if_long(x: Any) -> Any:
    if tf.size(x) > 3:
        x = tf.random.shuffle(x[0])[tf.newaxis]
    return tf.concat([x, x], 0)


def test_shapes_hold_whichever_way_a_function_takes_although_it_draws() -> None:
    assert shape_of(shuffled_if_long).as_list() == [2, None]


def test_the_shape_of_a_function_that_fails_for_every_element_is_known() -> None:
    def function(x: Any) -> Any:
        if x > 5:
            x = -x
        return tf.io.parse_tensor(tf.strings.as_string(x), tf.float32)

    elements = tf.data.Dataset.range(3).map(function)
    assert elements.element_spec == tf.TensorSpec(None, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(iter(elements))


def test_sizes_in_a_list_may_be_floats_in_a_function_as_in_a_graph() -> None:
    def sizes(i: Any) -> Any:
        half = tf.math.ceil(i / 2)
        tiled = tf.tile(tf.ones([1, 2]), [half, 1])
        padded = tf.pad(tf.ones([1]), [[half, 1]])
        resized = tf.image.resize(tf.ones([4, 4, 3]), [half, half + 1])
        return tf.shape(tiled), tf.shape(padded), tf.shape(tf.fill([half, 1], 2)), tf.shape(resized)

    elements = tf.data.Dataset.range(2, 4).map(sizes)
    for lowered in (True, False):
        before = tf.data.set_lowering(lowered)
        try:
            found = [[part.tolist() for part in each] for each in elements.as_numpy_iterator()]
        finally:
            tf.data.set_lowering(before)
        assert found == [[[1, 2], [3], [1, 1], [1, 2, 3]], [[2, 2], [4], [2, 1], [2, 3, 3]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tmultiples"):
        tf.tile(tf.ones([1]), [tf.constant(2.0)])


def test_sums_of_products_have_the_sizes_that_are_known() -> None:
    def product(i: Any) -> Any:
        some = tf.ensure_shape(tf.ones(tf.stack([i, 4, 5])), [None, 4, 5])
        return tf.einsum("chw,c->hw", some, tf.ones([i])), tf.einsum("chw,hk->ck", some, tf.eye(4))

    one, other = tf.data.Dataset.range(3, output_type=tf.int32).map(product).element_spec
    assert (one.shape.as_list(), other.shape.as_list()) == ([4, 5], [None, 4])
