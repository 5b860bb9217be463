# SPDX-License-Identifier: Apache-2.0
"""Plan batches from the lengths of all records, before records are read.

The plan of an epoch is a list of global steps, each with a number of rows, which the shards divide
into equal runs. The number of batches is therefore known, and the steps are the same for any number
of shards.
"""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import IndexMismatchError
from ..parsing.column_builder import Column
from ..parsing.conditions import Name
from ..parsing.dataset_columns import columns_of
from .checkpoint import Position, Start
from .epoch_pass import Pass
from .order import Ordering, OrderSpec

__all__ = ["PlannedFeed", "PlannedPass", "Plans", "check_lengths"]

_WINDOWS = 4  # number of windows with cached plans
_EPOCHS = 4  # number of epochs with cached unit counts

_Plan = TypeVar("_Plan")


class Plans(Generic[_Plan]):
    """The plans of windows of an order: records at neighbouring positions, planned together.

    Parameters
    ----------
    ordering : Ordering
    window : int
        Number of records in a window.
    names : sequence of Name
        The columns that plans read.
    option : str
        The option that needs the columns, for messages.
    """

    def __init__(self, ordering: Ordering, window: int, names: Sequence[Name], option: str) -> None:
        self.ordering = ordering
        self._window = window
        self.lengths: NDArray[np.uint32] = self.lengths_of(
            columns_of(ordering.files, names, option)
        )
        self._ends: OrderedDict[int, NDArray[np.int64]] = OrderedDict()
        self._totals: dict[int, int] = {}  # one number per epoch, since a pass may have many epochs
        self._kept: OrderedDict[tuple[int, int], tuple[NDArray[np.uint64], _Plan]] = OrderedDict()
        self.lock: Final = threading.RLock()

    @abstractmethod
    def lengths_of(self, columns: dict[str, Column]) -> NDArray[np.uint32]:
        """Return the length of each record of the source."""

    @abstractmethod
    def make(self, numbers: NDArray[np.uint64], seed: int) -> _Plan:
        """Plan a window of records."""

    @abstractmethod
    def units(self, plan: _Plan) -> int:
        """Return the number of units in a plan: rows, or batches."""

    def _order(self, epoch: int) -> _core.Order:
        spec: OrderSpec = replace(
            self.ordering.spec,
            shard=(0, 1),
            epochs=1,
            batch_size=self._window,
            drop_remainder=False,
            batch_across_epochs=False,
        )
        return self.ordering.native(spec, epoch)

    def plan(
        self, epoch: int, window: int, order: _core.Order | None = None
    ) -> tuple[NDArray[np.uint64], _Plan]:
        """Return the records of a window, and their plan."""
        kept = self._kept.get((epoch, window))
        if kept is not None:
            return kept
        found = (order or self._order(epoch)).numbers(window)
        assert found is not None
        drawn = epoch if self.ordering.spec.reshuffle else 0
        seed = self.ordering.spec.seed + 0x9E3779B97F4A7C15 * (drawn * 2**20 + window + 1)
        kept = self._kept[epoch, window] = found[1], self.make(found[1], seed % 2**64)
        if len(self._kept) > _WINDOWS:
            self._kept.popitem(last=False)
        return kept

    def ends(self, epoch: int) -> NDArray[np.int64]:
        """Return the number of units up to the end of each window of an epoch, starting with 0."""
        with self.lock:
            ends = self._ends.get(epoch)
            if ends is None:
                order = self._order(epoch)
                windows = range(order.batches or 0)
                units = [self.units(self.plan(epoch, window, order)[1]) for window in windows]
                ends = self._ends[epoch] = np.cumsum([0, *units])
                self._totals[epoch] = int(ends[-1])
                if len(self._ends) > _EPOCHS:
                    self._ends.popitem(last=False)
            return ends

    def total(self, epoch: int) -> int:
        """Return the number of units in an epoch."""
        total = self._totals.get(epoch)
        return int(self.ends(epoch)[-1]) if total is None else total


