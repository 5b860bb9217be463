# SPDX-License-Identifier: Apache-2.0
"""A typical ``tf.data`` program, for TensorFlow and for compat."""

from __future__ import annotations

from typing import Any

from .. import cases, digest
from ..worker import Task, Trial

__all__ = ["trial"]


def trial(tf: Any, task: Task) -> Trial:
    """Shuffle Examples in a buffer, and parse them one at a time by a function in ``map``."""
    kinds = {"int64": tf.int64, "float": tf.float32}
    features = {
        field.name: tf.io.FixedLenFeature(
            [] if field.kind == "raw" else field.shape, kinds.get(field.kind, tf.string)
        )
        for field in task.case.fields
    }

    def parse(serialized: Any) -> dict[str, Any]:
        row: dict[str, Any] = tf.io.parse_single_example(serialized, features)
        for field in task.case.fields:
            if field.kind == "raw":
                pixels = tf.io.decode_raw(row[field.name], tf.uint8)
                row[field.name] = tf.reshape(pixels, field.shape)
        return row

    records = tf.data.TFRecordDataset(task.path).shuffle(2000, seed=1)
    rows = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = task.threads
    batches = rows.batch(task.case.batch).prefetch(tf.data.AUTOTUNE).with_options(options)

    def once() -> None:
        for _ in batches:
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in batches.as_numpy_iterator():
            made.add({
                name: cases.Strings.of(array.tolist()) if array.dtype == object else array
                for name, array in batch.items()
            })  # fmt: skip
        return made.result()

    return Trial(once, digested)
