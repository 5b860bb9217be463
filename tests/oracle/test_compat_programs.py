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
    """Types, shapes and elements of a dataset that a graph makes."""
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


def test_parts_of_a_choice_draw_for_the_elements_that_come_to_them(tf: Any) -> None:
    def make(tf: Any) -> Any:
        def change(i: Any) -> Any:
            def side() -> Any:
                chance = tf.random_uniform([], seed=3) < 0.5
                return tf.cond(chance, lambda: tf.random_uniform([2]), lambda: tf.zeros([2]))

            return i, tf.cond(i % 3 > 0, side, lambda: tf.ones([2]))

        return tf.data.Dataset.range(40).map(change).batch(7)

    same_in_graphs(tf, make, passes=2)


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


def walk(tf: Any, make: Callable[[Any], Any]) -> Any:
    """The spec and the elements of a dataset."""
    dataset = make(tf)

    def plain(part: Any) -> Any:
        return np.asarray(part.numpy()).tolist()

    return str(dataset.element_spec), [tf.nest.map_structure(plain, each) for each in dataset]


def same_at_once(tf: Any, make: Callable[[Any], Any]) -> None:
    expected = walk(tf, make)
    for found in both_ways(lambda: walk(ours2, make)):
        assert found == expected


VERSION_1: dict[str, Callable[[Any, Any], Any]] = {
    "split": lambda tf, s: tf.string_split([s]).values,
    "dense": lambda tf, s: tf.sparse_tensor_to_dense(tf.string_split([s]), default_value=""),
    "length": lambda tf, s: tf.size(tf.strings.split([s]).values),
    "hash": lambda tf, s: tf.string_to_hash_bucket_fast(s, 7),
    "joined": lambda tf, s: tf.reduce_join([s, s], reduction_indices=0),
    "expanded": lambda tf, s: tf.expand_dims(s, dim=0),
    "largest": lambda tf, s: tf.argmax([tf.strings.length(s), 3], dimension=0),
    "sparse": lambda tf, s: tf.sparse_to_dense([[0]], [2], s, default_value="z"),
}


@pytest.mark.parametrize("name", VERSION_1)
def test_names_of_version_1_in_functions(tf: Any, name: str) -> None:
    function = VERSION_1[name]
    same_at_once(
        tf,
        lambda tf: tf.data.Dataset.from_tensor_slices(["a b c", "d e", "f"]).map(
            lambda text: function(tf.compat.v1, text)
        ),
    )


def test_specs_of_functions_that_decide(tf: Any) -> None:
    def make(tf: Any) -> Any:
        def views(x: Any) -> Any:
            image = tf.reshape(tf.cast(x, tf.float32) + tf.zeros([12]), [3, 4])
            if x > 4:
                image = tf.reverse(image, [0])
            if x % 2 == 0:
                return {"image": image, "mask": tf.ones([3])}
            return {"image": image + 1.0, "mask": tf.ones([2])}

        found = tf.data.Dataset.range(6).map(views)
        return found.map(lambda row: (row["image"], tf.shape(row["mask"]))).batch(2, True)

    same_at_once(tf, make)


@pytest.mark.parametrize(
    "how",
    [
        {"size": 1, "dynamic_size": True},
        {"size": 0, "dynamic_size": True},
        {"size": 2, "element_shape": [3]},
        {"size": 0, "element_shape": [3], "dynamic_size": True},
    ],
    ids=str,
)
def test_arrays_that_nothing_was_written_to(tf: Any, how: dict[str, Any]) -> None:
    def told(tf: Any, ask: Callable[[Any], Any]) -> Any:
        try:
            return ask(tf.TensorArray(tf.float32, **how)).numpy().tolist()
        except Exception as error:
            return type(error).__name__, str(error)

    for ask in (lambda array: array.stack(), lambda array: array.read(0)):
        assert told(ours2, ask) == told(tf, ask)


def _rows(tf: Any) -> Any:
    """Of elements whose number of rows differs."""
    return tf.data.Dataset.range(8).map(lambda x: (x, tf.range(x % 4)))


FLATTENED: dict[str, Callable[[Any], Any]] = {
    "one element": lambda tf: _rows(tf).flat_map(
        lambda x, rows: tf.data.Dataset.from_tensors((x + 1, rows * 2))
    ),
    "rows": lambda tf: _rows(tf).flat_map(
        lambda x, rows: tf.data.Dataset.from_tensor_slices((rows, tf.fill([tf.size(rows)], x)))
    ),
    "rows of constants": lambda tf: _rows(tf).flat_map(
        lambda x, rows: tf.data.Dataset.from_tensor_slices((tf.add(x, [1, 2]), [5.0, 6.0]))
    ),
    "in turns": lambda tf: _rows(tf).interleave(
        lambda x, rows: tf.data.Dataset.from_tensors((x, rows)), cycle_length=3, block_length=2
    ),
    "rows in turns": lambda tf: _rows(tf).interleave(
        lambda x, rows: tf.data.Dataset.from_tensor_slices((rows, rows + 1)), cycle_length=3
    ),
    "and batched": lambda tf: (
        _rows(tf)
        .flat_map(lambda x, rows: tf.data.Dataset.from_tensor_slices((rows, rows)))
        .repeat(2)
        .batch(5)
    ),
    "changed": lambda tf: _rows(tf).flat_map(
        lambda x, rows: tf.data.Dataset.from_tensor_slices((rows, rows)).map(lambda a, b: (a, x))
    ),
    "draws": lambda tf: _rows(tf).flat_map(
        lambda x, rows: tf.data.Dataset.from_tensor_slices(
            (tf.random.uniform([3], seed=5), x + tf.zeros([3], tf.int64))
        )
    ),
}


