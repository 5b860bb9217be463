# SPDX-License-Identifier: Apache-2.0
"""Specs of elements, and the kinds of dicts that elements are."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.tracing.recording import Symbol

ROWS, PAIR = tf.TensorSpec([None, 3]), tf.TensorSpec([2, 3])
RAGGED = tf.RaggedTensorSpec([2, None], tf.int32)


def test_the_spec_of_what_is_like_one_or_another_leaves_out_where_they_differ() -> None:
    assert PAIR.most_specific_compatible_type(tf.TensorSpec([2, 4])) == tf.TensorSpec([2, None])
    assert PAIR.most_specific_compatible_type(tf.TensorSpec([2])) == tf.TensorSpec(None)
    wider = RAGGED.most_specific_compatible_type(tf.RaggedTensorSpec([3, None], tf.int32))
    assert wider == tf.RaggedTensorSpec([None, None], tf.int32)
    assert PAIR.most_specific_common_supertype([tf.TensorSpec([2, 3], tf.int32)]) is None
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        PAIR.most_specific_compatible_type(RAGGED)


def test_a_spec_tells_whether_a_value_is_of_it() -> None:
    assert ROWS.is_compatible_with(tf.zeros([5, 3]))
    assert not PAIR.is_compatible_with(np.zeros([5, 3], np.float32))
    assert not tf.RaggedTensorSpec([2, None]).is_compatible_with(PAIR)
    assert not RAGGED.is_compatible_with(
        tf.RaggedTensorSpec([2, None], tf.int32, row_splits_dtype=tf.int32)
    )
    assert RAGGED.is_compatible_with(tf.ragged.constant([[1], [2, 3]]))
    assert PAIR.is_subtype_of(ROWS)
    assert not ROWS.is_subtype_of(PAIR)


def test_a_spec_is_that_of_a_value_or_of_another_spec() -> None:
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.RaggedTensorSpec.from_value(rows) == RAGGED
    named = tf.TensorSpec.from_spec(PAIR, name="pair")
    assert (named.name, named.shape.as_list()) == ("pair", [2, 3])
    numbers = tf.data.Dataset.range(3)
    spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    assert tf.type_spec_from_value(numbers) == spec
    assert spec.is_compatible_with(numbers)
    assert not spec.is_compatible_with(numbers.batch(2))


def test_specs_of_other_names_are_not_equal_and_go_together() -> None:
    named = tf.TensorSpec([2, 3], name="pair")
    assert named != PAIR
    assert (named == tf.TensorSpec([2, 3], name="pair"), hash(named) == hash(PAIR)) == (True, True)
    assert named.is_compatible_with(PAIR)
    assert (PAIR.is_subtype_of(named), named.is_subtype_of(PAIR)) == (True, False)
    found = named.most_specific_common_supertype([tf.TensorSpec([4, 3], name="pair")])
    assert found == tf.TensorSpec([None, 3], name="pair")


def test_all_but_the_first_dimension_of_a_ragged_spec_are_ragged() -> None:
    spec = tf.RaggedTensorSpec([2, None, 3], tf.int32)
    assert (spec.ragged_rank, spec.flat_values_spec) == (2, None)
    with pytest.raises(ValueError, match="Must specify ragged_rank or a shape with a known rank"):
        tf.RaggedTensorSpec(None, tf.int32)
    with pytest.raises(ValueError, match=r"`ragged_rank` \(2\) must be less than rank \(2\)"):
        tf.RaggedTensorSpec([2, None], ragged_rank=2)


def test_specs_tell_the_classes_of_their_values() -> None:
    assert PAIR.value_type is tf.Tensor
    assert RAGGED.value_type is tf.RaggedTensor
    assert tf.SparseTensorSpec([2]).value_type is tf.SparseTensor


def test_optional_values_have_specs() -> None:
    found = iter(tf.data.Dataset.range(3)).get_next_as_optional()
    spec = tf.OptionalSpec(tf.TensorSpec([], tf.int64))
    assert tf.OptionalSpec.from_value(found) == spec
    assert isinstance(found, spec.value_type)
    assert spec.is_compatible_with(found)
    assert not tf.OptionalSpec(PAIR).is_compatible_with(found)
    assert repr(spec) == "OptionalSpec(TensorSpec(shape=(), dtype=tf.int64, name=None),)"


class Named(OrderedDict[str, Any]):
    """A dict whose items are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def test_elements_keep_the_class_of_a_dict() -> None:
    numbers = tf.data.Dataset.range(3).map(lambda x: Named([("b", x), ("a", x + 1)]))
    pairs = numbers.batch(2).map(lambda element: (element, element.a))
    element, plus_one = next(iter(pairs))
    assert type(element) is type(pairs.element_spec[0]) is Named
    assert list(element) == ["b", "a"]
    assert element.a.numpy().tolist() == plus_one.numpy().tolist() == [1, 2]
    assert type(tf.nest.map_structure(lambda x: x, element)) is Named
    counts = tf.nest.map_structure(lambda x: x + 1, defaultdict(int, a=1))
    assert (type(counts), counts["a"], counts["z"]) == (defaultdict, 2, 0)


