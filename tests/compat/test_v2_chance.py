# SPDX-License-Identifier: Apache-2.0
"""Draws of dataset functions in ``fastrec.compat.v2`` are TensorFlow 2.21's own numbers."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from v2_image_programs import PROGRAMS
from v2_programs import results

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.batching import Batch
from fastrec.compat._tf.data.mapping import EagerMap
from fastrec.compat._tf.data.streams import Each
from fastrec.compat._tf.ops import Op
from fastrec.compat._tf.tracing.recording import run


@pytest.mark.parametrize("name", PROGRAMS)
def test_images_are_the_same_one_by_one_and_in_blocks(name: str) -> None:
    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            found.append(results(tf, PROGRAMS[name], ""))
        finally:
            tf.data.set_lowering(before)
    assert found[0] == found[1]


def without_source(function: Any) -> types.FunctionType:
    """A function of which nobody knows how it is written."""
    code = function.__code__.replace(co_filename="nowhere")
    return types.FunctionType(code, function.__globals__, closure=function.__closure__)


def rounded(values: Any) -> list[float]:
    return [round(float(value), 6) for value in values]


def test_a_function_draws_anew_for_each_element() -> None:
    tf.random.set_seed(0)
    drawn = tf.data.Dataset.range(3).map(lambda i: tf.random.uniform([]))
    assert rounded(drawn) == [0.019757, 0.540031, 0.516678]
    assert rounded(drawn) == [0.019757, 0.540031, 0.516678]  # and so does another iteration
    normal = tf.data.Dataset.range(3).map(lambda i: tf.random.normal([], seed=3))
    assert rounded(normal) == [-1.409554, -0.174399, -1.183044]


def turned(i: Any) -> Any:
    if tf.random.uniform(()) > 0.5:
        i = -i
    return i


@pytest.mark.parametrize("threads", [None, 4])
def test_an_if_on_what_was_drawn_is_decided_for_each_element(threads: int | None) -> None:
    tf.random.set_seed(0)
    found = [int(i) for i in tf.data.Dataset.range(1, 13).map(without_source(turned), threads)]
    assert list(map(abs, found)) == list(range(1, 13))
    if threads is None:
        assert found == [1, -2, -3, 4, 5, 6, 7, -8, -9, -10, -11, 12]
    else:  # who draws first is not decided, as in TensorFlow
        assert sum(i < 0 for i in found) == 6


def pasted(i: Any) -> Any:
    """An image of its number, of which a box of any size is another's."""
    size = tf.random.uniform([], 0, 5, tf.int32, seed=4)
    if size == 0:
        size += 1
    begin = size // 2
    image = tf.fill([8, 8, 3], tf.cast(i, tf.float32))
    part = tf.image.crop_to_bounding_box(image + 1.0, begin, 0, size, size)
    return image + tf.image.pad_to_bounding_box(part, begin, 0, 8, 8)


def test_elements_of_a_batch_are_decided_at_once_after_a_shuffle() -> None:
    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            tf.random.set_seed(3)
            numbers = tf.data.Dataset.range(50).shuffle(20, seed=1)
            elements = numbers.map(without_source(pasted), 2 if fast else None)
            assert isinstance(elements._node, EagerMap)
            assert elements._node._branches is not None
            assert elements._node._branches.are_small()
            batches = elements.batch(8)
            assert isinstance(batches._node, Batch)
            assert isinstance(elements._node.start(8), Each) != fast
            found.append([x.tolist() for x in batches.as_numpy_iterator()])
        finally:
            tf.data.set_lowering(before)
    assert found[0] == found[1]


def test_ways_through_a_function_are_traced_once_each() -> None:
    calls = []

    def change(i: Any) -> Any:
        calls.append(i)
        if i % 2 == 0:
            return i
        return -i if i > 50 else i * 2

    found = [int(i) for i in tf.data.Dataset.range(100).map(without_source(change))]
    assert found == [i if i % 2 == 0 else -i if i > 50 else i * 2 for i in range(100)]
    assert len(calls) < 10


def test_a_loop_of_many_turns_is_gone_through_with_values() -> None:
    def count(i: Any) -> Any:
        found = tf.constant(0, tf.int64)
        while found < i:
            found = found + 1
        return found

    assert [int(i) for i in tf.data.Dataset.range(90).map(count)] == list(range(90))


def test_an_error_on_one_way_comes_with_its_element() -> None:
    pytest.importorskip("PIL")

    def check(i: Any) -> Any:
        if i > 2:
            return tf.io.decode_png(tf.constant(b"none"))
        return tf.zeros([1, 1, 3], tf.uint8)

    found = iter(tf.data.Dataset.range(5).map(check))
    assert [next(found).shape for _ in range(3)] == [(1, 1, 3)] * 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        next(found)


def test_what_a_function_of_python_does_is_done_once_an_element() -> None:
    done: list[int] = []

    def note(i: Any) -> Any:
        def seen(x: Any) -> Any:
            done.append(int(x))
            return x

        noted = tf.py_function(seen, [i], tf.int64)
        return noted if i > 1 else i

    assert [int(i) for i in tf.data.Dataset.range(4).map(note)] == [0, 1, 2, 3]
    assert done == [0, 1, 2, 3]


@pytest.mark.parametrize("change", [turned, lambda i: (i, tf.random.uniform([], seed=1))])
def test_what_is_repeated_is_drawn_anew(change: Any) -> None:
    tf.random.set_seed(0)
    found = [str(x) for x in tf.data.Dataset.range(20).map(change).repeat(2).prefetch(2)]
    assert found[:20] != found[20:]


