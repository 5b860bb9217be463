# SPDX-License-Identifier: Apache-2.0
"""Images whose size is known only from the data run in columns if the first one is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf


def coarse(pixels: Any, size: Any) -> Any:
    """Return an image of an unknown size, with half of its resolution."""
    image = tf.cast(tf.reshape(pixels, tf.stack([size, size, 3])), tf.float32)
    half = tf.reshape(image, tf.stack([size // 2, 2, size // 2, 2, 3]))
    return tf.reduce_mean(half, axis=[1, 3])


def images(sizes: list[int]) -> Any:
    draw = np.random.default_rng(1)
    rows = [draw.integers(0, 256, size * size * 3, np.uint8).tobytes() for size in sizes]
    return tf.data.Dataset.from_tensor_slices((rows, sizes))


def mapped(data: Any) -> Any:
    return data.map(lambda row, size: coarse(tf.io.decode_raw(row, tf.uint8), size))


def results(make: Callable[[], Any], fast: bool) -> list[Any]:
    before = tf.data.set_lowering(fast)
    found = []
    try:
        iterator = iter(make())
        while True:
            try:
                found.append(next(iterator).numpy().tolist())
            except StopIteration:
                return found
            except tf.errors.InvalidArgumentError as error:
                found.append(error.message)
    finally:
        tf.data.set_lowering(before)


@pytest.mark.parametrize(("size", "is_large"), [(8, False), (32, False), (300, True)])
def test_the_first_image_decides_how_images_are_processed(size: int, is_large: bool) -> None:
    batches = mapped(images([size] * 5)).batch(2)
    assert [batch.shape[0] for batch in batches] == [2, 2, 1]
    assert batches._node.inputs[0]._is_large is is_large


@pytest.mark.parametrize("sizes", [[8, 8, 8], [8, 300, 8, 10], [300, 8, 8], [8, 7, 8, 8]])
def test_images_of_different_sizes_are_the_same_one_by_one(sizes: list[int]) -> None:
    def ragged() -> Any:
        return mapped(images(sizes)).apply(tf.data.experimental.dense_to_ragged_batch(2)).unbatch()

    def alone() -> Any:
        return mapped(images(sizes))

    for make in (ragged, alone) if 7 not in sizes else (alone,):  # 7 cannot be halved
        assert results(make, True) == results(make, False)


def test_the_first_image_is_not_taken_from_a_generator() -> None:
    started = []

    def rows() -> Iterator[Any]:
        started.append(1)
        for number in range(5):
            yield np.full(8 * 8 * 3, number, np.uint8), 8

    kinds = (tf.TensorSpec([None], tf.uint8), tf.TensorSpec([], tf.int32))
    data = tf.data.Dataset.from_generator(rows, output_signature=kinds).map(coarse).batch(2)
    assert [batch.numpy().max() for batch in data] == [1, 3, 4]
    assert started == [1]


def test_the_first_image_draws_no_random_numbers() -> None:
    def make() -> Any:
        tf.random.set_seed(5)
        data = mapped(images([8] * 6).shuffle(3, seed=1))
        return data.map(lambda image: image + tf.random.uniform(tf.shape(image))).batch(2)

    assert results(make, True) == results(make, False)


def test_small_images_run_in_columns_after_their_specs_were_learned() -> None:
    batches = mapped(images([8] * 6)).batch(2)
    totals = batches.map(lambda batch: int(batch.numpy().sum()))
    assert totals.element_spec.dtype == tf.int32  # learned from the first batch
    assert len(list(totals)) == 3
    assert batches._node.inputs[0].runs_ahead is True
