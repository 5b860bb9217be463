# SPDX-License-Identifier: Apache-2.0
"""Records that can only be had one after the other, dealt into batches as the native loader would.

The same sources uncompressed, under the same options, give the same batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from .. import _core
from ..records.record_files import RecordFiles
from .checkpoint import Position

__all__ = ["Block", "stream"]

Numbered = tuple[int, bytes]

EPOCH_BITS = 40


class Block(NamedTuple):
    """The records of one batch, before they are parsed."""

    at: Position
    keys: list[int]  # number of the record, and the epoch above it
    records: list[bytes]


def _side_by_side(files: RecordFiles, width: int) -> Iterator[bytes]:
    """Record 0 of each of `width` files, then record 1, and so on; then of the next files."""
    damage = files.policy()
    for begin in range(0, len(files.paths), width):
        numbers = range(begin, min(begin + width, len(files.paths)))
        alive: list[Any] = [iter(files.open(number, damage)) for number in numbers]
        while alive:
            through = []
            for each in alive:
                try:
                    yield next(each)
                except StopIteration:
                    through.append(each)
            alive = [each for each in alive if each not in through]


def _shared(records: Iterable[bytes], order: dict[str, Any]) -> Iterator[Numbered]:
    """This shard's records with their numbers; `uneven` as in csrc/order.h."""
    (index, count), uneven = order["shard"], order["uneven"]
    head: list[bytes] = []
    own: Numbered | None = None
    number = -1
    for number, record in enumerate(records):
        if uneven == "pad" and number < count:
            head.append(record)
        if number % count == index:
            own = number, record
            if uneven != "drop":
                yield own
        if uneven == "drop" and number % count == count - 1 and own is not None:
            yield own
    total = number + 1
    place = total - total % count + index
    if uneven == "pad" and total % count and place >= total:
        yield place % total, head[place % total]


def _shuffled(records: Iterator[Numbered], order: dict[str, Any], epoch: int) -> Iterator[Numbered]:
    queue = _core.ShuffleQueue(order["seed"], epoch)
    for each in islice(records, order["buffer"]):
        queue.put(each)
    for each in records:
        yield queue.pass_through(each)
    while len(queue):
        yield queue.take()


def _epoch(files: RecordFiles, order: dict[str, Any], epoch: int, lanes: int | None) -> Any:
    records = _core.RecordChain(files.readers()) if lanes is None else _side_by_side(files, lanes)
    first = epoch % 2**24 << EPOCH_BITS
    shared: Iterator[Numbered]
    if order["shard"] == (0, 1):
        shared = iter(enumerate(records, first))
    else:
        shared = ((first + number, record) for number, record in _shared(records, order))
    return shared if order["buffer"] == 0 else _shuffled(shared, order, epoch)


def _cut(
    records: Iterator[Numbered], order: dict[str, Any], epoch: int, block: int
) -> Iterator[Block]:
    size = order["batch_size"]
    records = islice(records, block * size, None)
    while batch := list(islice(records, size)):
        if len(batch) < size and order["drop_remainder"]:
            return
        yield Block(Position(epoch, block), [n for n, _ in batch], [r for _, r in batch])
        block += 1


def _epochs(order: dict[str, Any], start: int) -> Iterator[int]:
    epoch = start
    while order["epochs"] == 0 or epoch < order["epochs"]:
        yield epoch
        epoch += 1


def _endless(files: RecordFiles, order: dict[str, Any], lanes: int | None) -> Iterator[Numbered]:
    """The records of one epoch after the other, until one has none."""
    for epoch in _epochs(order, 0):
        none = True
        for each in _epoch(files, order, epoch, lanes):
            none = False
            yield each
        if none:
            return


def stream(
    files: RecordFiles, order: dict[str, Any], start: Position, lanes: int | None
) -> Iterator[Block]:
    """Batches of records from `start` on; what comes before it is read and passed over."""
    if order["batch_across_epochs"]:
        yield from _cut(_endless(files, order, lanes), order, 0, start.block)
        return
    for epoch in _epochs(order, start.epoch):
        first = start.block if epoch == start.epoch else 0
        any_came = False
        for block in _cut(_epoch(files, order, epoch, lanes), order, epoch, first):
            any_came = True
            yield block
        if not any_came and first == 0:
            return  # nothing comes of an epoch, nor will of the next
