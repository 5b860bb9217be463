# SPDX-License-Identifier: Apache-2.0
"""Resharding as units of work for the tasks of a cluster, with the result of :func:`reshard`.

Three rounds, of which each needs what the one before gave: the records of each byte range are
counted; ranges are rewritten in the order of the places that their records get, with the positions
where buckets of places begin; each target is written from its buckets. A bucket is what one task
holds in memory. A unit writes under names of its own, so it can be run again while an earlier
attempt still runs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import FastrecError
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from .compression import Codec, Compression, normalize
from .framing import FRAME_OVERHEAD
from .output_rules import output_compression
from .paths import PathLike, expand, is_remote
from .reader import Reader
from .record_files import RecordFiles, Source
from .recovery import OnError, check_policy
from .shard_layout import (
    Progress,
    Resharded,
    check_arguments,
    check_targets,
    publish,
    shard_names,
    shard_sizes,
    upload,
)
from .shard_sets import Shards
from .shard_writer import ShardWriter
from .splitting import FileRange, file_ranges

__all__ = ["reshard_by"]

Report = Callable[[int], object]
# Calls a function with the first argument and each of the others, anywhere, and the last one with
# the number of each that is done; results in order.
Run = Callable[[Callable[[Any, Any], Any], Any, Sequence[Any], Report], "list[Any]"]

_BLOCK = 256  # records
_RANGE_BYTES = 64 << 20
_OBJECT_BYTES = 64  # of a record in a list, without its data
_SIZES = 1 << 16  # records whose sizes are looked at at once


class _Unit(NamedTuple):
    """A byte range with its records; `first` is the number of the first of them."""

    part: FileRange
    first: int
    records: int


class _Counted(NamedTuple):
    """Records of a range, and their bytes: of all, and of each if that is asked for."""

    records: int
    bytes: int
    sizes: NDArray[np.unsignedinteger[Any]] | None


class _Sorted(NamedTuple):
    """Records that follow each other in the source, written in the order of their places.

    ``offsets[i]`` is where those of bucket `i` begin.
    """

    path: str
    first: int
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class _Plan:
    """What the units of a round know; it can be pickled."""

    folder: str
    total: int
    seed: int | None  # None: the records stay in order
    memory: int
    bounds: NDArray[np.int64]  # places where buckets begin, and the end
    on_error: OnError
    packing: tuple[Codec | None, int | None]
    units: Sequence[_Unit] = ()
    runs: Sequence[_Sorted] = ()

    def path(self, kind: str) -> str:
        return os.path.join(self.folder, f"{kind}-{uuid.uuid4().hex}")


def reshard_by(
    run: Run,
    source: Source,
    target: PathLike,
    *,
    shards: int | None = None,
    shard_bytes: int | None = None,
    shard_records: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    compression: Compression = "auto",
    level: int | None = None,
    memory: int = 256 << 20,
    overwrite: bool = False,
    on_error: OnError = "raise",
    progress: Progress | None = None,
    work: PathLike | None = None,
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
    source_shards: Shards = "complete",
) -> Resharded:
    """Rewrite record files by units that `run` calls; arguments as for :func:`reshard`."""
    files = {"shards": shards, "shard_bytes": shard_bytes, "shard_records": shard_records}
    compression = output_compression(target, compression)
    check_policy(on_error, None)
    check_arguments(
        files,
        shuffle=shuffle,
        seed=seed,
        compression=compression,
        level=level,
        memory=memory,
    )
    storage, name = StorageOptions.of(storage_options), os.fsdecode(target)
    uploads = is_remote(name, storage)
    if uploads != (work is not None):
        raise ValueError("work is a directory that all nodes see, for a target that is a URL")
    if not uploads:
        name = os.path.abspath(name)
    sources = expand(source, storage, shards=source_shards)  # type: ignore[arg-type]
    rules: dict[str, Any] = {"overwrite": overwrite, "inputs": sources, "storage": storage}
    check_targets(name, files, **rules)
    folder = f"{name}.reshard" if work is None else os.path.abspath(os.fsdecode(work))
    try:
        os.mkdir(folder)
    except FileExistsError:
        raise FileExistsError(17, "work of another call is here; remove it", folder) from None
    try:
        if shuffle and seed is None:
            seed = secrets.randbits(64)
        paths = [
            path if isinstance(path, RemoteFile) else os.path.abspath(os.fsdecode(path))
            for path in sources
        ]
        parts = file_ranges(
            paths, min(_RANGE_BYTES, memory // 2), shards="any", storage_options=storage
        )
        found = run(_count, (on_error, shard_bytes is not None), parts, lambda number: None)
        units = _units(parts, found)
        total = sum(each.records for each in found)
        if shard_bytes is None:
            ends = np.cumsum([0, *shard_sizes(total, shards, shard_records)])
        else:
            ends = _ends(_ordered(found, total, seed), shard_bytes)
        size = sum(each.bytes for each in found) + total * _OBJECT_BYTES
        bounds = _bounds(ends, size, memory // 2)
        packing = normalize(compression), level
        plan = _Plan(folder, total, seed, memory, bounds, on_error, packing, units)
        report = _reporting(progress, total if seed is None else 2 * total)
        if seed is not None:
            runs = run(_sort, replace(plan, units=()), units, report([u.records for u in units]))
            plan = replace(plan, units=(), runs=list(itertools.chain.from_iterable(runs)))
        targeted = list(itertools.pairwise(ends.tolist()))
        places = run(_write, plan, targeted, report([end - begin for begin, end in targeted]))
        targets = shard_names(name, len(targeted), files)
        check_targets(name, files, **rules)
    except BaseException:
        # Units may still run, or wait to: under another name they make nothing in it any more.
        doomed = f"{folder}.{uuid.uuid4().hex}"
        with contextlib.suppress(OSError):
            _core.move(folder, doomed, False)
        shutil.rmtree(doomed, ignore_errors=True)
        raise
    staged = list(zip(places, targets, strict=True))
    if uploads:
        upload(staged, folder, name, targets, overwrite, storage, resumable=False)
    else:
        publish(staged, folder, name, targets, overwrite)
    return Resharded(total, targets)


def _bounds(ends: NDArray[np.int64], size: int, most: int) -> NDArray[np.int64]:
    """Places that cut the targets into buckets, which have about `most` of all `size` bytes."""
    total = int(ends[-1])
    count = -(-size // most)
    cuts = [total * number // count for number in range(1, count)]
    return np.unique(np.concatenate([ends, np.array(cuts, np.int64)]))


def _units(parts: Sequence[FileRange], found: Sequence[_Counted]) -> list[_Unit]:
    """Byte ranges with the numbers of their records."""
    firsts = itertools.accumulate((each.records for each in found), initial=0)
    every = zip(parts, firsts, (each.records for each in found), strict=False)
    return [_Unit(part, first, count) for part, first, count in every if count]


def _ordered(
    found: Sequence[_Counted], total: int, seed: int | None
) -> Iterator[NDArray[np.unsignedinteger[Any]]]:
    """The sizes of all records in the order that they are written in, some at a time."""
    none = np.empty(0, np.uint32)
    sizes = np.concatenate([none, *(each.sizes for each in found if each.sizes is not None)])
    for begin in range(0, total, _SIZES):
        end = min(begin + _SIZES, total)
        numbers: Any = slice(begin, end)
        yield sizes[numbers if seed is None else _core.permuted(total, seed, 0, begin, end)]


def _ends(blocks: Iterator[NDArray[Any]], most: int) -> NDArray[np.int64]:
    """The places where targets begin, each of which has its first records of `most` bytes in all,
    and the end."""
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
    """From the records of each item, what to call with the number of one that is done."""
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
    """Count the records of a range, and their bytes."""
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
    """Write the records of a range by place, as many at a time as memory holds."""
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
    """Write the target that has these places; where it is as yet."""
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
    """The records of some places, a bucket at a time."""
    assert plan.seed is not None
    firsts = np.array([run.first for run in plan.runs], np.uint64)
    first, last = np.searchsorted(plan.bounds, [begin, end]).tolist()
    for bucket in range(first, last):
        low, high = plan.bounds[bucket : bucket + 2].tolist()
        numbers = _core.permuted(plan.total, plan.seed, 0, low, high)
        # Runs follow each other as their records do, and each is sorted by place: so the records
        # of a place after the other are those of the runs in the order in which they have them.
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
    """The records of a range, which must be as many as were counted."""
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
