# SPDX-License-Identifier: Apache-2.0
"""Read batches of records from object stores; the ranges of coming batches are fetched ahead."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import chain, count
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..records.remote_dataset import Extract, Plan, RemoteDataset
from ..storage.ahead import Ahead, Job
from ..threads.clock import lap
from .late_order import LateOrder

__all__ = ["Entries", "RemoteFeed"]

_LEAST_GROUP = 4  # minimum number of groups that fit in a window
_LEAST_REST = 4  # a group is copied when at most this part, a quarter, of its records remains
_PAUSE = memoryview(b"")  # result of a job that fills the window until it is taken
_FIRST_GROUP = 1 << 20  # bytes of the first group; a consumer waits for all of it


class Entries(NamedTuple):
    """The records that enter a shuffle buffer, in their order.

    Attributes
    ----------
    buffer : int
        Size of the buffer, in records.
    order : _core.Order or LateOrder
        The order in which records enter, from the start of the first epoch.
    drawn : ndarray of uint64
        Records that were drawn in the first epoch before this pass, in ascending order.
    """

    buffer: int
    order: _core.Order | LateOrder
    drawn: NDArray[np.uint64]


class _Batch(NamedTuple):
    serial: int
    numbers: NDArray[np.uint64]
    parts: NDArray[np.intp]
    """For each record, the number of the group that fetches it."""
    last: frozenset[int]
    """Groups that no later batch needs."""
    rest: Mapping[int, NDArray[np.uint64]] = MappingProxyType({})
    """For some groups, the few records that later batches need."""


class _Group(NamedTuple):
    """Records that are fetched together, and batches from the first one that needs them on."""

    number: int
    plan: Plan
    batches: list[_Batch]
    is_alone: bool = False
    """Whether the next group is planned when this one is used."""


class _Planner:
    """Plans which records are fetched together, and when.

    With ``"blocks"``, a group consists of the blocks that a batch is the first to need. They are
    fetched as a whole and kept until their virtual shards have finished with them. With a shuffle
    buffer that fits into the window, a group consists of records in the order in which they enter
    the buffer, and they are kept until they are drawn. In other orders, a group consists of the
    records of several batches, which fill a part of the window. In file
    order the first groups are smaller, so that the first batch does not wait for many others. In a
    shuffled order, small groups would fetch the gaps between their records several times. If
    objects are counted late, the first group is one batch, and further objects are opened later.
    """

    def __init__(
        self,
        dataset: RemoteDataset,
        order: _core.Order | LateOrder,
        block: int,
        entries: Entries | None = None,
    ) -> None:
        self._dataset = dataset
        self._entries = entries
        self._is_late = isinstance(order, LateOrder)
        self._sampler = _core.Sampler(order) if isinstance(order, _core.Order) else order
        self._block = block
        self._window = dataset.storage.window_bytes
        self._groups = 0

    def __iter__(self) -> Iterator[_Group]:
        if self._entries is not None:
            chunks = self._chunks(self._entries)
            first = next(chunks, None)
            if first is not None and self._fits(self._entries, first):
                return self._by_buffer(chain([first], chunks))
        return self._by_blocks() if self._block else self._by_size()

    def _numbers(self) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
        """Yield serial number, epoch and record numbers of each batch."""
        return _numbers_of(self._sampler)

    def _fits(self, entries: Entries, some: NDArray[np.uint64]) -> bool:
        mean = self._dataset.sizes_of(np.unique(some)).mean()
        return bool(entries.buffer * mean <= self._window)

    def _chunks(self, entries: Entries) -> Iterator[NDArray[np.uint64]]:
        """Yield the records that enter a buffer in chunks; the first one at most fills it."""
        order = entries.order
        sampler = _core.Sampler(order) if isinstance(order, _core.Order) else order
        parts: list[NDArray[np.uint64]] = []
        size, most, first, is_first = 0, _FIRST_GROUP, None, True
        for _, epoch, numbers in _numbers_of(sampler):
            first = epoch if first is None else first
            if epoch == first and len(entries.drawn):
                numbers = numbers[~np.isin(numbers, entries.drawn)]
            if not len(numbers):
                continue
            parts.append(numbers)
            size += int(self._dataset.sizes_of(np.unique(numbers)).sum())
            is_full = is_first and sum(map(len, parts)) >= entries.buffer
            if size >= most or is_full:
                is_first = False
                yield np.concatenate(parts)
                parts, size, most = [], 0, min(2 * most, self._window // _LEAST_GROUP)
        if parts:
            yield np.concatenate(parts)

    def _group(self, numbers: NDArray[np.uint64], batches: list[_Batch]) -> _Group:
        self._groups += 1
        return _Group(self._groups - 1, self._dataset.plan(numbers), batches)

    def _by_size(self) -> Iterator[_Group]:
        batches: list[tuple[int, NDArray[np.uint64]]] = []
        size, most, largest = 0, 0, self._window // _LEAST_GROUP
        for serial, _, numbers in self._numbers():
            here = int(self._dataset.sizes_of(np.sort(numbers)).sum())
            if not most:
                in_file_order = (numbers[1:] > numbers[:-1]).all()
                most = min(_FIRST_GROUP, largest) if in_file_order else largest
                most = min(most, here) if self._is_late else most
            if batches and size + here > most:
                is_alone = self._is_late and most < _FIRST_GROUP
                yield self._whole(batches)._replace(is_alone=is_alone)
                batches, size, most = [], 0, min(2 * most, largest)
            batches.append((serial, numbers))
            size += here
        if batches:
            yield self._whole(batches)

    def _whole(self, batches: list[tuple[int, NDArray[np.uint64]]]) -> _Group:
        own, last = self._groups, len(batches) - 1
        parts = (np.full(len(numbers), own, np.intp) for _, numbers in batches)
        numbered = [
            _Batch(serial, numbers, part, frozenset([own] if row == last else []))
            for row, ((serial, numbers), part) in enumerate(zip(batches, parts, strict=True))
        ]
        return self._group(np.concatenate([numbers for _, numbers in batches]), numbered)

    def _by_blocks(self) -> Iterator[_Group]:
        owners: dict[int, int] = {}  # group of each block that is fetched and still needed
        left_in: Counter[int] = Counter()  # number of blocks of each group that are still needed
        records = len(self._dataset)
        group: _Group | None = None
        for serial, _, numbers in self._numbers():
            blocks, places = np.unique(numbers // np.uint64(self._block), return_inverse=True)
            fresh = [block for block in blocks.tolist() if block not in owners]
            if fresh or group is None:
                if group is not None:
                    yield group
                owners.update(dict.fromkeys(fresh, self._groups))
                left_in[self._groups] = len(fresh)
                runs = [
                    np.arange(b * self._block, min((b + 1) * self._block, records), dtype=np.uint64)
                    for b in fresh
                ]
                group = self._group(np.concatenate(runs or [numbers[:0]]), [])
            parts = np.array([owners[block] for block in blocks.tolist()], np.intp)[places]
            last = set()
            assert isinstance(self._sampler, _core.Sampler)
            for block in self._sampler.take_left().tolist():
                if (owner := owners.pop(block, None)) is not None:
                    left_in[owner] -= 1
                    if not left_in[owner]:
                        del left_in[owner]
                        last.add(owner)
            group.batches.append(_Batch(serial, numbers, parts, frozenset(last)))
        if group is not None:
            yield group

    def _by_buffer(self, chunks: Iterator[NDArray[np.uint64]]) -> Iterator[_Group]:
        held, drawn = _Held(), list[NDArray[np.uint64]]()
        group: _Group | None = None
        epoch = -1
        for serial, of_epoch, numbers in self._numbers():
            places = held.find(numbers) if of_epoch == epoch else None
            if places is None and drawn:
                assert group is not None
                last, rest = held.take(np.concatenate(drawn))
                group.batches[-1] = group.batches[-1]._replace(last=last, rest=rest)
                drawn.clear()
                places = held.find(numbers)
            epoch, fresh = of_epoch, []
            while places is None and (chunk := next(chunks, None)) is not None:
                fresh.append(chunk)
                held.add(chunk, self._groups)
                places = held.find(numbers)
            if places is None:
                raise RuntimeError("a buffer draws only records that have entered it")
            if fresh:
                if group is not None:
                    yield group
                group = self._group(np.concatenate(fresh), [])
            assert group is not None
            drawn.append(numbers)
            group.batches.append(_Batch(serial, numbers, held.groups_of(places), frozenset()))
        if group is not None:
            yield group


class _Held:
    """Records in a shuffle buffer or about to enter it, with the group that fetches each."""

    def __init__(self) -> None:
        self._numbers = np.empty(0, np.uint64)  # in ascending order
        self._groups = np.empty(0, np.intp)
        self._sizes: dict[int, int] = {}  # number of records that are kept of each group
        self._left: Counter[int] = Counter()  # number of records of each group that are not drawn

    def add(self, numbers: NDArray[np.uint64], group: int) -> None:
        """Add records that enter; an equal record that entered before is drawn first."""
        merged = np.concatenate([self._numbers, numbers])
        groups = np.concatenate([self._groups, np.full(len(numbers), group, np.intp)])
        order = np.argsort(merged, kind="stable")
        self._numbers, self._groups = merged[order], groups[order]
        self._left[group] += len(numbers)
        self._sizes[group] = self._left[group]

    def find(self, numbers: NDArray[np.uint64]) -> NDArray[np.intp] | None:
        """Return the place of each drawn record; None if one of them did not enter yet."""
        places = np.searchsorted(self._numbers, numbers)
        if places.max(initial=-1) >= len(self._numbers):
            return None
        return places if (self._numbers[places] == numbers).all() else None

    def groups_of(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the group of each place."""
        return self._groups[places]

    def take(
        self, numbers: NDArray[np.uint64]
    ) -> tuple[frozenset[int], dict[int, NDArray[np.uint64]]]:
        """Remove the drawn records of one epoch; return the groups that end, and small rests."""
        places = np.searchsorted(self._numbers, numbers)
        groups = self._groups[places]
        self._numbers = np.delete(self._numbers, places)
        self._groups = np.delete(self._groups, places)
        last, rest = set(), {}
        for group, size in Counter(groups.tolist()).items():
            self._left[group] -= size
            left = self._left[group]
            if not left:
                del self._left[group], self._sizes[group]
                last.add(group)
            elif left <= self._sizes[group] // _LEAST_REST:
                self._sizes[group] = left
                rest[group] = np.unique(self._numbers[self._groups == group])
        return frozenset(last), rest


