# SPDX-License-Identifier: Apache-2.0
"""The training stage of the demo, and the images of its contact sheet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

import fastrec
from fastrec.demo.classifier import Classifier, Float32Array, Int64Array, area_mean, scaled
from fastrec.demo.contact_sheet import Tile, fitted
from fastrec.demo.samples import UInt8Array
from fastrec.demo.stages import Advance, Batch, Measured, Written, features_for, views

__all__ = [
    "Epoch",
    "Trained",
    "reduce",
    "tiles",
    "train",
    "train_and_test",
    "why_not_trained",
]

REDUCED = "reduced"
"""The stem of the files of reduced images."""

SIDE = 16
"""Images of differing sizes are reduced to this many pixels square to learn from."""

_HIDDEN = 64  # units of the classifier's hidden layer
_FEWEST_IMAGES = 20  # fewer are not trained on


def _nothing(_: object) -> None:
    pass


@dataclass(frozen=True)
class Epoch:
    """One pass over the training files; `accuracy` is measured on the test files."""

    number: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class Trained:
    """A trained classifier with its history, and the accuracy of a constant guess."""

    classifier: Classifier
    epochs: tuple[Epoch, ...]
    measured: Measured
    held_out: int
    right: int
    constant_guess: float

    @property
    def accuracy(self) -> float:
        return self.right / self.held_out


def train_and_test(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hold out the last quarter of the files, at least one, for testing."""
    held_out = max(1, len(paths) // 4)
    return list(paths[:-held_out]), list(paths[-held_out:])


def why_not_trained(written: Written) -> str | None:
    """Return the reason why training is not meaningful; None if it is."""
    if len({original.label for original in written.originals.values()}) < 2:
        return "it takes at least two labels: put the images into a sub-directory for each"
    if len(written.originals) < _FEWEST_IMAGES:
        return f"it takes at least {_FEWEST_IMAGES} images"
    if len(written.paths) < 2:
        return "it takes at least two files, one of them held out"
    return None


def reduce(
    written: Written,
    *,
    side: int = SIDE,
    batch_size: int,
    overwrite: bool = False,
    advance: Advance = _nothing,
) -> list[str]:
    """Write each image reduced to the means of `side` by `side` areas: one new file per file."""

    def small(batch: Batch) -> dict[str, Any]:
        means = [area_mean(pixels, side) for pixels in views(batch)]
        images = np.stack(means).round().astype(np.uint8)
        shapes = np.tile(np.array([side, side, 3], np.int64), (len(images), 1))
        return {"image": images, "shape": shapes, "label": batch["label"], "name": batch["name"]}

    targets = [_reduced_name(path) for path in written.paths]
    for source, target in zip(written.paths, targets, strict=True):
        batches = fastrec.Batcher([source], features_for(None), batch_size, transform=small)
        with fastrec.Writer(target, overwrite=overwrite) as writer, batches:
            for batch in batches:
                writer.write_batch(batch)
                advance(len(batch["label"]))
    return targets


def _reduced_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, re.sub(r"^[^-]+", REDUCED, name, count=1))


def train(
    paths: Sequence[str],
    features: dict[str, Any],
    *,
    brightest: int,
    classes: int,
    epochs: int,
    batch_size: int,
    seed: int,
    advance: Advance = _nothing,
) -> Trained:
    """Train on most of the files, reshuffled every epoch, and test on the others.

    Only loading and learning are timed, not testing.
    """
    train_paths, test_paths = train_and_test(paths)
    wanted = {name: features[name] for name in ("image", "label")}

    def prepared(batch: Batch) -> tuple[Float32Array, Int64Array]:
        return scaled(batch["image"], brightest), batch["label"]

    with fastrec.Batcher(test_paths, wanted, batch_size, transform=prepared) as batcher:
        held_out = list(batcher)
    x, y = (np.concatenate(parts) for parts in zip(*held_out, strict=True))
    classifier = Classifier(x[0].size, _HIDDEN, classes, seed=seed)
    history = []
    seconds, records = 0.0, 0
    with fastrec.Batcher(
        train_paths, wanted, batch_size, shuffle=True, seed=seed, epochs=epochs, transform=prepared
    ) as batcher:
        steps = len(batcher) // epochs
        batches = iter(batcher)
        for number in range(1, epochs + 1):
            start = time.perf_counter()
            losses = [_learn(classifier, *batch) for batch in islice(batches, steps)]
            seconds += time.perf_counter() - start
            loss, records = _totals(losses)
            history.append(Epoch(number, loss / records, _share(classifier.predict(x) == y)))
            advance(1)
    right = int(np.count_nonzero(classifier.predict(x) == y))
    commonest = int(np.bincount(y).max())
    size = sum(map(os.path.getsize, train_paths))
    measured = Measured(records, size, seconds, epochs)
    return Trained(classifier, tuple(history), measured, len(y), right, commonest / len(y))


def _learn(classifier: Classifier, x: Float32Array, labels: Int64Array) -> tuple[float, int]:
    return classifier.step(x, labels) * len(labels), len(labels)


def _totals(losses: list[tuple[float, int]]) -> tuple[float, int]:
    return sum(loss for loss, _ in losses), sum(count for _, count in losses)


def _share(right: Any) -> float:
    return float(np.mean(right))


def tiles(
    paths: Sequence[str],
    features: dict[str, Any],
    *,
    count: int,
    cell: int,
    labels: Sequence[str],
    brightest: int,
    classify: Callable[[list[UInt8Array]], Sequence[int]] | None,
    batch_size: int,
    seed: int,
) -> list[Tile]:
    """Return the first `count` images of a shuffled pass, fitted to `cell`, with their labels."""
    found: list[Tile] = []
    size = min(batch_size, count)
    with fastrec.Batcher(list(paths), features, size, shuffle=True, seed=seed) as batcher:
        for batch in batcher:
            images = views(batch)[: count - len(found)]
            guesses = [None] * len(images) if classify is None else classify(images)
            truths = batch["label"].tolist()[: len(images)]
            for pixels, truth, guess in zip(images, truths, guesses, strict=True):
                found.append(
                    Tile(
                        fitted(shining(pixels, brightest), cell),
                        labels[truth],
                        None if guess is None else labels[guess],
                    )
                )
            if len(found) >= count:
                break
    return found


def classify_with(
    trained: Trained, brightest: int, *, reduced: bool
) -> Callable[[list[UInt8Array]], list[int]]:
    """Return a function from images to labels, which reduces images as the training did."""

    def classify(images: list[UInt8Array]) -> list[int]:
        small = [area_mean(pixels, SIDE).round() if reduced else pixels for pixels in images]
        return [
            int(label) for label in trained.classifier.predict(scaled(np.stack(small), brightest))
        ]

    return classify


def shining(pixels: UInt8Array, brightest: int) -> UInt8Array:
    """Scale `pixels` from the range 0 to `brightest` to the range 0 to 255."""
    return (
        pixels
        if brightest == 255
        else (pixels.astype(np.uint16) * 255 // brightest).astype(np.uint8)
    )
