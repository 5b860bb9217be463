# SPDX-License-Identifier: Apache-2.0
"""Large arrays that are joined from slices, fills and arithmetic have the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.data.streams import pulled

RNG = np.random.default_rng(8)
MOST, WIDTHS = 80, (1000, 128)
VIDEOS = [[RNG.bytes(count * width) for width in WIDTHS] for count in (3, 80, 1, 140)]


def fitted(frames: Any, axis: int = 0) -> Any:
    """Of a size along a dimension: cut, or filled up with zeros."""
    sizes = tf.unstack(tf.shape(frames))
    kept, missing = list(sizes), list(sizes)
    kept[axis] = tf.minimum(sizes[axis], MOST)
    missing[axis] = tf.maximum(MOST - sizes[axis], 0)
    begin = [0] * len(sizes)
    parts = [tf.slice(frames, begin, kept), tf.fill(tf.stack(missing), tf.cast(0, frames.dtype))]
    whole = tf.concat(parts, axis)
    shape = frames.shape.as_list()
    shape[axis] = MOST
    whole.set_shape(shape)
    return whole


def frames_of(data: Any, width: int) -> Any:
    return tf.reshape(tf.cast(tf.io.decode_raw(data, tf.uint8), tf.float32), [-1, width])


def video(rgb: Any, audio: Any) -> Any:
    parts = [frames_of(part, width) for part, width in zip((rgb, audio), WIDTHS, strict=True)]
    count = tf.minimum(tf.shape(parts[0])[0], MOST)
    return tf.concat([fitted(part * (4.0 / 255.0) - 1.99) for part in parts], 1), count


def unscaled(rgb: Any, audio: Any) -> Any:
    return tf.concat([fitted(frames_of(rgb, 1000)), fitted(frames_of(audio, 128))], -1)


def with_means(rgb: Any, audio: Any) -> Any:
    frames = frames_of(rgb, 1000)
    return fitted((frames - tf.reduce_mean(frames, axis=0)) * tf.reduce_max(frames)), audio


def along_both(rgb: Any, _: Any) -> Any:
    wide = tf.reshape(frames_of(rgb, 1000), [-1, 100, 10]) + 0.5
    right = tf.concat([wide[:, :60], tf.zeros([tf.shape(wide)[0], 40, 10]) - wide[:, 60:]], 1)
    return fitted(tf.concat([right, wide * 2.0], 2))


def used_twice(rgb: Any, audio: Any) -> Any:
    scaled = frames_of(rgb, 1000) / 255.0
    return fitted(scaled), tf.reduce_sum(scaled, axis=1)[:1], tf.shape(scaled), audio


def compare(function: Callable[..., Any]) -> None:
    def values(made: Any) -> list[Any]:
        return list(made.as_numpy_iterator())

    data = tf.data.Dataset.from_tensor_slices(VIDEOS).map(lambda x: (x[0], x[1]))
    apart = [function(*map(tf.constant, each)) for each in VIDEOS]
    wanted = [
        tuple([part.numpy() for part in each]) if isinstance(each, tuple) else each.numpy()
        for each in apart
    ]
    for found in (values(data.map(function)), values(data.map(function, num_parallel_calls=2))):
        for one, other in zip(found, wanted, strict=True):
            pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
            for a, b in pairs:
                np.testing.assert_array_equal(a, b, strict=not isinstance(b, bytes))


@pytest.mark.parametrize("function", [video, unscaled, with_means, along_both, used_twice])
def test_values_are_those_of_one_operation_after_the_other(function: Callable[..., Any]) -> None:
    compare(function)


def test_what_does_not_fit_is_the_same_error() -> None:
    def function(rgb: Any, audio: Any) -> Any:
        frames = [frames_of(part, width) + 1.0 for part, width in ((rgb, 1000), (audio, 128))]
        return tf.reshape(tf.concat([*frames, tf.fill([tf.shape(frames[0])[0], 5], 1.0)], 0), [-1])

    def filled(rgb: Any, _: Any) -> Any:
        frames = frames_of(rgb, 1000) + 1.0
        return fitted(tf.concat([frames, tf.fill([1 - tf.shape(frames)[0], 1000], 0.0)], 0))

    data = tf.data.Dataset.from_tensor_slices(VIDEOS).map(lambda x: (x[0], x[1]))
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=r"[Dd]imension"):
        list(data.map(function))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Dimension -2 must be >= 0"):
        list(data.map(filled))


def test_what_is_made_in_place_waits_for_its_element() -> None:
    data = tf.data.Dataset.from_tensor_slices(VIDEOS).map(lambda x: (x[0], x[1]))
    compare_batches = [list(data.map(video).batch(size).as_numpy_iterator()) for size in (1, 4)]
    for at, (frames, count) in enumerate(compare_batches[0]):
        np.testing.assert_array_equal(frames[0], compare_batches[1][0][0][at], strict=True)
        assert count[0] == compare_batches[1][0][1][at]


def scaled(rgb: Any, audio: Any) -> Any:
    parts = [frames_of(part, width) * 0.5 for part, width in zip((rgb, audio), WIDTHS, strict=True)]
    joined = tf.concat(parts, 1)[:MOST]
    return joined, tf.shape(joined)[0]


@pytest.mark.parametrize("parallel", [None, 2])
@pytest.mark.parametrize("shape", [[MOST, None], [MOST, 1128], [MOST + 1, 1130]])
def test_large_elements_are_filled_up_where_their_batch_is(
    shape: list[int | None], parallel: int | None
) -> None:
    data = tf.data.Dataset.from_tensor_slices(VIDEOS * 2).map(lambda x: (x[0], x[1]))
    padded = data.map(scaled, parallel).padded_batch(3, (shape, []), (-2.0, 0))
    for _ in range(2):
        rows = [row for batch, _ in padded.as_numpy_iterator() for row in batch]
        for row, each in zip(rows, VIDEOS * 2, strict=True):
            wanted = scaled(*map(tf.constant, each))[0].numpy()
            height, width = wanted.shape
            np.testing.assert_array_equal(row[:height, :width], wanted)
            assert row.shape == (shape[0], shape[1] or 1128)
            assert (row[height:] == -2.0).all()
            assert (row[:, width:] == -2.0).all()


@pytest.mark.parametrize("shape", [[139, None], [200, 1127], [200, 1128, 1]])
def test_large_elements_that_are_too_large_for_their_batch_are_errors(shape: list[int]) -> None:
    def whole(rgb: Any, audio: Any) -> Any:
        return tf.concat([frames_of(rgb, 1000) + 0.0, frames_of(audio, 128) + 0.0], 1)

    data = tf.data.Dataset.from_tensor_slices(VIDEOS).map(lambda x: (x[0], x[1])).map(whole, 2)
    with pytest.raises((tf.errors.DataLossError, ValueError), match=r"pad to a smaller|compatible"):
        list(data.padded_batch(4, shape))


def test_arrays_of_unknown_size_that_become_large_have_the_same_values() -> None:
    def padded(rgb: Any, audio: Any) -> Any:
        joined = tf.concat([frames_of(rgb, 1000), frames_of(audio, 128)], 1)[:MOST] / 255.0
        whole = tf.pad(joined, [[0, MOST - tf.shape(joined)[0]], [0, 0]])
        whole.set_shape([MOST, 1128])
        return whole

    compare(padded)


def test_blocks_of_large_elements_are_as_many_as_a_cache_has_room_for() -> None:
    def wide(count: Any) -> Any:
        return tf.ones([count, 40000]) * 2.0 + tf.cast(count, tf.float32)

    counts = [2, 3, 5, 2, 4, 3, 2, 2, 6, 3] * 7
    data = tf.data.Dataset.from_tensor_slices(np.array(counts, np.int32)).map(wide)
    sizes = [rows.count for rows in pulled(data._node.start(32), 32)]
    assert sizes[0] == 32
    assert sum(sizes) == len(counts)
    assert max(sizes[1:]) < 16
    for each, count in zip(data.as_numpy_iterator(), counts, strict=True):
        np.testing.assert_array_equal(each[:, ::9999], np.full((count, 5), 2.0 + count, "f"))


@pytest.mark.parametrize("shuffled", [False, True])
def test_small_images_of_unknown_sizes_are_the_same_with_and_without_optimisation(
    shuffled: bool,
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (70, 12, 10, 3), np.uint8)

    def decoded(file: Any) -> Any:
        return tf.ensure_shape(tf.io.decode_raw(file, tf.uint8), [None])

    def cropped(image: Any) -> Any:
        image = tf.pad(tf.reshape(image, [-1, 10, 3]), [[2, 2], [2, 2], [0, 0]], "REFLECT")
        return tf.image.random_crop(image, [tf.shape(image)[0] - 4, 10, 3], seed=4)

    def rows() -> Any:
        data = tf.data.Dataset.from_tensor_slices([image.tobytes() for image in images])
        data = data.map(decoded)
        return (data.repeat(2).shuffle(9, seed=1) if shuffled else data).map(cropped, 2)

    both: list[list[Any]] = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        both.append([*rows().batch(20).as_numpy_iterator(), *rows().take(25).as_numpy_iterator()])
        tf.data.set_lowering(before)
    for a, b in zip(*both, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def test_errors_of_images_that_are_found_to_be_small_come_in_their_places() -> None:
    files = [bytes(360 if at != 21 else 361) for at in range(40)]
    data = tf.data.Dataset.from_tensor_slices(files).map(lambda f: tf.io.decode_raw(f, tf.uint8))
    shuffled = data.shuffle(1).map(
        lambda image: tf.pad(tf.reshape(image, [-1, 10, 3]), [[1, 1]] * 3)
    )
    rows = iter(shuffled)
    assert [next(rows).shape for _ in range(21)] == [(14, 12, 5)] * 21
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
        next(rows)
    assert [row.shape for row in rows] == [(14, 12, 5)] * 18


def test_images_that_are_found_to_be_large_are_not_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = [(200, 210), (3, 4), (201, 190), (5, 6)] * 3

    def refused(*_: Any) -> None:
        raise AssertionError("large images in a block")

    def made(size: Any) -> Any:
        return tf.ones([size[0], size[1], 3])

    def flipped(image: Any) -> Any:
        return tf.reverse(tf.pad(image, [[1, 1], [1, 1], [0, 0]]), [1])

    data = tf.data.Dataset.from_tensor_slices(sizes).map(made).map(flipped)
    with monkeypatch.context() as patched:
        patched.setattr(Map, "_of_rows", refused)
        found = [image.shape for image in data.take(1)]
    assert found == [(202, 212, 3)]
    assert [image.shape[:2] for image in data] == [(h + 2, w + 2) for h, w in sizes]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0), (2, 1), (1, 1, 0)], ids=str)
def test_images_come_to_their_own_place_of_a_batch(order: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).random((8, 200, 200, 3)).astype(np.float32)

    def changed(image: Any) -> Any:
        small = tf.image.resize(image, [150, 150])
        found = small, tf.image.resize(image, [150, 150]) * 2.0, tf.reduce_sum(image)
        return tuple([found[at] for at in order])

    batches = list(tf.data.Dataset.from_tensor_slices(images).map(changed).batch(3))
    for part in range(len(order)):
        got = np.concatenate([np.asarray(batch[part]) for batch in batches])
        each = [np.asarray(changed(tf.constant(image))[part]) for image in images]
        assert np.array_equal(got, np.stack(each))
