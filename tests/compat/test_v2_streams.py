# SPDX-License-Identifier: Apache-2.0
"""Streams of elements neither repeat nor lose an element when their source changes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.data.streams import Each, elements_of, with_fallback
from fastrec.compat._tf.seeds import looking_ahead


@pytest.mark.parametrize("count", range(6))
def test_a_fallback_goes_on_with_the_element_after_the_last(count: int) -> None:
    def fast() -> Iterator[tuple[int]]:
        yield from zip(range(count), strict=True)
        raise ValueError("from here on")

    rows = with_fallback(Each(fast()), lambda: Each(zip(range(8), strict=True)))
    assert list(elements_of(rows, 3)) == list(zip(range(8), strict=True))


@pytest.mark.parametrize("count", range(1, 5))
def test_a_pass_that_was_left_early_is_not_the_cache_of_the_next(count: int) -> None:
    def numbers() -> Iterator[int]:
        yield from range(5)

    data = tf.data.Dataset.from_generator(
        numbers, output_signature=tf.TensorSpec([], tf.int64)
    ).cache()
    first: Iterator[Any] = data.as_numpy_iterator()
    assert [next(first) for _ in range(count)] == list(range(count))
    for _ in range(2):
        assert list(data.as_numpy_iterator()) == list(range(5))


def test_large_elements_after_an_error_of_their_source_are_not_lost() -> None:
    def large(x: Any) -> Any:
        return tf.ones([300, 300]) * tf.cast(10 // x, tf.float32), x

    numbers = tf.data.Dataset.from_tensor_slices(list(range(-4, 8)))
    source = numbers.map(lambda x: 8 // (x + 2) * 0 + x).filter(lambda x: x != 0)
    for batches in (source.map(large).batch(2), source.map(large, 2).batch(2)):
        found: list[int] = []
        errors = 0
        iterator = iter(batches)
        while True:
            try:
                found += next(iterator)[1].numpy().tolist()
            except StopIteration:
                break
            except tf.errors.InvalidArgumentError:
                errors += 1
        assert errors == 1
        assert found == [-4, -3, -1, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("lowered", [True, False])
@pytest.mark.parametrize(
    "empty", [lambda d: d.take(0), lambda d: d.skip(-1), lambda d: d.repeat(0)]
)
def test_a_portion_without_elements_does_not_start_its_input(empty: Any, lowered: bool) -> None:
    starts: list[int] = []

    def numbers() -> Iterator[int]:
        starts.append(1)
        yield from range(5)

    generated = tf.data.Dataset.from_generator(
        numbers, output_signature=tf.TensorSpec([], tf.int64)
    )
    shuffled = tf.data.Dataset.range(6).shuffle(6, seed=2)
    wanted = list(shuffled.as_numpy_iterator())
    before = tf.data.set_lowering(lowered)
    try:
        for data in (generated.prefetch(2), generated.map(lambda x: x + 1), generated.batch(2)):
            for some in (empty(data), empty(data).take(3), empty(data).repeat(2).batch(2)):
                assert list(some) == []
        assert starts == []
        shuffled = tf.data.Dataset.range(6).shuffle(6, seed=2)  # its seeds are not used up
        assert list(empty(shuffled).repeat(2)) == []
        assert list(shuffled.as_numpy_iterator()) == wanted
    finally:
        tf.data.set_lowering(before)


def test_another_thread_that_looks_ahead_does_not_change_seeds() -> None:
    shuffled = tf.data.Dataset.range(6).shuffle(6, seed=2)
    wanted = [list(shuffled.as_numpy_iterator()) for _ in range(2)]
    shuffled = tf.data.Dataset.range(6).shuffle(6, seed=2)
    with looking_ahead(), ThreadPoolExecutor(1) as pool:
        elements = pool.submit(lambda: [list(shuffled.as_numpy_iterator()) for _ in range(2)])
        assert elements.result() == wanted


@pytest.mark.parametrize(
    "between",
    [
        lambda d: d.filter(lambda x: x % 3 != 1),
        lambda d: d.shard(2, 1).enumerate().map(lambda _, x: x),
        lambda d: tf.data.Dataset.zip((d, tf.data.Dataset.range(4))).map(lambda x, _: x),
        lambda d: d.take(7).skip(2).repeat(2),
    ],
)
def test_effects_happen_no_earlier_than_in_plain_execution(between: Any) -> None:
    def effects(lowered: bool) -> list[Any]:
        done: list[Any] = []

        def shown(x: Any) -> Any:
            done.append(int(x))
            return x

        def called(x: Any) -> Any:
            return tf.ensure_shape(tf.numpy_function(shown, [x], tf.int64), [])

        numbers = tf.data.Dataset.range(12).map(called).map(lambda x: x + 12 // (x - 9) * 0)
        before = tf.data.set_lowering(lowered)
        try:
            rows = iter(between(numbers).batch(2))
            for _ in range(20):
                try:
                    done.append(next(rows).numpy().tolist())
                except tf.errors.InvalidArgumentError:
                    done.append("error")
                except StopIteration:
                    done.append("end")
        finally:
            tf.data.set_lowering(before)
        return done

    assert effects(True) == effects(False)


def test_a_zip_that_has_ended_has_no_more_effects() -> None:
    done: list[int] = []

    def shown(x: Any) -> Any:
        done.append(int(x))
        return x

    def called(x: Any) -> Any:
        return tf.numpy_function(shown, [x], tf.int64)

    numbers = tf.data.Dataset.range(9).map(called)
    pairs = iter(tf.data.Dataset.zip((numbers, tf.data.Dataset.range(3))).batch(2))
    assert [y.numpy().tolist() for _, y in pairs] == [[0, 1], [2]]
    assert done == [0, 1, 2, 3]  # the first input is asked before the second one ends
