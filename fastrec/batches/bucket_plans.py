# SPDX-License-Identifier: Apache-2.0
"""Plan the batches of buckets from the lengths of all records.

A plan divides the records of a window into batches for all shards together. Each shard takes an
equal run of the rows of every batch, so all shards have batches of the same bucket at the same
time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parsing.column_builder import Column
from ..parsing.conditions import Name
from .buckets import Buckets
from .checkpoint import Start
from .order import Ordering, OrderSpec
from .planned import PlannedPass, Plans

__all__ = ["BucketPass", "BucketPlans", "BucketStep"]

Rows = NDArray[np.int64]


class BucketStep(NamedTuple):
    """The records of one batch, before they are read."""

    numbers: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    bucket: int


class BucketPlans(Plans[list[tuple[Rows, int]]]):
    """The batches of all shards together, in the order of an epoch.

    Parameters
    ----------
    ordering : Ordering
    buckets : Buckets
    batch_size : int
        Number of rows in a batch of one shard, if `tokens` is None.
    shards : int
    drop : bool
        Whether batches that are not full are dropped.
    """

    def __init__(
        self, ordering: Ordering, buckets: Buckets, batch_size: int, shards: int, drop: bool
    ) -> None:
        self._buckets, self._drop = buckets, drop
        self._size = batch_size * shards
        self._tokens = None if buckets.tokens is None else buckets.tokens * shards
        window = buckets._window_of(batch_size) * shards
        super().__init__(ordering, window, [Name(buckets.by, "len")], "buckets=")

    def lengths_of(self, columns: dict[str, Column]) -> NDArray[np.uint32]:
        """Return the length of each record of the source."""
        return columns[str(Name(self._buckets.by, "len"))].values.astype(np.uint32)

    def make(self, numbers: NDArray[np.uint64], seed: int) -> list[tuple[Rows, int]]:
        """Divide a window of records into batches."""
        lengths = self.lengths[numbers].astype(np.int64)
        return self._buckets._divide(lengths, self._size, self._tokens, self._drop)

    def units(self, plan: list[tuple[Rows, int]]) -> int:
        """Return the number of batches in a plan."""
        return len(plan)

    def rows(self, epoch: int) -> NDArray[np.int64]:
        """Return the number of rows in each batch of an epoch."""
        with self.lock:
            windows = range(len(self.ends(epoch)) - 1)
            rows = [len(part) for window in windows for part, _ in self.plan(epoch, window)[1]]
            return np.array(rows, np.int64)

    def step(self, epoch: int, batch: int, begin: int, end: int) -> BucketStep:
        """Return the rows from `begin` to `end` of a batch."""
        with self.lock:
            ends = self.ends(epoch)
            window = int(np.searchsorted(ends, batch, side="right")) - 1
            numbers, plan = self.plan(epoch, window)
            rows, bucket = plan[batch - int(ends[window])]
        chosen = numbers[rows[np.arange(begin, end) % len(rows)]]
        return BucketStep(chosen, self.lengths[chosen], bucket)


class BucketPass(PlannedPass):
    """One ``iter()`` over planned batches of buckets. Its positions count batches.

    Parameters
    ----------
    ordering, spec, start
        As for :class:`Pass`.
    plans : BucketPlans
    """

    def __init__(
        self, ordering: Ordering, spec: OrderSpec, start: Start, plans: BucketPlans
    ) -> None:
        super().__init__(ordering, spec, start)
        self._plans = plans
        self._rows: dict[int, NDArray[np.int64]] = {}

    def total(self, epoch: int) -> int:
        """Return the number of batches in an epoch, for all shards together."""
        return self._plans.total(epoch)

    def step_units(self, steps: int) -> int:
        """Return the number of steps; a step is one batch of all shards."""
        return steps

    def step_rows(self, epoch: int, used: int) -> NDArray[np.int64]:
        """Return the number of rows in each step of an epoch, after `used` steps."""
        rows = self._rows.get(epoch)  # read once, since another thread may be in another epoch
        if rows is None:
            rows = self._plans.rows(epoch)
            self._rows = {epoch: rows}
        return rows[used:]

    def step(self, epoch: int, used: int, begin: int, end: int) -> BucketStep:
        """Return the rows from `begin` to `end` of the step that follows `used` steps."""
        return self._plans.step(epoch, used, begin, end)