class _Rest:
    """Records that remain of a group."""

    def __init__(self, numbers: NDArray[np.uint64], records: Bytes) -> None:
        self._numbers, self._records = numbers, records

    def take(self, numbers: NDArray[np.uint64]) -> Bytes:
        """Return some of the records."""
        return self._records.take(np.searchsorted(self._numbers, numbers))


class RemoteFeed(Iterator[tuple[int, NDArray[np.uint64], Bytes]]):
    """Serial number, record numbers and records of each batch of an order.

    Ranges are fetched into the window ahead of their group, and one group is assembled while the
    previous group is used.

    Parameters
    ----------
    dataset : RemoteDataset
    order : _core.Order or LateOrder
    block : int
        Number of records per block for ``"blocks"``; 0 for other orders.
    entries : Entries, optional
        The records that enter a shuffle buffer.
    """

    def __init__(
        self,
        dataset: RemoteDataset,
        order: _core.Order | LateOrder,
        block: int,
        entries: Entries | None = None,
    ) -> None:
        self._dataset = dataset
        planner = _Planner(dataset, order, block, entries)
        planned: deque[_Group] = deque()
        self._ranges: Ahead[memoryview | None] = dataset.ahead(self._range_jobs(planner, planned))
        self._extracts: Ahead[tuple[_Group, Extract | None] | None] = Ahead(
            self._extract_jobs(planned), budget=1, threads=1, most=1
        )
        self._batches: Iterator[_Batch] = iter(())
        self._kept: dict[int, Extract | _Rest] = {}  # by group number

    def __next__(self) -> tuple[int, NDArray[np.uint64], Bytes]:
        while (batch := next(self._batches, None)) is None:
            found = next(self._extracts)
            lap("storage")
            if found is None:
                raise StopIteration
            group, extract = found
            self._batches = iter(group.batches)
            if extract is not None:
                self._kept[group.number] = extract
        records = self._take(batch)
        for number in batch.last:
            self._kept.pop(number, None)
        for number, rest in batch.rest.items():
            self._kept[number] = _Rest(rest, self._kept[number].take(rest))
        return batch.serial, batch.numbers, records

    def _take(self, batch: _Batch) -> Bytes:
        # If all records are in one group, it returns them in order. A batch is never empty.
        if (batch.parts == batch.parts[0]).all():
            return self._kept[int(batch.parts[0])].take(batch.numbers)
        groups = np.unique(batch.parts)
        rows = [np.flatnonzero(batch.parts == group) for group in groups]
        taken = [
            self._kept[int(group)].take(batch.numbers[own])
            for group, own in zip(groups, rows, strict=True)
        ]
        return _joined(taken).take(np.argsort(np.concatenate(rows)))

    def _range_jobs(self, planner: _Planner, planned: deque[_Group]) -> Iterator[Job]:
        for group in planner:
            planned.append(group)
            if not group.plan.ranges:
                yield Job(lambda pause: None, 0)
            yield from self._dataset.jobs(group.plan)
            if group.is_alone:
                yield Job(lambda pause: _PAUSE, self._dataset.storage.window_bytes)

    def _extract_jobs(self, planned: deque[_Group]) -> Iterator[Job]:
        def put_together(pause: Any) -> tuple[_Group, Extract | None] | None:
            for first in self._ranges:
                if first is _PAUSE:
                    continue
                group = planned.popleft()
                if first is None:  # earlier groups contain all records of these batches
                    return group, None
                ranges = chain([first], cast("Iterator[memoryview]", self._ranges))
                extract = Extract(self._dataset, group.plan, ranges)
                self._dataset.check_version({file for file, _, _ in group.plan.ranges})
                return group, extract
            return None

        while True:
            yield Job(put_together, 1)

    def close(self) -> None:
        """End the threads, and every wait for them."""
        self._ranges.close()
        self._extracts.close()

    interrupt = close


def _numbers_of(
    sampler: _core.Sampler | LateOrder,
) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
    """Yield serial number, epoch and record numbers of each batch."""
    for serial in count():
        found = sampler.numbers(serial)
        if found is None:
            return
        yield serial, *found


def _joined(parts: list[Bytes]) -> Bytes:
    """Return the concatenated strings of all parts."""
    sizes = [np.diff(part.offsets) for part in parts]
    data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
    return Bytes(np.concatenate(data), np.cumsum(np.concatenate([[0], *sizes])))
