# SPDX-License-Identifier: Apache-2.0
"""Samples through a queue that four threads fill, as lectures on TensorFlow 1 show it.

python examples/queue_runners.py
"""

from __future__ import annotations

import numpy as np

import fastrec.compat.v1 as tf

SAMPLES, THREADS, STEPS = 1000, 4, 100


def main() -> tuple[np.ndarray, np.ndarray]:
    """The samples and labels of a hundred steps."""
    rng = np.random.default_rng(0)
    samples = 10 * rng.standard_normal((SAMPLES, 4)) + 1
    labels = rng.integers(0, 2, size=SAMPLES)

    queue = tf.FIFOQueue(capacity=50, dtypes=[tf.float32, tf.int32], shapes=[[4], []])
    enqueue = queue.enqueue_many([samples, labels])
    sample, label = queue.dequeue()
    runner = tf.train.QueueRunner(queue, [enqueue] * THREADS)

    found = []
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord=coord, start=True)
        try:
            for _ in range(STEPS):
                if coord.should_stop():
                    break
                found.append(session.run([sample, label]))
        except Exception as error:
            coord.request_stop(error)
        finally:
            coord.request_stop()
            coord.join(threads)
    return np.array([x for x, _ in found]), np.array([y for _, y in found])


if __name__ == "__main__":
    xs, ys = main()
    print(f"{len(xs)} samples around {xs.mean():.2f}, {ys.mean():.0%} of them ones")