def test_without_seeds_every_iteration_draws_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fastrec.compat._tf.seeds._Global.seed", None)
    drawn = tf.data.Dataset.range(5).map(lambda i: tf.random.uniform([]))
    assert len({*rounded(drawn), *rounded(drawn)}) == 10


def test_operations_of_one_seed_go_on_outside_of_data_sets() -> None:
    tf.random.set_seed(0)
    assert rounded(tf.random.uniform([2], seed=1)) == [0.53973, 0.10494]
    assert rounded(tf.random.uniform([2], seed=1)) == [0.430893, 0.356949]
    assert tf.random.uniform([3], 0, 100, tf.int64).numpy().tolist() == [57, 3, 51]
    assert rounded(tf.random.stateless_uniform([2], [1, 2])) == [0.84406, 0.192045]


def test_filters_draw_for_each_element() -> None:
    kept = tf.data.Dataset.range(200).filter(lambda i: tf.random.uniform([], seed=1) < 0.5)
    assert 60 < len(list(kept)) < 140


def test_many_threads_give_the_draws_of_one() -> None:
    def crop(i: Any) -> Any:
        image = tf.reshape(tf.range(300) + tf.cast(i, tf.int32), [10, 10, 3])
        return tf.image.random_crop(image, [4, 4, 3], seed=2)

    found = [
        [x.tolist() for x in tf.data.Dataset.range(90).map(crop, threads).as_numpy_iterator()]
        for threads in (None, 1, 8)
    ]
    assert found[0] == found[1] == found[2]


def test_settings_that_change_a_resize_are_not_ignored() -> None:
    image = np.arange(6 * 7 * 3, dtype=np.uint8).reshape(6, 7, 3)
    plain = tf.image.resize(image, (3, 3)).numpy()
    assert not np.allclose(plain, tf.image.resize(image, (3, 3), antialias=True))
    assert not np.allclose(plain, tf.image.resize(image, (3, 3), "area"))
    assert tf.image.resize(image, (6, 6), preserve_aspect_ratio=True).shape == (5, 6, 3)
    with pytest.raises(ValueError, match="is not implemented"):
        tf.image.resize(image, (3, 3), "cubic")


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "area", "lanczos3", "nearest"])
@pytest.mark.parametrize("keeps_the_cast", [False, True])
def test_bytes_cast_to_floats_before_a_resize_give_the_same(
    method: str, keeps_the_cast: bool
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 9, 17, 3), np.uint8)

    def scaled(image: Any) -> Any:
        single = tf.cast(image, tf.float32)
        smaller = tf.image.resize(single, [5, 7], method)
        return (smaller, single) if keeps_the_cast else (smaller, tf.shape(smaller))

    found = list(tf.data.Dataset.from_tensor_slices(images).map(scaled))
    for image, (smaller, beside) in zip(images, found, strict=True):
        expected, _ = scaled(tf.constant(image))
        assert smaller.dtype == tf.float32
        assert np.array_equal(smaller, expected)
        assert np.array_equal(beside, image) if keeps_the_cast else list(beside) == [5, 7, 3]


def test_what_comes_before_a_question_is_done_once() -> None:
    calls: list[float] = []

    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(float(x))
        return x * 2

    op = Op("Counted", counted, lambda specs, _: [specs[0]])

    def change(x: Any) -> Any:
        doubled = run(op, [tf.cast(x, tf.float32)]) + tf.random.uniform([])
        if doubled > 4:
            doubled = doubled + tf.random.uniform([])
        return -doubled if doubled > 8 else doubled

    found = [float(x) for x in tf.data.Dataset.range(8).map(without_source(change))]
    assert calls == [float(n) for n in range(8)]
    assert [0 <= x < 4 for x in found[:2]] == [True, True]
    assert all(x < -8 for x in found[4:])


@pytest.mark.parametrize("late", [None, "for any", "for some"])
def test_ways_draw_the_same_in_blocks_and_one_by_one(late: str | None) -> None:
    def change(x: Any) -> Any:
        chance = tf.random.uniform([], seed=3) + tf.random.gamma([], 0.5, seed=4)
        if chance > 0.7:
            chance = -chance * tf.cast(x, tf.float32)
            if late == "for any":
                chance -= tf.random.uniform([], seed=5)
        elif late == "for some" and x == 40:
            chance += tf.random.uniform([], seed=5)
        return chance

    numbers = tf.data.Dataset.range(70).map(without_source(change))
    assert isinstance(numbers._node.start(16), Each) == (late == "for any")
    blocks = [float(x) for batch in numbers.batch(16) for x in batch]
    assert blocks == [float(x) for x in numbers]
    assert len(set(blocks)) == 70
    assert min(blocks) < 0 < max(blocks)


def test_uses_of_a_shuffle_draw_their_seeds_when_they_start() -> None:
    tf.random.set_seed(11)
    parts = [
        tf.data.Dataset.range(30).filter(lambda x, k=k: x % 3 == k).repeat().shuffle(5, seed=k)
        for k in range(3)
    ]
    chosen = tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.range(3).repeat(10))
    pairs = tf.data.Dataset.zip((chosen, chosen.skip(1))).take(6)
    expected = [(3, 4), (10, 11), (14, 0), (0, 13), (13, 5), (2, 15)]
    assert [(int(a), int(b)) for a, b in pairs] == expected
