# SPDX-License-Identifier: Apache-2.0
"""Distorting a block of images gives what distorting one after the other gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
import fastrec.compat.v2 as v2
from fastrec.compat._tf.kernels import pixels
from fastrec.compat.v1.lowering import BlockPlan, set_lowering

HEIGHT, WIDTH, RECORDS = 9, 8, 60


@pytest.fixture
def path(tmp_path: Path) -> str:
    pixels_ = np.random.RandomState(0).randint(0, 256, (RECORDS, HEIGHT * WIDTH * 3 + 1), np.uint8)
    pixels_[:, 0] = np.arange(RECORDS)
    name = tmp_path / "batch.bin"
    pixels_.tofile(name)
    return str(name)


def distorted(image: tf.Tensor) -> list[tf.Tensor]:
    """Distortions of the classic program, and others, of an image."""
    planes = tf.reshape(image, [3, HEIGHT, WIDTH])
    single = tf.cast(image, tf.float32)
    cut = tf.random_crop(single, [6, 5, 3], seed=1)
    flipped = tf.image.random_flip_left_right(cut, seed=2)
    lit = tf.image.random_brightness(flipped, max_delta=63, seed=3)
    sharp = tf.image.random_contrast(lit, lower=0.2, upper=1.8, seed=4)
    return [
        tf.image.per_image_standardization(sharp),
        tf.image.resize_image_with_crop_or_pad(image, 12, 4),
        tf.image.random_flip_up_down(image, seed=5),
        tf.image.convert_image_dtype(image, tf.float32),
        tf.image.resize_images(image, [4, 11]),
        tf.image.resize_images(single, [7, 5]),
        tf.image.resize_images(single, [7, 5], tf.image.ResizeMethod.BICUBIC),
        tf.image.resize_images(single, [7, 5], tf.image.ResizeMethod.NEAREST_NEIGHBOR),
        tf.image.random_contrast(image, 0.5, 1.5, seed=6),
        tf.slice(image, [1, 2, 0], [3, -1, 2]),
        # What is put off, in another order, twice, for two, of planes, and of other numbers.
        tf.image.random_brightness(sharp, max_delta=5, seed=7),
        tf.random_crop(lit, [3, 5, 2], seed=8),
        tf.image.random_flip_left_right(tf.image.random_flip_left_right(single, 9), 10),
        tf.image.random_flip_up_down(flipped, seed=11),
        tf.image.per_image_standardization(tf.transpose(planes, [1, 2, 0])),
        tf.image.per_image_standardization(image),
        tf.image.adjust_brightness(single, [1.0, 2.0, 3.0]),
        tf.image.adjust_contrast(single, 0.5),
        tf.slice(single, [1, 2, 0], [3, -1, 2]),
        tf.slice(tf.cast(planes, tf.float32), tf.cast(image[0, 0] % 2, tf.int32), [2, 4, 4]),
        lit * 2.0 - flipped,
        tf.cast(tf.cast(image, tf.float32), tf.int32),
    ]


def batches(
    path: str, lower: bool, changed: Callable[[tf.Tensor], list[tf.Tensor]] = distorted
) -> list[Any]:
    before = set_lowering(lower)
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            files = tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
            reader = tf.FixedLengthRecordReader(record_bytes=HEIGHT * WIDTH * 3 + 1)
            _, value = reader.read(files)
            raw = tf.decode_raw(value, tf.uint8)
            tf.set_random_seed(5)
            image = tf.reshape(tf.strided_slice(raw, [1], [217]), [HEIGHT, WIDTH, 3])
            outputs = [tf.cast(raw[0], tf.int32), *changed(image)]
            batch = tf.train.batch(outputs, 20, num_threads=1)
            session.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            found = [session.run(batch) for _ in range(RECORDS // 20)]
            coord.request_stop()
            coord.join(threads)
            return [np.concatenate(column) for column in zip(*found, strict=True)]
    finally:
        set_lowering(before)


def views(image: tf.Tensor) -> list[tf.Tensor]:
    """What is done to photographs, after a check."""
    with tf.control_dependencies([tf.Assert(tf.shape(image)[0] > 0, [image])]):
        single = tf.image.convert_image_dtype(image, tf.float32)
    cut = tf.random_crop(tf.image.resize_images(single, [150, 140]), [130, 135, 3], seed=1)
    flipped = tf.image.random_flip_left_right(cut, seed=2)
    lit = tf.cond(
        tf.random_uniform([], seed=6) < 0.4,
        lambda: tf.image.random_brightness(tf.image.random_contrast(flipped, 0.5, 2.0, 8), 0.3, 3),
        lambda: tf.image.random_saturation(flipped, 0.5, 2.0, seed=7),
    )
    return [tf.clip_by_value(lit, 0.0, 1.0) - 0.5, tf.reduce_mean(lit), tf.random_uniform([2])]


@pytest.mark.parametrize("limit", [0.0, float("inf")])
def test_large_images_are_the_same_on_blocks_and_on_single_records(
    path: str, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are processed by threads; in columns, if none takes longer than `limit`."""
    counts: list[int] = []
    real = BlockPlan._row_by_row

    def counted(self: Any, count: int, columns: Any, threads: bool) -> Any:
        counts.extend([count] if threads else [])
        return real(self, count, columns, threads)

    monkeypatch.setattr(BlockPlan, "_row_by_row", counted)
    monkeypatch.setattr("fastrec.compat._tf.width._SLOW", limit)
    quick, slow = batches(path, True, views), batches(path, False, views)
    assert len(counts) == 1 if limit else sum(counts) >= RECORDS > len(counts)
    for a, b in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_crop_that_does_not_fit_is_the_same_error_on_blocks(path: str) -> None:
    texts = []
    for lower in (True, False):
        before = set_lowering(lower)
        with tf.Graph().as_default(), tf.Session() as session:
            files = tf.train.string_input_producer([path], shuffle=False)
            _, value = tf.FixedLengthRecordReader(record_bytes=HEIGHT * WIDTH * 3 + 1).read(files)
            raw = tf.decode_raw(value, tf.uint8)
            image = tf.reshape(raw[1:], [HEIGHT, WIDTH, 3])
            where = tf.cast(raw[0:3], tf.int32)  # which grows from record to record
            part = tf.slice(tf.cast(image, tf.float32), where * [1, 0, 0], [4, 4, 3])
            batch = tf.train.batch([tf.reshape(part, [4, 4, 3])], 1)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            for _ in range(HEIGHT - 4 + 1):
                session.run(batch)
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(batch)
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                coord.join(threads)
            texts.append(caught.value.message)
        set_lowering(before)
    assert texts[0] == texts[1]


