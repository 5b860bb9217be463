# SPDX-License-Identifier: Apache-2.0
"""A training loop of which one rank reads slowly; the ranks import it by name."""

from __future__ import annotations

import io
import time
from typing import Any

import fastrec
import fastrec.torch


class SlowFile(io.RawIOBase):
    """A file of which each read waits, and returns at most 400 bytes."""

    def __init__(self, data: bytes, delay_s: float) -> None:
        self._file, self._delay_s = io.BytesIO(data), delay_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        time.sleep(self._delay_s)
        data = self._file.read(min(len(buffer), 400))
        buffer[: len(data)] = data
        return len(data)


def run_rank(rank: int, data: bytes, slow: int) -> tuple[int, str, str, list[str]]:
    """Run a loop whose steps take 50 ms; the reads of rank `slow` take 100 ms per batch."""
    file = SlowFile(data, 0.1 if rank == slow else 0.0)
    batcher = fastrec.Batcher(file, None, 15, threads=1, prefetch=10)
    batches = iter(batcher)
    next(batches)
    if rank != slow:
        time.sleep(0.5)  # all batches are ready after the first step
    for _ in batches:
        time.sleep(0.01 if rank == slow else 0.05)
    report = fastrec.torch.report(batcher)
    bottlenecks = [each["bottleneck"] for each in report.ranks]
    return report.rank, report.bottleneck, str(report).splitlines()[0], bottlenecks
