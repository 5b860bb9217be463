# SPDX-License-Identifier: Apache-2.0
"""Plan which records of an object store are fetched together, and when."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import chain, count
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..records.remote_dataset import Plan, RemoteDataset
from .late_order import LateOrder

__all__ = ["Batch", "Blocks", "Entries", "FetchPlanner", "Group"]

_LEAST_GROUP = 4  # minimum number of groups that fit in a window
_FIRST_GROUP = 1 << 20  # bytes of the first group; a consumer waits for all of it
_MOST_UNUSED = 10  # at the end of an epoch, a tenth of the fetched records may be unused
_LEAST_REST = 2  # a group is copied when at most this part, half, of its records remains


class Entries(NamedTuple):
    """The records that enter a shuffle buffer, in their order.

    Attributes
    ----------
    buffer : int
        Size of the buffer, in records.
    order : _core.Order or LateOrder
        The order of entering records, from the start of the first epoch.
    drawn : ndarray of uint64
        Records that were drawn in the first epoch before this pass, in ascending order.
    """

    buffer: int
    order: _core.Order | LateOrder
    drawn: NDArray[np.uint64]


class Batch(NamedTuple):
    serial: int
    numbers: NDArray[np.uint64]
    parts: NDArray[np.intp]
    """For each record, the number of the group that fetches it."""
    last: frozenset[int]
    """Groups that no later batch needs."""
    rest: Mapping[int, NDArray[np.uint64]] = MappingProxyType({})
    """For some groups, the few records that later batches need."""


class _Step(NamedTuple):
    """A batch of an order of blocks."""

    serial: int
    epoch: int
    numbers: NDArray[np.uint64]
    left: list[int]
    """Blocks that no later batch needs."""
    is_near_end: bool = False
    """Whether all later batches of the epoch are known."""
    is_last: bool = False
    """Whether no batch of the epoch follows."""


class Blocks(NamedTuple):
    """The blocks of an order, which divide the records evenly."""

    records: int
    total: int

    def of(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the block of each record."""
        exact = numbers if self.records * self.total < 2**64 else numbers.astype(object)
        return (((exact + 1) * self.total - 1) // self.records).astype(np.uint64)

    def begin(self, block: int) -> int:
        """Return the first record of a block."""
        return block * self.records // self.total


class Group(NamedTuple):
    """Records that are fetched together, and batches from the first one that needs them on."""

    number: int
    plan: Plan
    batches: list[Batch]
    is_alone: bool = False
    """Whether the next group is planned when this one is used."""


class FetchPlanner:
    """Plans which records are fetched together, and when.

    With ``"blocks"``, a group consists of the blocks that a batch is the first to need. They are
    fetched as a whole and kept until their virtual shards have finished with them. With a shuffle
    buffer that fits into the window, a group consists of records in the order in which they enter
    the buffer, and they are kept until they are drawn. In other orders, a group consists of the
    records of several batches, which fill a part of the window. In file
    order the first groups are smaller, so that the first batch does not wait for many others. In a
    shuffled order, small groups would fetch the gaps between their records several times. If
    objects are counted late, the first group is one batch, and further objects are opened later.

    Parameters
    ----------
    dataset : RemoteDataset
    order : _core.Order or LateOrder
    entries : Entries, optional
        The records that enter a shuffle buffer.
    tail : int, optional
        For ``"blocks"``: number of records that are known in advance, so that only the needed
        records of a block are fetched if they are few. With 0, all blocks are fetched as a whole,
        which batches that cross epochs require. None for other orders.
    """

    def __init__(
        self,
        dataset: RemoteDataset,
        order: _core.Order | LateOrder,
        entries: Entries | None = None,
        tail: int | None = None,
    ) -> None:
        self._dataset = dataset
        self._entries, self._tail = entries, tail or 0
        self._ahead: deque[_Step] = deque()
        self._planned = self._unused = 0  # records of planned blocks, and those not needed
        self._is_late = isinstance(order, LateOrder)
        self._sampler = _core.Sampler(order) if isinstance(order, _core.Order) else order
        self._blocks: Blocks | None = None
        if tail is not None:
            assert isinstance(order, _core.Order)
            self._blocks = Blocks(*order.blocks)
        self._window = dataset.storage.window_bytes
        self._groups = 0

    def __iter__(self) -> Iterator[Group]:
        if self._entries is not None:
            chunks = self._chunks(self._entries)
            first = next(chunks, None)
            if first is not None and self._fits(self._entries, first):
                return self._by_buffer(chain([first], chunks))
        return self._by_size() if self._blocks is None else self._by_blocks(self._blocks)

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

    def _group(self, numbers: NDArray[np.uint64], batches: list[Batch]) -> Group:
        self._groups += 1
        return Group(self._groups - 1, self._dataset.plan(numbers), batches)

    def _by_size(self) -> Iterator[Group]:
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

    def _whole(self, batches: list[tuple[int, NDArray[np.uint64]]]) -> Group:
        own, last = self._groups, len(batches) - 1
        parts = (np.full(len(numbers), own, np.intp) for _, numbers in batches)
        numbered = [
            Batch(serial, numbers, part, frozenset([own] if row == last else []))
            for row, ((serial, numbers), part) in enumerate(zip(batches, parts, strict=True))
        ]
        return self._group(np.concatenate([numbers for _, numbers in batches]), numbered)

    def _steps(self) -> Iterator[_Step]:
        """Yield the batches of an order of blocks, while later ones are in ``_ahead``."""
        sampler, ahead = self._sampler, self._ahead
        assert isinstance(sampler, _core.Sampler)
        numbered, rows = self._numbers(), 0
        is_over = False
        while True:
            while not is_over and (not ahead or rows < self._tail + len(ahead[0].numbers)):
                if (found := next(numbered, None)) is None:
                    is_over = True
                    break
                ahead.append(_Step(*found, sampler.take_left().tolist()))
                rows += len(found[2])
            if not ahead:
                return
            step = ahead.popleft()
            rows -= len(step.numbers)
            is_near = self._tail > 0 and (is_over or bool(ahead and ahead[-1].epoch != step.epoch))
            is_last = is_near and (not ahead or ahead[0].epoch != step.epoch)
            yield step._replace(is_near_end=is_near, is_last=is_last)

    def _by_blocks(self, all_blocks: Blocks) -> Iterator[Group]:
        owners: dict[int, int] = {}  # group of each block that is fetched and still needed
        cut: dict[int, int] = {}  # group of each block that is fetched in part
        left_in: Counter[int] = Counter()  # number of blocks of each group that are still needed
        group: Group | None = None
        for step in self._steps():
            blocks, places = np.unique(all_blocks.of(step.numbers), return_inverse=True)
            fresh = [each for each in blocks.tolist() if each not in owners and each not in cut]
            if fresh or group is None:
                if group is not None:
                    yield group
                bounds = [(all_blocks.begin(each), all_blocks.begin(each + 1)) for each in fresh]
                parts = self._cut(step, fresh, bounds)
                for block in fresh:
                    (cut if block in parts else owners)[block] = self._groups
                left_in[self._groups] = len(fresh)
                runs = [
                    parts[block] if block in parts else np.arange(begin, end, dtype=np.uint64)
                    for block, (begin, end) in zip(fresh, bounds, strict=True)
                ]
                group = self._group(np.concatenate(runs or [step.numbers[:0]]), [])
            found = [owners[each] if each in owners else cut[each] for each in blocks.tolist()]
            ended = [
                (owners if block in owners else cut).pop(block)
                for block in step.left
                if block in owners or block in cut
            ]
            if step.is_last:
                ended += cut.values()
                cut.clear()
            left_in.subtract(ended)
            last = frozenset(owner for owner in ended if not left_in[owner])
            for owner in last:
                del left_in[owner]
            parts_of = np.array(found, np.intp)[places]
            group.batches.append(Batch(step.serial, step.numbers, parts_of, last))
        if group is not None:
            yield group

    def _cut(
        self, step: _Step, fresh: list[int], bounds: list[tuple[int, int]]
    ) -> dict[int, NDArray[np.uint64]]:
        """Return the needed records of blocks that are not fetched as a whole.

        If the number of shards does not divide that of virtual shards, several shards need records
        of one block. Whole blocks take fewer requests, so they are fetched as long as at most a
        tenth of all fetched records is unused. That is known when the batches that are known
        already end with the epoch, or leave the block.
        """
        self._planned += sum(end - begin for begin, end in bounds)
        if not self._tail:
            return {}
        left = {block for each in (step, *self._ahead) for block in each.left}
        known = {
            block: limits
            for block, limits in zip(fresh, bounds, strict=True)
            if step.is_near_end or block in left
        }
        if not known:
            return {}
        later = [each.numbers for each in self._ahead if each.epoch == step.epoch]
        needed = np.unique(np.concatenate([step.numbers, *later]))
        begins, ends = np.searchsorted(needed, np.array([*known.values()], np.uint64)).T.tolist()
        parts = {}
        for begin, end, block in sorted(
            zip(begins, ends, known, strict=True), key=lambda each: each[0] - each[1]
        ):
            unused = known[block][1] - known[block][0] - (end - begin)
            if _MOST_UNUSED * (self._unused + unused) <= self._planned:
                self._unused += unused
            else:
                parts[block] = needed[begin:end]
        return parts

    def _by_buffer(self, chunks: Iterator[NDArray[np.uint64]]) -> Iterator[Group]:
        held, drawn = _Held(), list[NDArray[np.uint64]]()
        group: Group | None = None
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
            group.batches.append(Batch(serial, numbers, held.groups_of(places), frozenset()))
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


def _numbers_of(
    sampler: _core.Sampler | LateOrder,
) -> Iterator[tuple[int, int, NDArray[np.uint64]]]:
    """Yield serial number, epoch and record numbers of each batch."""
    for serial in count():
        found = sampler.numbers(serial)
        if found is None:
            return
        yield serial, *found
