# SPDX-License-Identifier: Apache-2.0
"""CPU time of `fit` of Keras over tf.data pipelines and over fastrec.tensorflow.dataset.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/tensorflow_training.py

The model does nothing, so that the time is that of the input and of Keras itself. `one` is the
common tf.data pipeline that parses record by record, `batch` the one that parses whole batches.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import fastrec
import fastrec.tensorflow

ROWS, BATCH, NUMBERS, ROUNDS = 20_000, 128, 40, 9
Case = tuple[str, dict[str, Any], dict[str, Any]]


def cases(folder: Path) -> dict[str, Case]:
    """Write the records; return path, features of tf.io and features of fastrec."""
    draw = np.random.default_rng(1)
    splits = np.concatenate([[0], np.cumsum(draw.integers(0, 200, ROWS))])
    label, ours = tf.io.FixedLenFeature([], tf.int64), fastrec.FixedLenFeature((), np.int64)
    names = [f"f{i:02}" for i in range(NUMBERS)]
    columns: dict[str, dict[str, Any]] = {
        "cifar": {"image": draw.integers(0, 256, (ROWS, 3072), np.uint8)},
        "tabular": {name: draw.random(ROWS, np.float32) for name in names},
        "ragged": {"tokens": fastrec.Ragged(np.arange(splits[-1]) % 30_000, splits)},
    }
    for name, each in columns.items():
        with fastrec.Writer(folder / name) as writer:
            writer.write_batch(each | {"label": np.arange(ROWS) % 10})
    return {
        "cifar": (
            str(folder / "cifar"),
            {"image": tf.io.FixedLenFeature([], tf.string), "label": label},
            {"image": fastrec.RawFeature((32, 32, 3), np.uint8), "label": ours},
        ),
        "tabular": (
            str(folder / "tabular"),
            {name: tf.io.FixedLenFeature([], tf.float32) for name in names} | {"label": label},
            {name: fastrec.FixedLenFeature((), np.float32) for name in names} | {"label": ours},
        ),
        "ragged": (
            str(folder / "ragged"),
            {"tokens": tf.io.RaggedFeature(tf.int64), "label": label},
            {"tokens": fastrec.RaggedFeature(np.int64), "label": ours},
        ),
    }


def decoded(parsed: dict[str, Any]) -> dict[str, Any]:
    if "image" not in parsed:
        return parsed
    pixels = tf.io.decode_raw(parsed["image"], tf.uint8)
    shape = tf.concat([tf.shape(pixels)[:-1], [32, 32, 3]], 0)
    return parsed | {"image": tf.reshape(pixels, shape)}


def pipelines(case: Case) -> dict[str, tf.data.Dataset]:
    path, theirs, ours = case
    auto, records = tf.data.AUTOTUNE, tf.data.TFRecordDataset(path)
    one = records.map(lambda r: decoded(tf.io.parse_single_example(r, theirs)), auto)
    batched = records.batch(BATCH).map(lambda r: decoded(tf.io.parse_example(r, theirs)), auto)
    return {
        "one": one.ragged_batch(BATCH).prefetch(auto),
        "batch": batched.prefetch(auto),
        "fastrec": fastrec.tensorflow.dataset(fastrec.Batcher(path, ours, BATCH)),
    }


class Idle(keras.Model):  # type: ignore[misc]
    def train_step(self, data: Any) -> Any:
        return {"loss": tf.constant(0.0)}


def cpu_ms(run: Callable[[], Any]) -> float:
    """Return the best of several rounds, after one that traces the graph."""
    times = []
    for _ in range(ROUNDS + 1):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return 1e3 * min(times[1:])


def main() -> None:
    steps = -(-ROWS // BATCH)
    print("| records | `map(parse)` | `batch().map(parse)` | fastrec | Batcher | `batches()` |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(Path(folder)).items():
            row = []
            for dataset in pipelines(case).values():
                model = Idle()
                model.built = True
                model.compile(optimizer=None, steps_per_execution=steps)
                row.append(cpu_ms(lambda m=model, d=dataset: m.fit(d, verbose=0)))
            batcher = fastrec.Batcher(case[0], case[2], BATCH)
            row.append(cpu_ms(lambda b=batcher: [None for _ in b]))
            row.append(cpu_ms(lambda b=batcher: [None for _ in fastrec.tensorflow.batches(b)]))
            print(f"| {name} |", " | ".join(f"{ms:.0f} ms" for ms in row), "|", flush=True)


if __name__ == "__main__":
    main()