def test_distortions_are_the_same_on_blocks_and_on_single_records(path: str) -> None:
    quick, slow = batches(path, lower=True), batches(path, lower=False)
    assert quick[0].tolist() == list(range(RECORDS))
    for a, b in zip(quick, slow, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(24, 24, 3), (7, 5, 3), (9, 9, 1)])
def test_sums_over_an_image_do_not_depend_on_its_neighbours(shape: tuple[int, ...]) -> None:
    random = np.random.RandomState(0)
    block = (random.rand(16, *shape) * 255).astype(np.float32)
    factors = random.rand(16).astype(np.float32)
    whole = pixels.adjust_contrast(block, factors[:, None, None, None])
    each = [pixels.adjust_contrast(x, f) for x, f in zip(block, factors, strict=True)]
    np.testing.assert_array_equal(whole, np.stack(each))
    each = [pixels.standardized(x) for x in whole]
    np.testing.assert_array_equal(pixels.standardized(whole), np.stack(each))


def evaluated(image: tf.Tensor) -> Any:
    """What slim's Inception does to an image that it evaluates."""
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.central_crop(image, 0.875)
    image = tf.image.resize_bilinear(tf.expand_dims(image, 0), [99, 97], align_corners=False)
    return tf.multiply(tf.subtract(tf.squeeze(image, [0]), 0.5), 2.0)


def aligned(image: tf.Tensor) -> Any:
    image = tf.image.resize_images(tf.cast(image, tf.float32), [99, 97], align_corners=True)
    return tf.expand_dims(image / 255.0, 0)


@pytest.mark.parametrize("function", [evaluated, aligned])
def test_images_of_a_data_set_are_the_same_in_one_pass(function: Any) -> None:
    images = np.random.RandomState(1).randint(0, 256, (5, 150, 160, 3), np.uint8)
    found = []
    for lower in (True, False):
        before = v2.data.set_lowering(lower)
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                dataset = tf.data.Dataset.from_tensor_slices(images).map(function, 2)
                following = dataset.batch(5).make_one_shot_iterator().get_next()
                found.append(session.run(following))
        finally:
            v2.data.set_lowering(before)
    assert found[0].shape[0] == 5
    np.testing.assert_array_equal(*found)
