# SPDX-License-Identifier: Apache-2.0
"""Images and their masks, of all sizes, as PASCAL VOC has them: written, checked, and cropped or
padded to 384 by 384, shuffled in twos for ten epochs.

    python examples/segmentation_pairs.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fastrec.compat.v1 as tf

SIDE, EPOCHS = 384, 10
Pair = tuple[np.ndarray, np.ndarray]


def make_pairs(sizes: list[tuple[int, int]]) -> list[Pair]:
    """Images with a mask that says where they are red."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]
    return [(image, (image[..., 0] > 127).astype(np.uint8)) for image in images]


def write(path: Path, pairs: list[Pair]) -> None:
    """One record a pair."""

    def feature(**kinds: Any) -> Any:
        return tf.train.Feature(**kinds)

    writer = tf.python_io.TFRecordWriter(str(path))
    for image, mask in pairs:
        height, width = mask.shape
        features = {
            "height": feature(int64_list=tf.train.Int64List(value=[height])),
            "width": feature(int64_list=tf.train.Int64List(value=[width])),
            "image_raw": feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
            "mask_raw": feature(bytes_list=tf.train.BytesList(value=[mask.tobytes()])),
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())
    writer.close()


def read_directly(path: Path) -> list[Pair]:
    """The pairs as they were, without a graph."""
    found = []
    for record in tf.python_io.tf_record_iterator(path=str(path)):
        example = tf.train.Example()
        example.ParseFromString(record)
        feature = example.features.feature
        size = tuple(int(feature[name].int64_list.value[0]) for name in ("height", "width"))
        image, mask = (
            np.frombuffer(feature[name].bytes_list.value[0], np.uint8)
            for name in ("image_raw", "mask_raw")
        )
        found.append((image.reshape(*size, 3), mask.reshape(size)))
    return found


def batches_of(path: Path) -> tuple[Any, Any]:
    """Images and masks in twos."""
    names = tf.train.string_input_producer([str(path)], num_epochs=EPOCHS)
    _, serialized = tf.TFRecordReader().read(names)
    found = tf.parse_single_example(
        serialized,
        features={
            "height": tf.FixedLenFeature([], tf.int64),
            "width": tf.FixedLenFeature([], tf.int64),
            "image_raw": tf.FixedLenFeature([], tf.string),
            "mask_raw": tf.FixedLenFeature([], tf.string),
        },
    )
    height, width = (tf.cast(found[name], tf.int32) for name in ("height", "width"))
    resized = []
    for name, depth in (("image_raw", 3), ("mask_raw", 1)):
        flat = tf.decode_raw(found[name], tf.uint8)
        image = tf.reshape(flat, tf.pack([height, width, depth]))
        resized.append(
            tf.image.resize_image_with_crop_or_pad(
                image=image, target_height=SIDE, target_width=SIDE
            )
        )
    images, masks = tf.train.shuffle_batch(
        resized, batch_size=2, capacity=30, num_threads=2, min_after_dequeue=10
    )
    return images, masks


def main(folder: Path, pairs: list[Pair]) -> list[Pair]:
    """Every batch of ten epochs."""
    path = folder / "pairs.tfrecords"
    write(path, pairs)
    for given, found in zip(pairs, read_directly(path), strict=True):
        assert all(map(np.array_equal, given, found))
    batches = []
    with tf.Graph().as_default():
        fetches = batches_of(path)
        init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.Session() as session:
            session.run(init)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(coord=coord)
            try:
                while True:
                    batches.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                pass
            coord.request_stop()
            coord.join(threads)
    return [(images, masks) for images, masks in batches]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        found = main(Path(directory), make_pairs([(281, 500), (375, 500), (500, 334)]))
    print(f"{len(found)} batches of {found[0][0].shape} and {found[0][1].shape}")
