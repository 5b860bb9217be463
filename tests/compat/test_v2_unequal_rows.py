# SPDX-License-Identifier: Apache-2.0
"""Operations on rows of different lengths, which run over columns as they run alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.columns import column_of

Dataset = tf.data.Dataset


def elements(dataset: Any) -> list[Any]:
    """Return elements, with the class of an error in the place of an element that fails."""
    found: list[Any] = []
    stream = iter(dataset)
    while True:
        try:
            element = next(stream)
        except StopIteration:
            return found
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
        else:
            found.append([np.asarray(part).tolist() for part in tf.nest.flatten(element)])


def same_alone(make: Callable[[], Any]) -> list[Any]:
    """Return elements that are computed in columns, which have to equal those computed alone."""
    found = elements(make())
    before = tf.data.set_lowering(False)
    try:
        assert elements(make()) == found
    finally:
        tf.data.set_lowering(before)
    return found


def numbered(count: Any) -> Any:
    """Return a vector of `count` integers, some of them negative, that is computed alone."""
    return tf.concat([tf.range(count), tf.range(-1, count // 2)], 0)[1:]


ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lambda x, n: tf.cumsum(x),
    "cumsum, exclusive": lambda x, n: tf.cumsum(x, exclusive=True),
    "cumsum, reverse": lambda x, n: tf.cumsum(x, reverse=True),
    "cumsum, both": lambda x, n: tf.cumsum(x, exclusive=True, reverse=True),
    "cumsum, bytes": lambda x, n: tf.cumsum(tf.cast(x, tf.int8) * 90),
    "cumsum, floats": lambda x, n: tf.cumsum(tf.cast(x, tf.float32) / 3.0),
    "segment_sum": lambda x, n: tf.math.segment_sum(tf.cast(x, tf.float32), tf.sort(tf.abs(x))),
    "segment_max": lambda x, n: tf.math.segment_max(x, 2 * tf.sort(tf.abs(x))),
    "segment_mean": lambda x, n: tf.math.segment_mean(x, tf.sort(tf.abs(x) // 2)),
    "segments in no order": lambda x, n: tf.math.segment_sum(x, x),
    "unsorted_segment_sum": lambda x, n: tf.math.unsorted_segment_sum(tf.ones_like(x), x, n),
    "unsorted_segment_max": lambda x, n: tf.math.unsorted_segment_max(x, x % 3, 3),
    "segments beyond the last": lambda x, n: tf.math.unsorted_segment_sum(x, x, n - 2),
    "pad": lambda x, n: tf.pad(x[:-1], [[1, 0]], constant_values=7),
    "pad, both ends": lambda x, n: tf.pad(x, [[2, 3]]),
    "mask": lambda x, n: tf.boolean_mask(x, x % 2 == 0),
    "slices from the end": lambda x, n: (x[-3:], x[:-2], x[-4:-1], x[1:-1]),
    "slices to a tensor": lambda x, n: (x[: n - 3], x[n - 3 :]),
    "zeros": lambda x, n: tf.zeros_like(x, tf.float64),
    "a number for each row": lambda x, n: (x < n // 2, tf.where(x > 1, n, x), x * n),
    "texts": lambda x, n: tf.strings.to_number(tf.strings.as_string(x[:, None]), tf.int32),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_as_they_are_alone(name: str) -> None:
    def make() -> Any:
        sizes = Dataset.range(2, 40).map(lambda i: tf.cast(i * 7 % 13, tf.int32))
        return sizes.map(lambda n: ROWS[name](numbered(n), n))

    assert len(same_alone(make)) == 38


def test_parts_of_one_text_each() -> None:
    def parts(text: Any) -> Any:
        words = tf.strings.split([text])
        return words.values, words.row_lengths(), tf.strings.split([text, text], ",").values

    def make() -> Any:
        return Dataset.from_tensor_slices(["a b", "", " c ,d  e", "f"]).map(parts)

    assert same_alone(make)[2] == [[b"c", b",d", b"e"], [3], [b" c ", b"d  e"] * 2]


def test_numbers_that_are_drawn_for_rows_of_a_zip() -> None:
    def drawn(n: Any, other: Any) -> Any:
        return tf.random.uniform([tf.cast(n % 4, tf.int32)], seed=3), other

    def make() -> Any:
        tf.random.set_seed(1)
        return Dataset.zip((Dataset.range(30), Dataset.range(30, 90))).map(drawn)

    assert len(same_alone(make)) == 30


def test_errors_of_a_zip_take_the_places_of_elements() -> None:
    def checked(bad: int) -> Any:
        def inverse(x: Any) -> Any:
            return tf.debugging.check_numerics(1.0 / tf.cast(x - bad, tf.float32), "inverse")

        return Dataset.range(8).map(inverse)

    def make() -> Any:
        return Dataset.zip((checked(2), Dataset.range(7).batch(2).unbatch(), checked(5)))

    found = same_alone(make)
    assert [i for i, each in enumerate(found) if each == "InvalidArgumentError"] == [2, 5]
    assert [each[1] for each in found if each != "InvalidArgumentError"] == [0, 1, 3, 4, 6]


def test_counts_of_the_rows_of_ragged_and_sparse_tensors() -> None:
    ragged = tf.ragged.constant([[1, 2, 2], [], [5, 1]])
    weights = tf.ragged.constant([[1.0, 2.0, 3.0], [], [5.0, 0.5]])
    sparse = tf.sparse.from_dense([[1, 0, 2], [0, 0, 3]])
    counted = tf.math.bincount(ragged, axis=-1, minlength=4, maxlength=4)
    assert counted.numpy().tolist() == [[0, 1, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    whole = [[0, 1, 5, 0, 0, 0], [0] * 6, [0, 0.5, 0, 0, 0, 5]]
    assert tf.math.bincount(ragged, weights, axis=-1).numpy().tolist() == whole
    assert tf.math.bincount(ragged).numpy().tolist() == [0, 2, 2, 0, 0, 1]
    assert tf.math.bincount(sparse, axis=-1).numpy().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
    occurs = tf.math.bincount(ragged, axis=-1, binary_output=True)
    assert occurs.numpy().tolist()[0] == [0, 1, 1, 0, 0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        tf.math.bincount(tf.ragged.constant([[-1, 2]]), axis=-1)


def test_ragged_rows_of_vectors_and_dense_tensors() -> None:
    rows = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(8), [4, 2]), [1, 0, 3])
    found = (rows + tf.constant([10, 20, 30])[:, None, None]).to_list()
    assert found == [[[10, 11]], [], [[32, 33], [34, 35], [36, 37]]]
    assert (rows * tf.constant([1, 100])).to_list()[0] == [[0, 100]]


def test_declared_shapes_of_rows() -> None:
    signature = tf.TensorSpec([2, 3], tf.int32)

    def filled(sizes: Any) -> Any:
        return tf.map_fn(lambda n: tf.fill([n, 3], n), sizes, fn_output_signature=signature)

    dataset = Dataset.from_tensors(tf.constant([2, 2])).map(filled)
    assert dataset.element_spec == tf.TensorSpec([2, 2, 3], tf.int32)
    assert filled(tf.zeros([0], tf.int32)).shape == (0, 2, 3)


def test_an_endless_input_makes_a_choice_endless() -> None:
    parts = [Dataset.range(3).repeat(), Dataset.range(3)]
    assert int(Dataset.sample_from_datasets(parts, stop_on_empty_dataset=True).cardinality()) == -1


def test_rows_of_csv_files_are_ordered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    found = tf.data.experimental.make_csv_dataset(str(tmp_path / "a.csv"), 1, num_epochs=1)
    assert type(found.element_spec) is OrderedDict


def test_numbers_of_threads_and_rows_are_positive() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls=0)
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        Dataset.range(3).batch(-1, drop_remainder=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_segments"):
        tf.math.unsorted_segment_sum([1, 2], [0, 0], -1)


def test_parts_of_elements_have_as_many_rows() -> None:
    dataset = Dataset.range(3).map(lambda n: (tf.range(n), tf.range(1))).unbatch()
    assert elements(dataset) == ["InvalidArgumentError", [0, 0], "InvalidArgumentError"]


@pytest.mark.parametrize(
    "values",
    [
        [np.zeros(2, np.int32), np.zeros((1, 1), np.int32)],
        [np.zeros(2, np.int32), np.zeros(3, np.int64)],
    ],
    ids=["ranks", "types"],
)
def test_arrays_of_several_ranks_or_types_are_not_joined(values: list[Any]) -> None:
    column = column_of(values)
    assert isinstance(column, list)
    assert [(each.shape, each.dtype) for each in column] == [(v.shape, v.dtype) for v in values]
