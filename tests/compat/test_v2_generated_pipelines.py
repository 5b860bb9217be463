# SPDX-License-Identifier: Apache-2.0
"""Random chains of stages give equal elements and errors for any number of rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fastrec.compat.v2 as tf
from fastrec import encode_example
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.data.streams import Rows, flattened, pulled
from fastrec.compat._tf.seeds import running
from fastrec.compat._tf.tracing.rules import RULES, enabled, without

Stage = Callable[[Any], Any]

MOST = 200  # elements and errors that are compared
REQUESTED = (1, 7, 64, 1024)


def failing(at: int) -> Stage:
    return lambda data: data.map(lambda x: x + 10 // (x - at) * 0)


def varied(data: Any) -> Any:
    return data.map(lambda x: tf.range(x % 4)).padded_batch(3).unbatch().map(tf.reduce_sum)


# Each maps a dataset of int64 scalars to another one.
STAGES: dict[str, Stage] = {
    "fails at 3": failing(3),
    "fails at 8": failing(8),
    "doubled": lambda data: data.map(lambda x: x * 2 - 7, num_parallel_calls=2),
    "kept": lambda data: data.filter(lambda x: x % 3 != 1),
    "filter fails at 5": lambda data: data.filter(lambda x: 10 // (x - 5) != 2),
    "batches": lambda data: data.batch(4).unbatch(),
    "whole batches": lambda data: data.batch(3, drop_remainder=True).unbatch(),
    "sums of batches": lambda data: data.batch(3).map(tf.reduce_sum),
    "padded": varied,
    "shuffled": lambda data: data.shuffle(5, seed=4),
    "taken": lambda data: data.take(9),
    "skipped": lambda data: data.skip(2),
    "repeated": lambda data: data.repeat(2),
    "sharded": lambda data: data.shard(2, 1),
    "numbered": lambda data: data.enumerate().map(lambda number, x: number + x),
    "zipped": lambda data: tf.data.Dataset.zip((data, data.skip(1))).map(lambda a, b: a - b),
    "concatenated": lambda data: data.concatenate(tf.data.Dataset.range(3)),
    "flat": lambda data: data.flat_map(lambda x: tf.data.Dataset.range(x % 3)),
    "interleaved": lambda data: data.interleave(
        lambda x: tf.data.Dataset.range(x, x + 2), cycle_length=2
    ),
    "windows": lambda data: data.window(3, 2).flat_map(lambda rows: rows.batch(3)).unbatch(),
    "random": lambda data: data.map(lambda x: x + tf.random.uniform([], 0, 5, tf.int64, seed=9)),
    "if": lambda data: data.map(lambda x: x // 2 if x % 2 == 0 else x * 3),
    "loop": lambda data: data.map(
        lambda x: tf.while_loop(lambda y: y > 9, lambda y: [y // 2], [tf.abs(x)])[0]
    ),
    "prefetched": lambda data: data.prefetch(2),
    "errors ignored": lambda data: data.ignore_errors(),
}


def is_comparable(names: list[str]) -> bool:
    """Return whether no error precedes a shuffle, which would move the error."""
    return "shuffled" not in names or not any("fails" in name for name in names)


CHAINS = st.lists(st.sampled_from(sorted(STAGES)), min_size=1, max_size=5).filter(is_comparable)


def made(names: list[str]) -> Any:
    tf.random.set_seed(3)
    data = tf.data.Dataset.range(20)
    for name in names:
        data = STAGES[name](data)
    return data


def outcomes(values: Iterator[Any]) -> list[Any]:
    """Return the elements, with the class and text of an error in its place."""
    found: list[Any] = []
    while len(found) < MOST:
        try:
            found.append(np.asarray(next(values)).tolist())
        except StopIteration:
            break
        except tf.errors.OpError as error:
            found.append((type(error).__name__, error.message.splitlines()[0]))
    return found


def plain(names: list[str]) -> list[Any]:
    before = tf.data.set_lowering(False)
    try:
        return outcomes(iter(made(names)))
    finally:
        tf.data.set_lowering(before)


@settings(max_examples=60, deadline=None)
@given(CHAINS)
def test_a_random_pipeline_has_the_elements_and_errors_of_plain_execution(names: list[str]) -> None:
    assert outcomes(iter(made(names))) == plain(names)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10, deadline=None)
@given(names=CHAINS)
@example(names=["padded", "if", "shuffled"])  # arrays below the maps that shuffling moves
def test_a_rule_can_be_disabled_without_a_difference(rule: str, names: list[str]) -> None:
    with without(rule):
        found = outcomes(iter(made(names)))
    assert found == outcomes(iter(made(names)))


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="got 'pixel'"), without("pixel"):
        pass


def image(record: Any) -> Any:
    kinds = {"image": tf.io.FixedLenFeature([], tf.string), "x": tf.io.VarLenFeature(tf.float32)}
    found = tf.io.parse_single_example(record, kinds)
    pixels = tf.cast(tf.io.decode_png(found["image"], 3), tf.float32)
    pixels = tf.image.flip_left_right(tf.image.resize(pixels, [9, 8])) / 255.0 - 0.5
    return pixels, tf.sparse.to_dense(found["x"]) * 2.0 + 1.0, tf.shape(pixels)


def drawn_image(record: Any) -> Any:
    pixels, *others = image(record)
    return (tf.image.random_brightness(pixels, 0.3, seed=5), *others)


@pytest.mark.parametrize("function", [image, drawn_image])
@pytest.mark.parametrize("rule", RULES)
def test_images_are_the_same_without_a_rule(rule: str, function: Any) -> None:
    rows = np.random.default_rng(2).integers(0, 256, (20, 7, 6, 3), np.uint8)
    records = [
        encode_example({"image": [tf.io.encode_png(row).numpy()], "x": [0.5] * (number % 3)})
        for number, row in enumerate(rows)
    ]

    def batches() -> list[Any]:
        data = tf.data.Dataset.from_tensor_slices(records).shuffle(7, seed=3).map(function)
        assert isinstance(data._node, Map)
        assert (data._node.trace.divided is not None) == enabled("small together")
        return list(data.padded_batch(6).as_numpy_iterator())

    expected = batches()
    with without(rule):
        for ours, theirs in zip(batches(), expected, strict=True):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one, other)


@settings(max_examples=40, deadline=None)
@given(CHAINS, st.sampled_from(REQUESTED))
def test_any_requested_number_of_rows_gives_the_same(names: list[str], rows: int) -> None:
    node = made(names)._node
    token = running.set({})
    try:
        found = outcomes(
            map(itemgetter(0), flattened(map(Rows.elements, pulled(node.start(rows), rows))))
        )
        assert found == plain(names)
    finally:
        running.reset(token)


@pytest.mark.parametrize("name", STAGES)
def test_each_stage_has_the_elements_and_errors_of_plain_execution(name: str) -> None:
    for names in ([name], ["fails at 3", name], [name, "fails at 8", "batches"]):
        if is_comparable(names):
            assert outcomes(iter(made(names))) == plain(names)
