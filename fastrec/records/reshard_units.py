# SPDX-License-Identifier: Apache-2.0
"""Reshard with units of work for the tasks of a cluster; the result is that of :func:`reshard`.

There are three rounds, and each needs the results of the previous one. First, the records of each
byte range are counted. Then ranges are rewritten in the order of their records' output positions,
and the file offsets at which buckets of positions start are noted. Finally, each target is written
from its buckets. A bucket fits into the memory of one task. A unit writes to unique file names, so
it can be run again while an earlier attempt still runs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import FastrecError
from ..storage.remote import RemoteFile
from .compression import Codec
from .framing import FRAME_OVERHEAD
from .paths import PathLike
from .reader import Reader
from .record_files import RecordFiles, Source
from .recovery import OnError
from .shard_layout import Layout, Progress, Resharded
from .shard_writer import ShardWriter
from .splitting import FileRange, file_ranges

__all__ = ["reshard_by"]

Report = Callable[[int], object]
# Calls a function, in any process, with the first argument and each item of the sequence. The last
# argument is called with the number of each finished item. Results are in order.
Run = Callable[[Callable[[Any, Any], Any], Any, Sequence[Any], Report], "list[Any]"]

_BLOCK = 256  # records
_RANGE_BYTES = 64 << 20  # bytes of a range of a file, which is one unit of work
_OBJECT_BYTES = 64  # bytes per record in a list, without its data
_SIZES = 1 << 16  # number of record sizes to process at a time


class _Unit(NamedTuple):
    """A byte range with its records; `first` is the number of its first record."""

    part: FileRange
    first: int
    records: int


class _Counted(NamedTuple):
    """Number of records in a range, their total size, and on request the size of each."""

    records: int
    bytes: int
    sizes: NDArray[np.unsignedinteger[Any]] | None


class _Sorted(NamedTuple):
    """Consecutive records of the source, written in the order of their output positions.

    ``offsets[i]`` is the file offset at which bucket `i` starts.
    """

    path: str
    first: int
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class _Plan:
    """Parameters of the units in a round; picklable."""

    folder: str
    total: int
    seed: int | None  # None keeps the records in order
    memory: int
    bounds: NDArray[np.int64]  # output positions at which buckets start, and the end
    on_error: OnError
    packing: tuple[Codec | None, int | None]
    units: Sequence[_Unit] = ()
    runs: Sequence[_Sorted] = ()

    def path(self, kind: str) -> str:
        return os.path.join(self.folder, f"{kind}-{uuid.uuid4().hex}")


def reshard_by(run: Run, source: Source, target: PathLike, **options: Any) -> Resharded:
    """Rewrite record files with units that `run` calls; options as for :func:`reshard`."""
    layout = Layout(os.fsdecode(target), **options)
    if layout.uploads != (layout.work is not None):
        raise ValueError("work is a directory that all nodes see, for a target that is a URL")
    if not layout.uploads:
        layout = replace(layout, target=os.path.abspath(layout.target))
    sources = layout.expand(source)
    layout.check_targets(sources)
    seed, memory, work = layout.seed, layout.memory, layout.work
    folder = f"{layout.target}.reshard" if work is None else os.path.abspath(os.fsdecode(work))
    try:
        os.mkdir(folder)
    except FileExistsError:
        raise FileExistsError(17, "work of another call is here; remove it", folder) from None
    try:
        if layout.shuffle and seed is None:
            seed = secrets.randbits(64)
        paths = [
            path if isinstance(path, RemoteFile) else os.path.abspath(os.fsdecode(path))
            for path in sources
        ]
        parts = file_ranges(
            paths,
            min(_RANGE_BYTES, memory // 2),
            shards="any",
            storage_options=layout.storage_options,
        )
        most = layout.shard_bytes
        found = run(_count, (layout.on_error, most is not None), parts, lambda number: None)
        units = _units(parts, found)
        total = sum(each.records for each in found)
        if most is None:
            ends = np.cumsum([0, *layout.records(total)])
        else:
            ends = _ends(_ordered(found, total, seed), most)
        size = sum(each.bytes for each in found) + total * _OBJECT_BYTES
        bounds = _bounds(ends, size, memory // 2)
        packing = layout.compression, layout.level
        plan = _Plan(folder, total, seed, memory, bounds, layout.on_error, packing, units)
        report = _reporting(layout.progress, total if seed is None else 2 * total)
        if seed is not None:
            runs = run(_sort, replace(plan, units=()), units, report([u.records for u in units]))
            plan = replace(plan, units=(), runs=list(itertools.chain.from_iterable(runs)))
        targeted = list(itertools.pairwise(ends.tolist()))
        places = run(_write, plan, targeted, report([end - begin for begin, end in targeted]))
        targets = layout.names(len(targeted))
        layout.check_targets(sources)
    except BaseException:
        # Units may still run or be pending. After a rename, they cannot create files in the
        # folder.
        doomed = f"{folder}.{uuid.uuid4().hex}"
        with contextlib.suppress(OSError):
            _core.move(folder, doomed, False)
        shutil.rmtree(doomed, ignore_errors=True)
        raise
    staged = list(zip(places, targets, strict=True))
    layout.publish(staged, folder, targets, resumable=False)
    return Resharded(total, targets)


def _bounds(ends: NDArray[np.int64], size: int, most: int) -> NDArray[np.int64]:
    """Return positions that split the targets into buckets of about `most` of all `size` bytes."""
    total = int(ends[-1])
    count = -(-size // most)
    cuts = [total * number // count for number in range(1, count)]
    return np.unique(np.concatenate([ends, np.array(cuts, np.int64)]))


def _units(parts: Sequence[FileRange], found: Sequence[_Counted]) -> list[_Unit]:
    """Return the byte ranges with the numbers of their records."""
    firsts = itertools.accumulate((each.records for each in found), initial=0)
    every = zip(parts, firsts, (each.records for each in found), strict=False)
    return [_Unit(part, first, count) for part, first, count in every if count]


def _ordered(
    found: Sequence[_Counted], total: int, seed: int | None
) -> Iterator[NDArray[np.unsignedinteger[Any]]]:
    """Yield the sizes of all records in output order, in blocks."""
    none = np.empty(0, np.uint32)
    sizes = np.concatenate([none, *(each.sizes for each in found if each.sizes is not None)])
    for begin in range(0, total, _SIZES):
        end = min(begin + _SIZES, total)
        numbers: Any = slice(begin, end)
        yield sizes[numbers if seed is None else _core.permuted(total, seed, 0, begin, end)]


def _ends(blocks: Iterator[NDArray[Any]], most: int) -> NDArray[np.int64]:
    """Return the positions at which targets start, and the end.

    A target ends with the record that brings it to `most` bytes.
    """
    ends, left, number = [0], most, 0
    for sizes in blocks:
        sums = np.cumsum(sizes.astype(np.int64) + FRAME_OVERHEAD)
        before = 0
        while (last := int(np.searchsorted(sums, before + left))) < len(sums):
            ends.append(number + last + 1)
            before, left = int(sums[last]), most
        left -= int(sums[-1]) - before
        number += len(sizes)
    if ends[-1] < number or not number:
        ends.append(number)
    return np.array(ends, np.int64)


def _reporting(progress: Progress | None, total: int) -> Callable[[Sequence[int]], Report]:
    """Return a function that converts record counts of items to a callback for finished items."""
    done = 0

    def counting(records: Sequence[int]) -> Report:
        def report(number: int) -> None:
            nonlocal done
            done += records[number]
            if progress is not None:
                progress(done, total)

        return report

    return counting


# -- Units -----------------------------------------------------------------------------------------


def _count(wanted: tuple[OnError, bool], part: FileRange) -> _Counted:
    """Count the records in a range, and their bytes."""
    on_error, each = wanted
    files = RecordFiles(part, verify=on_error != "raise", on_error=on_error, index=False)
    (reader,) = files.readers()
    if not each:
        return _Counted(*reader.walk()[:2], None)
    found = [np.empty(0, np.int64)]
    while (block := reader.take(_BLOCK)) is not None:
        found.append(np.diff(block.offsets).astype(np.int64))
    sizes = np.concatenate(found)
    small = not len(sizes) or sizes.max() < 1 << 32
    return _Counted(len(sizes), int(sizes.sum()), sizes.astype(np.uint32 if small else np.uint64))


def _sort(plan: _Plan, unit: _Unit) -> list[_Sorted]:
    """Write the records of a range in output order, in runs that fit into memory."""
    done: list[_Sorted] = []
    held: list[bytes] = []
    size, first = 0, unit.first
    for block in _read(unit, plan.on_error):
        held += block
        size += sum(map(len, block)) + len(block) * _OBJECT_BYTES
        if size >= plan.memory // 2:
            done.append(_spill(plan, first, held))
            first, size, held = first + len(held), 0, []
    if held:
        done.append(_spill(plan, first, held))
    return done


def _spill(plan: _Plan, first: int, records: list[bytes]) -> _Sorted:
    assert plan.seed is not None
    places = _core.places_of(plan.total, plan.seed, 0, first, first + len(records))
    order = np.argsort(places)
    ordered = [records[i] for i in order.tolist()]
    path = plan.path("run")
    with ShardWriter(path, fsync=False) as writer:
        writer.write_many(ordered)
    sizes = np.fromiter(map(len, ordered), np.int64, len(ordered)) + FRAME_OVERHEAD
    begins = np.concatenate([[0], np.cumsum(sizes)])
    offsets = begins[np.searchsorted(places[order].astype(np.int64), plan.bounds)]
    return _Sorted(path, first, offsets)


def _write(plan: _Plan, places: tuple[int, int]) -> str:
    """Write the target with these output positions, and return its temporary path."""
    path = plan.path("shard")
    kind, level = plan.packing
    begin, end = places
    blocks = _in_order(plan, begin, end) if plan.seed is None else _merged(plan, begin, end)
    with ShardWriter(path, compression=kind, level=level) as writer:
        for block in blocks:
            writer.write_many(block)
        if writer.count != end - begin:
            raise FastrecError(
                f"{end - begin} records were counted and {writer.count} were read: a source has "
                "changed"
            )
    return path


def _in_order(plan: _Plan, begin: int, end: int) -> Iterator[list[bytes]]:
    for unit in plan.units:
        if unit.first < end and unit.first + unit.records > begin:
            number = unit.first
            for block in _read(unit, plan.on_error):
                yield block[max(begin - number, 0) : max(end - number, 0)]
                number += len(block)


def _merged(plan: _Plan, begin: int, end: int) -> Iterator[list[bytes]]:
    """Yield the records at output positions `begin` to `end`, one bucket at a time."""
    assert plan.seed is not None
    firsts = np.array([run.first for run in plan.runs], np.uint64)
    first, last = np.searchsorted(plan.bounds, [begin, end]).tolist()
    for bucket in range(first, last):
        low, high = plan.bounds[bucket : bucket + 2].tolist()
        numbers = _core.permuted(plan.total, plan.seed, 0, low, high)
        # Runs follow source order, and each run is sorted by output position. Therefore a stable
        # sort of the positions by run gives the order in which the bucket's records are read.
        origin = np.searchsorted(firsts, numbers, "right") - 1
        records = list(_bucket(plan, bucket))
        if len(records) != len(numbers):
            raise FastrecError(
                f"{plan.folder!a} must have {len(numbers)} records of a bucket, got {len(records)}"
            )
        ranks = np.empty(len(numbers), np.int64)
        ranks[np.argsort(origin, kind="stable")] = np.arange(len(numbers))
        for start in range(0, len(ranks), _BLOCK):
            yield [records[i] for i in ranks[start : start + _BLOCK].tolist()]


def _bucket(plan: _Plan, bucket: int) -> Iterator[bytes]:
    for run in plan.runs:
        begin, end = run.offsets[bucket : bucket + 2].tolist()
        if begin < end:
            yield from Reader(FileRange(run.path, begin, end), index=False)


def _read(unit: _Unit, on_error: OnError) -> Iterator[list[bytes]]:
    """Yield the records of a range; raise if their number differs from the count."""
    (reader,) = RecordFiles(unit.part, on_error=on_error, index=False).readers()
    count = 0
    while (block := reader.take(_BLOCK)) is not None:
        count += len(block)
        yield block.to_list()
    if count != unit.records:
        raise FastrecError(
            f"{os.fsdecode(unit.part.path)!a} has changed: {unit.part} had {unit.records} records, "
            f"and has {count}"
        )
