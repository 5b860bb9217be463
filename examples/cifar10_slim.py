# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 as PNGs in TFRecord files, described once and provided by slim.

python examples/cifar10_slim.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fastrec.compat.v1 as tf

slim = tf.contrib.slim

SIDE = 32
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def convert(folder: Path, split: str, images: np.ndarray, labels: np.ndarray) -> None:
    """Write images, [n, 3, 32, 32] as CIFAR's own files have them, and labels."""
    with (
        tf.python_io.TFRecordWriter(str(folder / f"cifar10_{split}.tfrecord")) as writer,
        tf.Graph().as_default(),
    ):
        given = tf.placeholder(tf.uint8)
        encoded = tf.image.encode_png(given)
        with tf.Session() as session:
            for planes, label in zip(images, labels, strict=True):
                image = np.squeeze(planes).transpose((1, 2, 0))
                png = session.run(encoded, feed_dict={given: image})
                writer.write(to_example(png, int(label)).SerializeToString())
    with tf.gfile.Open(str(folder / "labels.txt"), "w") as file:
        file.write("".join(f"{i}:{name}\n" for i, name in enumerate(NAMES)))


def to_example(png: bytes, label: int) -> Any:
    def feature(**kinds: Any) -> Any:
        return tf.train.Feature(**kinds)

    features = {
        "image/encoded": feature(bytes_list=tf.train.BytesList(value=[png])),
        "image/format": feature(bytes_list=tf.train.BytesList(value=[b"png"])),
        "image/class/label": feature(int64_list=tf.train.Int64List(value=[label])),
        "image/height": feature(int64_list=tf.train.Int64List(value=[SIDE])),
        "image/width": feature(int64_list=tf.train.Int64List(value=[SIDE])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def read_directly(path: Path) -> list[tuple[np.ndarray, int]]:
    """Images and labels, without a queue."""
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(dtype=tf.string)
        decoded = tf.image.decode_png(given, channels=3)
        for record in tf.python_io.tf_record_iterator(path=str(path)):
            example = tf.train.Example()
            example.ParseFromString(record)
            feature = example.features.feature
            png = feature["image/encoded"].bytes_list.value[0]
            label = feature["image/class/label"].int64_list.value[0]
            found.append((session.run(decoded, feed_dict={given: png}), label))
    return found


def read_by_queue(path: Path, batch_size: int) -> tuple[np.ndarray, np.ndarray]:
    """One shuffled batch."""
    with tf.Graph().as_default():
        names = tf.train.string_input_producer([str(path)])
        _, serialized = tf.TFRecordReader().read(names)
        found = tf.parse_single_example(
            serialized,
            features={
                "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
                "image/class/label": tf.FixedLenFeature(
                    [], tf.int64, default_value=tf.zeros([], dtype=tf.int64)
                ),
            },
        )
        image = tf.image.decode_png(found["image/encoded"], channels=3)
        image = tf.image.resize_image_with_crop_or_pad(image, SIDE, SIDE)
        batch = tf.train.shuffle_batch(
            [image, found["image/class/label"]],
            batch_size=batch_size,
            capacity=2000,
            min_after_dequeue=1000,
        )
        init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.Session() as session:
            session.run(init)
            tf.train.start_queue_runners()
            images, labels = session.run(batch)
    return images, labels


def dataset(folder: Path, split: str, samples: int) -> Any:
    """A dataset for slim."""
    decoder = slim.tfexample_decoder
    zero = tf.zeros([], dtype=tf.int64)
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
        "image/class/label": tf.FixedLenFeature([], tf.int64, default_value=zero),
    }
    handlers = {
        "image": decoder.Image(shape=[SIDE, SIDE, 3]),
        "label": decoder.Tensor("image/class/label"),
    }
    with tf.gfile.Open(str(folder / "labels.txt"), "rb") as file:
        lines = file.read().decode().split()
    return slim.dataset.Dataset(
        data_sources=str(folder / f"cifar10_{split}.tfrecord"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, handlers),
        num_samples=samples,
        items_to_descriptions={"image": "A [32 x 32 x 3] color image.", "label": "0 to 9"},
        num_classes=len(NAMES),
        labels_to_names=dict(enumerate(line.split(":")[1] for line in lines)),
    )


def provide(folder: Path, samples: int, count: int) -> list[tuple[np.ndarray, str]]:
    """Some images and the names of what they show."""
    with tf.Graph().as_default(), tf.Session() as session:
        data = dataset(folder, "train", samples)
        provider = slim.dataset_data_provider.DatasetDataProvider(data)
        [image, label] = provider.get(["image", "label"])
        with slim.queues.QueueRunners(session):
            found = [session.run([image, label]) for _ in range(count)]
    return [(pixels, data.labels_to_names[int(number)]) for pixels, number in found]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 256, (500, 3, SIDE, SIDE), dtype=np.uint8)
    numbers = rng.integers(0, 10, 500)
    with tempfile.TemporaryDirectory() as directory:
        convert(Path(directory), "train", planes, numbers)
        images, labels = read_by_queue(Path(directory) / "cifar10_train.tfrecord", 128)
        print(images.shape, labels.shape)
        print([name for _, name in provide(Path(directory), 500, 8)])
