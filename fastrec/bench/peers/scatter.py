# SPDX-License-Identifier: Apache-2.0
"""Measure ten million small records in one file and in ten thousand files, and their index."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from functools import partial

import numpy as np

import fastrec

from ..worker import Start, Task, Trial

__all__ = ["index_size", "jobs"]

_RECORDS = 10_000_000  # records of 44 bytes
_FILES = 10_000
_BATCH = 512
_PASS = 500_000  # number of records that are timed together
_FEATURES = {
    "identity": fastrec.FixedLenFeature((), np.int64),
    "weight01": fastrec.FixedLenFeature((), np.float32),
}


def _write(path: str, first: int, count: int) -> None:
    with fastrec.Writer(path, fsync=False, overwrite=True) as writer:
        for begin in range(first, first + count, 1 << 18):
            numbers = np.arange(begin, min(begin + (1 << 18), first + count))
            writer.write_batch({"identity": numbers, "weight01": np.zeros(len(numbers), "f4")})


def _make(out: str, files: int) -> list[str]:
    """Create the dataset with this number of files next to `out`, on first use."""
    folder = os.path.dirname(out)
    paths = [os.path.join(folder, f"scatter-{number}-of-{files}") for number in range(files)]
    count = _RECORDS // files
    for number, path in enumerate(paths):
        if not os.path.exists(path):
            _write(path, number * count, count)
    return paths


def _batches(task: Task, files: int, shuffle: bool) -> Trial:
    batcher = fastrec.Batcher(
        _make(task.out, files), _FEATURES, _BATCH, shuffle=shuffle, seed=1, threads=task.threads
    )

    def forever() -> Iterator[object]:
        while True:
            yield from batcher

    batches = forever()

    def once() -> None:
        for _ in itertools.islice(batches, _PASS // _BATCH):
            pass

    return Trial(once, records=_PASS // _BATCH * _BATCH, close=batcher.close)


def index_size(task: Task) -> Trial:
    """Measure the size of the index of the single file, which is the same in memory and on disk."""
    (path,) = _make(task.out, 1)

    def once() -> float:
        return float(len(memoryview(fastrec.Index.build(path)._core.save())))

    return Trial(once, records=_RECORDS, measures_itself=True)


def jobs() -> dict[str, Start]:
    """Return the entries of the job, by variant."""
    return {
        f"{name}, {order}": partial(_batches, files=files, shuffle=order == "shuffled")
        for name, files in (("one file", 1), ("10,000 files", _FILES))
        for order in ("in order", "shuffled")
    }
