# SPDX-License-Identifier: Apache-2.0
"""Chains of transformations, drawn at random, under TensorFlow and ``fastrec.compat.v2``."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as ours

Step = Callable[[Any, Any], Any]
CHAINS = 120
LONGEST = 400


def _elementwise(draw: random.Random) -> Step:
    a, b, size = draw.randint(1, 5), draw.randint(1, 7), draw.randint(1, 9)
    steps: list[Step] = [
        lambda tf, ds: ds.map(lambda x: x * a + b),
        lambda tf, ds: ds.map(lambda x: tf.where(x % a == 0, x, -x), num_parallel_calls=2),
        lambda tf, ds: ds.filter(lambda x: x % (a + 1) != 0),
        lambda tf, ds: ds.batch(size).map(lambda x: x + b).unbatch(),
        lambda tf, ds: ds.map(lambda x: (x, x * a)).batch(size).map(lambda x, y: y - x).unbatch(),
        lambda tf, ds: ds.flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(a)),
        lambda tf, ds: ds.interleave(
            lambda x: tf.data.Dataset.range(x, x + a), cycle_length=b, block_length=a
        ),
        lambda tf, ds: ds.interleave(
            lambda x: tf.data.Dataset.range(x, x + a), cycle_length=a + 1, num_parallel_calls=2
        ),
        lambda tf, ds: ds.window(size, shift=b, drop_remainder=bool(a % 2)).flat_map(
            lambda window: window.batch(size).map(lambda x: tf.reduce_sum(x))
        ),
        lambda tf, ds: ds.scan(np.int64(0), lambda state, x: (state + x, state + x)),
    ]
    return draw.choice(steps)


def _ordering(draw: random.Random, shuffles: bool = True) -> Step:
    n, seed, size = draw.randint(1, 6), draw.randint(0, 99), draw.randint(1, 40)
    again = draw.random() < 0.5
    steps: list[Step] = [
        lambda tf, ds: ds.shuffle(size, seed=seed, reshuffle_each_iteration=again),
        lambda tf, ds: ds.shuffle(size, seed=seed),
        lambda tf, ds: ds.repeat(1 + n % 2),
        lambda tf, ds: ds.repeat().take(size),
        lambda tf, ds: ds.take(size),
        lambda tf, ds: ds.skip(n),
        lambda tf, ds: ds.shard(n, n // 2),
        lambda tf, ds: ds.concatenate(tf.data.Dataset.range(n)),
        lambda tf, ds: ds.enumerate().map(lambda i, x: i + x),
        lambda tf, ds: tf.data.Dataset.zip((ds, ds.skip(1))).map(lambda x, y: x - y),
        lambda tf, ds: ds.cache(),
        lambda tf, ds: ds.prefetch(n),
        lambda tf, ds: ds.take_while(lambda x: x < 10 * size),
    ]
    return draw.choice(steps[0 if shuffles else 2 :])


def _ending(draw: random.Random) -> Step:
    size, drop = draw.randint(1, 9), draw.random() < 0.5
    steps: list[Step] = [
        lambda tf, ds: ds.batch(size, drop_remainder=drop),
        lambda tf, ds: ds.map(lambda x: tf.range(tf.abs(x) % 5)).padded_batch(size),
        lambda tf, ds: ds.map(lambda x: {"x": x, "y": tf.cast(x, tf.float32) / 3}).batch(size),
        lambda tf, ds: ds.map(lambda x: tf.strings.as_string(x)).batch(size),
        lambda tf, ds: ds.map(lambda x: tf.range(tf.abs(x) % 5)).ragged_batch(size),
        lambda tf, ds: ds,
    ]
    return draw.choice(steps)


def chain(seed: int) -> list[Step]:
    draw = random.Random(seed)
    middle = [draw.choice([_elementwise, _ordering])(draw) for _ in range(draw.randint(1, 5))]
    return [*middle, _ending(draw)]


def failing_chain(seed: int) -> list[Step]:
    """Some of its functions fail. None of its steps shuffles: fast shuffles draw errors, too."""
    draw = random.Random(seed)
    middle = [
        _elementwise(draw) if draw.random() < 0.5 else _ordering(draw, shuffles=False)
        for _ in range(draw.randint(1, 5))
    ]
    for _ in range(draw.randint(1, 2)):
        n, at = draw.randint(4, 9), draw.randint(0, len(middle))
        fails: list[Step] = [
            lambda tf, ds, n=n: ds.map(lambda x: x + 0 * (1 // (x % n - 3))),
            lambda tf, ds, n=n: ds.filter(lambda x: 1 // (x % n - 2) < 9),
            lambda tf, ds, n=n: ds.flat_map(lambda x: tf.data.Dataset.range(3 // (x % n - 1) + 3)),
        ]
        middle.insert(at, draw.choice(fails))
    return [*middle, _ending(draw)]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if hasattr(value, "to_list"):
        return value.to_list()
    array = value.numpy()
    return array.tolist() if isinstance(array, (np.ndarray, np.generic)) else array


def built(tf: Any, steps: list[Step]) -> Any:
    dataset = tf.data.Dataset.range(37)
    for step in steps:
        dataset = step(tf, dataset)
    return dataset


def check_both_ways(ours_gives: Callable[[], Any], expected: Any) -> None:
    for fast in (True, False):
        before = ours.data.set_lowering(fast)
        try:
            assert ours_gives() == expected, fast
        finally:
            ours.data.set_lowering(before)


def run(tf: Any, steps: list[Step]) -> Any:
    tf.random.set_seed(5)
    dataset = built(tf, steps)
    return [[plain(element) for element in dataset.take(LONGEST)] for _ in range(2)]


@pytest.mark.parametrize("seed", range(CHAINS))
def test_a_chain_gives_what_tensorflow_gives(tf: Any, seed: int) -> None:
    check_both_ways(lambda: run(ours, chain(seed)), run(tf, chain(seed)))


def walked(tf: Any, steps: list[Step]) -> list[Any]:
    """The elements, with None in the places of errors."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False  # they lose elements
    iterator = iter(built(tf, steps).with_options(options))
    found: list[Any] = []
    while len(found) < LONGEST:
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            break
        except tf.errors.OpError:
            found.append(None)
    return found


@pytest.mark.parametrize("seed", range(CHAINS))
def test_a_chain_goes_on_after_errors_as_in_tensorflow(tf: Any, seed: int) -> None:
    check_both_ways(lambda: walked(ours, failing_chain(seed)), walked(tf, failing_chain(seed)))
