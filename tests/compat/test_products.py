# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in traced functions: of blocks of elements, and of each alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.ops import Block
from fastrec.compat._tf.ops.matrices import MATMUL, TENSORDOT

PLAIN = {"transpose_a": False, "transpose_b": False}


def drawn(*sizes: int) -> Any:
    return np.random.default_rng(len(sizes)).random(sizes, np.float32)


@pytest.mark.parametrize("rows", [1, 7, 124, 600])
@pytest.mark.parametrize(("inner", "columns"), [(3, 2), (129, 80), (513, 80), (600, 600)])
def test_products_of_a_block_are_equal_to_the_bit_to_those_of_each_element(
    rows: int, inner: int, columns: int
) -> None:
    left, right = drawn(3, rows, inner), drawn(inner, columns)
    blocks = Block(left, True), Block(right, False)
    assert MATMUL.block is not None
    assert TENSORDOT.block is not None
    expected = [MATMUL.kernel(each, right, **PLAIN).tolist() for each in left]
    found = MATMUL.block(3, *blocks, **PLAIN)
    assert found.tolist() == expected
    np.testing.assert_allclose(found, left.astype(float) @ right, rtol=1e-4)
    found = TENSORDOT.block(3, *blocks, axes=1)
    assert found.tolist() == [TENSORDOT.kernel(each, right, axes=1).tolist() for each in left]
    np.testing.assert_allclose(found, left.astype(float) @ right, rtol=1e-4)


@pytest.mark.parametrize("axes", [0, 1, 2, [[0], [1]], [[-1], [0]], [[1, 0], [0, 1]]])
def test_tensordot_sums_along_any_axes(axes: Any) -> None:
    left, right = drawn(4, 5, 5), drawn(5, 5, 2)
    expected = [np.tensordot(each, right, axes) for each in left]
    found = list(
        tf.data.Dataset.from_tensor_slices(left).map(lambda x: tf.tensordot(x, right, axes))
    )
    assert [each.shape.as_list() for each in found] == [list(each.shape) for each in expected]
    np.testing.assert_allclose(np.stack(found), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.matmul(x, drawn(6, 5), transpose_b=True),
        lambda x: tf.matmul(x, drawn(4, 3), transpose_a=True),
        lambda x: tf.matmul(drawn(2, 6, 4), x),
        lambda x: tf.matmul(x, x, transpose_b=True),
        lambda x: tf.matmul(drawn(3, 4), x),
    ],
)
def test_products_are_the_same_in_a_map(function: Callable[[Any], Any]) -> None:
    left = drawn(7, 4, 5)
    expected = [function(tf.constant(each)).numpy() for each in left]
    found = list(tf.data.Dataset.from_tensor_slices(left).map(function))
    assert [each.numpy().tolist() for each in found] == [each.tolist() for each in expected]


def test_the_shape_of_products_of_several_matrices_is_known() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(drawn(9, 4, 5)).batch(2)
    found = dataset.map(lambda x: tf.matmul(x, drawn(5, 3)))
    assert found.element_spec.shape.as_list() == [None, 4, 3]


@pytest.mark.parametrize("function", [tf.matmul, lambda x, y: tf.tensordot(x, y, 1)])
def test_matrices_that_do_not_fit_are_refused(function: Callable[..., Any]) -> None:
    rows = tf.data.Dataset.from_generator(
        lambda: iter([np.ones((2, 3)), np.ones((2, 4))]),
        output_signature=tf.TensorSpec([2, None], tf.float64),
    )
    found = iter(rows.map(lambda x: function(x, np.ones((3, 2)))))
    assert next(found).numpy().tolist() == [[3, 3], [3, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size-incompatible"):
        next(found)
