# SPDX-License-Identifier: Apache-2.0
"""Tensors of ``fastrec.compat.v2``; tests/oracle holds operations against TensorFlow."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import DEADLINE

import fastrec
import fastrec.compat.v1 as tf1
import fastrec.compat.v2 as tf
from fastrec.compat._tf.ops import strings


def test_python_numbers_are_32_bits_wide_and_arrays_stay_what_they_are() -> None:
    assert tf.constant(1).dtype == tf.int32
    assert tf.constant(2**40).dtype == tf.int64
    assert tf.constant([1.0]).dtype == tf.float32
    assert tf.constant(np.arange(3)).dtype == tf.int64
    assert tf.constant("text").dtype == tf.string
    assert tf.constant(1.5, tf.float64).dtype == tf.float64


def test_text_tensors_in_a_list_are_stacked() -> None:
    three, word = tf.strings.as_string(tf.constant(3)), tf.constant("a")
    assert tf.convert_to_tensor([three]).numpy().tolist() == [b"3"]
    rows = tf.convert_to_tensor([[three, "b"], ["c", word]])
    assert rows.numpy().tolist() == [[b"3", b"b"], [b"c", b"a"]]
    assert tf.concat([tf.constant(["x"]), [three]], 0).numpy().tolist() == [b"x", b"3"]
    assert tf.where([True, False], [word, word], [three, three]).numpy().tolist() == [b"a", b"3"]


def test_values_come_out_as_numpy_has_them() -> None:
    assert tf.constant("a\0").numpy() == b"a\0"
    assert isinstance(tf.constant(3).numpy(), np.int32)
    assert np.asarray(tf.constant([1, 2])).tolist() == [1, 2]
    assert [int(x) for x in tf.constant([1, 2])] == [1, 2]
    assert f"{tf.constant(1.5):.2f}" == "1.50"
    assert list(range(3))[tf.constant(1)] == 1
    assert len(tf.zeros([4, 2])) == 4


def test_tensors_print_as_tensorflows_do() -> None:
    assert str(tf.constant([1, 2])) == "tf.Tensor([1 2], shape=(2,), dtype=int32)"
    assert repr(tf.constant(7)) == "<tf.Tensor: shape=(), dtype=int32, numpy=7>"
    assert repr(tf.constant("x")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'x'>"
    assert repr(tf.TensorSpec([None, 2], tf.float32)) == (
        "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)"
    )


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: bool(tf.constant([1, 2])), ValueError, "ambiguous"),
        (lambda: hash(tf.constant(1)), TypeError, "unhashable"),
        (lambda: len(tf.constant(1)), TypeError, "no `len"),
        (lambda: list(tf.constant(1)), TypeError, "scalar"),
        (lambda: tf.constant([1, [2]]), ValueError, "non-rectangular"),
        (lambda: tf.constant(None), ValueError, "None"),
        (lambda: tf.constant("x", tf.int32), TypeError, "Cannot convert"),
        (lambda: tf.constant(1) // 0, tf.errors.InvalidArgumentError, "division by zero"),
        (lambda: tf.constant([1, 2]) * [1, 2, 3], tf.errors.InvalidArgumentError, "Incompatible"),
        (lambda: tf.cast("1", tf.int32), tf.errors.UnimplementedError, "Cast string to int32"),
        (lambda: tf.constant(1)[0], tf.errors.InvalidArgumentError, "slice scalar input"),
    ],
)
def test_mistakes_are_errors(make: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_tensors_can_be_pickled() -> None:
    tensor = pickle.loads(pickle.dumps(tf.constant([1, 2])))
    assert tensor.numpy().tolist() == [1, 2]
    sparse = pickle.loads(pickle.dumps(tf.SparseTensor([[0]], [5], [3])))
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [5, 0, 0]


def test_sparse_indices_beyond_the_shape_are_an_error() -> None:
    sparse = tf.SparseTensor([[0, 5]], [1], [2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="is out of bounds"):
        tf.sparse.to_dense(sparse)


def test_ragged_tensors_have_their_parts() -> None:
    record = fastrec.encode_example({"a": [1, 2, 3], "n": [2, 0, 1]})
    features = {
        "a": tf.io.RaggedFeature(tf.int64, partitions=[tf.io.RaggedFeature.RowLengths("n")])
    }
    ragged = tf.io.parse_example([record, record], features)["a"]
    assert ragged.to_list() == [[[1, 2], [], [3]]] * 2
    assert ragged.row_splits.dtype == tf.int32
    assert ragged.row_splits.numpy().tolist() == [0, 3, 6]
    assert ragged.flat_values.numpy().tolist() == [1, 2, 3, 1, 2, 3]
    assert ragged.values.row_lengths().numpy().tolist() == [2, 0, 1, 2, 0, 1]
    assert ragged[0].to_list() == [[1, 2], [], [3]]
    assert ragged[0, 2].numpy().tolist() == [3]
    assert [row.to_list() for row in ragged] == ragged.to_list()
    assert ragged.to_tensor(-1).shape == (2, 3, 2)
    assert str(ragged.shape) == "(2, None, None)"


def test_sequences_are_parsed_alone_and_together() -> None:
    record = fastrec.encode_sequence_example({"id": 7}, {"t": [[1], [2]], "v": [[1.5], [2.5, 3.5]]})
    context, lists = tf.io.parse_single_sequence_example(
        record,
        {"id": tf.io.FixedLenFeature([], tf.int64)},
        {"t": tf.io.FixedLenSequenceFeature([], tf.int64), "v": tf.io.VarLenFeature(tf.float32)},
    )
    assert context["id"].numpy() == 7
    assert lists["t"].numpy().tolist() == [1, 2]
    assert tf.sparse.to_dense(lists["v"]).numpy().tolist() == [[1.5, 0], [2.5, 3.5]]
    _, lists, lengths = tf.io.parse_sequence_example(
        [record, record], None, {"t": tf.io.FixedLenSequenceFeature([], tf.int64)}
    )
    assert lists["t"].shape == (2, 2)
    assert lengths["t"].numpy().tolist() == [2, 2]


def test_functions_see_symbols_or_values_as_they_need() -> None:
    seen: list[Any] = []

    def traced(x: Any) -> Any:
        seen.append(x)
        return x + 1

    assert list(tf.data.Dataset.range(5).map(traced).as_numpy_iterator()) == [1, 2, 3, 4, 5]
    assert len(seen) == 1  # as TensorFlow has it

    def branching(x: Any) -> Any:
        if x > 2:
            return x * 10
        return -x

    found = list(tf.data.Dataset.range(5).map(branching).as_numpy_iterator())
    assert found == [0, -1, -2, 30, 40]


def test_files_images_and_messages_are_there(tmp_path: Path) -> None:
    path = str(tmp_path / "sub" / "a.bin")
    tf.io.write_file(path, b"data")
    assert tf.io.read_file(path).numpy() == b"data"
    assert tf.io.gfile.exists(path)
    assert tf.io.matching_files(str(tmp_path / "*" / "*.bin")).numpy().tolist() == [path.encode()]
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    example = tf.train.Example(features=tf.train.Features(feature={"a": feature}))
    assert fastrec.encode_example({"a": 1}) == example.SerializeToString()


def test_a_function_of_a_data_set_writes_files(tmp_path: Path) -> None:
    def written(x: Any) -> Any:
        text = tf.strings.as_string(x)
        tf.io.write_file(tf.strings.join([f"{tmp_path}/", text]), text)
        return x

    assert list(tf.data.Dataset.range(3).map(written).as_numpy_iterator()) == [0, 1, 2]
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["0", "1", "2"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be scalar"):
        tf.io.write_file([str(tmp_path)], "")


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",
        b"\x08\x01\x12\xff",
        b"\xff" * 40,
        b"\x08\x01\x12\x0b\x12\x09\x08" + b"\xff" * 8 + b"\x01",
    ],
)
def test_damaged_tensor_messages_are_refused(data: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(data, tf.float32)


def test_a_prefetching_thread_ends_with_its_iterator() -> None:
    def names() -> list[str]:
        return [thread.name for thread in threading.enumerate()]

    dataset = tf.data.Dataset.from_generator(itertools.count, output_types=tf.int64)
    iterator = iter(dataset.prefetch(2))
    next(iterator)
    assert "fastrec-prefetch" in names()
    del iterator
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "fastrec-prefetch":
            thread.join(DEADLINE)
    assert "fastrec-prefetch" not in names()


def test_a_cache_is_not_changed_by_who_uses_it() -> None:
    dataset = tf.data.Dataset.range(4).map(lambda x: x * 2).cache().batch(4)
    for _ in range(2):
        (batch,) = dataset.as_numpy_iterator()
        assert batch.tolist() == [0, 2, 4, 6]
        batch[:] = -1


def test_options_are_taken_and_change_nothing() -> None:
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.threading.private_threadpool_size = 4
    dataset = tf.data.Dataset.range(3).with_options(options)
    assert list(dataset.as_numpy_iterator()) == [0, 1, 2]
    assert int(dataset.reduce(np.int64(0), lambda state, x: state + x)) == 3


def test_what_changes_nothing_is_taken() -> None:
    assert tf.config.list_physical_devices("GPU") == []
    tf.config.experimental.set_memory_growth("gpu", True)
    tf.get_logger().setLevel("ERROR")
    with tf.device("/cpu:0"), tf.name_scope("input"):
        found = tf.autograph.experimental.do_not_convert(lambda x: x + 1)(tf.constant(1))
    tf.debugging.assert_equal(found, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x < y did not hold"):
        tf.debugging.assert_less(found, [3, 1], message="as it should be:")


@pytest.mark.parametrize("room", ["image", "io", "data", "math", "random", "ragged", "sparse"])
def test_a_name_that_is_not_covered_says_where_to_look(room: str) -> None:
    with pytest.raises(AttributeError, match=r"docs/compat-v2\.md"):
        getattr(tf, room).no_such_thing  # noqa: B018
    with pytest.raises(AttributeError, match=r"docs/compat-v2\.md"):
        tf.data.Dataset.range(3).no_such_thing  # noqa: B018


def test_ragged_tensors_of_other_rows_are_not_added_up() -> None:
    rows = tf.ragged.constant([[1], [2, 3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        rows + tf.ragged.constant([[1, 2], [3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        rows + tf.constant([1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not right-ragged"):
        tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 1]], [5], [1, 2]))


CHANNELS = np.array([0.485, 0.456, 0.406], np.float32)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.parametrize("shape", [(3,), (1, 1, 3), (1, 3), (40, 1, 3), (1,), ()])
@pytest.mark.parametrize("turned", [False, True])
def test_numbers_for_each_channel_meet_images_as_in_numpy(
    name: str, shape: tuple[int, ...], turned: bool
) -> None:
    image = np.random.default_rng(1).random((40, 50, 3), np.float32)
    image = image.transpose(1, 0, 2) if turned else image
    numbers = np.resize(CHANNELS, (image.shape[0], *shape[1:]) if len(shape) == 3 else shape)
    numbers = numbers.astype(np.float32)
    expected = getattr(np, name)(image, numbers)
    assert np.array_equal(getattr(tf.math, name)(image, numbers), expected)
    with tf1.Graph().as_default(), tf1.Session() as session:
        found = session.run(getattr(tf1, name)(tf1.constant(image), tf1.constant(numbers)))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "texts",
    [
        [b"7", b"0", b"0042", b"123456789"],
        [b"7", b"1234567890"],
        [b"-7", b"+8"],
        [b" 9 ", b"1"],
        [b"3", b"", b"4"],
        [b"1", b"1x"],
        [b"1", b"9:"],
    ],
)
def test_numbers_of_a_column_are_those_of_its_strings(texts: list[bytes]) -> None:
    column = fastrec.Bytes.from_list([b"before", *texts])[1:]

    def numbers(value: Any) -> Any:
        try:
            return strings.TO_NUMBER.kernel(value, out_type=tf.int32).tolist()
        except tf.errors.InvalidArgumentError as error:
            return str(error)

    found = numbers(column)
    assert found == numbers(column.to_numpy())
    assert isinstance(found, str) or found == [int(text) for text in texts]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 9, 5), "height must be >= target"),
        (lambda x: tf.image.crop_to_bounding_box(x, -1, 0, 2, 2), "offset_height must be >= 0"),
        (lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 4, 5), "width must be <= target"),
        (lambda x: tf.image.resize_with_crop_or_pad(x, 0, 2), "target_height must be > 0"),
        (lambda x: tf.image.resize_with_pad(x, 2, 0), "target_width must be > 0"),
        (lambda x: tf.image.central_crop(x, 1.5), "central_fraction must be within"),
        (lambda x: tf.image.flip_left_right(x[:0]), "inner 3 dims of 'image.shape' must be > 0"),
        (lambda x: tf.image.transpose(x[0, 0]), "image"),
    ],
)
def test_images_that_cannot_be_changed(change: Callable[[Any], Any], text: str) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    with pytest.raises(ValueError, match=text):
        change(tf.constant(image))
    with pytest.raises(ValueError, match=text):
        _ = tf.data.Dataset.from_tensors(image).map(change).element_spec


def test_shapes_of_changed_images() -> None:
    def shape(change: Callable[[Any], Any], *sizes: int | None) -> Any:
        spec = tf.TensorSpec(list(sizes) or None, tf.uint8)
        data = tf.data.Dataset.from_generator(lambda: iter([]), output_signature=spec).map(change)
        known = data.element_spec.shape
        return None if known.rank is None else known.as_list()

    assert shape(lambda x: tf.image.rot90(x), 4, 6, 3) == [None, None, 3]
    assert shape(lambda x: tf.image.rot90(x), 4, 4, 3) == [4, 4, 3]
    assert shape(lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 9, 8)) == [9, 8, None]
    assert shape(lambda x: tf.image.central_crop(x, 0.5), None, 6, 3) == [None, 4, 3]
    assert shape(lambda x: tf.image.resize(x, [8, 8], preserve_aspect_ratio=True), 4, 6, 3) == [
        *(5, 8, 3)
    ]
    assert shape(lambda x: tf.image.resize(x, [8, -1]), None, None, 3) == [8, None, 3]


@pytest.mark.parametrize("known", [True, False])
def test_patterns_of_regular_expressions_are_scalars_under_both_faces(known: bool) -> None:
    texts, pattern, by = [b"a1b22", b"", b"333"], "[0-9]+", "#"
    given = (pattern, by) if known else (tf.constant(pattern), tf.constant(by))
    data = tf.data.Dataset.from_tensor_slices(texts)
    changed = data.map(lambda text: tf.strings.regex_replace(text, *given))
    assert [each.numpy() for each in changed] == [b"a#b#", b"", b"#"]
    matches = tf.strings.regex_full_match(tf.ragged.constant([texts[:1], texts[1:]]), given[0])
    assert matches.to_list() == [[False], [False, True]]
    with tf1.Graph().as_default(), tf1.Session() as session:
        old = given if known else (tf1.constant(pattern), tf1.constant(by))
        first = tf1.regex_replace(texts, old[0], old[1], replace_global=False)
        assert first.op.type == ("StaticRegexReplace" if known else "RegexReplace")
        assert session.run(first).tolist() == [b"a#b22", b"", b"#"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be scalar"):
        tf.strings.regex_full_match(texts, tf.constant([pattern] * 3))


def test_values_that_are_known_in_functions() -> None:
    def function(number: Any) -> Any:
        assert tf.get_static_value(number) is None
        return number + tf.get_static_value(tf.constant(2, tf.int64))

    assert list(tf.data.Dataset.range(2).map(function).as_numpy_iterator()) == [2, 3]


def test_pixels_are_worked_on_in_long_loops_as_one_by_one() -> None:
    for count in (1, 4_999, 5_040, 50_001):
        pixels = np.random.default_rng(count).random((count, 3), np.float32)
        scale, turn = np.array([2, 3, 5], np.float32), np.arange(9, dtype=np.float32).reshape(3, 3)
        assert np.array_equal(tf.constant(pixels) * scale, pixels * scale)
        assert np.array_equal(scale - tf.constant(pixels), scale - pixels)
        assert np.array_equal(1 - tf.constant(pixels), 1 - pixels)
        parts = [row @ turn for row in np.array_split(pixels, max(count // 64, 1))]
        assert np.allclose(tf.matmul(pixels, turn), np.concatenate(parts))
        assert np.array_equal(tf.matmul(pixels.astype(int), turn.astype(int)), np.zeros((count, 3)))
