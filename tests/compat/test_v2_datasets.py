# SPDX-License-Identifier: Apache-2.0
"""Datasets of ``fastrec.compat.v2``: many elements at once give what one after the other gives.

tests/oracle holds the same programs against TensorFlow.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from v2_programs import PROGRAMS, results, write

import fastrec
import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.mapping import Map


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("v2") / "rows.tfrecord")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fast_way_gives_what_the_slow_way_gives(name: str, path: str) -> None:
    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            found.append(results(tf, PROGRAMS[name], path))
        finally:
            tf.data.set_lowering(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["parsed and batched", "batched, then parsed", "slices"])
def test_files_too_large_to_index_are_streamed(
    name: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = results(tf, PROGRAMS[name], path)
    monkeypatch.setattr("fastrec.compat._tf.data.sources._MOST_BYTES", 0)
    assert results(tf, PROGRAMS[name], path) == expected


def test_data_sets_of_files_are_read_as_lists_of_files_are(path: str) -> None:
    names = tf.data.Dataset.from_tensor_slices([path, path])
    found = [record.numpy() for record in tf.data.TFRecordDataset(names)]
    assert found == [record.numpy() for record in tf.data.TFRecordDataset([path, path])]
    assert found == list(fastrec.Reader(path)) * 2


def test_a_data_set_is_written_to_a_file(path: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    tf.data.experimental.TFRecordWriter(copy, "GZIP").write(tf.data.TFRecordDataset(path))
    assert list(fastrec.Reader(copy)) == list(fastrec.Reader(path))


def test_a_promised_number_of_elements_is_checked() -> None:
    promise = tf.data.experimental.assert_cardinality
    assert len(list(tf.data.Dataset.range(3).apply(promise(3)))) == 3
    for count in (2, 4):
        dataset = tf.data.Dataset.range(3).apply(promise(count))
        assert len(dataset) == count
        with pytest.raises(tf.errors.FailedPreconditionError, match="was expected to contain"):
            list(dataset)


def test_data_sets_are_mixed_by_weight_and_by_choice() -> None:
    ones, twos = (tf.data.Dataset.from_tensors(i).repeat(100) for i in (1, 2))
    sample = tf.data.Dataset.sample_from_datasets([ones, twos], [0.9, 0.1], seed=3).take(60)
    found = [int(x) for x in sample]
    assert found == [int(x) for x in sample]
    assert 40 < found.count(1) < 60
    choice = tf.data.Dataset.from_tensor_slices(np.array([1, 0, 0, 1]))
    chosen = tf.data.Dataset.choose_from_datasets([ones, twos], choice)
    assert [int(x) for x in chosen] == [2, 1, 1, 2]


@pytest.mark.parametrize(("long_s", "threads"), [(0.0, True), (99.0, False)])
def test_a_function_is_called_in_threads_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, long_s: float, threads: bool
) -> None:
    monkeypatch.setattr("fastrec.compat._tf.data.threads._LONG_S", long_s)
    callers: set[str] = set()

    def called(x: Any) -> Any:
        callers.add(threading.current_thread().name)
        return x.numpy() + 1

    data = tf.data.Dataset.range(20).map(called, num_parallel_calls=3)
    assert [x.numpy() for x in data] == [*range(1, 21)]
    assert any(name.startswith("fastrec-map") for name in callers) == threads


@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds,
        lambda ds: ds.map(lambda x: x.numpy()),
        lambda ds: ds.shuffle(10).batch(3).unbatch().prefetch(2),
    ],
    ids=["blocks", "one by one", "ahead"],
)
def test_threads_that_share_an_iterator_get_every_element_once(make: Any) -> None:
    for _ in range(5):
        iterator = iter(make(tf.data.Dataset.range(300)))
        with ThreadPoolExecutor(6) as pool:
            parts: list[list[Any]] = list(pool.map(list, [iterator] * 6))
        assert sorted(x.numpy() for part in parts for x in part) == [*range(300)]
        assert next(iterator, None) is None


def test_map_and_batch_uses_the_requested_number_of_parallel_calls() -> None:
    ahead = tf.data.experimental.map_and_batch
    data = tf.data.Dataset.range(9)
    cases: tuple[tuple[dict[str, Any], int], ...] = (
        ({}, 4),
        ({"num_parallel_batches": 3}, 12),
        ({"num_parallel_calls": 2}, 2),
    )
    for given, wanted in cases:
        node = data.apply(ahead(lambda x: x + 1, 4, **given))._node.inputs[0]
        assert isinstance(node, Map)
        assert node.parallel == wanted
    with pytest.raises(ValueError, match="only one of `num_parallel_batches` and"):
        data.apply(ahead(lambda x: x, 4, num_parallel_batches=2, num_parallel_calls=2))
    made = data.apply(ahead(lambda x: x * 2, tf.constant(4, tf.int64), drop_remainder=True))
    assert [batch.tolist() for batch in made.as_numpy_iterator()] == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_a_map_that_never_waits_uses_at_most_one_thread_per_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(3), raising=False)
    names = tf.data.Dataset.from_tensor_slices(["a", "b"])
    found = [
        names.map(function, num_parallel_calls=64)._node._workers()  # type: ignore[attr-defined]
        for function in (tf.strings.length, tf.io.read_file)
    ]
    assert found == [3, 12]
