# SPDX-License-Identifier: Apache-2.0
"""Expressions of names of version 1 that run at once, with the values that TensorFlow gives."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES: dict[str, Any] = {
    "np": np,
    "image": np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3),
    "pixels": np.arange(48, dtype=np.uint8).reshape(4, 4, 3),
    "box": [[[0.0, 0.0, 1.0, 1.0]]],
}
ROWS = [[[0.0, 1, 2], [6, 7, 8]], [[24, 25, 26], [30, 31, 32]]]

#: `v` is ``tf.compat.v1``; each expression follows ``v.set_random_seed(7)``.
EXPRESSIONS: dict[str, Any] = {
    "v.where(tf.constant([True, False]), [[1, 2], [3, 4]], [[5, 6], [7, 8]])": [[1, 2], [7, 8]],
    "v.div(tf.constant([7, -7]), [2, 2])": [3, -4],
    "v.div(tf.constant([7.0, -7.0]), [2.0, 2.0])": [3.5, -3.5],
    "v.image.resize_images(pixels, [4, 4]).dtype.size": 1,
    "v.image.resize_bicubic(image, [2, 2])[0]": ROWS,
    "v.image.resize_bilinear(image, [2, 2])[0]": ROWS,
    "v.image.resize_nearest_neighbor(image, [2, 2])[0]": ROWS,
    "v.argmax(np.array([[1, 3], [2, 0]]), dimension=0)": [1, 0],
    "v.sparse_to_dense([[0], [2]], [4], [1, 2])": [1, 0, 2, 0],
    "v.string_split(['a b', 'c']).values": [b"a", b"b", b"c"],
    "v.strings.split(tf.constant(['a b', 'c'])).values": [b"a", b"b", b"c"],
    "v.substr(['abc'], [1], [1])": [b"b"],
    "v.count_nonzero(np.array([[0, 1], [2, 0]]))": 2,
    "v.py_func(lambda x: x + 1, [np.array([1, 2])], tf.int64)": [2, 3],
    "v.lin_space(0.0, 1.0, 3)": [0.0, 0.5, 1.0],
    "v.shape(tf.constant([[1, 2]]), 'name')": [1, 2],
    "v.size(tf.constant([[1, 2]]), 'name')": 2,
    "v.pad(tf.constant([1]), [[1, 1]], 'CONSTANT', 'name')": [0, 1, 0],
    "v.boolean_mask(tf.constant([1, 2]), [True, False], 'name')": [1],
    "v.nn.softmax(tf.constant([[1.0, 2.0]]), dim=0)": [[1.0, 1.0]],
    "v.confusion_matrix([1, 0], [1, 1])": [[0, 1], [0, 1]],
    "v.reduce_sum([[1, 2], [3, 4]], reduction_indices=1, keep_dims=True)": [[3], [7]],
    "v.multinomial(tf.constant([[0.0, 1.0, 2.0]]), 3, seed=1)": [[2, 2, 2]],
    "[v.multinomial(tf.constant([[0.0, 1, 2]]), 3, seed=1) for _ in range(2)][1]": [[2, 1, 2]],
    "v.get_seed(1)": [7, 1],
    "v.random_uniform([2], seed=1)": [0.46037483215332, 0.928518176078796],
    "v.image.sample_distorted_bounding_box([40, 60, 3], box, seed=3)[0]": [0, 23, 0],
    "v.assert_equal(tf.constant(1), 1) is None": True,
    "[v.name_scope(None, 'default', [1]).__enter__(), 1][1]": 1,
    "v.data.get_output_types(tf.data.Dataset.range(2)).size": 8,
}


def value(tf: Any, text: str) -> Any:
    """Return what an expression gives, as NumPy has it."""
    tf.compat.v1.set_random_seed(7)
    return np.asarray(eval(text, {**NAMES, "tf": tf, "v": tf.compat.v1}))


def check(actual: Any, expected: Any) -> None:
    """Require equal shapes and, up to the last bits of floats, equal values."""
    if actual.dtype.kind in "OS":
        assert actual.tolist() == expected
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
        assert actual.shape == np.shape(expected)