@pytest.mark.parametrize("kind", [OrderedDict, lambda parts: defaultdict(list, parts)])
def test_an_element_is_a_dict_of_the_kind_that_a_function_gives(kind: Any) -> None:
    elements = tf.data.Dataset.range(4).map(lambda x: kind({"b": x, "a": {"c": x}}))
    for each in (elements, elements.batch(2), elements.map(lambda found: found)):
        first = next(iter(each))
        assert type(first) is type(each.element_spec) is type(kind({}))
        assert (list(first), type(first["a"])) == (["b", "a"], dict)


def test_images_are_scaled_to_halves_of_the_range_of_floats() -> None:
    pytest.importorskip("ml_dtypes")
    numbers = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32)[None, None, None] / 3)
    found = numbers.map(lambda image: tf.image.convert_image_dtype(image, tf.bfloat16))
    assert [float(tf.cast(x, tf.float32)[0, 0, 0]) for x in found] == [0.0, 0.333984375, 0.66796875]


def _mean_as_in_bert(x: tf.Tensor) -> tf.Tensor:
    size = x.shape[0] if x.shape[0] is not None else tf.shape(x)[0]
    mean: tf.Tensor = tf.reduce_sum(x) / tf.cast(size, tf.int64)
    return mean


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: tf.data.Dataset.from_tensors(x).map(lambda y: y),
        lambda x: tf.data.Dataset.from_tensors(x).repeat(1),
        lambda x: tf.data.Dataset.from_tensors(tf.range(tf.size(x, tf.int64)) + x[0]),
        lambda x: tf.data.Dataset.zip((tf.data.Dataset.from_tensors(x),)).map(lambda y: y),
        lambda x: tf.data.Dataset.from_tensors(x).take(tf.size(x, tf.int64)),
    ],
)
@pytest.mark.parametrize("method", ["flat_map", "interleave"])
def test_inner_datasets_of_different_sizes_have_an_unknown_size(inner: Any, method: str) -> None:
    batches = tf.data.Dataset.range(5).batch(3)
    values = getattr(batches, method)(inner)
    assert values.element_spec.shape.as_list() == [None]
    assert [float(mean) for mean in values.map(_mean_as_in_bert)] == [1.0, 3.5]


def test_a_batch_whose_size_depends_on_the_element_has_an_unknown_size() -> None:
    def inner(count: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.range(6).batch(count, drop_remainder=True)

    values = tf.data.Dataset.range(2, 4).flat_map(inner)
    assert values.element_spec.shape.as_list() == [None]
    assert [value.tolist() for value in values.as_numpy_iterator()] == [
        *[[0, 1], [2, 3], [4, 5]],
        *[[0, 1, 2], [3, 4, 5]],
    ]


def test_the_spec_of_an_interleaving_is_known_without_an_element() -> None:
    calls: list[Any] = []

    def inner(x: tf.Tensor) -> tf.data.Dataset:
        calls.append(isinstance(x, Symbol))
        return tf.data.Dataset.from_tensors(x).map(lambda y: y)

    values = tf.data.Dataset.range(3).flat_map(inner)
    assert values.element_spec.shape.as_list() == []
    assert all(calls)


def test_a_function_that_needs_a_value_shares_the_sizes_of_several_elements() -> None:
    def inner(x: Any) -> tf.data.Dataset:
        rows = [row.numpy() for row in x]  # a symbol has no value
        return tf.data.Dataset.from_tensors(tf.constant(rows, tf.int64))

    values = tf.data.Dataset.range(5).batch(3).flat_map(inner)
    assert values.element_spec.shape.as_list() == [None]
