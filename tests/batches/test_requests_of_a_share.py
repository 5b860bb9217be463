# SPDX-License-Identifier: Apache-2.0
"""The requests of one rank of many: few, large, and for the bytes of its own records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from fastrec import _core
from fastrec.batches.block_shuffle import order_fields, plan_blocks, plan_tail
from fastrec.batches.fetch_plans import Entries, FetchPlanner
from fastrec.batches.order import OrderSpec
from fastrec.records.remote_dataset import IndexList, RemoteDataset
from fastrec.storage.options import StorageOptions

OBJECTS, RECORDS, RECORD_BYTES = 8, 1 << 17, 4096  # 512 MiB
MIB = 1 << 20


class Uniform:
    """The index of an object with records of one size."""

    def __init__(self, records: int, record_bytes: int) -> None:
        self._records, self._record_bytes = records, np.uint64(record_bytes)
        self.size = records * record_bytes

    def __len__(self) -> int:
        return self._records

    def bounds(self, numbers: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        begins = numbers * self._record_bytes
        return begins, begins + self._record_bytes


class Described:
    """An object that has a size and no bytes."""

    name, silent = "object", False

    def __init__(self, size: int) -> None:
        self.size = size


class Fetched(NamedTuple):
    requests: int
    size: int
    records: list[int]


def requests_of(
    order: Any,
    batch_size: int,
    rank: int,
    ranks: int,
    records_in_all: int = RECORDS,
    record_bytes: int = RECORD_BYTES,
    uneven: Any = "longer",
) -> Fetched:
    uniform = Uniform(records_in_all // OBJECTS, record_bytes)
    objects: list[Any] = [Described(uniform.size)] * OBJECTS
    indexes: list[Any] = [uniform] * OBJECTS
    options = {"verify": True, "max_record": 0}
    dataset = RemoteDataset(objects, IndexList(indexes), StorageOptions(), options)
    spec = OrderSpec(
        **order_fields(order), seed=1, shard=(rank, ranks), batch_size=batch_size, uneven=uneven
    )
    if order == "blocks":
        block, shards = plan_blocks(0, spec.window, len(dataset), dataset.size)
        spec = replace(spec, block=block, virtual_shards=shards)
    count, size, records = 0, 0, []
    native = _core.Order(dataset.file_counts(), spec)
    entries = None
    if spec.buffer:
        in_order = replace(spec, shuffle="none", buffer=0)
        entries = Entries(
            spec.buffer, _core.Order(dataset.file_counts(), in_order), np.empty(0, np.uint64)
        )
    tail = None
    if order == "blocks":
        tail = plan_tail(spec.block, spec.window, spec.virtual_shards, ranks)
    for group in FetchPlanner(dataset, native, entries, tail):
        count += len(group.plan.ranges)
        size += group.plan.size
        records += [number for batch in group.batches for number in batch.numbers.tolist()]
    return Fetched(count, size, records)


@pytest.mark.parametrize("ranks", [1, 8, 64])
@pytest.mark.parametrize("order", [False, "blocks", 2000])
def test_a_rank_fetches_its_share_in_requests_of_a_mebibyte(order: Any, ranks: int) -> None:
    share = RECORDS * RECORD_BYTES / ranks
    seen = []
    for rank in sorted({0, ranks // 2, ranks - 1}):
        fetched = requests_of(order, 256, rank, ranks)
        assert fetched.size <= 1.15 * share
        assert fetched.size >= 0.95 * MIB * fetched.requests
        seen += fetched.records
    assert len(set(seen)) == len(seen)
    if ranks == 1:
        assert len(seen) == RECORDS


@pytest.mark.parametrize("ranks", [8, 64])
@pytest.mark.parametrize("order", [False, 2000])
def test_small_batches_in_file_order_take_one_request_each(order: Any, ranks: int) -> None:
    # A longer request would contain records of other ranks, because the global batches are the
    # same for any number of ranks.
    batches = RECORDS // (16 * ranks)
    fetched = requests_of(order, 16, 1, ranks)
    assert fetched.requests <= batches + OBJECTS
    assert fetched.size == batches * 16 * RECORD_BYTES


@pytest.mark.parametrize("batch_size", [1, 16, 300])
def test_blocks_take_large_requests_for_any_batch_size(batch_size: int) -> None:
    fetched = requests_of("blocks", batch_size, 3, 64)
    assert fetched.size <= 1.15 * RECORDS * RECORD_BYTES / 64
    assert fetched.size >= 0.95 * MIB * fetched.requests


@pytest.mark.parametrize(
    ("records", "record_bytes"), [(1296, 100_000), (16_248, 8000), (24_000, 8000), (256_000, 1000)]
)
def test_a_small_dataset_is_fetched_in_large_requests(records: int, record_bytes: int) -> None:
    # The number of records is not a multiple of the blocks, so some blocks have one record more.
    for rank in range(8):
        fetched = requests_of("blocks", 16, rank, 8, records, record_bytes)
        assert fetched.size <= 1.15 * len(fetched.records) * record_bytes
        assert fetched.size >= 0.95 * MIB * fetched.requests
        assert len(fetched.records) == records // 8


@pytest.mark.parametrize("uneven", ["longer", "drop"])
@pytest.mark.parametrize(
    ("records", "record_bytes"), [(16_248, 8000), (300_008, 1000), (3064, 100_000)]
)
def test_one_of_64_ranks_of_a_small_dataset_needs_no_records_of_other_virtual_shards(
    records: int, record_bytes: int, uneven: str
) -> None:
    # The last step is not whole, and each virtual shard has a rank.
    for rank in (0, 1, 37, 62, 63):
        fetched = requests_of("blocks", 16, rank, 64, records, record_bytes, uneven)
        assert len(fetched.records) in (records // 64, records // 64 + 1)
        assert fetched.size <= 1.06 * len(fetched.records) * record_bytes
        # One block continues in the next object.
        assert fetched.requests <= fetched.size / (1.05 * MIB) + 1


@pytest.mark.parametrize("batch_size", [16, 128])
@pytest.mark.parametrize(
    ("records", "record_bytes"), [(32_496, 8000), (75_000, 8000), (16_248, 8000)]
)
def test_one_of_256_readers_shares_a_virtual_shard_but_no_bytes(
    records: int, record_bytes: int, batch_size: int
) -> None:
    # 64 ranks with 4 workers each. Shorter windows have parts of less than a block.
    for rank in (0, 64, 130):
        fetched = requests_of("blocks", batch_size, rank, 256, records, record_bytes)
        assert len(fetched.records) in (records // 256, records // 256 + 1)
        size = len(fetched.records) * record_bytes
        assert fetched.size <= 1.15 * size
        # A part of the first window and of the last one is in at most two blocks, and one block
        # continues in the next object.
        assert fetched.requests <= size / MIB + 5


@pytest.mark.parametrize(("ranks", "most"), [(12, 1.1), (24, 1.2)])
def test_ranks_that_do_not_divide_the_virtual_shards_share_few_blocks(
    ranks: int, most: float
) -> None:
    for rank in (1, ranks // 2):
        fetched = requests_of("blocks", 16, rank, ranks, 250_000, 8000)
        assert fetched.size <= most * len(fetched.records) * 8000
        assert fetched.size >= 0.95 * MIB * fetched.requests
