# SPDX-License-Identifier: Apache-2.0
"""Candidate sampling: classes drawn as negative examples in addition to the true classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import float32, int64
from .._tf.errors import invalid
from .._tf.kernels import philox
from .._tf.ops import Array
from .._tf.ops.draws import Drawing
from .._tf.specs import TensorSpec, TypeSpec

_WORDS = 1 << 64
_RESERVED = 512  # blocks for each number, because TensorFlow reserves 2048 words
_MOST = 1 << 16  # numbers drawn in one call


def _drawn(start: Array, dtype: Any, count: int) -> Iterator[Array]:
    """Yield 64-bit numbers endlessly: first `count` of them, then larger arrays."""
    key, position = int(start[0]), int(start[1]) | int(start[2]) << 64
    while True:
        count = min(count + count % 2, _MOST)  # one block contains two numbers
        begin = np.array([key, position % _WORDS, position // _WORDS % _WORDS], np.uint64)
        if dtype is np.float64:
            yield philox.uniform(begin, (count,), np.dtype(dtype))
        else:
            yield philox.drawn("integer", begin, (count,), dtype)
        position, count = position + count // 2, 2 * count


def _log_uniform(start: Array, count: int, span: int) -> Iterator[Array]:
    for each in _drawn(start, np.float64, count):
        yield (np.exp(each * math.log1p(span)).astype(np.int64) - 1) % span


def _log_uniform_chances(classes: Array, span: int) -> Array:
    return np.log((classes + 2.0) / (classes + 1.0)) / math.log1p(span)


def _uniform(start: Array, count: int, span: int) -> Iterator[Array]:
    # The lowest numbers are rejected, so that all classes have the same probability.
    refused = np.uint64(_WORDS % span)
    for each in _drawn(start, np.uint64, count):
        yield (each[each >= refused] % np.uint64(span)).astype(np.int64)


def _uniform_chances(classes: Array, span: int) -> Array:
    return np.full(classes.shape, 1 / span)


def _sampled(parts: Iterator[Array], count: int, unique: bool) -> tuple[Array, int]:
    """Return classes, and the number of draws until there were enough classes."""
    found, tries = np.empty(0, np.int64), 0
    while True:
        part = next(parts)
        whole = np.concatenate([found, part])
        first = np.sort(np.unique(whole, return_index=True)[1]) if unique else np.arange(len(whole))
        if len(first) >= count:
            last = int(first[count - 1]) if count else -1
            return whole[first[:count]], tries + max(0, last + 1 - len(found))
        found, tries = whole[first], tries + len(part)


def _sampler(name: str, draw: Callable[..., Any], chances: Callable[..., Array]) -> Drawing:
    def kernel(
        start: Array, true: Array, *, num_true: int, count: int, unique: bool, span: int
    ) -> tuple[Array, ...]:
        if true.ndim != 2:
            raise invalid("true_classes must be a matrix")
        if true.shape[1] != num_true:
            columns = f"expected: {true.shape[1]} was: {num_true}"
            raise invalid(f"true_classes must have num_true columns, {columns}")
        if unique and count > span:
            raise invalid("Sampler's range is too small.")
        for each in true[(true < 0) | (true >= span)].tolist():
            raise invalid(f"`true_candidate` out of range [0, {span}), received {each}")
        found, tries = _sampled(draw(start, count + 1, span), count, unique)

        def expected(classes: Array) -> Array:
            chance = chances(classes, span).astype(np.float32)
            if tries == count:
                return chance * np.float32(count)
            power: Array = tries * np.log1p(-chance, dtype=np.float64)
            return -np.expm1(power).astype(np.float32)

        return found, expected(true), expected(found)

    def infer(
        specs: Sequence[Any], *_: Any, num_true: int, count: int, **__: Any
    ) -> list[TypeSpec]:
        rows = (specs[1].shape.sizes or [None])[0]
        return [
            TensorSpec([count], int64),
            TensorSpec([rows, num_true], float32),
            TensorSpec([count], float32),
        ]

    return Drawing(name, kernel, infer, blocks=lambda *_, count, **__: _RESERVED * count)


LOG_UNIFORM = _sampler("LogUniformCandidateSampler", _log_uniform, _log_uniform_chances)
UNIFORM = _sampler("UniformCandidateSampler", _uniform, _uniform_chances)
