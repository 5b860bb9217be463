# SPDX-License-Identifier: Apache-2.0
"""The pipeline of TensorFlow 1's tutorials, for TensorFlow and for compat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import cases, digest
from ..worker import Task, Trial

__all__ = ["trial"]


def trial(tf: Any, task: Task, *, distort: bool = False) -> Trial:
    """Pass examples one by one through a shuffling queue, with `tf` as TensorFlow 1.

    Every run starts the queue runners, reads the batches of one epoch and stops the runners.
    """
    graph = tf.Graph()
    with graph.as_default():
        names = tf.train.string_input_producer([task.path], num_epochs=1)
        _, serialized = tf.TFRecordReader().read(names)
        row = tf.parse_single_example(serialized, _features(tf, task))
        capacity, least = 3000, 2000
        if task.case.name == "pairs":
            row = _fitted_pair(tf, row)
            capacity, least = 30, 10
        for field in task.case.fields:
            if field.kind == "raw":
                row[field.name] = tf.reshape(tf.decode_raw(row[field.name], tf.uint8), field.shape)
                if distort:
                    row[field.name] = _distorted(tf, row[field.name])
        batch = tf.train.shuffle_batch(
            row, task.case.batch, capacity=capacity, min_after_dequeue=least, seed=1,
            num_threads=task.threads, allow_smaller_final_batch=True,
        )  # fmt: skip
        start = tf.local_variables_initializer()

    def batches() -> Iterator[dict[str, Any]]:
        with graph.as_default(), tf.Session(graph=graph) as session:
            session.run(start)
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                while True:
                    yield session.run(batch)
            except tf.errors.OutOfRangeError:
                pass
            finally:
                coordinator.request_stop()
                coordinator.join(threads)

    def once() -> None:
        for _ in batches():
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for each in batches():
            made.add({
                name: cases.Strings.of(array.tolist()) if array.dtype == object else array
                for name, array in each.items()
            })  # fmt: skip
        return made.result()

    return Trial(once, None if distort else digested)


def _distorted(tf: Any, image: Any) -> Any:
    """Apply the input pipeline of the CIFAR-10 tutorial."""
    part = tf.random_crop(tf.cast(image, tf.float32), [24, 24, 3])
    part = tf.image.random_flip_left_right(part)
    part = tf.image.random_brightness(part, max_delta=63)
    part = tf.image.random_contrast(part, lower=0.2, upper=1.8)
    return tf.image.per_image_standardization(part)


def _fitted_pair(tf: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Apply the input pipeline of the PASCAL VOC tutorial."""
    height, width = (tf.cast(row[name], tf.int32) for name in ("height", "width"))
    pair = {}
    for name, channels in (("image", 3), ("mask", 1)):
        pixels = tf.decode_raw(row[name], tf.uint8)
        image = tf.reshape(pixels, tf.stack([height, width, channels]))
        pair[name] = tf.image.resize_image_with_crop_or_pad(image, 384, 384)
    return pair


def _features(tf: Any, task: Task) -> dict[str, Any]:
    kinds = {"int64": tf.int64, "float": tf.float32}
    return {
        field.name: tf.FixedLenFeature(
            [] if field.kind == "raw" else field.shape, kinds.get(field.kind, tf.string)
        )
        for field in task.case.fields
    }
