# SPDX-License-Identifier: Apache-2.0
"""A process that reads records under a strategy of tf.distribute, and prints their numbers.

    python tensorflow_strategies.py {mirrored, records, function, workers} FILES

The output is JSON: for each epoch, for each step, the numbers of each replica of this process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

import fastrec
import fastrec.tensorflow


def main(kind: str, files: str) -> None:
    if kind == "workers":
        strategy: Any = tf.distribute.MultiWorkerMirroredStrategy()
    else:
        cpu = tf.config.list_physical_devices("CPU")[0]
        halves = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
        tf.config.set_logical_device_configuration(cpu, halves)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    features = {
        "id": fastrec.FixedLenFeature((), np.int64),
        "x": fastrec.FixedLenFeature((5,), np.float32),
    }

    def batcher(batch_size: int | None, shard: tuple[int, int]) -> fastrec.Batcher:
        return fastrec.Batcher(
            files, features, batch_size, shuffle=True, seed=1, shard=shard, uneven="drop"
        )

    def of_pipeline(context: Any) -> tf.data.Dataset:
        shard = (context.input_pipeline_id, context.num_input_pipelines)
        return fastrec.tensorflow.dataset(batcher(context.get_per_replica_batch_size(10), shard))

    if kind in ("mirrored", "records"):
        rows = 10 if kind == "mirrored" else None
        whole = fastrec.tensorflow.dataset(batcher(rows, (0, 1)))
        distributed = strategy.experimental_distribute_dataset(whole)
    else:
        distributed = strategy.distribute_datasets_from_function(of_pipeline)
    epochs = [
        [
            [each["id"].numpy().tolist() for each in values]
            for values in map(list, map(local(strategy), distributed))
        ]
        for _ in range(2)
    ]
    print(json.dumps(epochs))


def local(strategy: Any) -> Any:
    """Return a function that lists the values of the replicas of this process."""

    def values(batch: Any) -> list[dict[str, Any]]:
        columns = {
            name: strategy.experimental_local_results(column) for name, column in batch.items()
        }
        count = len(columns["id"])
        return [{name: column[i] for name, column in columns.items()} for i in range(count)]

    return values


if __name__ == "__main__":
    main(*sys.argv[1:])
