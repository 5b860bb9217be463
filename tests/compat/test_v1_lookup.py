# SPDX-License-Identifier: Apache-2.0
"""Tables in graphs and in datasets of version 1. The numbers are TensorFlow 2.21's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
import fastrec.compat.v2 as v2


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetch: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(fetch)


def pairs() -> Any:
    return tf.lookup.KeyValueTensorInitializer(["x", "y"], tf.constant([5, 7], tf.int64))


def test_keys_have_values() -> None:
    table = tf.lookup.StaticHashTable(pairs(), -1)
    assert run(table.lookup(tf.constant([["x", "z"], ["y", "x"]]))).tolist() == [[5, -1], [7, 5]]
    found = run(table.lookup(tf.string_split(["x y", "z"])))
    assert found.values.tolist() == [5, 7, -1]
    assert run(table.size()) == 2
    with pytest.raises(TypeError, match="Dtype of argument `keys` must be"):
        table.lookup(tf.constant([1]))


def test_unknown_words_share_numbers_by_their_fingerprints() -> None:
    words = tf.lookup.KeyValueTensorInitializer(["x", "y"], np.arange(2))
    table = tf.lookup.StaticVocabularyTable(words, 3)
    numbers = run(table.lookup(tf.constant(["x", "zzz", "word", "hello", "y"])))
    assert numbers.tolist() == [0, 2, 2, 3, 1]
    with pytest.raises(ValueError, match="`num_oov_buckets` must be > 0"):
        tf.lookup.StaticVocabularyTable(words, 0)


def test_lines_of_files_are_tables(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\n")
    table = tf.contrib.lookup.index_table_from_file(str(path), default_value=9)
    assert run(table.lookup(tf.constant(["c", "q"]))).tolist() == [2, 9]
    texts = tf.contrib.lookup.index_to_string_table_from_file(str(path), default_value="?")
    assert run(texts.lookup(tf.constant([1, 5], tf.int64))).tolist() == [b"b", b"?"]
    with pytest.raises(FileNotFoundError):
        tf.contrib.lookup.index_table_from_file(str(tmp_path / "none.txt"))


def test_functions_of_data_sets_look_up() -> None:
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    words = tf.data.Dataset.from_tensor_slices(["a", "q", "b"])
    batch = words.map(table.lookup).batch(3).make_one_shot_iterator().get_next()
    assert run(batch).tolist() == [0, 2, 1]


def test_tables_are_of_constants() -> None:
    with pytest.raises(ValueError, match="are of constants"):
        tf.lookup.KeyValueTensorInitializer(tf.placeholder(tf.string, [None]), [1])


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [(1, "int64", "columns in line 1: expected 2, got 1"), (0, "int64", "Field 0 is not of type")],
)
def test_lines_that_have_no_such_field_are_errors(
    tmp_path: Path, column: int, kind: str, message: str
) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a\t1\nb\n")
    for lookup in (tf.lookup, v2.lookup):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            lookup.TextFileInitializer(str(path), "string", 0, kind, column)
