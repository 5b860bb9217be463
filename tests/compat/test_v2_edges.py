# SPDX-License-Identifier: Apache-2.0
"""Values that NumPy accepts, and TensorFlow refuses or treats differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf

INVALID: dict[str, Callable[[], Any]] = {
    "exp of integers": lambda: tf.exp(tf.constant([1])),
    "any of integers": lambda: tf.reduce_any(tf.constant([1])),
    "a choice by integers": lambda: tf.where(tf.constant([1]), 1, 2),
    "an axis that is not there": lambda: tf.reduce_sum([1], axis=1),
    "an axis twice": lambda: tf.reduce_sum([[1]], axis=[0, 0]),
    "the largest of none": lambda: tf.argmax([]),
    "parts that are not all": lambda: tf.split([1, 2, 3], [1, 1]),
    "uneven parts": lambda: tf.split([1, 2, 3], 2),
    "tiles of too few dimensions": lambda: tf.tile([[1]], [2]),
    "paddings of too few dimensions": lambda: tf.pad([[1]], [[1, 1]]),
    "more of the largest than there are": lambda: tf.math.top_k([1], 2),
    "a range that goes nowhere": lambda: tf.range(0, -5),
    "an index of floats": lambda: tf.gather([1], [0.0]),
    "digits of an integer": lambda: tf.strings.as_string(1, precision=2),
    "underscores in a number": lambda: tf.strings.to_number("1_000"),
    "sizes that do not go together": lambda: tf.constant([1, 2]) + tf.constant([1, 2, 3]),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_not_valid_is_refused(name: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        INVALID[name]()


def test_a_list_is_an_index_for_each_dimension() -> None:
    assert int(tf.constant([[1, 2], [3, 4]])[[0, 1]]) == 2
    with pytest.raises(TypeError, match="valid indices"):
        tf.constant([1, 2])[[[0, 1]]]


def test_what_has_another_shape_is_not_equal() -> None:
    assert not tf.constant([1, 2]) == tf.constant([1, 2, 3])  # noqa: SIM201
    with pytest.raises(TypeError):
        tf.constant([1, 2]) == "a"  # noqa: B015


def test_one_of_the_sizes_of_the_parts_may_be_what_is_left() -> None:
    assert [part.numpy().tolist() for part in tf.split([1, 2, 3], [1, -1])] == [[1], [2, 3]]


def test_means_of_ragged_integers_are_not_cut_off() -> None:
    means = tf.reduce_mean(tf.ragged.constant([[1, 2], [4]]), axis=1)
    np.testing.assert_equal(means.numpy(), [1.5, 4.0])


def test_what_is_no_number_is_never_the_largest() -> None:
    assert int(tf.argmax([1.0, float("nan"), 3.0])) == 2


def test_the_extremes_of_none_are_the_ends_of_the_type() -> None:
    assert tf.reduce_max(tf.zeros([0], tf.int32)).numpy() == -(2**31)
    assert tf.reduce_min([]).numpy() == np.inf


def test_strings_are_padded_with_empty_ones() -> None:
    assert tf.pad(["a"], [[1, 0]]).numpy().tolist() == [b"", b"a"]


def test_numbers_are_written_as_wide_as_asked_for() -> None:
    assert tf.strings.as_string(5, width=4, fill="0").numpy() == b"0005"
    assert tf.strings.as_string(1.5, shortest=True).numpy() == b"1.5"


@pytest.mark.parametrize("count", [1.5, None, [2]])
def test_numbers_of_elements_are_integers(count: Any) -> None:
    for method in ("take", "skip", "batch", "shuffle"):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            getattr(tf.data.Dataset.range(3), method)(count)


def test_seeds_of_any_size_are_folded_as_in_tensorflow() -> None:
    def order(seed: int) -> list[int]:
        tf.random.set_seed(1)
        return list(tf.data.Dataset.range(20).shuffle(20, seed=seed).as_numpy_iterator())

    assert order(-1) == order(2**31 - 2) != order(0)


def test_what_comes_after_something_is_of_its_types() -> None:
    with pytest.raises(TypeError, match="Incompatible dataset elements"):
        tf.data.Dataset.range(2).concatenate(tf.data.Dataset.from_tensors(1))


@pytest.mark.parametrize("made", [1, [True], (True, True)])
@pytest.mark.parametrize("method", ["filter", "take_while"])
def test_predicates_give_one_truth_value(method: str, made: Any) -> None:
    with pytest.raises(ValueError, match="Invalid `predicate`"):
        list(getattr(tf.data.Dataset.range(2), method)(lambda x: made))


def test_scalar_strings_are_padded_as_they_are() -> None:
    (batch,) = tf.data.Dataset.from_tensor_slices([b"a\0", b""]).padded_batch(2)
    assert batch.numpy().tolist() == [b"a\0", b""]


def test_what_is_filled_up_with_is_of_the_type_of_the_elements() -> None:
    with pytest.raises(TypeError, match="does not match type"):
        tf.data.Dataset.range(2).padded_batch(2, padding_values=9)
    with pytest.raises(ValueError, match="not compatible"):
        tf.data.Dataset.range(2).padded_batch(2, padded_shapes=[None])


def test_scalars_have_no_rows() -> None:
    with pytest.raises(ValueError, match="Cannot unbatch"):
        tf.data.Dataset.range(2).unbatch()


def test_windows_and_sums_are_as_many_as_can_be_known() -> None:
    numbers = tf.data.Dataset.range(7)
    assert len(numbers.window(3, 2, 2, drop_remainder=True)) == 2
    assert len(numbers.window(2)) == 4
    assert len(numbers.scan(0, lambda state, x: (state + 1, x))) == 7


def test_turns_and_windows_have_a_size() -> None:
    numbers = tf.data.Dataset.range(7)
    for make in (
        lambda: numbers.window(0),
        lambda: numbers.window(2, shift=0),
        lambda: numbers.interleave(lambda x: numbers, cycle_length=2, block_length=0),
        lambda: numbers.prefetch(-2),
        lambda: list(numbers.group_by_window(lambda x: x, lambda k, d: d, 0)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            make()


def test_a_data_set_alone_is_itself_beside_none() -> None:
    numbers = tf.data.Dataset.range(3)
    assert [int(x) for x in tf.data.Dataset.zip(numbers)] == [0, 1, 2]
    assert len(tf.data.Dataset.zip((numbers,)).element_spec) == 1
    with pytest.raises(TypeError):
        tf.data.Dataset.zip()


def test_choices_are_numbers_of_data_sets() -> None:
    numbers = tf.data.Dataset.range(3)
    for choice in (-1, 1):
        chosen = tf.data.Dataset.choose_from_datasets(
            [numbers], tf.data.Dataset.from_tensors(np.int64(choice))
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            list(chosen)
    with pytest.raises(TypeError, match="int64"):
        tf.data.Dataset.choose_from_datasets([numbers], tf.data.Dataset.from_tensors(0))


def test_numbers_and_text_are_no_tensor() -> None:
    with pytest.raises(ValueError, match="mixed types"):
        tf.constant([1, "a"])


def test_rows_of_ragged_elements_come_apart() -> None:
    ragged = tf.data.Dataset.range(4).batch(2, drop_remainder=True)
    ragged = ragged.map(lambda x: tf.RaggedTensor.from_row_lengths(x, [0, 2]))
    assert [row.numpy().tolist() for row in ragged.unbatch()] == [[], [0, 1], [], [2, 3]]
    assert len(tf.data.Dataset.range(8).batch(4, drop_remainder=True).unbatch()) == 8


@pytest.mark.parametrize(
    "function",
    [
        lambda iterator, x: next(iterator),
        lambda iterator, x: iterator.get_next(),
        lambda iterator, x: tf.cond(x > 9, lambda: x, lambda: next(iterator)),
    ],
)
def test_a_function_takes_the_next_element_of_an_iterator_for_each_element(function: Any) -> None:
    iterator = iter(tf.data.Dataset.range(10))
    values = tf.data.Dataset.range(5).map(lambda x: function(iterator, x))
    assert [int(x) for x in values] == [0, 1, 2, 3, 4]
    assert int(next(iterator)) == 5


def test_an_iterator_that_ends_within_a_function_is_an_error() -> None:
    iterator = iter(tf.data.Dataset.range(3))
    values = iter(tf.data.Dataset.range(5).map(lambda _: next(iterator)))
    assert [int(next(values)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="OutOfRangeError: End of sequence"):
        next(values)


def test_an_iterator_gives_structures_to_a_function() -> None:
    pairs = tf.data.Dataset.range(4).map(lambda x: {"a": x, "b": (x * 2, tf.as_string(x))})
    iterator = iter(pairs)
    values = tf.data.Dataset.range(2).map(lambda _: next(iterator)["b"][1])
    assert [x.numpy() for x in values] == [b"0", b"1"]
