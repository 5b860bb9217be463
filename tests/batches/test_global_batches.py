# SPDX-License-Identifier: Apache-2.0
"""The records of each global step are the same for any number of shards, also after a resume."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import gzipped, write_examples

import fastrec
import fastrec.batches.block_shuffle
from fastrec import Batcher, BlockShuffle, Buckets, Mixture, _core
from fastrec.batches.order import OrderSpec

SIZES = [301, 0, 57, 250, 311, 1]
COUNT = sum(SIZES)
GLOBAL = 192
WORLDS = [1, 2, 3, 4, 8, 12, 16, 64]
FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "tokens": fastrec.RaggedFeature(np.int64),
}
ORDERS: dict[str, dict[str, Any]] = {
    "file order": {},
    "compressed": {"source": "packed"},
    "shuffle": {"shuffle": True},
    "blocks": {"shuffle": "blocks"},
    "small blocks": {"shuffle": BlockShuffle(3, 2)},
    "large blocks": {"shuffle": BlockShuffle(40, 1)},
    "interleave": {"interleave": 3},
    "mixture": {"source": "mixture"},
    "shuffled mixture": {"source": "mixture", "shuffle": True},
    "padded": {"buckets": Buckets("tokens")},
    "short last step": {"shuffle": BlockShuffle(7, 2), "drop_remainder": True, "uneven": "drop"},
    "repeated": {"shuffle": BlockShuffle(7, 2), "uneven": "pad"},
    "across epochs": {
        "shuffle": BlockShuffle(7, 2),
        "uneven": "drop",
        "batch_across_epochs": True,
        "epochs": 3,
        "source": "even",
    },
    "compressed across epochs": {
        "uneven": "pad",
        "batch_across_epochs": True,
        "epochs": 3,
        "source": "even, packed",
    },
}

Step = Counter[int]


class Files:
    def __init__(self, folder: Path) -> None:
        ends = np.cumsum([0, *SIZES])
        plain = [
            write_examples(
                folder / f"{k}",
                ({"i": i, "tokens": list(range(i % 5))} for i in range(ends[k], ends[k + 1])),
            )
            for k in range(len(SIZES))
        ]
        packed = [path.with_suffix(".gz") for path in plain]
        for path, there in zip(plain, packed, strict=True):
            there.write_bytes(gzipped(path.read_bytes()))
        mixture = Mixture([plain[0], plain[2:4], plain[4]], [1, 2, 3], "last")
        even = [*plain[4:], plain[3]]  # 562 records
        even_packed = [*packed[4:], packed[3]]
        self.sources: dict[str, Any] = {
            "plain": plain,
            "packed": packed,
            "mixture": mixture,
            "even": even,
            "even, packed": even_packed,
        }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("global"))


def batcher(files: Files, order: str, rank: int, world: int, **more: Any) -> Batcher:
    options = {"source": "plain", "seed": 5, "threads": 1, **ORDERS[order], **more}
    source = files.sources[options.pop("source")]
    return Batcher(source, FEATURES, GLOBAL // world, shard=(rank, world), **options)


def add(steps: list[Step], batches: Any, count: int | None = None) -> None:
    for number, batch in enumerate(islice(batches, count)):
        if number == len(steps):
            steps.append(Counter())
        steps[number].update(np.ravel(batch["i"]).tolist())


def run(files: Files, order: str, world: int) -> list[Step]:
    steps: list[Step] = []
    for rank in range(world):
        add(steps, batcher(files, order, rank, world))
    return steps


@pytest.fixture(scope="module")
def alone(files: Files) -> dict[str, list[Step]]:
    return {order: run(files, order, 1) for order in ORDERS}


def check_last(order: str, step: Step, expected: Step) -> None:
    """What `uneven` says of the last step depends on the number of shards."""
    if ORDERS[order].get("uneven") == "drop":
        assert step <= expected
    else:
        assert step >= expected


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("world", WORLDS[1:])
def test_each_global_step_has_the_same_records(
    files: Files, alone: dict[str, list[Step]], order: str, world: int
) -> None:
    steps = run(files, order, world)
    # With remainders dropped or repeated, later epochs depend on what each number of shards drops.
    same = 2 if "across" in order else len(alone[order]) - 1
    assert steps[:same] == alone[order][:same]
    if "across" not in order:
        assert len(steps) == len(alone[order])
        check_last(order, steps[-1], alone[order][-1])


@settings(deadline=None)
@given(
    order=st.sampled_from([name for name in ORDERS if "across" not in name]),
    worlds=st.lists(st.sampled_from(WORLDS), min_size=2, max_size=3),
    made=st.integers(0, 4),
)
def test_a_resume_on_another_number_of_shards_goes_on_with_the_same_steps(
    files: Files, alone: dict[str, list[Step]], order: str, worlds: list[int], made: int
) -> None:
    expected = alone[order]
    steps: list[Step] = []
    state: dict[str, Any] | None = None
    for number, world in enumerate(worlds):
        last = number == len(worlds) - 1
        here: list[Step] = []
        states = []
        for rank in range(world):
            each = batcher(files, order, rank, world)
            if state is not None:
                each.load_state_dict(json.loads(json.dumps(state)))
            batches = iter(each)
            add(here, batches, None if last else made)
            states.append(batches.state_dict())
        if not last:
            assert all(other == states[0] for other in states)
            state = states[0]
            if len(steps) + made >= len(expected):
                return  # the epoch is over
        steps += here
    assert len(steps) == len(expected)
    assert steps[:-1] == expected[:-1]
    check_last(order, steps[-1], expected[-1])


@pytest.mark.parametrize("world", WORLDS[1:])
def test_each_window_of_buckets_has_the_same_records(files: Files, world: int) -> None:
    def windows(ranks: int) -> list[Step]:
        options: dict[str, Any] = {"shuffle": BlockShuffle(7, 2), "drop_remainder": False}
        buckets = Buckets("tokens", [1, 3], window=384 // ranks)
        steps: list[Step] = []
        for rank in range(ranks):
            made = 0
            for batch in batcher(files, "file order", rank, ranks, buckets=buckets, **options):
                for i in np.ravel(batch["i"]).tolist():
                    window = made // (384 // ranks)
                    if window == len(steps):
                        steps.append(Counter())
                    steps[window][i] += 1
                    made += 1
        return steps

    assert windows(world) == windows(1)


def test_a_state_of_another_global_batch_is_refused(files: Files) -> None:
    batches = iter(batcher(files, "blocks", 0, 4))
    next(batches)
    other = Batcher(
        files.sources["plain"], FEATURES, 64, shuffle="blocks", seed=5, shard=(0, 2), threads=1
    )
    with pytest.raises(fastrec.FastrecError, match="its batch_size is 48, and"):
        other.load_state_dict(batches.state_dict())


def test_a_state_of_another_batch_size_is_refused_where_shards_are_not_in_step(
    files: Files,
) -> None:
    batches = iter(batcher(files, "file order", 0, 4, shuffle=50))
    next(batches)
    with pytest.raises(fastrec.FastrecError, match="its batch_size is 48, and"):
        batcher(files, "file order", 0, 2, shuffle=50).load_state_dict(batches.state_dict())


def test_blocks_are_planned_by_bytes_and_not_by_shards() -> None:
    plan = fastrec.batches.block_shuffle.plan_blocks
    mib = 1 << 20
    assert plan(0, 4, 1000, 1000) == (1000, 1)  # one block
    assert plan(0, 4, 80_000, 80 * mib) == (1250, 64)
    assert plan(0, 4, 61_440, 60 * mib) == (960, 64)  # blocks of 15/16 MiB
    assert plan(0, 4, 61_439, 60 * mib - 1) == (1920, 32)
    assert plan(0, 4, 10, 80 * mib) == (2, 8)  # two blocks of two records, and six of one
    assert plan(0, 4, 10_000_000, 10_000 * mib)[1] == 64
    assert plan(0, 4, 1_000_000_000, 300 << 30)[1] == 256
    assert plan(0, 4, 10**10, 10**13)[1] == 1024
    assert plan(10, 4, 1000, 10**13) == (10, 8)  # two windows for each
    for count in (1, 7, 15, 100, 12345, 10**7):
        for size in (count * 20, count * 1000, count * mib * 3):
            block, shards = plan(0, 4, count, size)
            spec = OrderSpec(shuffle="blocks", block=block, window=4, virtual_shards=shards)
            records, blocks = _core.Order([count], spec).blocks
            assert records == count
            assert blocks >= shards
            assert blocks % shards == 0
            assert shards & (shards - 1) == 0
            mean = count / blocks * (size / count)
            assert mean >= min(mib, size) or size > count * mib


def test_blocks_mix_sorted_records_almost_as_a_permutation_does() -> None:
    count = 200_000
    block, shards = fastrec.batches.block_shuffle.plan_blocks(0, 4, count, count * 5000)
    blocks = {"block": block, "window": 4, "virtual_shards": shards}
    labels, medians = [], []
    for options in ({"shuffle": "records"}, {"shuffle": "blocks", **blocks}):
        spec = OrderSpec(**options, seed=0, batch_size=256)
        sampler = _core.Sampler(_core.Order([count], spec))
        found = [sampler.numbers(serial) for serial in range(0, 600, 3)]
        numbers = [each[1].astype(np.int64) for each in found if each is not None]
        labels.append(np.mean([len(np.unique(each * 1000 // count)) for each in numbers]))
        distances = np.concatenate([np.abs(np.diff(each)) for each in numbers])
        medians.append(np.median(distances) / count)
    assert labels[0] == pytest.approx(226, abs=2)
    assert labels[1] >= 150  # of 1,000 that the records are sorted by
    assert medians == pytest.approx([0.293, 0.293], abs=0.02)
