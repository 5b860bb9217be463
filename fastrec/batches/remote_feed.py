# SPDX-License-Identifier: Apache-2.0
"""Read batches of records from object stores; the ranges of coming batches are fetched ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes
from ..records.remote_dataset import Extract, RemoteDataset
from ..storage.ahead import Ahead, Job
from ..threads.clock import lap
from .fetch_plans import Batch, FetchPlanner, Group

__all__ = ["RemoteFeed"]

_PAUSE = memoryview(b"")  # result of a job that fills the window until it is taken


class RemoteFeed(Iterator[tuple[int, NDArray[np.uint64], Bytes]]):
    """Serial number, record numbers and records of each batch of an order.

    Ranges are fetched into the window ahead of their group, and one group is assembled while the
    previous group is used.

    Parameters
    ----------
    dataset : RemoteDataset
    planner : FetchPlanner
    """

    def __init__(self, dataset: RemoteDataset, planner: FetchPlanner) -> None:
        self._dataset = dataset
        planned: deque[Group] = deque()
        self._ranges: Ahead[memoryview | None] = dataset.ahead(self._range_jobs(planner, planned))
        self._extracts: Ahead[tuple[Group, Extract | None] | None] = Ahead(
            self._extract_jobs(planned), budget=1, threads=1, most=1
        )
        self._batches: Iterator[Batch] = iter(())
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

    def _take(self, batch: Batch) -> Bytes:
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

    def _range_jobs(self, planner: FetchPlanner, planned: deque[Group]) -> Iterator[Job]:
        for group in planner:
            planned.append(group)
            if not group.plan.ranges:
                yield Job(lambda pause: None, 0)
            yield from self._dataset.jobs(group.plan)
            if group.is_alone:
                yield Job(lambda pause: _PAUSE, self._dataset.storage.window_bytes)

    def _extract_jobs(self, planned: deque[Group]) -> Iterator[Job]:
        def put_together(pause: Any) -> tuple[Group, Extract | None] | None:
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


class _Rest:
    """Records that remain of a group."""

    def __init__(self, numbers: NDArray[np.uint64], records: Bytes) -> None:
        self._numbers, self._records = numbers, records

    def take(self, numbers: NDArray[np.uint64]) -> Bytes:
        """Return some of the records."""
        return self._records.take(np.searchsorted(self._numbers, numbers))


def _joined(parts: list[Bytes]) -> Bytes:
    """Return the concatenated strings of all parts."""
    sizes = [np.diff(part.offsets) for part in parts]
    data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
    return Bytes(np.concatenate(data), np.cumsum(np.concatenate([[0], *sizes])))