class PlannedPass(Pass):
    """One ``iter()`` over planned steps. `used` in its positions counts units of a plan."""

    is_counted = True
    has_steps = True

    def __init__(self, ordering: Ordering, spec: OrderSpec, start: Start) -> None:
        super().__init__(ordering, spec, start)
        self._counts: dict[tuple[int, int], int] = {}

    @abstractmethod
    def total(self, epoch: int) -> int:
        """Return the number of units in an epoch."""

    @abstractmethod
    def step_rows(self, epoch: int, used: int) -> NDArray[np.int64]:
        """Return the number of rows in each global step of an epoch, after `used` units."""

    @abstractmethod
    def step_units(self, steps: int) -> int:
        """Return the number of units in some complete steps."""

    @abstractmethod
    def step(self, epoch: int, used: int, begin: int, end: int) -> Any:
        """Return the rows from `begin` to `end` of the step that follows `used` units.

        With ``uneven="pad"``, the first rows follow the last row.
        """

    def _used(self, epoch: int) -> int:
        return min(self.first.used if epoch == self.first.epoch else 0, self.total(epoch))

    def _runs(self, rows: NDArray[np.int64], shard: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the start and stop row of a shard in each step."""
        share, more = np.divmod(rows, self.spec.shard[1])
        if self.spec.uneven == "longer":
            first = shard * share + np.minimum(shard, more)
            return first, first + share + (shard < more)
        if self.spec.uneven == "pad":
            share = share + (more > 0)
        return shard * share, (shard + 1) * share

    def _own(self, epoch: int, shard: int) -> NDArray[np.int64]:
        """Return the steps of an epoch that give a shard at least one row."""
        first, end = self._runs(self.step_rows(epoch, self._used(epoch)), shard)
        return np.flatnonzero(end > first)

    def _count(self, epoch: int, shard: int) -> int:
        """Return the number of steps in an epoch that give a shard at least one row."""
        count = self._counts.get((epoch, shard))
        if count is None:
            count = self._counts[epoch, shard] = len(self._own(epoch, shard))
        return count

    def _epochs(self) -> Iterator[int]:
        return self.spec.epochs_from(self.first.epoch)

    @property
    def steps_left(self) -> int:
        """Number of batches of this pass, which must be finite."""
        return sum(self._count(epoch, self.spec.shard[0]) for epoch in self._epochs())

    @property
    def most_steps_left(self) -> int:
        """Number of batches of this pass in shard 0, which has the most."""
        return sum(self._count(epoch, 0) for epoch in self._epochs())

    def find(self, done: int) -> Position:
        """Return the position of this shard after `done` steps."""
        epoch = self.first.epoch
        for epoch in self._epochs():
            count = self._count(epoch, self.spec.shard[0])
            if done < count:
                own = self._own(epoch, self.spec.shard[0])
                return Position(epoch, self._used(epoch) + self.step_units(int(own[done])))
            done -= count
            if self.spec.epochs == 0 and not count:
                break
        return Position(epoch, self.total(epoch))

    def start_after(self, done: int) -> Start:
        """Return the position of this run after `done` steps, for a state."""
        position = self.find(done)
        last = self.spec.shard[1] - 1
        ended = position.used in (0, self.total(position.epoch))
        uneven = any(
            self._count(epoch, 0) != self._count(epoch, last)
            for epoch in range(self.first.epoch, position.epoch + 1)
        )
        return Start(self.start.begin, position, self.start.in_step and not (ended and uneven))

    def steps(self) -> Iterator[Any]:
        """Yield the batches of this shard."""
        for epoch in self._epochs():
            used = self._used(epoch)
            first, end = self._runs(self.step_rows(epoch, used), self.spec.shard[0])
            own = np.flatnonzero(end > first)
            for number in own.tolist():
                at = used + self.step_units(number)
                yield self.step(epoch, at, int(first[number]), int(end[number]))
            if self.spec.epochs == 0 and not len(own):
                return


class PlannedFeed(Iterator[Any]):
    """The steps of a pass, for the threads of a pipeline."""

    def __init__(self, run: PlannedPass) -> None:
        self._steps = run.steps()

    def __next__(self) -> Any:
        return next(self._steps)

    def close(self) -> None:
        """Do nothing, since this feed starts no threads."""

    interrupt = close


def check_lengths(
    ordering: Ordering, numbers: NDArray[np.uint64], planned: NDArray[Any], lengths: NDArray[Any]
) -> None:
    """Raise if the length of a record differs from the plan.

    Raises
    ------
    IndexMismatchError
        With the record and both lengths.
    """
    if (wrong := np.flatnonzero(lengths != planned)).size:
        place = int(wrong[0])
        path, record, _ = ordering.position_of(int(numbers[place]), None)
        error = IndexMismatchError(
            f"record {record} in {os.fsdecode(path)!a} has {lengths[place]} tokens, and the "
            f"columns of the index say {planned[place]}; build them again with fastrec index "
            "--columns"
        )
        error.path, error.record = os.fsdecode(path), record
        raise error
