# SPDX-License-Identifier: Apache-2.0
"""Measure the first batch of a sparse dataset of 10 GB, which contains only the first batches."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

import fastrec
from fastrec import _core

from ..worker import Task, Trial

__all__ = ["trial"]

_SIZE = 10 * 10**9
_BATCH = 128
_BATCHES = 64  # more batches than are started before the first is complete
_FEATURES = {
    "image": fastrec.RawFeature((32, 32, 3), np.uint8),
    "label": fastrec.FixedLenFeature((), np.int64),
}


def _frame(path: str) -> bytes:
    """Return a record with its frame."""
    with fastrec.Writer(path, fsync=False, overwrite=True) as writer:
        writer.write({"image": np.zeros((32, 32, 3), np.uint8), "label": 7})
    with open(path, "rb") as file:
        return file.read()


def _make(path: str, batcher: Callable[[], fastrec.Batcher]) -> None:
    """Create a sparse file with an index of records, and write the records of the first batches."""
    frame = _frame(path)
    count = _SIZE // len(frame)
    os.truncate(path, count * len(frame))
    status = os.stat(path)
    offsets = np.arange(count + 1, dtype=np.uint64) * len(frame)
    fastrec.Index(path, _core.FileIndex(offsets, status.st_size, status.st_mtime_ns)).save()
    order = batcher()._order.native(batcher()._order.spec)
    with open(path, "r+b", buffering=0) as file:
        for serial in range(_BATCHES):
            _, numbers = order.numbers(serial) or (0, ())
            for number in numbers:
                os.pwrite(file.fileno(), frame, int(number) * len(frame))
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))  # the index stays valid


def trial(task: Task) -> Trial:
    """Prepare a trial that opens a large dataset and takes its first batch."""

    def batcher() -> fastrec.Batcher:
        return fastrec.Batcher(
            task.out, _FEATURES, _BATCH, shuffle=True, seed=1, threads=task.threads
        )

    def once() -> None:
        with batcher() as made:
            assert next(iter(made))["label"].tolist() == [7] * _BATCH

    def remove() -> None:
        for path in (task.out, f"{task.out}.frindex"):
            os.unlink(path)

    _make(task.out, batcher)
    return Trial(once, records=1, close=remove)
