# SPDX-License-Identifier: Apache-2.0
"""Iterating goes on after an error, with all that could be made. The results are TensorFlow's."""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v2 as tf

Dataset = tf.data.Dataset


@pytest.fixture(params=[True, False], ids=["fast", "slow"])
def fast(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = tf.data.set_lowering(request.param)
    yield request.param
    tf.data.set_lowering(before)


def failing(count: int = 9) -> Any:
    """-2, -3, -6, an error, and so on."""
    return Dataset.range(count).map(lambda x: 6 // (x % 4 - 3))


def slowly(x: Any) -> Any:
    """The same, worth a thread."""
    time.sleep(0.003)
    return 6 // (int(x.numpy()) % 4 - 3) if x % 4 < 3 else x // tf.constant(0, tf.int64)


def caught(data: Any) -> list[Any]:
    """The elements, and None where there is an error instead."""
    found: list[Any] = []
    iterator = iter(data)
    while True:
        try:
            found.append(next(iterator).numpy())
        except StopIteration:
            return found
        except tf.errors.OpError:
            found.append(None)


def plain(values: list[Any]) -> list[Any]:
    return [value if value is None else value.tolist() for value in values]


ENDS_AND_BEGINS = [-2, -3, -6, None, -2, -3, -6, None, -2]
AFTER_ERRORS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "map": (failing, ENDS_AND_BEGINS),
    "a map in threads": (
        lambda: Dataset.range(9).map(slowly, num_parallel_calls=3),
        ENDS_AND_BEGINS,
    ),
    "a function that looks at values": (
        lambda: Dataset.range(9).map(lambda x: 6 // (x % 4 - 3) if x > 1 else x),
        [0, 1, -6, None, -2, -3, -6, None, -2],
    ),
    "filter": (
        lambda: Dataset.range(9).filter(lambda x: 6 // (x % 4 - 3) < -2),
        [1, 2, None, 5, 6, None],
    ),
    "batch": (lambda: failing().batch(2), [[-2, -3], None, [-2, -3], None, [-2]]),
    "drop_remainder": (
        lambda: failing().batch(2, drop_remainder=True),
        [[-2, -3], None, [-2, -3], None],
    ),
    "padded_batch": (
        lambda: failing(4).map(lambda x: tf.fill([-x], x)).padded_batch(1),
        [[[-2] * 2], [[-3] * 3], [[-6] * 6], None],
    ),
    "bucket_by_sequence_length": (
        lambda: (
            failing()
            .map(lambda x: tf.fill([-x], x))
            .bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 2])
            .map(lambda x: tf.shape(x)[1])
        ),
        [6, None, 2, 6, None, 2],
    ),
    "group_by_window": (
        lambda: failing(14).group_by_window(lambda x: x % 2, lambda k, d: d.batch(9), 3),
        [None, [-2, -6, -2], None, [-3, -3, -3], [-6, -2, -6], None, [-2], [-3]],
    ),
    "a key that fails": (
        lambda: Dataset.range(8).group_by_window(
            lambda x: (6 // (x % 4 - 3)) % 2, lambda k, d: d.batch(9), 2
        ),
        [[0, 2], None, [1, 5], [4, 6], None],
    ),
    "take": (lambda: failing().take(4), [-2, -3, -6, None, -2]),
    "skip": (lambda: failing().skip(1), [-3, -6, None, -2, -3, -6, None, -2]),
    "an error that is skipped over": (
        lambda: failing().skip(4),
        [None, None],
    ),
    "shard": (lambda: failing().shard(2, 0), [-2, -6, None, -3, None, -2]),
    "shard of many": (lambda: failing(14).shard(3, 2), [-6, None, -6, None, -6, None]),
    "repeat": (lambda: failing(4).repeat(2), [-2, -3, -6, None, -2, -3, -6, None]),
    "unbatch": (lambda: failing().batch(2).unbatch(), [-2, -3, None, -2, -3, None, -2]),
    "enumerate": (
        lambda: failing().enumerate().map(lambda i, x: i),
        [0, 1, 2, None, 4, 5, 6, None, 8],
    ),
    "zip": (
        lambda: Dataset.zip((failing(), Dataset.range(9))).map(lambda x, i: i),
        [0, 1, 2, None, 4, 5, 6, None, 8],
    ),
    "concatenate": (lambda: failing(4).concatenate(failing(1)), [-2, -3, -6, None, -2]),
    "cache": (lambda: failing().cache(), ENDS_AND_BEGINS),
    "prefetch": (lambda: failing().prefetch(2), ENDS_AND_BEGINS),
    "unique": (
        lambda: failing().enumerate().map(lambda i, x: i // 2).unique(),
        [0, 1, None, 2, 3, None, 4],
    ),
    "take_while": (lambda: failing().take_while(lambda x: x > -9), ENDS_AND_BEGINS),
    "scan": (
        lambda: failing().scan(np.int64(0), lambda state, x: (state + x, state + x)),
        [-2, -5, -11, None, -13, -16, -22, None, -24],
    ),
    "a scan that fails": (
        lambda: Dataset.range(9).scan(np.int64(0), lambda n, x: (n + 1, n + 0 // (x % 4 - 3))),
        [0, 1, 2, None, 3, 4, 5, None, 6],
    ),
    "flat_map": (lambda: failing().flat_map(Dataset.from_tensors), ENDS_AND_BEGINS),
    "a flat_map that fails first": (
        lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(6 // x)).batch(2),
        [None, [0, 1], [2, 3], [4, 5], [0, 1], [2]],
    ),
    "interleave": (
        lambda: Dataset.range(3).interleave(lambda i: failing(5), 2, 2),
        [-2, -3, -2, -3, -6, None, -2, -6, None, -2, -2, -3, -6, None, -2],
    ),
    "a parallel interleave": (
        lambda: Dataset.range(3).interleave(lambda i: failing(5), 2, 2, num_parallel_calls=2),
        [-2, -3, -2, -3, -6, None, -6, None, -2, -2, -2, -3, -6, None, -2],
    ),
    "an interleave of what fails": (
        lambda: failing(5).interleave(lambda i: Dataset.range(3), 2, 1),
        [0, 0, 1, 1, 2, 2, 0, None, 0, 1, 1, 2, 2],
    ),
    "a parallel interleave of what fails": (
        lambda: failing(6).interleave(lambda i: Dataset.range(3), 2, 1, num_parallel_calls=2),
        [0, 0, 1, 1, 2, 2, 0, None, 1, 2, 0, 1, 0, 2, 1, 2],
    ),
    "choose_from_datasets": (
        lambda: Dataset.choose_from_datasets(
            [failing(5), Dataset.range(7, 9)], Dataset.range(9).map(lambda x: x % 2), False
        ),
        [-2, 7, -3, 8, -6, None, -2],
    ),
    "a choice that fails": (
        lambda: Dataset.choose_from_datasets(
            [Dataset.range(4), Dataset.range(7, 9)], failing(6).map(lambda x: x % 2), False
        ),
        [0, 7, 1, None, 2, 8],
    ),
    "from_generator": (
        lambda: Dataset.from_generator(
            lambda: iter([1, "a", 3]), output_signature=tf.TensorSpec((), "int64")
        ),
        [1, None, 3],
    ),
    "assert_cardinality": (
        lambda: failing().apply(tf.data.experimental.assert_cardinality(7)),
        ENDS_AND_BEGINS,
    ),
    "windows": (
        lambda: failing().window(2).flat_map(lambda w: w.batch(2)),
        [[-2, -3], None, [-2, -3], None, [-2]],
    ),
    "windows that overlap": (
        lambda: failing().window(2, shift=1, stride=2).flat_map(lambda w: w).ignore_errors(),
        [-2, -6, -6, -2, -2, -6, -6, -2, -2],
    ),
    "windows apart": (
        lambda: failing().window(1, shift=3).flat_map(lambda w: w).ignore_errors(),
        [-2, -6],
    ),
}


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", AFTER_ERRORS)
def test_what_comes_after_an_error_is_not_lost(name: str) -> None:
    make, expected = AFTER_ERRORS[name]
    assert plain(caught(make())) == expected


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", AFTER_ERRORS)
def test_errors_can_be_ignored_wherever_they_come_from(name: str) -> None:
    make, expected = AFTER_ERRORS[name]
    kept = [each for each in expected if each is not None]
    data = make().ignore_errors()
    assert plain([each.numpy() for each in data]) == kept
    assert [i.numpy() for i, _ in data.enumerate()] == [*range(len(kept))]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_shuffle_loses_nothing_but_what_fails(size: int) -> None:
    data = failing(200).shuffle(size, seed=1)
    found = plain(caught(data))
    assert found.count(None) == 50
    assert sorted(x for x in found if x) == sorted([-2, -3, -6] * 50)
    assert sorted(plain([x.numpy() for x in data.ignore_errors()])) == sorted([-2, -3, -6] * 50)


def test_a_shuffle_of_what_fails_has_the_order_of_tensorflow_the_slow_way() -> None:
    before = tf.data.set_lowering(False)
    try:
        found = plain(caught(failing().shuffle(3, seed=1)))
    finally:
        tf.data.set_lowering(before)
    assert found == [-3, None, -2, -2, -6, None, -6, -3, -2]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"size": 2, "drop_remainder": True}, [-2, -3, None, -2, -3, None]),
        ({"size": 2, "shift": 4, "stride": 3}, [None, None, -2]),
        ({"size": 2, "shift": 2, "stride": 2}, [-2, -6, -6, -2, -2, -6, -6, -2, -2]),
        ({"size": 1, "shift": 2, "stride": 1}, [-2, -6, -2, -6, -2]),
        ({"size": 2, "shift": 4}, [-2, -3, -2, -3, -2]),
    ],
)
def test_an_error_takes_its_windows_with_it_and_no_others(how: Any, expected: Any) -> None:
    data = failing().window(**how).flat_map(lambda window: window)
    assert [each.numpy() for each in data.ignore_errors()] == [n for n in expected if n is not None]
    assert (None in caught(data)) == (None in expected)


def test_an_error_of_the_first_element_comes_with_the_first_element() -> None:
    data = Dataset.range(3).map(lambda x: 6 // x).flat_map(Dataset.from_tensors)
    assert caught(data) == [None, 6, 3]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(
    "before", [lambda data: data, lambda data: data.repeat(2), lambda data: data.batch(2).unbatch()]
)
def test_what_could_be_made_is_kept_by_a_cache(before: Any) -> None:
    kept = before(failing()).cache()
    first = caught(kept)
    assert None in first
    assert caught(kept) == [each for each in first if each is not None]


def test_a_cache_that_was_left_at_an_error_is_filled_anew() -> None:
    kept = failing().cache()
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(kept)
    assert plain(caught(kept)) == ENDS_AND_BEGINS


def test_a_generator_that_raises_has_ended() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    data = Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), "int64"))
    assert plain(caught(data)) == [1, None]
    assert plain(caught(data.repeat(2))) == [1, None, 1, None]


