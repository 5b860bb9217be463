# SPDX-License-Identifier: Apache-2.0
"""A logistic regression over a table, in NumPy alone.

pip install fastrec-io
python examples/tabular_numpy.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import fastrec

COLUMNS = 12


def write(path: Path, count: int) -> None:
    """Rows of numbers, a category, and whether a linear rule holds."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((count, COLUMNS)).astype(np.float32)
    shop = rng.integers(0, 3, count)
    score = numbers @ np.linspace(-1, 1, COLUMNS) + np.array([-1.0, 0.0, 1.0])[shop]
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"numbers": numbers, "shop": shop, "bought": (score > 0).astype(int)})


def design(batch: dict[str, np.ndarray]) -> np.ndarray:
    """The numbers, and the shop one-hot."""
    return np.concatenate([batch["numbers"], np.eye(3, dtype=np.float32)[batch["shop"]]], axis=1)


def main(folder: Path, count: int = 20_000, epochs: int = 5) -> float:
    """Fit by gradient descent; return the accuracy."""
    path = folder / "table.tfrecord"
    write(path, count)
    features = fastrec.infer_features(path)
    weights = np.zeros(COLUMNS + 3)
    batcher = fastrec.Batcher(path, features, batch_size=256, shuffle=True, seed=0)
    for _ in range(epochs):
        for batch in batcher:
            rows = design(batch)
            chances = 1 / (1 + np.exp(-rows @ weights))
            weights += 0.5 * rows.T @ (batch["bought"] - chances) / len(rows)
    right = sum(
        int(((design(batch) @ weights > 0) == batch["bought"]).sum())
        for batch in fastrec.Batcher(path, features, batch_size=4096)
    )
    return right / count


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(f"{main(Path(directory)):.1%} of the rows are predicted correctly")
