# SPDX-License-Identifier: Apache-2.0
"""What a reader of a dataset fetches and keeps: the planning code of fastrec, without data.

Records, objects and indexes are as large as described, but no byte of them exists. The order, the
blocks and the ranges are planned by the code that a Batcher uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrec import _core
from fastrec.batches.block_shuffle import Shuffle, order_fields, plan_blocks
from fastrec.batches.fetch_plans import FetchPlanner
from fastrec.batches.order import OrderSpec
from fastrec.records.remote_dataset import IndexList, RemoteDataset
from fastrec.storage.options import StorageOptions

__all__ = ["Dataset", "Opening", "Reading", "Store", "plan_reading"]

_SAMPLE_ROWS = 30_000  # records that are planned at the start of an epoch, and of its middle


@dataclass(frozen=True)
class Dataset:
    """Objects of equal size, with records of equal size."""

    objects: int
    records: int
    record_bytes: int

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self.records * self.record_bytes


class Opening(NamedTuple):
    """What one reader requests before its first record, besides the data."""

    fixed: float
    per_object: float
    index_bytes_per_record: float
    memory_per_object: float

    def requests(self, dataset: Dataset) -> float:
        return self.fixed + self.per_object * dataset.objects


@dataclass(frozen=True)
class Store:
    """A simple model of an object store and of the nodes that read from it.

    Attributes
    ----------
    latency_s : float
        Time to the first byte of an answer.
    bytes_per_s : float
        Bandwidth of one reader.
    requests_per_s, prefixes : float, int
        Requests that a prefix answers, and the number of prefixes that the objects have.
    connections : int
        Requests that a reader has under way.
    usd_per_million : float
        Price of a million GET requests.
    """

    latency_s: float = 0.02
    bytes_per_s: float = 1.25e9
    requests_per_s: float = 5500.0
    prefixes: int = 1
    connections: int = 16
    usd_per_million: float = 0.4

    def seconds(self, requests: float, size: float, readers: int) -> float:
        """Return how long `readers` take for that many requests and bytes each."""
        own = max(requests / self.connections * self.latency_s, size / self.bytes_per_s)
        shared = requests * readers / (self.requests_per_s * self.prefixes)
        return self.latency_s + max(own, shared)

    def price(self, requests: float, readers: int) -> float:
        """Return the price of the requests of all readers, in US dollars."""
        return requests * readers / 1e6 * self.usd_per_million


class Reading(NamedTuple):
    """What one reader fetches of an epoch.

    Attributes
    ----------
    first_requests, first_bytes : float
        For the records of the first batch.
    requests, size : float
        Of the whole epoch.
    rows : int
        Records of this reader in an epoch.
    kept_bytes : float
        The most that is kept until it is used; the window of ranges ahead comes on top.
    """

    first_requests: float
    first_bytes: float
    requests: float
    size: float
    rows: int
    kept_bytes: float


class _UniformIndex:
    """The index of an object with records of one size."""

    def __init__(self, records: int, record_bytes: int) -> None:
        self._records, self._record_bytes = records, record_bytes
        self.size = records * record_bytes

    def __len__(self) -> int:
        return self._records

    def bounds(self, numbers: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        begins = np.asarray(numbers, np.uint64) * np.uint64(self._record_bytes)
        return begins, begins + np.uint64(self._record_bytes)


class _NoObject:
    """An object that has a size and no bytes."""

    name, silent = "object", False

    def __init__(self, size: int) -> None:
        self.size = size


def _sizes(dataset: Dataset) -> list[int]:
    base, more = divmod(dataset.records, dataset.objects)
    return [base + 1] * more + [base] * (dataset.objects - more)


def _open(dataset: Dataset) -> RemoteDataset:
    kinds = {count: _UniformIndex(count, dataset.record_bytes) for count in set(_sizes(dataset))}
    indexes: list[Any] = [kinds[count] for count in _sizes(dataset)]
    objects: list[Any] = [_NoObject(index.size) for index in indexes]
    options = {"verify": True, "max_record": 0}
    return RemoteDataset(objects, IndexList(indexes), StorageOptions(), options)


def plan_reading(
    dataset: Dataset, shuffle: Shuffle, reader: int, readers: int, batch_size: int
) -> Reading:
    """Plan an epoch of one reader, from samples of its start and its middle."""
    remote = _open(dataset)
    spec = OrderSpec(
        **order_fields(shuffle), seed=0, shard=(reader, readers), batch_size=batch_size
    )
    if spec.shuffle == "blocks":
        block, shards = plan_blocks(spec.block, spec.window, dataset.records, dataset.size)
        spec = replace(spec, block=block, virtual_shards=shards)
    rows = dataset.records // readers
    start = list(_totals(remote, spec, 0))
    first = start[0]
    if start[-1].rows >= rows:
        return Reading(*first[:2], *start[-1][:2], rows, max(each.kept for each in start))
    step = batch_size * readers
    middle = list(_totals(remote, spec, dataset.records // 2 // step * step))
    # After one turn of all windows these are in use; whole turns have the average of later ones.
    turn = max(1, spec.window * spec.block * spec.virtual_shards // readers)
    turns = middle[-1].rows // turn
    begin, end = (
        min(middle, key=lambda total: abs(total.rows - number * turn)) for number in (1, turns)
    )
    grown = [end[i] - begin[i] if end is not begin else end[i] for i in range(3)]
    scale = (rows - first.rows) / max(grown[2], 1)
    size = grown[1] * scale
    requests = first.requests + grown[0] * scale
    kept = max(each.kept for each in start + middle)
    return Reading(*first[:2], requests, max(size, first.size), rows, kept)


class _Total(NamedTuple):
    requests: int
    size: int
    rows: int
    kept: int


def _totals(remote: RemoteDataset, spec: OrderSpec, begin: int) -> Iterator[_Total]:
    """Yield requests, bytes, records and bytes kept after each group, from place `begin` on."""
    order = _core.Order(remote.file_counts(), spec, start=begin)
    requests = size = rows = kept = 0
    sizes: dict[int, int] = {}
    readers = spec.shard[1]
    tail: int | None = None
    if spec.shuffle == "blocks":
        tail = -(-spec.block * spec.virtual_shards // readers) if readers > 1 else 0
    for group in FetchPlanner(remote, order, tail=tail):
        sizes[group.number] = group.plan.size
        requests += len(group.plan.ranges)
        size += group.plan.size
        kept += group.plan.size
        rows += sum(len(batch.numbers) for batch in group.batches)
        yield _Total(requests, size, rows, kept)
        for batch in group.batches:
            kept -= sum(sizes.pop(number, 0) for number in batch.last)
        if rows >= _SAMPLE_ROWS:
            return


def rows_of(
    dataset: Dataset, opening: Opening, store: Store, readers: int, shuffle: Shuffle, batch: int
) -> list[str]:
    """Return the cells of a row of the table."""
    reading = plan_reading(dataset, shuffle, readers // 3, readers, batch)
    share = dataset.size / readers
    start = opening.requests(dataset)
    first = start + reading.first_requests
    opened = opening.index_bytes_per_record * dataset.records
    seconds = store.seconds(start, opened, readers) + store.seconds(
        reading.first_requests, reading.first_bytes, readers
    )
    memory = reading.kept_bytes + StorageOptions().window_bytes + opened
    memory += opening.memory_per_object * dataset.objects
    epoch = store.seconds(reading.requests, reading.size, readers)
    return [
        f"{dataset.objects:,}",
        f"{readers:,}",
        "blocks" if shuffle else "file order",
        f"{first:,.0f}",
        _bytes(reading.first_bytes + opened),
        _seconds(seconds),
        f"{reading.requests:,.0f}",
        _bytes(reading.size / reading.requests),
        f"{reading.size / share:.2f}",
        _seconds(epoch),
        _bytes(memory),
        f"{store.price(reading.requests + start, readers):,.2f}",
    ]


HEADER = (
    "objects",
    "readers",
    "order",
    "requests before the first batch",
    "bytes before it",
    "time to it",
    "requests an epoch",
    "of, on average",
    "bytes, relative to the share",
    "time of an epoch",
    "memory",
    "US$ an epoch",
)


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{size:.{0 if size >= 10 or unit == 'B' else 1}f} {unit}"
        size /= 1024
    raise AssertionError(size)


def _seconds(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.{2 if seconds < 1 else 1}f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{math.ceil(seconds / 3600):,} h"
