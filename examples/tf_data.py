# SPDX-License-Identifier: Apache-2.0
"""A ``tf.data`` pipeline as TensorFlow's guide has it, without TensorFlow.

``python examples/tf_data.py [DIRECTORY]`` writes images and labels to shards, reads them back
shuffled, and prints what it saw. With ``import tensorflow as tf`` it prints the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy as np

import fastrec.compat.v2 as tf

IMAGES = 600
SHARDS = 3


def write(directory: str) -> list[str]:
    """Images whose brightness is their label."""
    rng = np.random.default_rng(0)
    paths = [os.path.join(directory, f"train-{shard}.tfrecord") for shard in range(SHARDS)]
    for shard, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(shard, IMAGES, SHARDS):
                label = number % 10
                image = rng.integers(label * 20, label * 20 + 20, (8, 8, 3), dtype=np.uint8)
                feature = {
                    "image": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[image.tobytes()])
                    ),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
    return paths


def parse(record: Any) -> Any:
    """One record as an image of floats and its label."""
    found = tf.io.parse_single_example(
        record,
        {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [8, 8, 3])
    return tf.cast(image, tf.float32) / 255.0, tf.one_hot(found["label"], 10)


def batches(paths: list[str]) -> Any:
    """Shuffled batches of two epochs."""
    dataset = tf.data.Dataset.from_tensor_slices(paths)
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=SHARDS)
    dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.shuffle(256, seed=1).repeat(2).batch(32).prefetch(tf.data.AUTOTUNE)


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    dataset = batches(write(directory))
    print(dataset.element_spec)
    seen = 0
    for images, labels in dataset:
        brightness = tf.reduce_mean(images, axis=[1, 2, 3]).numpy() * 255
        classes = tf.argmax(labels, axis=1).numpy()
        assert (np.abs(brightness - classes * 20 - 9.5) < 4).all()
        seen += len(classes)
        if seen == len(classes):
            print("first labels:", classes[:10].tolist())
    print("images seen:", seen)


if __name__ == "__main__":
    main()
