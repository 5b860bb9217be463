# SPDX-License-Identifier: Apache-2.0
"""Input pipelines in the style of published ones, under TensorFlow and the modules.

Each is written once. Elements, types and shapes have to be equal, with columns of elements and
without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours2

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]


@pytest.fixture
def text(tmp_path: Path) -> str:
    draw = np.random.default_rng(2)
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(draw.choice(WORDS, n % 9)) + "\n" for n in range(700)))
    return str(path)


@pytest.fixture
def words(tmp_path: Path) -> str:
    path = tmp_path / "words.txt"
    path.write_text("\n".join(["<unk>", "<s>", "</s>", *WORDS[:6]]))
    return str(path)


def run(tf: Any, make: Callable[[Any], Any], passes: int = 1) -> list[Any]:
    """Types, shapes and elements of a data set that a graph makes."""
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        made = make(tf)
        rows = tf.data.make_initializable_iterator(made)
        parts = rows.get_next()
        parts = list(parts) if isinstance(parts, (tuple, list)) else [parts]
        found: list[Any] = [[(part.dtype.name, part.shape.as_list()) for part in parts]]
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            for _ in range(passes):
                session.run(rows.initializer)
                while True:
                    try:
                        found.append([np.asarray(x).tolist() for x in session.run(parts)])
                    except tf.errors.OutOfRangeError:
                        break
    return found


def both_ways(walked: Callable[[], Any]) -> Iterator[Any]:
    for fast in (True, False):
        before = ours2.data.set_lowering(fast)
        try:
            yield walked()
        finally:
            ours2.data.set_lowering(before)


def same_in_graphs(tf: Any, make: Callable[[Any], Any], passes: int = 1) -> None:
    expected = run(tf.compat.v1, make, passes)
    assert len(expected) > 1
    for found in both_ways(lambda: run(ours1, make, passes)):
        assert found == expected


SHUFFLED: dict[str, Callable[[Any], Any]] = {
    "seed": lambda tf: tf.data.Dataset.range(50).shuffle(60, 3),
    "small buffer": lambda tf: tf.data.Dataset.range(50).shuffle(7, 3),
    "of the graph": lambda tf: tf.data.Dataset.range(9).shuffle(5).shuffle(3),
    "one order": lambda tf: tf.data.Dataset.range(20).shuffle(20, 3, False).repeat(2),
    "other orders": lambda tf: tf.data.Dataset.range(9).shuffle(9, 3).prefetch(2).repeat(3),
    "captured": lambda tf: tf.data.Dataset.range(tf.constant(9, tf.int64) + 1).shuffle(4),
    "sampled": lambda tf: tf.data.experimental.sample_from_datasets(
        [tf.data.Dataset.range(5), tf.data.Dataset.range(10, 15)], [0.5, 0.5], seed=2
    ),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_orders_of_graphs(tf: Any, name: str) -> None:
    same_in_graphs(tf, SHUFFLED[name], passes=2)


def test_translation_in_buckets(tf: Any, text: str, words: str) -> None:
    def make(tf: Any) -> Any:
        initializer = tf.lookup.TextFileInitializer(words, tf.string, -2, tf.int64, -1)
        table = tf.lookup.StaticHashTable(initializer, 0)
        begin, end = (tf.constant([number], tf.int32) for number in (1, 2))
        lines = tf.data.TextLineDataset(text)
        pairs = tf.data.Dataset.zip((lines, lines.skip(1))).shard(2, 1).shuffle(90, 4)
        pairs = pairs.map(
            lambda a, b: (tf.string_split([a]).values, tf.string_split([b]).values), 4
        ).prefetch(100)
        pairs = pairs.filter(lambda a, b: tf.logical_and(tf.size(a) > 0, tf.size(b) > 0))
        pairs = pairs.map(lambda a, b: (a[:6], b[1:7]), 4).prefetch(100)
        pairs = pairs.map(
            lambda a, b: (tf.cast(table.lookup(a), tf.int32), tf.cast(table.lookup(b), tf.int32))
        )
        pairs = pairs.map(lambda a, b: (a, tf.concat([begin, b], 0), tf.concat((b, end), 0)))
        pairs = pairs.map(lambda a, b, c: (a, b, c, tf.size(a), tf.size(b)), 4).prefetch(100)

        def key(_a: Any, _b: Any, _c: Any, first: Any, second: Any) -> Any:
            return tf.to_int64(tf.minimum(3, tf.maximum(first // 2, second // 2)))

        def batch(_: Any, window: Any) -> Any:
            return window.padded_batch(8, ([None], [None], [None], [], []), (2, 2, 2, 0, 0))

        return pairs.apply(tf.data.experimental.group_by_window(key, batch, 8))

    same_in_graphs(tf, make)


def test_splitting_of_several_strings(tf: Any, text: str) -> None:
    def make(tf: Any) -> Any:
        lines = tf.data.TextLineDataset(text).take(60)
        return lines.batch(3).map(
            lambda rows: (
                tf.string_split(rows, " o").values,
                tf.string_split(rows).dense_shape,
                tf.string_split([rows[0], rows[1]]).indices,
                tf.string_split([rows[0]], "").indices,
                tf.sparse_tensor_to_dense(tf.string_split(rows), ""),
            )
        )

    same_in_graphs(tf, make)
