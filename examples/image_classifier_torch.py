# SPDX-License-Identifier: Apache-2.0
"""A classifier of images in PyTorch, over an unmodified DataLoader.

pip install 'fastrec-io[torch]'
python examples/image_classifier_torch.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, random_split

import fastrec
import fastrec.torch

SIDE, CLASSES = 16, 4


def write(path: Path, count: int) -> None:
    """Noise with a bright quarter, which is the class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, count)
    images = rng.integers(0, 128, (count, 3, SIDE, SIDE), dtype=np.uint8)
    half = SIDE // 2
    for image, label in zip(images, labels, strict=True):
        top, left = divmod(int(label), 2)
        image[:, top * half : (top + 1) * half, left * half : (left + 1) * half] += 100
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"image": images, "label": labels})


def main(folder: Path, count: int = 2000, epochs: int = 3) -> float:
    """Train on most of the records; return the accuracy on the others."""
    torch.manual_seed(0)
    path = folder / "images.tfrecord"
    write(path, count)
    features = {
        "image": fastrec.RawFeature((3, SIDE, SIDE), np.uint8),
        "label": fastrec.FixedLenFeature((), np.int64),
    }
    dataset = fastrec.torch.Dataset(path, features)
    train, test = random_split(dataset, [0.8, 0.2])
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * (SIDE // 2) ** 2, CLASSES),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for batch in DataLoader(train, batch_size=64, shuffle=True):
            loss = torch.nn.functional.cross_entropy(model(batch["image"] / 255), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    right = total = 0
    with torch.no_grad():
        for batch in DataLoader(test, batch_size=64):
            right += int((model(batch["image"] / 255).argmax(1) == batch["label"]).sum())
            total += len(batch["label"])
    return right / total


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(f"{main(Path(directory)):.1%} of the test images are classified correctly")
