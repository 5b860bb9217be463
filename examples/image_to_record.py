# SPDX-License-Identifier: Apache-2.0
"""An image into a TFRecord file, and back by a queue, with the shape beside the pixels.

python examples/image_to_record.py [image]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import fastrec.compat.v1 as tf


def bytes_feature(value: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def int64_feature(value: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def write(path: Path, image: np.ndarray, label: int) -> None:
    """One record: the label, the shape and the pixels."""
    shape = np.array(image.shape, np.int32)
    features = {
        "label": int64_feature(label),
        "shape": bytes_feature(shape.tobytes()),
        "image": bytes_feature(image.tobytes()),
    }
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())


def read(path: Path) -> tuple[int, np.ndarray, np.ndarray]:
    """The label, the shape and the image."""
    names = tf.train.string_input_producer([str(path)], name="queue")
    _, serialized = tf.TFRecordReader().read(names)
    found = tf.parse_single_example(
        serialized,
        features={
            "label": tf.FixedLenFeature([], tf.int64),
            "shape": tf.FixedLenFeature([], tf.string),
            "image": tf.FixedLenFeature([], tf.string),
        },
        name="features",
    )
    shape = tf.decode_raw(found["shape"], tf.int32)
    image = tf.reshape(tf.decode_raw(found["image"], tf.uint8), shape)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        label, sizes, pixels = session.run([found["label"], shape, image])
        coord.request_stop()
        coord.join(threads)
    return int(label), sizes, pixels


def main(folder: Path, image: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Write an image and read it."""
    path = folder / "image.tfrecord"
    write(path, image, label=1)
    return read(path)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        from PIL import Image

        given = np.asarray(Image.open(sys.argv[1]), np.uint8)
    else:
        given = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as directory:
        label, sizes, pixels = main(Path(directory), given)
    print(f"label {label}, {sizes.tolist()}, the same: {np.array_equal(pixels, given)}")