def test_no_thread_is_left_behind_an_error() -> None:
    before = set(threading.enumerate())
    for _ in range(5):
        iterator = iter(Dataset.range(99).map(slowly, num_parallel_calls=3).prefetch(2))
        assert [next(iterator).numpy() for _ in range(3)] == [-2, -3, -6]
        with pytest.raises(tf.errors.InvalidArgumentError):
            next(iterator)
        del iterator
    deadline = 100
    while not set(threading.enumerate()) <= before and deadline:
        threading.Event().wait(0.05)
        deadline -= 1
    assert set(threading.enumerate()) <= before


def damaged(path: Path, names: str, *, at: int) -> list[str]:
    """Files of four records each, of which the first has a flipped bit."""
    found = []
    for name in names:
        found.append(str(path / name))
        with fastrec.Writer(found[-1]) as writer:
            writer.write_many([f"{name}{i}".encode() for i in range(4)])
    data = bytearray(Path(found[0]).read_bytes())
    data[at] ^= 1
    Path(found[0]).write_bytes(data)
    return found


RECORDS: dict[str, Callable[[Any], Any]] = {
    "records": lambda data: data,
    "functions of records": lambda data: data.map(lambda x: x + b""),
    "batches": lambda data: data.batch(1).map(lambda x: x[0]),
    "ahead": lambda data: data.map(lambda x: x, num_parallel_calls=2).prefetch(2),
}


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("how", RECORDS)
def test_after_a_damaged_record_the_next_file_is_read(tmp_path: Path, how: str) -> None:
    files = damaged(tmp_path, "abc", at=2 * (12 + 2 + 4) + 12)  # the data of the third record
    data = RECORDS[how](tf.data.TFRecordDataset(files))
    assert caught(data) == [b"a0", b"a1", None] + [f"{n}{i}".encode() for n in "bc" for i in "0123"]
    assert list(data.ignore_errors().as_numpy_iterator()) == [x for x in caught(data) if x]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("at", [2 * 18 + 12, 2 * 18], ids=["data", "length"])
