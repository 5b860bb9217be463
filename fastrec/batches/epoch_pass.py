# SPDX-License-Identifier: Apache-2.0
"""One ``iter()`` over an order: its epochs, its steps, and the positions between them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .checkpoint import Position, Start
from .late_order import LateOrder
from .order import Ordering, OrderSpec

__all__ = ["HasPlaces", "Pass"]


class _Step(NamedTuple):
    """The position at which the next batch begins."""

    epoch: int
    used: int


class HasPlaces(Protocol):
    """The records of a stream."""

    def place_of(self, number: int, /) -> tuple[int, int]:
        """Return the number of the file of a record, and the number of the record there."""


class Pass:
    """One ``iter()``: an order, its epochs, and its start position.

    Parameters
    ----------
    ordering : Ordering
    spec : OrderSpec
        The specification of the ordering, with the shard of this process.
    start : Start

    Attributes
    ----------
    damage : Damage or None
        The policy for unusable records; None raises the first error.
    chain : HasPlaces or None
        The records of a stream in the first epoch of this pass.
    """

    def __init__(self, ordering: Ordering, spec: OrderSpec, start: Start) -> None:
        self.ordering = ordering
        self.start = start
        left = 0
        first, used = start.position.epoch, start.position.used
        if spec.epochs:
            left = start.begin + spec.epochs - first
            if left <= 0:  # The pass has ended, so its last epoch is complete.
                first, used, left = start.begin + spec.epochs - 1, 2**62, 1
        self.spec: Final = replace(spec, epochs=left)
        self.first: Final = _Step(first, used)
        self.damage: Final = ordering.files.policy()
        self.chain: HasPlaces | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the pass starts at the beginning of an epoch."""
        return self.first.used == 0 and self.start.position.item == 0

    @property
    def next_start(self) -> Start:
        """The start of the pass after this one."""
        after = self.start.begin + self.ordering.spec.epochs if self.spec.epochs else 0
        return Start.of_epoch(max(after, self.first.epoch + 1))

    # --- records by number ----------------------------------------------------------------------

    @cached_property
    def native(self) -> _core.Order | LateOrder:
        """The order in the native core, or one whose objects are counted late."""
        late = self.ordering.late(self.spec, *self.first)
        return self.ordering.native(self.spec, *self.first) if late is None else late

    def entries(self) -> tuple[_core.Order | LateOrder, NDArray[np.uint64]] | None:
        """Return the order in which records enter a shuffle buffer, and the records drawn before.

        The order begins with the first epoch, whose records drawn before this pass are in ascending
        order. The result is None without a buffer, and if an epoch may contain a record twice or a
        batch records of two epochs.
        """
        spec, drawn = self.spec, self.first.used // self.spec.shard[1]
        repeats = spec.batch_across_epochs or (spec.uneven == "pad" and spec.shard[1] > 1)
        if spec.shuffle != "buffer" or repeats:
            return None
        in_order = replace(spec, shuffle="none", buffer=0, drop_remainder=False)
        return self._from_start(in_order), self._drawn(drawn)

    def _from_start(self, spec: OrderSpec) -> _core.Order | LateOrder:
        late = self.ordering.late(spec, self.first.epoch, 0)
        return self.ordering.native(spec, self.first.epoch, 0) if late is None else late

    def _drawn(self, count: int) -> NDArray[np.uint64]:
        """Return the first `count` records that the buffer draws in the first epoch."""
        if not count:
            return np.empty(0, np.uint64)
        order = self._from_start(replace(self.spec, drop_remainder=False, epochs=1))
        sampler = _core.Sampler(order) if isinstance(order, _core.Order) else order
        parts: list[NDArray[np.uint64]] = []
        done = 0
        while done < count and (batch := sampler.numbers(len(parts))) is not None:
            parts.append(batch[1])
            done += len(batch[1])
        return np.sort(np.concatenate(parts)[:count])

    @property
    def is_counted(self) -> bool:
        """Whether the number of batches is known, unless records are skipped."""
        return not self.ordering.streams and not self._deals

    @property
    def has_steps(self) -> bool:
        """Whether the number of delivered batches alone determines the position of this shard."""
        return self.is_counted and not self.ordering.may_skip

    @property
    def _deals(self) -> bool:
        """Whether a window of records may become any number of batches."""
        buckets = self.ordering.buckets
        return buckets is not None and not buckets[0]._only_pads(buckets[1])

    def _steps_of(self, shard: int) -> _core.Order:
        size = 1 if self.ordering.by_row else self.spec.batch_size
        spec = replace(self.spec, shard=(shard, self.spec.shard[1]), batch_size=size)
        return self.ordering.native(spec, *self.first)

    @cached_property
    def _own_steps(self) -> _core.Order | LateOrder:
        return self._steps_of(self.spec.shard[0]) if self.ordering.by_row else self.native

    @cached_property
    def _other_steps(self) -> list[_core.Order]:
        """Orders of the shards that may have one record more or less than this shard."""
        index, count = self.spec.shard
        if count == 1 or self.spec.uneven != "longer":
            return []
        return [self._steps_of(other) for other in (0, count - 1) if other != index]

    def _find(self, steps: _core.Order | LateOrder, done: int) -> _Step:
        found = steps.find(done)
        return _Step(*(found or (self.first.epoch + self.spec.epochs, 0)))

    @property
    def steps_left(self) -> int:
        """Number of batches of this pass, which must be finite."""
        return self._own_steps.batches or 0

    @property
    def most_steps_left(self) -> int:
        """Number of batches of this pass in shard 0, which has the most."""
        return self._steps_of(0).batches or 0

    def find(self, done: int) -> Position:
        """Return the position of this shard after `done` steps."""
        return self._position(self._find(self._own_steps, done))

    def find_block(self, serial: int) -> Position:
        """Return the start position of a block of records."""
        return self._position(self._find(self.native, serial))

    def _position(self, step: _Step) -> Position:
        if self.spec.epochs and step.epoch == self.first.epoch + self.spec.epochs:
            return Position(step.epoch - 1, self.native.epoch_size)
        return Position(*step)

    def start_after(self, done: int) -> Start:
        """Return the position of this run after `done` steps, for a state.

        Shards at the same position have together used a prefix of the order. This is also true if
        some shards have just finished an epoch and each other shard has one record of it left. With
        `drop_remainder`, the other shards can have a batch left: then all shards were at the same
        position one step earlier, and batches do not cross epochs.
        """
        own = self._find(self._own_steps, done)
        if self.spec.shard[1] == 1:
            return Start(self.start.begin, self._position(own))
        orders = [self._own_steps, *self._other_steps]
        found = sorted(self._find(steps, done) for steps in orders)
        low, high = found[0], found[-1]
        left = self.native.epoch_size - low.used
        together = low == high
        if high == (low.epoch + 1, 0) and done:
            together = left < self.spec.shard[1]
            if not together and not self.spec.batch_across_epochs:
                together = len({self._find(steps, done - 1) for steps in orders}) == 1
        if not (together and self.start.in_step) or self.ordering.may_skip:
            return Start(self.start.begin, self._position(own), False)
        return Start(self.start.begin, self._position(low), True)

    def start_at(self, position: Position) -> Start:
        """Return a position as :meth:`start_after` does, for streams and buckets.

        The steps of streams and buckets cannot be counted.
        """
        if self.spec.shard[1] == 1:
            return Start(self.start.begin, position, position.item == 0)
        # Before the end of a stream, it is unknown which shards have one record more.
        even = self.spec.uneven != "longer" or self.spec.epochs == 1
        unknown = self._deals or self.ordering.may_skip
        together = position == self.start.position or (even and not unknown)
        return Start(self.start.begin, position, together and self.start.in_step)

    def within(self, at: Position, item: int) -> Position:
        """Return the position after `item` batches of the block at `at`."""
        if self.ordering.by_row and not self.ordering.may_skip:
            return at._replace(used=at.used + item * self.spec.shard[1])
        return at._replace(item=item)
