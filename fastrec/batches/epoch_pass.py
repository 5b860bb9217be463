# SPDX-License-Identifier: Apache-2.0
"""One ``iter()`` over an order: its epochs, its steps, and the positions between them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from .. import _core
from .checkpoint import Position, Start
from .order import Ordering, OrderSpec

__all__ = ["Pass"]


class _Step(NamedTuple):
    """The position at which the next batch begins."""

    epoch: int
    used: int


class Pass:
    """One ``iter()``: an order, the epochs it goes through, and where in them it starts.

    Parameters
    ----------
    ordering : Ordering
    spec : OrderSpec
        That of the ordering, with the shard that this process is.
    start : Start

    Attributes
    ----------
    damage : Damage or None
        The policy for records that cannot be used; None raises the first error.
    chain : RecordChain or None
        The records of a stream in its first epoch of this pass, unless files are interleaved.
    """

    def __init__(self, ordering: Ordering, spec: OrderSpec, start: Start) -> None:
        self.ordering = ordering
        self.start = start
        left = 0
        first, used = start.position.epoch, start.position.used
        if spec.epochs:
            left = start.begin + spec.epochs - first
            if left <= 0:  # the pass is at its end: its last epoch, all of it used
                first, used, left = start.begin + spec.epochs - 1, 2**62, 1
        self.spec = replace(spec, epochs=left)
        self.first = _Step(first, used)
        self.damage = ordering.files.policy()
        self.chain: _core.RecordChain | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the pass begins with an epoch, not within one."""
        return self.first.used == 0 and self.start.position.item == 0

    @property
    def next_start(self) -> Start:
        """The start of the pass after this one."""
        after = self.start.begin + self.ordering.spec.epochs if self.spec.epochs else 0
        return Start.of_epoch(max(after, self.first.epoch + 1))

    # --- records by number ----------------------------------------------------------------------

    @cached_property
    def native(self) -> _core.Order:
        """The order as the core has it."""
        return self.ordering.native(self.spec, *self.first)

    @property
    def is_counted(self) -> bool:
        """Whether the number of batches is known, unless records are left out."""
        return not self.ordering.streams and not self._deals

    @property
    def has_steps(self) -> bool:
        """Whether the number of batches delivered alone gives the position of this shard."""
        return self.is_counted and not self.ordering.may_skip

    @property
    def _deals(self) -> bool:
        """Whether a window of records may become any number of batches."""
        buckets = self.ordering.buckets
        return buckets is not None and not buckets[0].only_pads(buckets[1])

    def _steps_of(self, shard: int) -> _core.Order:
        size = 1 if self.ordering.by_row else self.spec.batch_size
        spec = replace(self.spec, shard=(shard, self.spec.shard[1]), batch_size=size)
        return self.ordering.native(spec, *self.first)

    @cached_property
    def _own_steps(self) -> _core.Order:
        return self._steps_of(self.spec.shard[0]) if self.ordering.by_row else self.native

    @cached_property
    def _other_steps(self) -> list[_core.Order]:
        """Of a shard that has a record more or less, where there can be such."""
        index, count = self.spec.shard
        if count == 1 or self.spec.uneven != "longer":
            return []
        return [self._steps_of(other) for other in (0, count - 1) if other != index]

    def _find(self, steps: _core.Order, done: int) -> _Step:
        found = steps.find(done)
        return _Step(*(found or (self.first.epoch + self.spec.epochs, 0)))

    @property
    def steps_left(self) -> int:
        """Batches of this pass, which has an end."""
        return self._own_steps.batches or 0

    @property
    def most_steps_left(self) -> int:
        """Batches of this pass in shard 0, which has the most."""
        return self._steps_of(0).batches or 0

    def find(self, done: int) -> Position:
        """The position of this shard after a number of steps."""
        return self._position(self._find(self._own_steps, done))

    def find_block(self, serial: int) -> Position:
        """The position at which a block of records begins."""
        return self._position(self._find(self.native, serial))

    def _position(self, step: _Step) -> Position:
        if self.spec.epochs and step.epoch == self.first.epoch + self.spec.epochs:
            return Position(step.epoch - 1, self.native.epoch_size)
        return Position(*step)

    def start_after(self, done: int) -> Start:
        """The position of this run after a number of steps, as a state has it.

        Shards at the same place have together used a prefix of the order. The same is true when
        some shards have just finished an epoch and each other shard has one record of it left.
        With `drop_remainder` the other shards can have a batch left: then all shards were at the
        same place one step before, and no batch goes across epochs.
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
        """As :meth:`start_after`, of streams and of buckets, whose steps cannot be counted."""
        if self.spec.shard[1] == 1:
            return Start(self.start.begin, position, position.item == 0)
        # Of a stream nobody knows, before its end, which shards have a record more.
        even = self.spec.uneven != "longer" or self.spec.epochs == 1
        unknown = self._deals or self.ordering.may_skip
        together = position == self.start.position or (even and not unknown)
        return Start(self.start.begin, position, together and self.start.in_step)

    def within(self, at: Position, item: int) -> Position:
        """The position after `item` batches of the block at `at`."""
        if self.ordering.by_row and not self.ordering.may_skip:
            return at._replace(used=at.used + item * self.spec.shard[1])
        return at._replace(item=item)
