# SPDX-License-Identifier: Apache-2.0
"""Values that TensorFlow 2.21 gives, where a plausible other one would pass unseen."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def unseeded() -> None:
    tf.random.set_seed(None)


def elements(dataset: Any) -> list[Any]:
    return [np.asarray(each).tolist() for each in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("lowered", [True, False])
def test_shuffling_a_constant_draws_for_each_element(lowered: bool) -> None:
    before = tf.data.set_lowering(lowered)
    try:
        orders = elements(Dataset.range(4).map(lambda _: tf.random.shuffle(tf.range(4), seed=3)))
    finally:
        tf.data.set_lowering(before)
    assert orders == [[3, 2, 1, 0], [3, 0, 2, 1], [1, 3, 2, 0], [0, 3, 1, 2]]


@pytest.mark.parametrize("lowered", [True, False])
def test_each_use_of_a_data_set_draws_for_itself(lowered: bool) -> None:
    before = tf.data.set_lowering(lowered)
    try:
        tf.random.set_seed(3)
        drawn = Dataset.range(2).map(lambda _: tf.random.uniform([], seed=1))
        pairs = elements(Dataset.zip((drawn, drawn)).repeat(2))
        rows = elements(drawn.concatenate(drawn.map(lambda x: x)).repeat(2))
        once = elements(drawn.repeat(2))
    finally:
        tf.data.set_lowering(before)
    assert np.round(once, 3).tolist() == [0.778, 0.257, 0.598, 0.111]
    assert pairs == [[x, x] for x in once]
    assert rows == once[:2] * 2 + once[2:] * 2


def test_shuffling_what_depends_on_the_element_draws_the_same() -> None:
    dataset = Dataset.range(4).map(lambda x: tf.random.shuffle(tf.stack([x, x + 1, x + 2]), 7))
    twice = [elements(dataset), elements(dataset)]
    assert twice[0] == twice[1]
    assert [sorted(row) for row in twice[0]] == [[n, n + 1, n + 2] for n in range(4)]


def test_a_name_that_is_not_covered_is_an_error_of_map() -> None:
    with pytest.raises(AttributeError, match="no_such"):
        Dataset.range(5).map(lambda x: tf.no_such(x))  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no_such"):
        Dataset.range(5).filter(lambda x: tf.math.no_such(x))  # type: ignore[attr-defined]
    with pytest.raises(NameError):
        Dataset.range(5).map(lambda x: undefined + x)  # type: ignore[name-defined]  # noqa: F821


def test_errors_of_python_are_not_ignored() -> None:
    def wrong(x: Any) -> Any:
        return {"a": x.numpy()}["b"]

    with pytest.raises(KeyError):
        list(Dataset.range(5).map(wrong).ignore_errors())


def test_missing_files_of_elements_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A")
    names = [str(tmp_path / "nothing"), str(tmp_path / "a")]
    for parallel in (None, 2):
        dataset = Dataset.from_tensor_slices(names).map(tf.io.read_file, parallel)
        assert elements(dataset.ignore_errors()) == [b"A"]
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.data.TFRecordDataset(names[0]).ignore_errors())


def test_data_sets_without_weight_keep_nobody_waiting() -> None:
    both = [Dataset.from_tensors(0), Dataset.from_tensors(1)]
    assert elements(Dataset.sample_from_datasets(both, [0.0, 1.0])) == [1]
    assert elements(Dataset.sample_from_datasets(both, [0.0, 0.0])) == []


def test_weights_may_change_with_each_element() -> None:
    both = [Dataset.range(10), Dataset.range(100, 110)]
    weights = Dataset.from_tensor_slices([[1.0, 0.0], [0.0, 1.0]]).repeat()
    found = elements(Dataset.sample_from_datasets(both, weights, seed=1))
    assert found[:6] == [0, 100, 1, 101, 2, 102]


@pytest.mark.parametrize("again", [True, False])
def test_random_numbers_of_another_iteration(again: bool) -> None:
    dataset = Dataset.random(4, rerandomize_each_iteration=again).take(2)
    first, second = elements(dataset), elements(dataset)
    assert (first == second) is not again
    if again:
        assert (first, second) == ([1905554911, 4215726141], [1683472663, 2279948892])


def test_a_cache_is_whole_with_its_last_element() -> None:
    dataset = Dataset.range(8).shuffle(8).cache()
    assert elements(dataset.take(8)) == elements(dataset)


def test_options_have_the_names_of_tensorflow() -> None:
    options = tf.data.Options()
    assert options.deterministic is None
    assert options.threading.private_threadpool_size is None
    assert options == tf.data.Options()
    with pytest.raises(AttributeError):
        options.no_such = 1
    with pytest.raises(TypeError):
        options.deterministic = 3
    options.threading.private_threadpool_size = 3
    other = tf.data.Options()
    other.deterministic = False
    dataset = Dataset.range(3).with_options(options).map(lambda x: x).with_options(other)
    assert dataset.options().threading.private_threadpool_size == 3
    assert dataset.options().deterministic is False
    assert Dataset.range(3).options() == tf.data.Options()


def test_a_shuffle_of_a_whole_data_set() -> None:
    dataset = Dataset.range(5).shuffle(tf.data.UNKNOWN_CARDINALITY, seed=1)
    assert elements(dataset) == [0, 4, 3, 1, 2]


def test_data_sets_without_end_say_so() -> None:
    endless = Dataset.range(5).repeat()
    sampled = Dataset.sample_from_datasets([endless, Dataset.range(3)])
    grouped = endless.group_by_window(lambda x: x % 2, lambda _, d: d.batch(2), 2)
    bucketed = endless.map(lambda x: [x]).bucket_by_sequence_length(lambda x: 1, [5], [2, 2])
    for dataset in (sampled, grouped, bucketed):
        assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_a_reduced_jpeg_rounds_its_sides_up() -> None:
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (77, 101)).save(data, "JPEG")
    assert tf.io.decode_jpeg(data.getvalue(), ratio=2).shape == (51, 39, 3)


def test_a_seed_can_be_taken_back() -> None:
    tf.random.set_seed(5)
    tf.random.set_seed(None)
    assert float(tf.random.uniform([])) != float(tf.random.uniform([]))


def test_a_promised_number_of_elements_is_a_precondition() -> None:
    promised = Dataset.range(3).apply(tf.data.experimental.assert_cardinality(2))
    with pytest.raises(tf.errors.FailedPreconditionError):
        list(promised)


def test_what_keeps_a_function_from_being_traced_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FASTREC_COMPAT_EXPLAIN", "1")

    def plain(x: Any) -> Any:
        return x.numpy() + 1

    assert elements(Dataset.range(2).map(plain)) == [1, 2]
    said = capsys.readouterr().err
    assert "plain is called for each element" in said
    assert "return x.numpy() + 1" in said


def test_rows_are_put_in_batches_of_several_sizes() -> None:
    dataset = Dataset.range(10).batch(4)
    assert elements(dataset.rebatch([1, 3])) == [[0], [1, 2, 3], [4], [5, 6, 7], [8], [9]]
    assert elements(dataset.rebatch([3, 4], drop_remainder=True)) == [
        [0, 1, 2],
        [3, 4, 5, 6],
        [7, 8, 9],
    ]
    assert elements(dataset.take(1).rebatch([2, 0])) == [[0, 1], [], [2, 3], []]
    with pytest.raises(tf.errors.InvalidArgumentError):
        dataset.rebatch([2, -1])
    for size in (0, [0, 0]):  # without this error, empty batches without end
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
            dataset.rebatch(size)


def test_dense_elements_in_sparse_batches() -> None:
    dataset = Dataset.range(3).map(lambda x: tf.fill([x], x))
    first = next(iter(dataset.sparse_batch(4, [3])))
    assert first.dense_shape.numpy().tolist() == [3, 3]
    assert first.indices.numpy().tolist() == [[1, 0], [2, 0], [2, 1]]
    assert first.values.numpy().tolist() == [1, 2, 2]
    with pytest.raises(tf.errors.DataLossError):
        list(dataset.sparse_batch(4, [1]))


def test_a_decorated_function_of_python() -> None:
    @tf.py_function(Tout=tf.int64)  # type: ignore[untyped-decorator]
    def more(x: Any) -> Any:
        return x + 1

    assert elements(Dataset.range(3).map(more)) == [1, 2, 3]


def test_a_key_may_be_anything_that_can_be_called_with_an_element() -> None:
    def key(x: Any) -> Any:
        return np.int64(int(x.numpy()) % 2)

    traced = Dataset.range(6).group_by_window(lambda x: x % 2, lambda _, d: d.batch(2), 2)
    called = Dataset.range(6).group_by_window(key, lambda _, d: d.batch(2), 2)
    assert elements(traced) == elements(called) == [[0, 2], [1, 3], [4], [5]]
