# SPDX-License-Identifier: Apache-2.0
"""Train a small network in PyTorch on shards of JPEGs with the key names of ImageNet.

``python examples/imagenet_pytorch.py [PATTERN]`` trains on the shards that it names. Without
one it makes some, of two photographs that scikit-learn has, which the network learns to tell apart
by any crop.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np
import torch

import fastrec
from fastrec.image import CenterCrop, Flip, Normalize, RandomResizedCrop, Resize

SIZE = 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write(directory: str, count: int = 512) -> str:
    """Crops of two photographs; classes are counted from 1, as the classic conversions do."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    rng = np.random.default_rng(0)
    sources = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    path = os.path.join(directory, "train-00000-of-00001")
    with fastrec.Writer(path, overwrite=True) as writer:
        for number in range(count):
            source = sources[number % 2]
            left, top = (int(n) for n in rng.integers(0, (source.width - 300, source.height - 250)))
            file = io.BytesIO()
            source.crop((left, top, left + 300, top + 250)).save(file, "JPEG", quality=90)
            label = 1 + number % 2
            writer.write({"image/encoded": file.getvalue(), "image/class/label": label})
    return path


def features(transforms: list[Any]) -> dict[str, Any]:
    """Decode, transform and normalise on the workers."""
    normalize = Normalize(MEAN, STD)
    image = fastrec.ImageFeature(transforms=[*transforms, normalize], channels_first=True)
    label = fastrec.FixedLenFeature((), np.int64)
    return {"image/encoded": image, "image/class/label": label}


def tensors(batch: dict[str, Any]) -> tuple[Any, Any]:
    """The batch's own memory as tensors, classes from 0."""
    return torch.from_numpy(batch["image/encoded"]), torch.from_numpy(
        batch["image/class/label"]
    ) - 1


def network(classes: int) -> Any:
    """Three convolutions and a linear layer."""
    layers: list[Any] = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
        layers += [torch.nn.Conv2d(inputs, outputs, 3, stride=2), torch.nn.ReLU()]
    pool = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    return torch.nn.Sequential(*layers, *pool, torch.nn.Linear(64, classes))


def main(pattern: str) -> float:
    """Train four epochs; print its speed and return the accuracy."""
    torch.manual_seed(0)
    augmented = features([RandomResizedCrop(SIZE, scale=(0.3, 1.0)), Flip()])
    batcher = fastrec.Batcher(pattern, augmented, 32, shuffle=True, seed=0, on_error="skip")
    labels = {"image/class/label": fastrec.FixedLenFeature((), np.int64)}
    classes = max(int(b["image/class/label"].max()) for b in fastrec.Batcher(pattern, labels, 1024))
    model = network(classes)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for epoch in range(4):
        began, seen = time.perf_counter(), 0
        for batch in batcher:
            images, targets = tensors(batch)
            loss = torch.nn.functional.cross_entropy(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(targets)
        rate = seen / (time.perf_counter() - began)
        print(f"epoch {epoch}: loss {loss.item():.3f}, {rate:.0f} images/s")
    plain = features([Resize(SIZE), CenterCrop(SIZE)])
    right = total = 0
    with torch.no_grad():
        for batch in fastrec.Batcher(pattern, plain, 64):
            images, targets = tensors(batch)
            right += int((model(images).argmax(1) == targets).sum())
            total += len(targets)
    print(f"accuracy {right / total:.1%}")
    return right / total


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(write(folder))
