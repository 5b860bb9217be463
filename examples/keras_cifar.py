# SPDX-License-Identifier: Apache-2.0
"""Train a small network on images of CIFAR-10's size with Keras; stop it, and start it again.

    python examples/keras_cifar.py [folder]

A run that is interrupted continues with the next batch when it is started again with the same
folder. KERAS_BACKEND names the backend: tensorflow, jax or torch.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

import fastrec
import fastrec.keras

CLASSES, SIDE = 10, 32


def write(path: Path, count: int, seed: int) -> None:
    """Write images whose class is the place of a bright square, where there are none yet."""
    if path.exists():
        return
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    images = rng.integers(0, 128, (count, SIDE, SIDE, 3), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label) * 6, 30)
        image[row * 4 : row * 4 + 6, column : column + 6] += 100
    with fastrec.Writer(path) as writer:
        writer.write_batch({"image": images.reshape(count, -1), "label": labels})


def batches(path: Path, **options: Any) -> Any:
    features = {
        "image": fastrec.RawFeature((SIDE, SIDE, 3), np.uint8),
        "label": fastrec.FixedLenFeature((), np.int64),
    }
    batcher = fastrec.Batcher(path, features, 64, **options)
    return fastrec.keras.dataset(batcher, x="image", y="label")


def network() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(16, 3, 2, activation="relu"),
            keras.layers.Conv2D(32, 3, 2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def main(folder: Path, epochs: int = 3, callbacks: Any = ()) -> float:
    """Train from where the last run stopped, and return the accuracy on the test images."""
    write(folder / "train.tfrecord", 4000, seed=0)
    write(folder / "test.tfrecord", 500, seed=1)
    keras.utils.set_random_seed(0)
    train = batches(folder / "train.tfrecord", shuffle=True, seed=0)
    test = batches(folder / "test.tfrecord")
    model = network()
    backup = fastrec.keras.Backup(train, folder / "backup", save_freq=10)
    model.fit(train, epochs=epochs, validation_data=test, verbose=2, callbacks=[*callbacks, backup])
    return float(model.evaluate(test, return_dict=True, verbose=0)["accuracy"])


class Stop(keras.callbacks.Callback):  # type: ignore[misc]
    """Interrupt the first run in its second epoch, as a lost machine would."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == 40 and int(self.model.optimizer.iterations) > 70:
            raise KeyboardInterrupt


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        chosen = Path(sys.argv[1] if len(sys.argv) > 1 else directory)
        if len(sys.argv) == 1:
            try:
                main(chosen, callbacks=[Stop()])
            except KeyboardInterrupt:
                print("interrupted: started again from the backup")
        print(f"accuracy {main(chosen):.3f}")