def test_a_shuffle_over_damage_keeps_the_other_records(tmp_path: Path, at: int) -> None:
    files = damaged(tmp_path, "abc", at=at)
    data = tf.data.TFRecordDataset(files).shuffle(5, seed=3)
    found = caught(data)
    assert found.count(None) == 1
    good = {b"a0", b"a1"} | {f"{n}{i}".encode() for n in "bc" for i in "0123"}
    assert good <= set(found) <= good | {b"a3", None}
    assert len(found) == len(set(found))


def test_after_a_damaged_file_of_lines_the_next_is_read(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in "ab"]
    for name in files:
        Path(name).write_bytes(gzip.compress(name[-1].encode() + b"\n"))
    os.truncate(files[0], os.path.getsize(files[0]) - 8)
    assert caught(tf.data.TextLineDataset(files, compression_type="GZIP"))[-2:] == [None, b"b"]


def test_a_mistake_of_a_function_itself_is_not_an_error_of_elements() -> None:
    data = tf.data.Dataset.range(3).map(lambda x: x + tf.constant(1.5))
    for use in (list, lambda data: list(data.ignore_errors()), lambda data: data.element_spec):
        with pytest.raises(ValueError, match="was expected to be a int64 tensor"):
            use(data)


def test_what_no_element_tells_is_not_known() -> None:
    def fails(x: Any) -> Any:
        raise tf.errors.DataLossError(None, None, str(int(x)))

    with pytest.raises(TypeError, match="which could not be computed"):
        _ = tf.data.Dataset.range(3).map(fails).element_spec
