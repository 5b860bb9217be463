# SPDX-License-Identifier: Apache-2.0
"""Batches of records in object stores: the ranges of coming batches are fetched ahead of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..records.remote_dataset import Extract, Plan, RemoteDataset
from ..storage.ahead import Ahead, Job
from .order import OrderSpec

__all__ = ["RemoteFeed"]

_LEAST_GROUP = 4  # groups that a window has room for


class _Batch(NamedTuple):
    serial: int
    numbers: NDArray[np.uint64]


class _Group(NamedTuple):
    """Batches whose records are fetched together: of ``"blocks"``, those of a window of blocks."""

    batches: list[_Batch]
    plan: Plan


class RemoteFeed(Iterator[tuple[int, NDArray[np.uint64], Bytes]]):
    """Serial, record numbers and records of each batch of an order.

    Ranges are fetched into the window ahead of the group they belong to, and one group is put
    together while the one before it is used.

    Parameters
    ----------
    dataset : RemoteDataset
    order : _core.Order
    spec : OrderSpec
    """

    def __init__(self, dataset: RemoteDataset, order: _core.Order, spec: OrderSpec) -> None:
        self._dataset, self._order, self._spec = dataset, order, spec
        self._window = dataset.storage.window_bytes
        planned: deque[_Group] = deque()
        self._ranges: Ahead[memoryview] = Ahead(self._range_jobs(planned), budget=self._window)
        self._extracts: Ahead[tuple[_Group, Extract] | None] = Ahead(
            self._extract_jobs(planned), budget=1, threads=1, most=1
        )
        self._batches: Iterator[_Batch] = iter(())
        self._extract: Extract | None = None

    def __next__(self) -> tuple[int, NDArray[np.uint64], Bytes]:
        while True:
            batch = next(self._batches, None)
            if batch is not None and self._extract is not None:
                return batch.serial, batch.numbers, self._extract.take(batch.numbers)
            self._extract = None
            found = next(self._extracts)
            if found is None:
                raise StopIteration
            group, self._extract = found
            self._batches = iter(group.batches)

    def _groups(self) -> Iterator[_Group]:
        batches: list[_Batch] = []
        size, last = 0, None
        serial = 0
        while (found := self._order.numbers(serial)) is not None:
            epoch, numbers = found
            window = epoch, self._window_of(serial)
            here = int(self._dataset.sizes_of(np.sort(numbers)).sum())
            full = self._spec.shuffle != "blocks" and size + here > self._window // _LEAST_GROUP
            if batches and (full or window != last):
                yield self._group(batches)
                batches, size = [], 0
            batches.append(_Batch(serial, numbers))
            size += here
            last = window
            serial += 1
        if batches:
            yield self._group(batches)

    def _window_of(self, serial: int) -> int:
        """The window of blocks that a batch begins in."""
        if self._spec.shuffle != "blocks":
            return 0
        found = self._order.find(serial)
        assert found is not None
        return int(found[1]) // (self._spec.block * self._spec.window)

    def _group(self, batches: list[_Batch]) -> _Group:
        numbers = np.concatenate([batch.numbers for batch in batches])
        return _Group(batches, self._dataset.plan(numbers))

    def _range_jobs(self, planned: deque[_Group]) -> Iterator[Job]:
        for group in self._groups():
            planned.append(group)
            yield from self._dataset.jobs(group.plan)

    def _extract_jobs(self, planned: deque[_Group]) -> Iterator[Job]:
        def put_together(pause: Any) -> tuple[_Group, Extract] | None:
            first = next(self._ranges, None)
            if first is None:
                return None
            group = planned.popleft()
            extract = Extract(self._dataset, group.plan, chain([first], self._ranges))
            self._dataset.check_version({file for file, _, _ in group.plan.ranges})
            return group, extract

        while True:
            yield Job(put_together, 1)

    def close(self) -> None:
        """End the threads, and every wait for them."""
        self._ranges.close()
        self._extracts.close()

    interrupt = close
