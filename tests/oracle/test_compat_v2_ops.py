# SPDX-License-Identifier: Apache-2.0
"""The same operations, and the same mistakes, under TensorFlow and ``fastrec.compat.v2``."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compat_expressions import eager_outcome, edges
from v2_programs import Program, features, numbers, plain, write

import fastrec
import fastrec.compat.v2 as ours


def _pixels(tf: Any, count: int) -> Any:
    return tf.reshape(tf.cast(tf.range(count * 3), tf.float32) % 251 / 251, [-1, 3])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("v2") / "rows.tfrecord")


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "constants": lambda tf: [
        tf.constant(1),
        tf.constant(1.5),
        tf.constant("a"),
        tf.constant([[True]]),
        tf.constant(3, shape=[2, 2]),
    ],
    "arithmetic": lambda tf: [
        tf.constant([5, -5]) // 2,
        tf.constant([5, -5]) % 3,
        tf.constant([5, -5]) / 2,
        2 - tf.constant([1.5]),
        -tf.constant(3),
        tf.constant([1, 2]) ** 2,
    ],
    "channels of a long list of pixels": lambda tf: [
        tf.matmul(_pixels(tf, 50_001), [[0.4, 0.2, 0.01], [0.3, 0.7, 0.1], [0.2, 0.07, 0.9]]),
        _pixels(tf, 5_040) * [1 / 0.95, 1.0, 1 / 1.08],
        1.0 - _pixels(tf, 50_001) / [12.92, 3.0, 7.0],
        tf.maximum(_pixels(tf, 4_999), [0.25, 0.5, 0.75]),
        _pixels(tf, 50_001) - _pixels(tf, 50_001)[0],
    ],
    "uint8 wraps": lambda tf: tf.constant([200], tf.uint8) + tf.constant([100], tf.uint8),
    "casts": lambda tf: [
        tf.cast([1.7, -1.7], tf.int32),
        tf.cast([0, 2], tf.bool),
        tf.saturate_cast([-5.0, 300.0], tf.uint8),
    ],
    "comparisons": lambda tf: [
        tf.constant([1, 2]) > 1,
        tf.constant([1, 2]) == [1, 3],
        tf.logical_not(tf.constant(True)),
    ],
    "slices": lambda tf: [
        tf.range(10)[2:8:3],
        tf.range(10)[-1],
        tf.reshape(tf.range(12), [3, 4])[:, 1],
        tf.constant([1, 2])[tf.newaxis, :],
    ],
    "shapes": lambda tf: [
        tf.shape(tf.zeros([2, 3])),
        tf.size(tf.zeros([2, 3])),
        tf.rank(tf.zeros([2, 3])),
        tf.expand_dims([1, 2], -1),
        tf.squeeze([[1], [2]]),
    ],
    "joining": lambda tf: [
        tf.concat([[1], [2, 3]], 0),
        tf.stack([[1, 2], [3, 4]], axis=1),
        tf.tile([[1, 2]], [2, 2]),
        tf.pad([[1]], [[1, 0], [0, 2]]),
    ],
    "picking": lambda tf: [
        tf.gather([5, 6, 7], [2, 0]),
        tf.where([True, False, True]),
        tf.boolean_mask([1, 2, 3], [True, False, True]),
        tf.where([True, False], [1, 2], [3, 4]),
    ],
    "hot": lambda tf: [
        tf.one_hot([0, 2, -1], 3),
        tf.one_hot(1, 3, on_value=5, off_value=-1),
        tf.one_hot([0, 1], 2, axis=0, dtype=tf.int32),
    ],
    "reductions": lambda tf: [
        tf.reduce_sum([[1, 2], [3, 4]], 0),
        tf.reduce_mean([1, 2]),
        tf.reduce_mean([1.0, 2.0]),
        tf.reduce_max([[1, 5], [3, 4]], axis=1, keepdims=True),
        tf.argmax([3, 9, 1]),
        tf.reduce_all([True, False]),
    ],
    "ranges": lambda tf: [
        tf.range(3),
        tf.range(1, 7, 2),
        tf.range(3.0),
        tf.fill([2], 7),
        tf.ones([2], tf.int64),
        tf.zeros([1], tf.string),
    ],
    "strings": lambda tf: [
        tf.strings.length(["ab", ""]),
        tf.strings.join([["a"], "b"], "-"),
        tf.strings.substr("hello", 1, 3),
        tf.strings.to_number(["1", "2.5"]),
        tf.strings.lower("AbC"),
        tf.strings.split("a b  c"),
        tf.strings.split(["a,b", ""], ","),
        tf.strings.as_string([1, 2]),
        tf.strings.regex_replace("a1b2", "[0-9]", "_"),
    ],
    "raw": lambda tf: [
        tf.io.decode_raw([b"\x01\x02", b"\x03\x04"], tf.uint16, little_endian=False),
        tf.io.decode_raw(b"abc", tf.uint8, fixed_length=5),
        tf.io.decode_raw(b"", tf.float32),
    ],
    "protos": lambda tf: [
        tf.io.serialize_tensor(v)
        for v in (
            [1, 2],
            [[1.5]],
            ["a", "bc"],
            np.zeros((0, 2)),
            True,
            np.uint8(3),
            np.float16(1.5),
            "",
            7,
        )
    ],
    "sparse protos": lambda tf: [
        tf.io.serialize_sparse(tf.SparseTensor([[0, 1]], [5], [2, 3])),
        tf.io.serialize_many_sparse(tf.SparseTensor([[0, 1], [2, 0]], ["ab", "c"], [4, 2])),
        tf.io.deserialize_many_sparse(
            [tf.io.serialize_sparse(tf.SparseTensor([[n]], [n], [n + 1])) for n in range(3)],
            tf.int32,
            rank=2,
        ),
    ],
    "sparse": lambda tf: [
        tf.sparse.to_dense(tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3]), -1),
        tf.sparse.from_dense([[0, 1], [2, 0]]),
    ],
    "ragged": lambda tf: [
        tf.ragged.constant([[1, 2], [], [3]]),
        tf.ragged.constant([[1, 2], [], [3]]).to_tensor(),
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3]).row_lengths(),
        tf.ragged.constant([[[1], []], [[2, 3]]]),
    ],
    "ragged arithmetic": lambda tf: [
        operation(tf.ragged.constant([[1], [2, 3], []]))
        for operation in (
            lambda rows: rows + 1,
            lambda rows: 10 - rows,
            lambda rows: rows * rows,
            lambda rows: rows > 1,
            lambda rows: -tf.cast(rows, tf.float32),
            lambda rows: tf.reduce_sum(rows, axis=1),
            lambda rows: tf.reduce_max(rows, axis=1),
            lambda rows: tf.reduce_sum(rows),
            lambda rows: str(rows),
            lambda rows: tf.ragged.map_flat_values(tf.square, rows),
        )
    ],
    "ragged made of others": lambda tf: [
        tf.RaggedTensor.from_tensor([[1, 0], [2, 3]], padding=0),
        tf.RaggedTensor.from_tensor([[1, 0], [2, 3]], lengths=[1, 2]),
        tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 2], [3, 0]])),
        tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2]),
        tf.ragged.stack([[1, 2], [3]]),
        tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]),
    ],
    "in order": lambda tf: [
        tf.cumsum([[1, 2], [3, 4]], axis=1),
        tf.math.cumsum([1.0, 2.0, 3.0], exclusive=True, reverse=True),
        tf.sort([3, 1, 2]),
        tf.sort([3, 1, 2], direction="DESCENDING"),
        tf.argsort([3, 1, 2, 1], stable=True),
        list(tf.math.top_k([1, 3, 2, 3], 2)),
        list(tf.unique([b"a", b"b", b"a"])),
        tf.repeat([[1, 2]], 2, axis=1),
        tf.repeat([1, 2], [2, 0]),
        tf.roll([1, 2, 3], 1, 0),
        tf.sequence_mask([1, 3], 4),
        tf.sequence_mask([[1], [2]], dtype=tf.int32),
        tf.linspace(0.0, 1.0, 3),
        tf.eye(2),
    ],
    "picked in batches": lambda tf: [
        tf.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1),
        tf.gather([[1, 2], [3, 4]], [1], axis=-1),
        tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]),
        tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1]),
        tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True),
        tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=-1, separator="-"),
    ],
    "nests": lambda tf: [
        tf.nest.flatten({"b": [1, 2], "a": (3,)}),
        tf.nest.map_structure(lambda x: x + 1, {"b": [1, 2], "a": 3}),
    ],
    "csv": lambda tf: tf.io.decode_csv(['1,"a,b",', "2,c,3.5"], [[0], [""], [1.5]]),
    "flips": lambda tf: [
        tf.image.flip_left_right(_image(tf)),
        tf.image.flip_up_down(_image(tf)),
        tf.image.transpose(_image(tf)),
        tf.image.rot90(_image(tf)),
    ],
    "crops": lambda tf: [
        tf.image.resize_with_crop_or_pad(_image(tf), 3, 9),
        tf.image.crop_to_bounding_box(_image(tf), 1, 2, 2, 2),
        tf.image.central_crop(_image(tf), 0.5),
    ],
    "light": lambda tf: [
        tf.image.convert_image_dtype(_image(tf), tf.float32),
        tf.image.adjust_brightness(_image(tf), 0.1),
        tf.image.per_image_standardization(_image(tf)),
        tf.image.rgb_to_grayscale(_image(tf)),
    ],
    "resizing": lambda tf: [
        tf.image.resize(_image(tf), [7, 3]),
        tf.image.resize(_image(tf), [2, 9], method="nearest"),
    ],
    "png": lambda tf: [
        tf.io.decode_png(tf.io.encode_png(_image(tf))),
        tf.io.decode_image(tf.io.encode_png(_image(tf)), channels=1),
    ],
    "clip": lambda tf: [
        tf.clip_by_value([-1.0, 0.5, 2.0], 0.0, 1.0),
        tf.maximum([1, 5], 3),
        tf.round([0.5, 1.5, -0.5]),
        tf.math.floormod(-7, 3),
    ],
}


def _image(tf: Any) -> Any:
    return tf.constant(np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3) * 4)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(tf: Any, name: str) -> None:
    assert plain(EXPRESSIONS[name](ours)) == plain(EXPRESSIONS[name](tf))


FUNCTIONS = ("exp", "log", "log1p", "expm1", "tanh", "sigmoid", "sin", "cos", "rsqrt", "sign")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rows", [1, 50])
def test_functions_of_floats_are_to_the_bit(tf: Any, name: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    any_bits = rng.integers(0, 1 << 32, 40_000, np.uint32).view(np.float32)
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 88.73, -104], np.float32)
    given = [any_bits, rng.normal(0, 8, 40_000), rng.normal(0, 4000, 1_003), edges, [0.3]]

    def program(tf: Any) -> list[Any]:
        function = getattr(tf.math, name)
        if rows == 1:
            return [function(tf.constant(x, tf.float32)).numpy() for x in given]
        found = []
        for x in given:
            values = np.broadcast_to(np.asarray(x, np.float32), (rows, len(x)))[:, :500]
            source = tf.data.Dataset.from_tensor_slices(values)
            found += [each.numpy() for each in source.map(function)]
        return found

    for mine, theirs in zip(program(ours), program(tf), strict=True):
        different = mine.view(np.int32) != theirs.view(np.int32)
        assert not (different & ~(np.isnan(mine) & np.isnan(theirs))).any()


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [1, 2, 255, 256])
def test_sound_has_the_frequencies_that_tensorflow_finds(
    tf: Any, length: int, periodic: bool
) -> None:
    sound = np.random.default_rng(length).normal(size=(3, 1000)).astype(np.float32)

    def program(tf: Any) -> list[Any]:
        signal = tf.signal
        window = lambda n, dtype: signal.hamming_window(n, periodic, dtype)  # noqa: E731
        found = [signal.hann_window(length, periodic), signal.frame(sound, length, 7, True, 3.0)]
        found += [signal.stft(sound, length, 100, pad_end=periodic), signal.rfft(sound)]
        found += [signal.stft(sound, length, 100, 300, window), signal.fft(sound)]
        found += [signal.dct(sound), signal.dct(sound, norm="ortho"), signal.irfft(found[2], [6])]
        found += [signal.mfccs_from_log_mel_spectrograms(sound)]
        found += [signal.linear_to_mel_weight_matrix(80, 513, 16000, 80.0, 7600.0)]
        return [each.numpy() for each in found]

    for mine, theirs in zip(program(ours), program(tf), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        scale = np.abs(theirs).max(initial=1)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-5 * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", edges())
def test_arguments_at_the_edge(tf: Any, expression: str) -> None:
    theirs = eager_outcome(tf, tf.errors, expression)
    assert str(eager_outcome(ours, tf.errors, expression)) == str(theirs)


FAILURES: dict[str, Program] = {
    "missing": lambda tf, p: tf.io.parse_single_example(b"", features(tf)),
    "missing in a batch": lambda tf, p: tf.io.parse_example([b"", b""], features(tf)),
    "not an Example": lambda tf, p: tf.io.parse_single_example(b"\x0a\x05abc", features(tf)),
    "another type": lambda tf, p: list(
        tf.data.TFRecordDataset(p)
        .map(
            lambda r: tf.io.parse_single_example(
                r, {"label": tf.io.FixedLenFeature([], tf.float32)}
            )
        )
        .batch(4)
    ),
    "another count": lambda tf, p: list(
        tf.data.TFRecordDataset(p).map(
            lambda r: tf.io.parse_single_example(r, {"x": tf.io.FixedLenFeature([2], tf.float32)})
        )
    ),
    "unequal batch": lambda tf, p: list(numbers(tf, 4).map(lambda i: tf.range(i)).batch(3)),
    "no such file": lambda tf, p: list(tf.data.TFRecordDataset(p + "-none")),
    "a directory": lambda tf, p: list(tf.data.TFRecordDataset(str(Path(p).parent))),
    "raw sizes": lambda tf, p: tf.io.decode_raw([b"ab", b"c"], tf.uint8),
    "raw rest": lambda tf, p: tf.io.decode_raw([b"abc"], tf.uint16),
    "types": lambda tf, p: tf.constant(1) + tf.constant(1.0),
    "shuffle of nothing": lambda tf, p: list(numbers(tf).shuffle(0)),
    "shard out of range": lambda tf, p: list(numbers(tf).shard(3, 3)),
    "another type after": lambda tf, p: numbers(tf).concatenate(tf.data.Dataset.from_tensors(1)),
    "kept by a number": lambda tf, p: numbers(tf).filter(lambda i: i),
    "rows of scalars": lambda tf, p: numbers(tf).unbatch(),
    "filled up with another type": lambda tf, p: numbers(tf).padded_batch(2, padding_values=9),
    "windows of nothing": lambda tf, p: (
        numbers(tf).group_by_window(lambda i: i, lambda key, rows: rows, 0).get_single_element()
    ),
    "half a batch": lambda tf, p: numbers(tf).batch(2.5),
    "length unknown": lambda tf, p: len(tf.data.TFRecordDataset(p)),
    "length infinite": lambda tf, p: len(numbers(tf).repeat()),
    "gather": lambda tf, p: tf.gather([1, 2], [5]),
    "parse tensor": lambda tf, p: tf.io.parse_tensor(tf.io.serialize_tensor([1]), tf.float32),
    "constant": lambda tf, p: tf.constant(1.5, tf.int64),
}


def sequences(context: Any, frames: Any, *records: bytes) -> Program:
    def program(tf: Any, _: str) -> Any:
        fixed = {"c": tf.io.FixedLenFeature([2], tf.float32, **context)}
        lists = {"a": tf.io.FixedLenSequenceFeature([2], tf.int64, **frames)}
        names = list("xyz"[: len(records)])
        return tf.io.parse_sequence_example(list(records), fixed, lists, names)

    return program


def _record(context: Any, lists: Any) -> bytes:
    return fastrec.encode_sequence_example(context, lists)


_GOOD = _record({"c": [1.0, 2.0]}, {"a": [[1, 2], [3, 4]]})
FAILURES |= {
    "no context": sequences({}, {}, _record({}, {"a": [[1, 2]]})),
    "no context beside one": sequences({}, {}, _GOOD, _record({}, {"a": [[1, 2]]})),
    "short context": sequences({}, {}, _GOOD, _record({"c": [1.0]}, {"a": [[1, 2]]})),
    "integers in the context": sequences({}, {}, _record({"c": [1, 2]}, {"a": [[1, 2]]})),
    "no feature list": sequences({}, {}, _GOOD, _record({"c": [1.0, 2.0]}, {})),
    "floats in a frame": sequences({}, {}, _record({"c": [1.0, 2.0]}, {"a": [[1.5, 2.5]]})),
    "an uneven total": sequences({}, {}, _record({"c": [1.0, 2.0]}, {"a": [[1, 2], [3]]})),
    "uneven frames": sequences({}, {}, _record({"c": [1.0, 2.0]}, {"a": [[1], [2, 3, 4]]})),
    "no SequenceExample": sequences({}, {}, _GOOD, b"\x0a\x05abc"),
}


def raised(tf: Any, theirs: Any, program: Program, path: str) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        program(tf, path)
    error: Any = caught.value
    names = [kind.__name__ for kind in type(error).__mro__]
    kind = next(n for n in names if hasattr(theirs.errors, n) or hasattr(builtins, n))
    return kind, str(getattr(error, "message", error))


@pytest.mark.parametrize("name", FAILURES)
def test_failures(tf: Any, path: str, name: str) -> None:
    kind, text = raised(ours, tf, FAILURES[name], path)
    expected, theirs = raised(tf, tf, FAILURES[name], path)
    assert kind == expected
    # TensorFlow numbers the transformation that it names, if it has not made another one of it;
    # which two elements it compares first is a matter of its threads.
    text = text.rpartition("Iterator::Root::Map: ")[2]
    assert text.split(" [Op")[0].split("Shapes are")[0] in theirs
