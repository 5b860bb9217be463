# SPDX-License-Identifier: Apache-2.0
"""Read batches of records from object stores; the ranges of coming batches are fetched ahead."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain, count
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..records.remote_dataset import Extract, Plan, RemoteDataset
from ..storage.ahead import Ahead, Job
from ..threads.clock import lap
from .late_order import LateOrder

__all__ = ["RemoteFeed"]

_LEAST_GROUP = 4  # minimum number of groups that fit in a window
_PAUSE = memoryview(b"")  # result of a job that fills the window until it is taken
_FIRST_GROUP = 1 << 20  # bytes of the first group; a consumer waits for all of it


class _Batch(NamedTuple):
    serial: int
    numbers: NDArray[np.uint64]
    parts: NDArray[np.intp]
    """For each record, the number of the group that fetches it."""
    last: frozenset[int]
    """Groups that no later batch needs."""


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
    fetched as a whole and kept until their virtual shards have finished with them. In other orders,
    a group consists of the records of several batches, which fill a part of the window. In file
    order the first groups are smaller, so that the first batch does not wait for many others. In a
    shuffled order, small groups would fetch the gaps between their records several times. If
    objects are counted late, the first group is one batch, and further objects are opened later.
    """

    def __init__(self, dataset: RemoteDataset, order: _core.Order | LateOrder, block: int) -> None:
        self._dataset = dataset
        self._is_late = isinstance(order, LateOrder)
        self._sampler = _core.Sampler(order) if isinstance(order, _core.Order) else order
        self._block = block
        self._window = dataset.storage.window_bytes
        self._groups = 0

    def __iter__(self) -> Iterator[_Group]:
        return self._by_blocks() if self._block else self._by_size()

    def _numbers(self) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
        """Yield serial number, epoch and record numbers of each batch."""
        for serial in count():
            found = self._sampler.numbers(serial)
            if found is None:
                return
            yield serial, *found

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
    """

    def __init__(self, dataset: RemoteDataset, order: _core.Order | LateOrder, block: int) -> None:
        self._dataset = dataset
        planner = _Planner(dataset, order, block)
        planned: deque[_Group] = deque()
        self._ranges: Ahead[memoryview | None] = dataset.ahead(self._range_jobs(planner, planned))
        self._extracts: Ahead[tuple[_Group, Extract | None] | None] = Ahead(
            self._extract_jobs(planned), budget=1, threads=1, most=1
        )
        self._batches: Iterator[_Batch] = iter(())
        self._kept: dict[int, Extract] = {}  # by group number

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


def _joined(parts: list[Bytes]) -> Bytes:
    """Return the concatenated strings of all parts."""
    sizes = [np.diff(part.offsets) for part in parts]
    data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
    return Bytes(np.concatenate(data), np.cumsum(np.concatenate([[0], *sizes])))