@pytest.mark.parametrize("name", FLATTENED)
def test_data_sets_of_what_functions_compute(tf: Any, name: str) -> None:
    same_in_graphs(tf, FLATTENED[name])
    if name != "draws":  # whose seeds depend on what was drawn before, in version 2
        same_at_once(tf, FLATTENED[name])


def test_words_as_bytes_by_map_fn(tf: Any, text: str) -> None:
    def make(tf: Any) -> Any:
        def as_bytes(word: Any) -> Any:
            found = tf.to_int32(tf.decode_raw(word, tf.uint8))[:4]
            filler = tf.fill([4 - tf.shape(found)[0]], 260)
            return tf.reshape(tf.concat([[258], found, filler], 0), [5]) + 1

        def of_line(line: Any) -> Any:
            words = tf.string_split([line]).values
            return tf.reshape(tf.map_fn(as_bytes, words, tf.int32), [-1]), tf.size(words)

        lines = tf.data.TextLineDataset(text).filter(lambda line: tf.strings.length(line) > 0)
        return lines.map(of_line).padded_batch(16, ([None], []), (261, 0))

    same_in_graphs(tf, make)


def test_functions_of_rows_that_differ_in_shape_fail(tf: Any) -> None:
    def told(tf: Any) -> Any:
        def rows(x: Any) -> Any:
            return tf.map_fn(lambda n: tf.range(n), tf.range(x))

        with tf.Graph().as_default():
            following = tf.data.make_one_shot_iterator(
                tf.data.Dataset.range(1, 4).map(rows)
            ).get_next()
            with tf.Session() as session:
                found = [session.run(following).tolist()]
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(following)
        return found

    assert told(ours1) == told(tf.compat.v1)


MISTAKES: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "key": (KeyError, lambda ds: ds.map(lambda x: {"a": x}).map(lambda row: row["b"])),
    "arguments": (TypeError, lambda ds: ds.map(lambda x, y: x)),
    "ignored": (KeyError, lambda ds: ds.map(lambda x: {"a": x}["b"]).take(2)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_errors_of_map(tf: Any, name: str) -> None:
    kind, make = MISTAKES[name]
    for module in (tf, ours2, ours1):
        with pytest.raises(kind):
            make(module.data.Dataset.range(3))


@pytest.mark.parametrize("most", [3, 1])
def test_numbers_of_lines(tf: Any, tmp_path: Path, most: int) -> None:
    draw = np.random.default_rng(4)
    pairs = [[f"{n}:{draw.random():g}" for n in range(1 + row % most)] for row in range(300)]
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{row % 2} {' '.join(each)}\n" for row, each in enumerate(pairs)))

    def make(tf: Any) -> Any:
        def numbers(line: Any) -> Any:
            columns = tf.string_split([line], " ")
            pairs = tf.string_split(columns.values[1:], ":")
            ids, values = tf.split(tf.reshape(pairs.values, pairs.dense_shape), 2, axis=1)
            label = tf.string_to_number(columns.values[0])
            return label, tf.string_to_number(ids, tf.int32), tf.string_to_number(values)

        return tf.data.TextLineDataset(str(path)).map(numbers, 4).prefetch(9)

    same_in_graphs(tf, make)


@pytest.mark.parametrize("batched", [False, True])
def test_columns_of_lines(tf: Any, tmp_path: Path, batched: bool) -> None:
    cells = ["", "1", "22", "-3", "0007", "123456789", "2147483647"]
    draw = np.random.default_rng(5)
    rows = [",".join(draw.choice(cells, 4).tolist()) for _ in range(200)]
    rows[150] = '"a,""b""",1,2.5e3,'
    path = tmp_path / "lines.csv"
    path.write_text("\n".join(rows))

    def make(tf: Any) -> Any:
        def columns(lines: Any) -> Any:
            return tuple(tf.decode_csv(lines, [["x"], [7], [0.5], [""]]))

        lines = tf.data.TextLineDataset(str(path))
        if batched:
            return lines.batch(32).map(columns, 2)
        return lines.map(columns).batch(32)

    same_in_graphs(tf, make)
