# SPDX-License-Identifier: Apache-2.0
"""Whatever the files, sizes, shards, epochs, seeds and threads: each record comes as often as it
should, where it should, and on any machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import write_examples

import fastrec
from fastrec import Batcher

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
SIZES = [0, 1, 2, 5, 13, 30]
SHUFFLES = [False, True, "blocks", fastrec.BlockShuffle(3, 2), fastrec.BlockShuffle(1, 5), 2, 9]

files = st.lists(st.integers(0, len(SIZES) - 1), min_size=1, max_size=4, unique=True)
shards = st.integers(1, 7)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of so many records, each with a number that no other has."""
    folder = tmp_path_factory.mktemp("properties")
    return [
        write_examples(folder / f"{k}", ({"i": 100 * k + i} for i in range(size)))
        for k, size in enumerate(SIZES)
    ]


def numbers_of(chosen: list[int]) -> list[int]:
    return [100 * k + i for k in chosen for i in range(SIZES[k])]


def drawn(batcher: Batcher) -> list[list[int]]:
    with batcher:
        batches = [batch["i"].tolist() for batch in batcher]
        assert len(batcher) == len(batches)
    return batches


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


ORDER = {
    "chosen": files,
    "size": st.integers(1, 40),
    "epochs": st.integers(1, 3),
    "seed": st.integers(0, 2**64 - 1),
    "shuffle": st.sampled_from(SHUFFLES),
    "interleave": st.sampled_from([None, 1, 3]),
}


def possible(options: dict[str, Any]) -> dict[str, Any]:
    """Only what goes by the files as they stand can take turns with them."""
    if options["shuffle"] is not False and type(options["shuffle"]) is not int:
        options["interleave"] = None
    return options


@given(**ORDER, threads=st.integers(1, 8), prefetch=st.integers(0, 5), span=st.booleans())
def test_every_record_comes_once_an_epoch_and_threads_change_nothing(
    paths: list[Path], chosen: list[int], size: int, threads: int, prefetch: int, span: bool,
    **order: Any,
) -> None:  # fmt: skip
    source, expected = [paths[k] for k in chosen], numbers_of(chosen)
    options = {**possible(order), "batch_across_epochs": span}
    batches = drawn(Batcher(source, NUMBER, size, threads=threads, prefetch=prefetch, **options))
    assert batches == drawn(Batcher(source, NUMBER, size, threads=9 - threads, **options))
    assert all(len(batch) == size for batch in batches[:-1]) or not span
    numbers, count = flat(batches), len(expected)
    assert len(numbers) == count * order["epochs"]
    for begin in range(0, len(numbers), max(count, 1)):
        assert sorted(numbers[begin : begin + count]) == sorted(expected)
    if order["shuffle"] is False and order["interleave"] in (None, 1):
        assert numbers == expected * order["epochs"]


@pytest.mark.filterwarnings("ignore:drop_remainder")
@given(**ORDER, count=shards, uneven=st.sampled_from(["longer", "drop", "pad"]), drop=st.booleans())
def test_shards_are_disjoint_covering_and_as_long_as_they_should_be(
    paths: list[Path],
    chosen: list[int],
    size: int,
    count: int,
    uneven: Any,
    drop: bool,
    **order: Any,
) -> None:
    source, expected = [paths[k] for k in chosen], numbers_of(chosen)
    options = {**possible(order), "uneven": uneven, "threads": 2}
    parts = [
        flat(drawn(Batcher(source, NUMBER, size, shard=(k, count), **options)))
        for k in range(count)
    ]
    lengths = [len(part) // order["epochs"] for part in parts]
    assert max(lengths) - min(lengths) <= (uneven == "longer")
    assert sum(lengths) - len(expected) in range(-count + 1, count)
    for epoch in range(order["epochs"]):
        pairs = zip(parts, lengths, strict=True)
        seen = Counter(n for part, length in pairs for n in part[epoch * length :][:length])
        assert set(seen) <= set(expected)
        if uneven == "longer":
            assert seen == Counter(expected)
        elif uneven == "drop":
            assert max(seen.values(), default=1) == 1
        elif expected:
            assert set(seen) == set(expected)
    if drop:  # the same, but for what is short
        whole = Batcher(source, NUMBER, size, shard=(0, count), drop_remainder=True, **options)
        assert all(len(batch) == size for batch in drawn(whole))


@given(**ORDER, count=shards, threads=st.integers(1, 8), data=st.data())
def test_any_shard_resumes_anywhere_as_if_nothing_had_been(
    paths: list[Path], chosen: list[int], size: int, count: int, threads: int, data: Any,
    **order: Any,
) -> None:  # fmt: skip
    source = [paths[k] for k in chosen]
    options = {**possible(order), "shard": (data.draw(st.integers(0, count - 1)), count)}
    whole = drawn(Batcher(source, NUMBER, size, threads=2, **options))
    done = data.draw(st.integers(0, len(whole)))
    first = Batcher(source, NUMBER, size, threads=threads, **options)
    batches = iter(first)
    for _ in range(done):
        next(batches)
    again = Batcher(source, NUMBER, size, threads=9 - threads, **options)
    again.load_state_dict(batches.state_dict())
    assert [batch["i"].tolist() for batch in again] == whole[done:]
    first.close()


@pytest.mark.filterwarnings("ignore:drop_remainder")
@given(**ORDER, threads=st.integers(1, 8), allow_smaller=st.booleans())
def test_a_final_batch_is_left_out_as_tensorflow_does(
    paths: list[Path], chosen: list[int], size: int, threads: int, allow_smaller: bool, **order: Any
) -> None:
    source, total = [paths[k] for k in chosen], len(numbers_of(chosen)) * order["epochs"]
    options = {**possible(order), "batch_across_epochs": True, "threads": threads}
    batches = drawn(Batcher(source, NUMBER, size, drop_remainder=not allow_smaller, **options))
    rest = [total % size] if allow_smaller and total % size else []
    assert [len(batch) for batch in batches] == [size] * (total // size) + rest
