# SPDX-License-Identifier: Apache-2.0
"""Measure a billion records of 10 kB in a hundred thousand shards, written as far as they are read.

The shards are links to a hundred sparse files; each shard has an index next to it.
"""

from __future__ import annotations

import itertools
import os
import time
from functools import partial

import numpy as np

import fastrec
from fastrec import _core
from fastrec.records.paths import expand

from ..worker import Start, Task, Trial

__all__ = ["jobs"]

_SHARDS = 100_000
_LINKS = 1000  # links to one file
_RECORDS = 10_000  # records per shard
_BATCH = 256
_BATCHES = 40  # batches that are read; at least as many are started before
_FEATURES = {"x": fastrec.FixedLenFeature((), bytes)}


def _frame(size: int) -> bytes:
    return _core.frame(fastrec.encode_example({"x": bytes(size)}))


def _lengths() -> np.ndarray:
    """Return the lengths of the strings in a shard's records."""
    return np.random.default_rng(0).integers(4000, 16000, _RECORDS)


def _make_file(path: str) -> None:
    """Create a sparse file and its index."""
    lengths = _lengths()
    around = len(_frame(4000)) - 4000
    offsets = np.concatenate([[0], np.cumsum(lengths + around)]).astype(np.uint64)
    with open(path, "wb") as file:
        file.truncate(int(offsets[-1]))
    status = os.stat(path)
    fastrec.Index(path, _core.FileIndex(offsets, status.st_size, status.st_mtime_ns)).save()


def _fill(path: str, numbers: list[int]) -> None:
    """Write records without changing the modification time that the index stores."""
    status, lengths = os.stat(path), _lengths()
    offsets = fastrec.Index.load(path).offsets
    with open(path, "r+b", buffering=0) as file:
        for number in numbers:
            os.pwrite(file.fileno(), _frame(int(lengths[number])), int(offsets[number]))
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))


def _make(task: Task) -> str:
    """Create the shards next to `out`, and return their pattern."""
    folder = os.path.dirname(task.out)
    paths = [os.path.join(folder, f"shard-{number:06d}.tfrecord") for number in range(_SHARDS)]
    pattern = os.path.join(folder, "shard-*.tfrecord")
    if os.path.exists(paths[-1] + ".frindex"):
        return pattern
    firsts = paths[::_LINKS]
    for first in firsts:
        _make_file(first)
    for number, path in enumerate(paths):
        for suffix in ("", ".frindex") if number % _LINKS else ():
            os.link(firsts[number // _LINKS] + suffix, path + suffix)
    ordering = _batcher(pattern, task)._order
    order = ordering.native(ordering.spec)
    wanted: dict[str, list[int]] = {}
    for serial in range(2 * _BATCHES):
        _, numbers = order.numbers(serial) or (0, ())
        for number in map(int, numbers):
            first = firsts[number // _RECORDS // _LINKS]
            wanted.setdefault(first, []).append(number % _RECORDS)
    for first, within in wanted.items():
        _fill(first, within)
    return pattern


def _batcher(pattern: str, task: Task, manifest: str | None = None) -> fastrec.Batcher:
    return fastrec.Batcher(
        pattern,
        _FEATURES,
        _BATCH,
        shuffle=True,
        seed=1,
        threads=task.threads,
        manifest=manifest,
    )


def _make_manifest(pattern: str) -> str:
    """Create the manifest of the shards; its checksums are never read here."""
    path = os.path.join(os.path.dirname(pattern), "shards.json")
    if not os.path.exists(path):
        names = [os.fspath(each) for each in expand(pattern)]
        fastrec.Manifest(
            fastrec.ManifestFile.of(name, _RECORDS, (os.stat(name).st_size, 0)) for name in names
        ).save(path)
    return path


def _first(task: Task, *, listed: bool = False) -> Trial:
    """Measure the time from a pattern and a manifest to the first shuffled batch."""
    pattern = _make(task)
    manifest = _make_manifest(pattern) if listed else None

    def once() -> None:
        with _batcher(pattern, task, manifest) as made:
            assert len(next(iter(made))["x"]) == _BATCH

    return Trial(once, records=1)


def _each(task: Task) -> Trial:
    """Measure a shuffled batch, in which nearly every record comes from another file."""
    pattern = _make(task)

    def once() -> float:
        with _batcher(pattern, task) as made:
            batches = iter(made)
            next(batches)
            began = time.perf_counter()
            for _ in itertools.islice(batches, _BATCHES - 1):
                pass
            return (time.perf_counter() - began) / (_BATCHES - 1)

    return Trial(once, records=1, measures_itself=True)


def jobs() -> dict[str, Start]:
    """Return the entries of the job, by variant."""
    listed = partial(_first, listed=True)
    return {"first batch": _first, "first batch by a manifest": listed, "a batch": _each}
