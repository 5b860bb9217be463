# SPDX-License-Identifier: Apache-2.0
"""The demo's JPEG stage: from encoded images to augmented batches to a trained classifier.

The images are drawn, so that the demo needs no download. The usual Python loop, which decodes,
crops and flips with Pillow, does the same work for comparison.
"""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastrec
from fastrec.demo import training
from fastrec.demo.contact_sheet import Tile
from fastrec.demo.samples import UInt8Array
from fastrec.image import Flip, RandomResizedCrop

__all__ = ["CLASSES", "Augmented", "augment", "draw", "epochs_of"]

CLASSES = ("disc", "box", "bars")
_COUNT, _SHARDS, _SIDE, _WIDTH, _HEIGHT = 240, 4, 24, 200, 160
_MOST_EPOCHS = 6  # enough to recognise the shapes
_TILES = 24  # images of the contact sheet
_LEAST_AREA = 0.6  # area of a crop, so that the shape stays visible

Advance = Callable[[int], object]


@dataclass(frozen=True)
class Augmented:
    """Speeds in images per second, the classifier, and held-out images with its guesses."""

    images: int
    size: int
    fastrec_rate: float
    pillow_rate: float
    trained: training.Trained
    tiles: list[Tile]


def epochs_of(requested: int) -> int:
    """Return the number of epochs, limited because this stage only demonstrates augmentation."""
    return min(requested, _MOST_EPOCHS)


def draw(count: int, seed: int) -> Iterator[tuple[bytes, int]]:
    """Yield JPEGs of shapes on noisy backgrounds, and the number of the shape."""
    from PIL import Image, ImageDraw

    rng = np.random.default_rng(seed)
    for number in range(count):
        label = number % len(CLASSES)
        noise = rng.integers(0, 90, (_HEIGHT, _WIDTH, 3), dtype=np.uint8)
        image = Image.fromarray(noise)
        pen = ImageDraw.Draw(image)
        colour = tuple(rng.integers(140, 256, 3).tolist())
        x, y = (int(n) for n in rng.integers(-15, 16, 2))
        box = (
            _WIDTH // 2 - 70 + x,
            _HEIGHT // 2 - 70 + y,
            _WIDTH // 2 + 70 + x,
            _HEIGHT // 2 + 70 + y,
        )
        if label == 0:
            pen.ellipse(box, outline=colour, width=22)
        elif label == 1:
            pen.rectangle(box, fill=colour)
        else:
            for left in range(box[0], box[2], 40):
                pen.rectangle((left, box[1], left + 16, box[3]), fill=colour)
        file = io.BytesIO()
        image.save(file, "JPEG", quality=90)
        yield file.getvalue(), label


def augment(epochs: int, batch_size: int, seed: int, advance: Advance) -> Augmented:
    """Write drawn JPEGs to temporary shards, load and compare them, and train on them."""
    images = list(draw(_COUNT, seed))
    with tempfile.TemporaryDirectory(prefix="fastrec-demo-") as folder:
        with fastrec.Writer(os.path.join(folder, "shapes.tfrecord"), shards=_SHARDS) as writer:
            for jpeg, label in images:
                writer.write({"image": jpeg, "label": label})
        paths = [os.fspath(path) for path in writer.paths]
        features: dict[str, Any] = {
            "image": fastrec.ImageFeature(
                transforms=[RandomResizedCrop(_SIDE, scale=(_LEAST_AREA, 1)), Flip()]
            ),
            "label": fastrec.FixedLenFeature((), np.int64),
        }
        start = time.perf_counter()
        with fastrec.Batcher(paths, features, batch_size, shuffle=True, seed=seed) as batcher:
            for _ in batcher:
                pass
        ours = time.perf_counter() - start
        start = time.perf_counter()
        for _ in _usual_loop([jpeg for jpeg, _ in images], batch_size, seed):
            pass
        theirs = time.perf_counter() - start
        trained = training.train(
            paths, features, brightest=255, classes=len(CLASSES), epochs=epochs_of(epochs),
            batch_size=batch_size, seed=seed, advance=advance,
        )  # fmt: skip
        tiles = training.tiles(
            training.train_and_test(paths)[1], features, count=_TILES, cell=4 * _SIDE,
            labels=CLASSES, brightest=255, batch_size=batch_size, seed=seed,
            classify=training.classify_with(trained, 255, reduced=False),
        )  # fmt: skip
    size = sum(len(jpeg) for jpeg, _ in images)
    return Augmented(_COUNT, size, _COUNT / ours, _COUNT / theirs, trained, tiles)


def _usual_loop(jpegs: list[bytes], batch_size: int, seed: int) -> Iterator[UInt8Array]:
    """Decode, crop, resize and flip in Python, as a typical ``__getitem__`` does."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(jpegs)).tolist()
    for begin in range(0, len(order), batch_size):
        rows = []
        for number in order[begin : begin + batch_size]:
            with Image.open(io.BytesIO(jpegs[number])) as image:
                side = np.sqrt(rng.uniform(_LEAST_AREA, 1))
                width, height = (int(n * side) for n in image.size)
                left = int(rng.integers(image.width - width + 1))
                top = int(rng.integers(image.height - height + 1))
                crop = image.convert("RGB").resize(
                    (_SIDE, _SIDE), box=(left, top, left + width, top + height)
                )
            pixels = np.asarray(crop)
            rows.append(pixels[:, ::-1] if rng.random() < 0.5 else pixels)
        yield np.stack(rows)
