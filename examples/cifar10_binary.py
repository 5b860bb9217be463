# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10's binary batches: read, distorted at random, and shuffled into batches.

A record is a byte for the label and 3,072 for the image, one colour after the other.

    python examples/cifar10_binary.py [folder with data_batch_1.bin to data_batch_5.bin]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fastrec.compat.v1 as tf

SIDE, CROP, DEPTH, LABEL_BYTES = 32, 24, 3, 1


def make_batches(folder: Path, files: int = 5, images: int = 200) -> None:
    """Batches of noise, where the real ones are not at hand."""
    rng = np.random.default_rng(0)
    for i in range(1, files + 1):
        records = rng.integers(0, 256, (images, LABEL_BYTES + SIDE * SIDE * DEPTH), np.uint8)
        records[:, 0] %= 10
        (folder / f"data_batch_{i}.bin").write_bytes(records.tobytes())


def read(names: Any) -> tuple[Any, Any]:
    """A label, [1], and an image, [32, 32, 3]."""
    size = LABEL_BYTES + SIDE * SIDE * DEPTH
    _, value = tf.FixedLengthRecordReader(record_bytes=size).read(names)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [0], [LABEL_BYTES]), tf.int32)
    planes = tf.reshape(tf.strided_slice(record, [LABEL_BYTES], [size]), [DEPTH, SIDE, SIDE])
    return label, tf.transpose(planes, [1, 2, 0])


def distorted(image: Any) -> Any:
    """A part of an image, perhaps flipped, in another light, with mean 0 and variance 1."""
    part = tf.random_crop(tf.cast(image, tf.float32), [CROP, CROP, DEPTH])
    part = tf.image.random_flip_left_right(part)
    part = tf.image.random_brightness(part, max_delta=63)
    part = tf.image.random_contrast(part, lower=0.2, upper=1.8)
    return tf.image.per_image_standardization(part)


def inputs(folder: Path, batch_size: int, least: int) -> tuple[Any, Any]:
    """Batches of images and labels."""
    paths = [str(folder / f"data_batch_{i}.bin") for i in range(1, 6)]
    for path in paths:
        if not tf.gfile.Exists(path):
            raise ValueError("Failed to find file: " + path)
    label, image = read(tf.train.string_input_producer(paths))
    image = distorted(image)
    image.set_shape([CROP, CROP, DEPTH])
    label.set_shape([1])
    images, labels = tf.train.shuffle_batch(
        [image, label],
        batch_size=batch_size,
        num_threads=4,
        capacity=least + 3 * batch_size,
        min_after_dequeue=least,
    )
    return images, tf.reshape(labels, [batch_size])


def main(folder: Path, batches: int = 5, batch_size: int = 64) -> list[tuple[Any, Any]]:
    """Some batches."""
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = inputs(folder, batch_size, least=100)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = [session.run(fetches) for _ in range(batches)]
        coord.request_stop()
        coord.join(threads)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        given = Path(sys.argv[1] if len(sys.argv) > 1 else directory)
        if len(sys.argv) == 1:
            make_batches(given)
        for pixels, numbers in main(given):
            print(pixels.shape, f"mean {pixels.mean():+.3f}", np.bincount(numbers, minlength=10))
