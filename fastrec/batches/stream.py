# SPDX-License-Identifier: Apache-2.0
"""Divide records that can only be read in sequence into batches, as the native loader does.

With the same options, the same sources give the same batches if they are not compressed.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from .. import _core
from ..images.keyed import EPOCH_BITS
from ..records.record_files import RecordFiles
from ..records.recovery import Damage
from .checkpoint import Position
from .epoch_pass import Pass
from .order import OrderSpec

__all__ = ["EPOCH_BITS", "Block", "stream"]

Numbered = tuple[int, bytes]

_PRUNED = 256  # records that are read before unneeded ones are dropped again


class Block(NamedTuple):
    """The records of one batch, before they are parsed."""

    at: Position
    then: Position
    keys: list[int]  # number of the record, with the epoch in the upper bits
    records: list[bytes]


class _Interleaved:
    """Yields one record of each of `width` files in turn, and then reads the next files."""

    def __init__(self, files: RecordFiles, width: int, damage: Damage | None) -> None:
        self._files, self._width, self._damage = files, width, damage
        # For each run of rounds over the same files: the number of its first record, the number of
        # that record in its file, and the files.
        self._rounds: list[tuple[int, int, list[int]]] = []

    def __iter__(self) -> Iterator[bytes]:
        number, count = 0, len(self._files.paths)
        for begin in range(0, count, self._width):
            group = range(begin, min(begin + self._width, count))
            alive = [(file, iter(self._files.open(file, self._damage))) for file in group]
            for record in itertools.count():
                files: list[int] = []
                self._rounds.append((number, record, files))
                for file, records in alive:
                    for each in islice(records, 1):
                        files.append(file)
                        number += 1
                        yield each
                if not files or [files] == [same for _, _, same in self._rounds[-2:-1]]:
                    self._rounds.pop()
                if not files:
                    break
                alive = [(file, records) for file, records in alive if file in files]

    def place_of(self, number: int, /) -> tuple[int, int]:
        """Return the file of a record that was yielded, and its number there."""
        rounds = tuple(self._rounds)  # another thread may add rounds
        first, record, files = rounds[bisect_right([each[0] for each in rounds], number) - 1]
        earlier, place = divmod(number - first, len(files))
        return files[place], record + earlier


def _own_places(spec: OrderSpec, size: int) -> tuple[int, int]:
    """Return the first position of this shard in a last step of `size` positions, and their number.

    The result is that of ``divide()`` in ``csrc/batch/order.c``.
    """
    index, (base, left) = spec.shard[0], divmod(size, spec.shard[1])
    if spec.uneven == "longer":
        return base * index + min(index, left), base + (index < left)
    rows = base + (spec.uneven == "pad" and left > 0)
    return rows * index, rows


def _dealt(
    records: Iterable[bytes], spec: OrderSpec, used: int, carried: int
) -> Iterator[Numbered]:
    """Yield this shard's records and their numbers from position `used` on.

    The rules are those of ``csrc/batch/order.h``. Whether a step is the last one is known only at
    its end. Until then, all records that could belong to this shard are kept: at most a quarter of
    the step.

    Parameters
    ----------
    carried : int
        Number of rows of the first step that are in the batch of the previous epoch.
    """
    index, count = spec.shard
    rows = spec.deal - carried  # rows of each shard in this step
    head: list[bytes] = []
    kept: deque[Numbered] = deque()  # the first one is at position `begin` of the step
    begin = place = 0
    number = -1
    for number, record in enumerate(records):
        if spec.uneven == "pad" and number < count:
            head.append(record)
        if number < used:
            continue
        if place < (index + 1) * rows:
            kept.append((number, record))
        place += 1
        is_complete = place == count * rows
        if is_complete or place % _PRUNED == 0:
            least = index * rows if is_complete else _own_places(spec, place)[0]
            while begin < least and kept:
                kept.popleft()
                begin += 1
        if is_complete:
            yield from kept
            kept.clear()
            rows, begin, place = spec.deal, 0, 0
    first, rows = _own_places(spec, place)
    for at in range(first, first + rows):
        if at < place:
            yield kept[at - begin]
        else:  # repeated from the start of the epoch
            start = (at - place) % (number + 1)
            yield start, head[start]


def _shuffled(records: Iterator[Numbered], spec: OrderSpec, epoch: int) -> Iterator[Numbered]:
    queue = _core.ShuffleQueue(spec.seed, epoch if spec.reshuffle else 0)
    for each in islice(records, spec.buffer):
        queue.put(each)
    for each in records:
        yield queue.pass_through(each)
    while len(queue):
        yield queue.take()


def _epoch(run: Pass, epoch: int, used: int, carried: int = 0) -> Iterator[Numbered]:
    """Yield this shard's records of an epoch by key, from position `used` on.

    `carried` of them are in the batch of the previous epoch.
    """
    files, spec, damage = run.ordering.files, run.spec, run.damage
    width, first = spec.interleave, epoch % 2**24 << EPOCH_BITS
    records: _core.RecordChain | _Interleaved
    if width is None:
        records = _core.RecordChain(files.readers(damage))
    else:
        records = _Interleaved(files, width, damage)
    run.chain = run.chain or records
    skipped = 0
    if spec.buffer:  # the buffer's content depends on all earlier draws
        used, skipped, carried = 0, used // spec.shard[1], 0
    dealt: Iterator[Numbered] = enumerate(records, first)
    if spec.shard != (0, 1):
        own = _dealt(records, spec, used, carried)
        dealt = ((first + number, record) for number, record in own)
    elif used:
        dealt = islice(dealt, used, None)
    if spec.buffer:
        dealt = islice(_shuffled(dealt, spec, epoch), skipped, None)
    return dealt


def _cut(numbered: Iterator[Numbered], run: Pass, at: Position) -> Iterator[Block]:
    """Yield the blocks of one epoch, or of several if batches cross epochs."""
    spec = run.spec
    size, count = spec.batch_size, spec.shard[1]
    while batch := list(islice(numbered, size)):
        if len(batch) < size and spec.drop_remainder:
            return
        keys = [key for key, _ in batch]
        last = keys[-1] >> EPOCH_BITS
        if last == at.epoch % 2**24:
            # A short batch also counts as a step: other shards may have a record more in their
            # batch.
            rows = len(batch) if run.ordering.by_row else size
            then = at._replace(used=at.used + rows * count)
        else:
            here = sum(key >> EPOCH_BITS == last for key in keys)
            then = Position(at.epoch + (last - at.epoch) % 2**24, here * count)
        yield Block(at, then, keys, [record for _, record in batch])
        at = then


def stream(run: Pass) -> Iterator[Block]:
    """Yield the blocks of records of a pass; records before its start are read and skipped."""
    spec = run.spec
    if spec.batch_across_epochs:
        yield from _cut(_endless(run), run, Position(*run.first))
        return
    for epoch in spec.epochs_from(run.first.epoch):
        used = run.first.used if epoch == run.first.epoch else 0
        none = True
        for block in _cut(_epoch(run, epoch, used), run, Position(epoch, used)):
            none = False
            yield block
        if none and used == 0:
            return  # an epoch without batches, and all later epochs are the same


def _endless(run: Pass) -> Iterator[Numbered]:
    """Yield the records of consecutive epochs, until an epoch is empty."""
    total = 0
    for epoch in run.spec.epochs_from(run.first.epoch):
        used = run.first.used if epoch == run.first.epoch else 0
        before = total
        for each in _epoch(run, epoch, used, total % run.spec.deal):
            total += 1
            yield each
        if total == before and used == 0:
            return
