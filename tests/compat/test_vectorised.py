# SPDX-License-Identifier: Apache-2.0
"""Operations over all rows at once give what a loop over the rows gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf import tensor_proto

v1 = tf.compat.v1


def distance(one: list[int], other: list[int]) -> int:
    before = list(range(len(other) + 1))
    for number, value in enumerate(one, 1):
        row = [number]
        for at, wanted in enumerate(other):
            row.append(min(before[at] + (value != wanted), before[at + 1] + 1, row[at] + 1))
        before = row
    return before[-1]


def sparse(rows: list[list[int]], texts: bool) -> Any:
    places = [[number, at] for number, row in enumerate(rows) for at in range(len(row))]
    values = [b"w%d" % value if texts else value for row in rows for value in row]
    kind = tf.string if texts else tf.int64
    indices = np.array(places, np.int64).reshape(-1, 2)
    return tf.SparseTensor(indices, tf.constant(values, kind), [len(rows), 40])


@pytest.mark.parametrize("texts", [False, True])
def test_edit_distances_of_rows_of_any_lengths(texts: bool) -> None:
    draw = np.random.default_rng(1)
    for rows in (1, 5, 30):
        sizes = draw.integers(0, 9, (rows, 2))
        sizes[0] = 0, rows  # one is empty, another is longer than the others
        one, other = (
            [draw.integers(0, 3, size).tolist() for size in sizes[:, side]] for side in range(2)
        )
        found = v1.edit_distance(sparse(one, texts), sparse(other, texts), normalize=False)
        assert found.numpy().tolist() == list(map(distance, one, other))


@pytest.mark.parametrize("texts", [False, True])
def test_sparse_rows_are_serialized_and_restored(texts: bool) -> None:
    rows = [[5, 7], [], [1], [9, 9, 9], [2]]
    serialized = tf.io.serialize_many_sparse(sparse(rows, texts))
    for number, row in enumerate(rows):
        (one,) = serialized.numpy()[number : number + 1].tolist()
        alone = tf.SparseTensor(
            np.arange(len(row))[:, np.newaxis], sparse([row], texts).values, [40]
        )
        assert one == tf.io.serialize_sparse(alone).numpy().tolist()
    found = tf.io.deserialize_many_sparse(serialized, tf.string if texts else tf.int64)
    expected = sparse(rows, texts)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.values.numpy().tolist() == expected.values.numpy().tolist()


def test_messages_of_one_size_keep_their_shapes_and_types() -> None:
    arrays = [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.arange(6, dtype=np.int64).reshape(3, 2) + 9,
        np.arange(6, dtype=np.float64).reshape(2, 3),
    ]
    messages = [tf.io.serialize_tensor(array).numpy() for array in arrays]
    assert len(set(map(len, messages))) == 1
    for array, message in [*zip(arrays, messages, strict=True)] * 2:
        found = tensor_proto.decode_alike(message)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
    damaged = messages[0][:1] + b"\xff" + messages[0][2:]
    with pytest.raises(ValueError):  # noqa: PT011
        tensor_proto.decode_alike(damaged)


@pytest.mark.parametrize("uniform", [False, True])
def test_only_glimpses_beyond_an_image_have_noise(uniform: bool) -> None:
    images = np.arange(2 * 6 * 6, dtype=np.float32).reshape(2, 6, 6, 1)
    offsets = [[0.0, 0.0], [1.0, 1.0]]
    found = v1.image.extract_glimpse(images, [4, 4], offsets, uniform_noise=uniform).numpy()
    np.testing.assert_array_equal(found[0], images[0, 1:5, 1:5])
    np.testing.assert_array_equal(found[1, :2, :2], images[1, 4:, 4:])
    outside = found[1, 2:]
    assert len(set(outside.reshape(-1).tolist())) == outside.size
    assert ((outside >= 0) & (outside <= 71)).all() == uniform


def test_ragged_ranges_with_steps_of_both_signs() -> None:
    starts, limits, steps = [5, 0, 3, -4, 1], [0, 7, 3, 4, 9], [-2, 3, 1, 1, -1]
    found = tf.ragged.range(starts, limits, steps)
    assert found.dtype == tf.int32
    assert found.to_list() == [list(range(*each)) for each in zip(starts, limits, steps)]  # noqa: B905


def test_parts_of_eager_tensors_are_the_same_objects() -> None:
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert rows.values is rows.values
    assert rows.row_lengths() is rows.row_lengths()
    assert rows.row_lengths().numpy().tolist() == [2, 0, 1]
    few = tf.sparse.from_dense([[0, 1], [2, 0]])
    assert few.indices is few.indices


def test_a_tensor_equals_itself_without_a_comparison() -> None:
    x = tf.constant([1.0, float("nan")])
    tf.debugging.assert_equal(x, x)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_equal(x, tf.identity(x))


@pytest.mark.parametrize("wrong", [[0, 0, 1], [3, 0, 1], [-1, 0, 1]])
def test_what_is_no_permutation_is_refused(wrong: list[int]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.math.invert_permutation(wrong)
