# SPDX-License-Identifier: Apache-2.0
"""Compute the statistics for LeRobot's normalisation, of each episode and of all episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_FRAMES", "Total", "of_images", "of_numbers", "sampled"]

MAX_FRAMES = 100
"""Number of images of an episode from which its statistics are computed."""

_SIDE = 150  # rows and columns of an image that are used, about
_QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}


def of_numbers(values: NDArray[Any]) -> dict[str, Any]:
    """Return the statistics of the values of each step, whose first dimension is the step."""
    exact = values.astype(np.float64).reshape(len(values), *(values.shape[1:] or (1,)))
    found = {
        "min": exact.min(axis=0),
        "max": exact.max(axis=0),
        "mean": exact.mean(axis=0),
        "std": exact.std(axis=0),
    }
    found |= zip(_QUANTILES, np.quantile(exact, list(_QUANTILES.values()), axis=0), strict=True)
    return {"count": [len(values)], **{name: each.tolist() for name, each in found.items()}}


def sampled(length: int) -> NDArray[np.int64]:
    """Return the numbers of the steps of an episode whose images are used, evenly spaced."""
    return np.linspace(0, length - 1, min(length, MAX_FRAMES)).round().astype(np.int64)


def of_images(images: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the statistics of each channel of images, with samples from 0 to 1."""
    every = max(1, max(images.shape[1:3]) // _SIDE)
    samples = images[:, ::every, ::every].reshape(-1, images.shape[-1])
    found: dict[str, list[Any]] = {}
    for channel in samples.T:
        for name, value in _of_counts(np.bincount(channel, minlength=256)).items():
            found.setdefault(name, []).append([[value / 255]])
    return {"count": [len(images)], **found}


def _of_counts(counts: NDArray[Any]) -> dict[str, float]:
    """Return the statistics of integers, given the number of times that each occurs."""
    there = np.flatnonzero(counts)
    total = int(counts.sum())
    mean = float(counts @ np.arange(len(counts))) / total
    variance = float(counts @ np.square(np.arange(len(counts)) - mean)) / total
    found = {"min": float(there[0]), "max": float(there[-1]), "mean": mean, "std": variance**0.5}
    ends = np.cumsum(counts)
    for name, quantile in _QUANTILES.items():
        at = quantile * (total - 1)
        low, high = np.searchsorted(ends, [np.floor(at), np.ceil(at)], side="right")
        found[name] = float(low + (high - low) * (at % 1))
    return found


class Total:
    """The statistics of all episodes, from those of each.

    A quantile is the mean of the quantiles of the episodes, weighted by their numbers of values, as
    LeRobot defines it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._found: dict[str, NDArray[np.float64]] = {}

    def add(self, stats: Mapping[str, Any]) -> None:
        """Add the statistics of one episode."""
        new = {name: np.asarray(value, np.float64) for name, value in stats.items()}
        added = int(new.pop("count").item())
        whole = self._count + added
        share = added / whole
        if not self._count:
            self._found = new
        else:
            old = self._found
            apart = new["mean"] - old["mean"]
            variance = np.square(old["std"]) * (1 - share) + np.square(new["std"]) * share
            variance += np.square(apart) * (share * (1 - share))
            merged = {name: old[name] + (new[name] - old[name]) * share for name in old}
            merged["min"] = np.minimum(old["min"], new["min"])
            merged["max"] = np.maximum(old["max"], new["max"])
            merged["std"] = np.sqrt(variance)
            self._found = merged
        self._count = whole

    def result(self) -> dict[str, Any]:
        """Return the statistics as lists of numbers."""
        return {
            **{name: value.tolist() for name, value in self._found.items()},
            "count": [self._count],
        }
