# SPDX-License-Identifier: Apache-2.0
"""A small classifier in NumPy: one hidden layer, softmax, stochastic gradient descent."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
Int64Array = npt.NDArray[np.int64]


class Classifier:
    """``inputs -> hidden (ReLU) -> classes (softmax)``, trained one batch at a time.

    Parameters
    ----------
    inputs, hidden, classes : int
        The sizes of the three layers.
    seed : int
        Seed of the initial weights.
    rate, momentum : float
        Learning rate and momentum of the gradient descent.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        classes: int,
        *,
        seed: int = 0,
        rate: float = 0.05,
        momentum: float = 0.9,
    ) -> None:
        random = np.random.default_rng(seed)
        self.rate: np.float32 = np.float32(rate)
        self.momentum: np.float32 = np.float32(momentum)
        self.weights: list[Float32Array] = [
            _random_weights(random, inputs, hidden),
            np.zeros(hidden, np.float32),
            _random_weights(random, hidden, classes),
            np.zeros(classes, np.float32),
        ]
        self._velocities = [np.zeros_like(weight) for weight in self.weights]

    def predict(self, x: Float32Array) -> Int64Array:
        """Return the most likely class of each row of `x`, shape (rows, inputs)."""
        likeliest: Int64Array = np.argmax(self._forward(x)[1], axis=1)
        return likeliest

    def step(self, x: Float32Array, labels: Int64Array) -> float:
        """Learn from one batch; return the mean cross-entropy on it before the step."""
        hidden, logits = self._forward(x)
        likely = _softmax(logits)
        rows = np.arange(len(x))
        loss = -float(np.mean(np.log(np.maximum(likely[rows, labels], 1e-12))))
        for weight, velocity, gradient in zip(
            self.weights, self._velocities, self._gradients(x, hidden, likely, labels), strict=True
        ):
            velocity *= self.momentum
            velocity -= self.rate * gradient
            weight += velocity
        return loss

    def _forward(self, x: Float32Array) -> tuple[Float32Array, Float32Array]:
        w1, b1, w2, b2 = self.weights
        hidden = np.maximum(x @ w1 + b1, 0)
        return hidden, hidden @ w2 + b2

    def _gradients(
        self, x: Float32Array, hidden: Float32Array, likely: Float32Array, labels: Int64Array
    ) -> tuple[Float32Array, Float32Array, Float32Array, Float32Array]:
        d_logits = likely.copy()
        d_logits[np.arange(len(x)), labels] -= 1
        d_logits /= len(x)
        d_hidden = (d_logits @ self.weights[2].T) * (hidden > 0)
        return x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_logits, d_logits.sum(axis=0)


def _random_weights(random: np.random.Generator, inputs: int, outputs: int) -> Float32Array:
    return random.normal(0, np.sqrt(2 / inputs), (inputs, outputs)).astype(np.float32)


def _softmax(logits: Float32Array) -> Float32Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely: Float32Array = powers / powers.sum(axis=1, keepdims=True)
    return likely


def scaled(pixels: npt.NDArray[Any], brightest: float) -> Float32Array:
    """Return images, shape (rows, ...), as rows of float32 between -1 and 1."""
    flat = np.asarray(pixels, dtype=np.float32).reshape(len(pixels), -1)
    return flat * np.float32(2 / brightest) - np.float32(1)


def area_mean(image: npt.NDArray[np.uint8], side: int) -> Float32Array:
    """Reduce `image`, shape (height, width, channels), to the means of `side` by `side` areas.

    If the image has fewer pixels than areas, pixels are repeated.
    """
    height, width, _ = image.shape
    tops = np.arange(side + 1) * height // side
    lefts = np.arange(side) * width // side
    bands = [
        image[top : max(bottom, top + 1)].sum(axis=0, dtype=np.uint32)
        for top, bottom in pairwise(tops)
    ]
    sums = np.add.reduceat(np.stack(bands), lefts, axis=1)
    rows = np.maximum(np.diff(tops), 1)
    columns = np.maximum(np.diff(np.append(lefts, width)), 1)
    return (sums / np.outer(rows, columns)[:, :, np.newaxis]).astype(np.float32)
