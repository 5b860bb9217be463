# SPDX-License-Identifier: Apache-2.0
"""Programs that add a step for each of thousands of files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import fastrec.compat.v2 as tf

STEPS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda ds: ds.concatenate(tf.data.Dataset.range(1)),
    "concatenate before": lambda ds: tf.data.Dataset.range(1).concatenate(ds),
    "map": lambda ds: ds.map(lambda x: x + 0),
    "filter": lambda ds: ds.filter(lambda x: x >= 0),
    "batches": lambda ds: ds.map(lambda x: x).batch(2).unbatch(),
    "take": lambda ds: ds.take(-1),
    "zip": lambda ds: tf.data.Dataset.zip((ds, tf.data.Dataset.range(9))).map(lambda a, b: a),
    "options": lambda ds: ds.with_options(tf.data.Options()).take(-1),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_chain_longer_than_the_stack_is_iterated(step: Callable[[Any], Any]) -> None:
    limit = sys.getrecursionlimit()
    dataset = tf.data.Dataset.range(3)
    for _ in range(1200):
        dataset = step(dataset)
    found = [int(element) for element in dataset]
    assert sorted(found)[-2:] == [1, 2]
    assert dataset.element_spec.dtype == tf.int64
    assert int(dataset.cardinality()) in (len(found), -2)
    assert isinstance(dataset.options(), tf.data.Options)
    assert int(dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)) == 3
    assert sys.getrecursionlimit() == limit


def is_positive(x: Any) -> Any:
    return x >= 0


REPEATED: dict[str, Callable[[Any], Any]] = {
    **STEPS,
    "shuffle": lambda ds: ds.shuffle(3, seed=1),
    "filter and shuffle": lambda ds: ds.filter(is_positive).shuffle(3, seed=1),
    "map and shuffle": lambda ds: ds.map(lambda x: x).shuffle(3, seed=1),
    "batches and shuffle": lambda ds: ds.batch(2).unbatch().shuffle(3, seed=1),
    "vectors and shuffle": lambda ds: ds.batch(1).shuffle(3, seed=1).unbatch(),
    "shuffle and repeat": lambda ds: ds.shuffle(3, seed=1).repeat(1),
    "cache": lambda ds: ds.cache(),
    "prefetch": lambda ds: ds.prefetch(1),
    "enumerate": lambda ds: ds.enumerate().map(lambda i, x: x),
    "flat_map": lambda ds: ds.flat_map(tf.data.Dataset.from_tensors),
    "interleave": lambda ds: ds.interleave(tf.data.Dataset.from_tensors, cycle_length=2),
    "window": lambda ds: ds.window(2).flat_map(lambda window: window),
    "scan": lambda ds: ds.scan(tf.constant(0, tf.int64), lambda state, x: (state, x)),
    "take_while": lambda ds: ds.take_while(is_positive),
    "unique": lambda ds: ds.unique(),
    "shard": lambda ds: ds.shard(1, 0),
    "ragged_batch": lambda ds: ds.ragged_batch(2).unbatch(),
    "padded_batch": lambda ds: ds.padded_batch(2).unbatch(),
    "rebatch": lambda ds: ds.batch(2).rebatch(3).unbatch(),
    "sample": lambda ds: tf.data.Dataset.sample_from_datasets([ds, ds.take(0)], seed=1),
}


def calls_of(step: Callable[[Any], Any], count: int) -> int:
    """Python functions that are called to make and to iterate over a chain of `count` steps."""
    calls = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        dataset = tf.data.Dataset.range(3)
        for _ in range(count):
            dataset = step(dataset)
        found = sorted(int(element) for element in dataset)
    finally:
        sys.setprofile(None)
    assert found[-2:] == [1, 2]
    return calls


@pytest.mark.parametrize("step", REPEATED.values(), ids=REPEATED)
def test_the_work_for_a_chain_does_not_grow_exponentially(step: Callable[[Any], Any]) -> None:
    calls_of(step, 1)  # imports what it needs
    assert calls_of(step, 12) < 5 * calls_of(step, 6)


def test_an_error_in_a_long_chain_reaches_the_program_and_iterating_goes_on() -> None:
    dataset = tf.data.Dataset.range(4).map(lambda x: tf.debugging.check_numerics(6 / (x - 1), "x"))
    for _ in range(300):
        dataset = dataset.map(lambda x: x)
    elements = iter(dataset)
    assert float(next(elements)) == -6
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(elements)
    assert [float(element) for element in elements] == [6, 3]
    with pytest.raises(StopIteration):
        next(elements)


def test_options_of_a_part_of_a_concatenation_are_kept() -> None:
    options = tf.data.Options()
    options.deterministic = False
    first = tf.data.Dataset.range(1).concatenate(tf.data.Dataset.range(2)).with_options(options)
    whole = first.concatenate(tf.data.Dataset.range(3))
    assert whole.options().deterministic is False
    assert [int(element) for element in whole] == [0, 0, 1, 0, 1, 2]
