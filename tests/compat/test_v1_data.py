# SPDX-License-Identifier: Apache-2.0
"""``tf.data`` in graphs: what programs of version 1.4 to 1.15 do with it.

The values, types and shapes are those of TensorFlow 2.21 with version 2 behaviour disabled.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v1 as tf
from fastrec.compat._tf.data.pipeline import set_lowering

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = [str(tmp_path / f"{number}.tfrecord") for number in range(3)]
    for number, name in enumerate(names):
        with tf.python_io.TFRecordWriter(name) as writer:
            for row in range(5):
                x = tf.train.Feature(int64_list=tf.train.Int64List(value=[10 * number + row]))
                v = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * row))
                features = tf.train.Features(feature={"x": x, "v": v})
                writer.write(tf.train.Example(features=features).SerializeToString())
    return names


def parse(record: Any) -> tuple[Any, Any]:
    found = tf.parse_single_example(
        record, {"x": tf.FixedLenFeature([], tf.int64), "v": tf.VarLenFeature(tf.float32)}
    )
    return tf.cast(found["x"], tf.float32) * 2.0, found["v"]


def dense(x: Any, v: Any) -> tuple[Any, Any]:
    return x, tf.sparse_tensor_to_dense(v)


def every(session: Any, fetch: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(session.run(fetch))
        except tf.errors.OutOfRangeError:
            return found


def run_all(dataset: Any) -> list[Any]:
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        return every(session, following)


def test_records_are_parsed_padded_and_repeated(files: list[str]) -> None:
    dataset = tf.data.TFRecordDataset(files).map(parse).map(dense)
    dataset = dataset.padded_batch(4, ([], [None])).repeat(2)
    assert dataset.output_types == (tf.float32, tf.float32)
    assert [shape.as_list() for shape in dataset.output_shapes] == [[None], [None, None]]
    batches = run_all(dataset)
    assert [len(x) for x, _ in batches] == [4, 4, 4, 3] * 2
    assert batches[1][0].tolist() == [8.0, 20.0, 22.0, 24.0]
    assert batches[0][1].tolist()[3] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("again", [True, False])
def test_sparse_values_stay_in_columns(
    again: bool, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(_: Any, found: Any) -> Any:
        return found, tf.SparseTensor(found.indices, found.values * 2.0, found.dense_shape)

    def batches() -> Any:
        dataset = tf.data.TFRecordDataset(files).map(parse)
        dataset = dataset.map(change) if again else dataset
        return run_all(dataset.shuffle(5, seed=3).batch(4))

    before = set_lowering(False)
    one_by_one = batches()
    set_lowering(before)
    made: list[Any] = []
    inner = fastrec.Sparse.__init__

    def counted(self: Any, *parts: Any) -> None:
        made.append(parts)
        inner(self, *parts)

    monkeypatch.setattr(fastrec.Sparse, "__init__", counted)
    found = batches()
    assert len(made) <= 3 * len(found)  # none for each record
    for ours, theirs in zip(found, one_by_one, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            parts = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
            assert all(np.array_equal(x, y) for x, y in parts)


def test_names_sizes_and_captured_tensors_are_fed(files: list[str]) -> None:
    names = tf.placeholder(tf.string, [None])
    size = tf.placeholder(tf.int64, [])
    more = tf.placeholder(tf.float32, [])
    dataset = Dataset.from_tensor_slices(names).flat_map(tf.data.TFRecordDataset)
    dataset = dataset.map(parse).map(lambda x, v: x + more).filter(lambda x: x > 3.0).batch(size)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    assert following.shape.as_list() == [None]
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
        session.run(iterator.initializer, {names: files, size: 6, more: 1.0})
        batches = every(session, following)
        assert batches[0].tolist() == [5.0, 7.0, 9.0, 21.0, 23.0, 25.0]
        session.run(iterator.initializer, {names: files[:1], size: 2, more: -8.0})
        assert every(session, following) == []


@pytest.mark.parametrize("by_chance", [False, True])
def test_captured_tensors_are_fed_to_branches(by_chance: bool) -> None:
    more = tf.placeholder(tf.float32, [])

    def numbers(count: Any) -> Any:  # how many numbers are drawn depends on the element
        return tf.reduce_sum(tf.random_uniform([count], seed=1))

    def of_branches(x: Any) -> Any:
        large = (lambda: numbers(x) + more) if by_chance else (lambda: tf.to_float(x) * more)
        return tf.cond(x > 2, large, lambda: tf.to_float(x) - more)

    tf.set_random_seed(3)
    iterator = Dataset.range(6).map(of_branches).batch(3).make_initializable_iterator()
    following = iterator.get_next()
    count = tf.placeholder(tf.int64, [])
    drawn = numbers(count)
    with tf.Session() as session:
        session.run(iterator.initializer, {more: 10.0})
        found = np.concatenate(every(session, following)).tolist()
        expected = [session.run(drawn, {count: n}) + 10 if by_chance else n * 10 for n in (3, 4, 5)]
    assert found == [-10, -9, -8, *expected]


def test_errors_name_the_operation_of_a_fused_chain_that_fails() -> None:
    def distorted(x: Any) -> Any:
        image = tf.cast(tf.fill([100, 100, 3], x), tf.uint8)
        image = tf.image.crop_to_bounding_box(image, x, 0, 60, 60)
        image = tf.image.random_brightness(tf.image.convert_image_dtype(image, tf.float32), 0.1)
        return tf.image.per_image_standardization(image)

    following = Dataset.from_tensor_slices([10, 90]).map(distorted).make_one_shot_iterator()
    image = following.get_next()
    with tf.Session() as session:
        assert session.run(image).shape == (60, 60, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="node crop_to_bounding_box"):
            session.run(image)


def test_arrays_are_fed() -> None:
    rows = tf.placeholder(tf.float32, [None, 2])
    iterator = Dataset.from_tensor_slices((rows, {"a": rows[:, 0]})).make_initializable_iterator()
    following = iterator.get_next()
    assert following[0].shape.as_list() == [2]
    with tf.Session() as session:
        session.run(iterator.initializer, {rows: np.arange(6).reshape(3, 2)})
        found = every(session, following)
    assert [row.tolist() for row, _ in found] == [[0, 1], [2, 3], [4, 5]]
    assert [part["a"] for _, part in found] == [0, 2, 4]


def test_functions_of_interleave_make_data_sets_of_their_own(files: list[str]) -> None:
    def of_file(name: Any) -> Any:
        return tf.data.TFRecordDataset(name).map(parse).map(lambda x, v: (x, name))

    dataset = Dataset.list_files(files, shuffle=False).interleave(of_file, cycle_length=2)
    found = run_all(dataset)
    assert [x for x, _ in found[:4]] == [0.0, 20.0, 2.0, 22.0]
    assert found[1][1].decode() == files[1]


def test_data_sets_are_given_by_name() -> None:
    both = Dataset.range(2).concatenate(dataset=Dataset.range(5, 7))
    assert run_all(both) == [0, 1, 5, 6]


def test_data_sets_of_computed_tensors_are_not_made_one_by_one() -> None:
    calls = []

    def rows(x: Any) -> Any:
        calls.append(x)
        return Dataset.from_tensor_slices(tf.range(x))

    assert run_all(Dataset.range(30).flat_map(rows).batch(500))[0].shape == (435,)
    assert len(calls) < 5


def test_sparse_parts_come_as_sparse_tensors(files: list[str]) -> None:
    dataset = tf.data.TFRecordDataset(files[:1]).map(parse).batch(3)
    assert dataset.output_classes == (tf.Tensor, tf.SparseTensor)
    first = run_all(dataset)[0][1]
    assert first.indices.tolist() == [[1, 0], [2, 0], [2, 1]]
    assert first.dense_shape.tolist() == [3, 2]


def test_an_iterator_changes_its_data_set() -> None:
    train, valid = Dataset.range(3), Dataset.range(10, 13)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    following = iterator.get_next()
    to_train, to_valid = iterator.make_initializer(train), iterator.make_initializer(valid)
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensors(1.0))
    with tf.Session() as session:
        session.run(to_train)
        assert [session.run(following), session.run(following)] == [0, 1]
        session.run(to_valid)
        assert every(session, following) == [10, 11, 12]


def test_an_iterator_of_parts_whose_shapes_are_unknown_has_any() -> None:
    types = [tf.int64, tf.int64]
    rows = Dataset.range(3).map(lambda n: tuple(tf.py_func(lambda i: (i, [i]), [n], types)))
    iterator = tf.data.Iterator.from_structure(rows.output_types, rows.output_shapes)
    assert [part.shape.ndims for part in iterator.get_next()] == [None, None]
    following, start = iterator.get_next(), iterator.make_initializer(rows)
    with tf.Session() as session:
        session.run(start)
        assert every(session, following[1]) == [[0], [1], [2]]


def test_a_handle_chooses_the_iterator() -> None:
    one = Dataset.range(3).make_one_shot_iterator()
    other = Dataset.range(10, 13).make_initializable_iterator()
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([]))
    following = chosen.get_next()
    with tf.Session() as session:
        handles = session.run([one.string_handle(), other.string_handle()])
        session.run(other.initializer)
        assert [session.run(following, {handle: h}) for h in handles * 2] == [0, 10, 1, 11]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(following, {handle: "nobody"})


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: Dataset.range(7).window(3).flat_map(lambda w: w.batch(3)),
            [[0, 1, 2], [3, 4, 5], [6]],
        ),
        (
            lambda: Dataset.range(6).apply(
                tf.data.experimental.group_by_window(
                    lambda x: x % 2, lambda key, rows: rows.batch(2), window_size=2
                )
            ),
            [[0, 2], [1, 3], [4], [5]],
        ),
        (
            lambda: Dataset.range(4).apply(
                tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x * 2))
            ),
            [0, 2, 5, 9],
        ),
        (
            lambda: Dataset.range(4).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x)),
            [0, 1, 20, 30],
        ),
        (
            lambda: Dataset.range(3).map(
                lambda x: tf.py_func(lambda v: v + np.int64(1), [x], tf.int64)
            ),
            [1, 2, 3],
        ),
        (
            lambda: Dataset.from_generator(lambda: iter([1, 2]), tf.int32, tf.TensorShape([])),
            [1, 2],
        ),
        (lambda: Dataset.zip((Dataset.range(2), Dataset.range(5, 9))), [(0, 5), (1, 6)]),
        (lambda: Dataset.range(5).shuffle(5, seed=1), [0, 4, 3, 1, 2]),
        (lambda: tf.data.experimental.from_list([1, 2]), [1, 2]),
        (
            lambda: Dataset.range(6).apply(tf.contrib.data.batch_and_drop_remainder(4)),
            [[0, 1, 2, 3]],
        ),
        (
            lambda: Dataset.range(4).apply(
                tf.contrib.data.map_and_batch(lambda x: x * 2, 2, drop_remainder=True)
            ),
            [[0, 2], [4, 6]],
        ),
        (
            lambda: Dataset.range(5).apply(tf.contrib.data.sliding_window_batch(3)),
            [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
        ),
    ],
)
def test_transformations_of_functions_of_a_graph(make: Any, expected: list[Any]) -> None:
    assert [np.asarray(x).tolist() for x in run_all(make())] == [
        np.asarray(x).tolist() for x in expected
    ]


def test_random_numbers_of_a_map_go_on() -> None:
    dataset = Dataset.range(3).map(lambda x: tf.random_uniform([], seed=4))
    found = run_all(dataset)
    assert np.allclose(found, [0.9565817, 0.52588725, 0.8928175], rtol=1e-6)


def test_a_data_set_is_reduced_by_an_operation() -> None:
    total = Dataset.range(5).reduce(np.int64(0), lambda state, x: state + x)
    with tf.Session() as session:
        assert [session.run(total), session.run(total)] == [10, 10]


def test_windows_are_reduced_by_functions_of_data_sets() -> None:
    def joined(window: Any) -> Any:
        start = tf.zeros([0], tf.int64)
        return window.reduce(start, lambda rows, x: tf.concat([rows, [x]], 0))

    found = run_all(Dataset.range(5).window(2).map(joined))
    assert [each.tolist() for each in found] == [[0, 1], [2, 3], [4]]


def test_each_session_has_elements_of_its_own() -> None:
    following = Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(following), one.run(following), other.run(following)] == [0, 1, 0]


def test_a_finalized_graph_goes_on(files: list[str]) -> None:
    dataset = Dataset.from_tensor_slices(files).flat_map(
        lambda name: tf.data.TFRecordDataset(name).map(parse).map(lambda x, v: x)
    )
    following = dataset.make_one_shot_iterator().get_next()
    tf.get_default_graph().finalize()
    with tf.Session() as session:
        assert len(every(session, following)) == 15


def test_data_sets_are_gone_through_by_iterators() -> None:
    with pytest.raises(RuntimeError, match="make_one_shot_iterator"):
        iter(Dataset.range(3))
    with pytest.raises(AttributeError, match="no_such"):
        _ = Dataset.range(3).no_such


def rows(value: Any) -> Any:
    return (
        value.to_list() if isinstance(value, tf.RaggedTensorValue) else np.asarray(value).tolist()
    )


def test_ragged_tensors_are_elements() -> None:
    ragged = tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]])
    assert [rows(each) for each in run_all(Dataset.from_tensor_slices(ragged))] == [
        [1, 2],
        [3],
        [],
        [4, 5, 6],
    ]
    whole = Dataset.from_tensors(ragged)
    assert whole.output_shapes.as_list() == [4, None]
    assert whole.output_classes is tf.RaggedTensor
    changed = whole.map(lambda r: (r.with_flat_values(r.flat_values * 2), r.row_lengths(), r[1:3]))
    ((doubled, lengths, middle),) = run_all(changed)
    assert rows(doubled) == [[2, 4], [6], [], [8, 10, 12]]
    assert lengths.tolist() == [2, 1, 0, 3]
    assert rows(middle) == [[3], []]


def test_functions_make_ragged_tensors() -> None:
    words = Dataset.from_tensor_slices(["a b c", "d"]).batch(2)
    split = words.map(lambda s: tf.strings.split(s, result_type="RaggedTensor"))
    assert [rows(each) for each in run_all(split)] == [[[b"a", b"b", b"c"], [b"d"]]]
    given = tf.RaggedTensorValue(np.arange(3), np.array([0, 1, 3]))
    made = Dataset.from_tensors(given).map(lambda r: {"dense": r.to_tensor(), "rows": r.nrows()})
    ((found),) = run_all(made)
    assert (found["dense"].tolist(), found["rows"]) == ([[0, 0], [1, 2]], 2)
    fed = tf.ragged.placeholder(tf.int32, 1)
    with tf.Session() as session:
        value = tf.RaggedTensorValue(np.array([7, 8], np.int32), np.array([0, 0, 2]))
        assert session.run(fed.to_tensor(), {fed: value}).tolist() == [[0, 0], [7, 8]]


def test_shuffles_draw_by_the_seed_of_the_graph_and_anew_with_each_pass() -> None:
    tf.set_random_seed(7)
    shuffled = Dataset.range(1000).shuffle(100, 3)
    iterator = shuffled.make_initializable_iterator()
    row = iterator.get_next()
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert [int(session.run(row)) for _ in range(5)] == [59, 55, 91, 24, 70]


def test_functions_write_arrays_of_tensors() -> None:
    def powers(n: Any) -> Any:
        array = tf.TensorArray(tf.int64, 0, dynamic_size=True)
        made = tf.while_loop(
            lambda i, _, __: i < 3,
            lambda i, value, written: (i + 1, value * n, written.write(i, value)),
            (0, tf.constant(1, tf.int64), array),
        )
        return made[2].stack()

    found = run_all(Dataset.range(4).map(powers).batch(2))
    assert [each.tolist() for each in found] == [
        [[1, 0, 0], [1, 1, 1]],
        [[1, 2, 4], [1, 3, 9]],
    ]
    with tf.Session() as session:
        array = tf.TensorArray(tf.int32, 2)
        one, other = array.write(0, 1), array.write(0, 2)
        assert session.run([one.stack(), other.stack()])[0].tolist() == [1, 0]
        fetched = session.run([one.read(0), other.read(0)])
        assert fetched == [1, 2]


def test_draws_begin_anew_with_each_iteration() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)

        def change(i: tf.Tensor) -> tuple[tf.Tensor, ...]:
            # The number of rows is known with each element only.
            return tf.random_uniform([], seed=4), tf.random_shuffle(tf.range(i + 2), seed=1)

        iterator = tf.data.Dataset.range(4).map(change).repeat(2).make_initializable_iterator()
        following, found = iterator.get_next(), []
        for _ in range(2):
            session.run(iterator.initializer)
            found.append([session.run(following) for _ in range(8)])
    numbers, again = ([float(number) for number, _ in each] for each in found)
    assert numbers == again
    np.testing.assert_allclose(numbers[:4], [0.9237367, 0.764892, 0.7782522, 0.9067508], rtol=1e-6)
    assert len(set(numbers)) == 8
    orders, again = ([order.tolist() for _, order in each] for each in found)
    assert orders == again
    assert [order[0] for order in orders] == [1, 1, 2, 1, 1, 2, 0, 3]


def test_functions_of_old_programs_are_mapped_and_batched() -> None:
    both = tf.data.experimental.map_and_batch_with_legacy_function(lambda x: x + 1, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        row = tf.data.make_one_shot_iterator(tf.data.Dataset.range(4).apply(both)).get_next()
        assert [session.run(row).tolist() for _ in range(2)] == [[1, 2], [3, 4]]


def test_what_is_drawn_where_an_image_decides_is_drawn_in_threads_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fastrec.compat._tf.data.threads._LONG_S", 0.0)

    def change(i: Any) -> Any:
        image = tf.zeros([140, 130, 3]) + tf.cast(i, tf.float32)
        bright = tf.reduce_mean(image) > 9.5
        return tf.cond(bright, lambda: tf.random_uniform([], seed=1), lambda: 2.0)

    found = []
    for threads in (None, 3):
        following = Dataset.range(40).map(change, threads).batch(40).make_one_shot_iterator()
        with tf.Session() as session:
            found.append(session.run(following.get_next()).tolist())
    assert found[0][:10] == found[1][:10] == [2.0] * 10
    assert sorted(found[0][10:]) == sorted(found[1][10:])
    assert len(set(found[0][10:])) == 30


def test_choices_by_constants_are_made_once() -> None:
    training = tf.constant(True)

    def function(x: Any) -> Any:
        known = tf.cond(training, lambda: tf.fill([2], x), lambda: tf.fill([3], x))
        other = tf.cond(tf.logical_not(training), lambda: [x], lambda: [x + tf.ones_like(x)])
        assert known.shape.as_list() == [None]
        assert isinstance(other, list)
        return {"known": known, "other": other[0]}

    data = Dataset.range(3).map(function).batch(3)
    row = tf.data.make_one_shot_iterator(data).get_next()
    with tf.Session() as session:
        found = session.run(row)
    assert found["known"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert found["other"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_mirrored_edges_of_many_elements(mode: Any) -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    around = [[1, 0], [1, 2]]
    data = (
        Dataset.from_tensor_slices(values).map(lambda x: tf.pad(x, around, mode.upper())).batch(4)
    )
    row = tf.data.make_one_shot_iterator(data).get_next()
    with tf.Session() as session:
        expected = [np.pad(value, around, mode=mode).tolist() for value in values]
        assert session.run(row).tolist() == expected


def test_a_function_of_two_values_sees_what_is_fed() -> None:
    fed = tf.placeholder(tf.int64, [])
    sums = tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x + fed, s + x))
    iterator = tf.data.make_initializable_iterator(Dataset.range(4).apply(sums))
    row = iterator.get_next()
    with tf.Session() as sess:
        for value, expected in ((10, [0, 11, 23, 36]), (1, [0, 2, 5, 9])):
            sess.run(iterator.initializer, {fed: value})
            assert [sess.run(row) for _ in range(4)] == expected
