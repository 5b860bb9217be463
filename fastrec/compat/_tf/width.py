# SPDX-License-Identifier: Apache-2.0
"""Decides how many rows an operation processes together, and defines all limits on that number.

More rows share the cost of a call; fewer rows stay in the processor's cache. So the number depends
on the bytes of a row and, where threads wait for all rows of a block, on the seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastrec.threads.cpus import usable_cpus

from .specs import TensorSpec, TypeSpec

AHEAD = 64  # elements to have ready where no batches are requested
BEFORE_LARGE = 16  # rows whose small values are computed together; they may hold images
READ = 1024  # most records to read together, and most rows to request for a batch
READ_BYTES = 1 << 25  # most bytes of records to read together in a random order
DRAWS = 1 << 16  # most random numbers to draw ahead of time
TOGETHER = 4  # fewest elements of a loop to run together
SOURCE, SOURCE_BYTES = 512, 1 << 21  # records of a reader to read together, and their bytes
LARGE_PIXELS, LARGE = 1 << 14, 1 << 16  # pixels and numbers of elements that run one by one
SMALL_BYTES = 1 << 18  # most bytes of all values made for a row that counts as small
_CACHE = 1 << 20  # bytes of the results of a block that is requested for batches
_LIMIT = 1 << 22  # bytes of the results of a block that is larger than expected

# Blocks of queue runners.
_FIRST, _MOST, _FEW = 16, 512, 8  # records; a few take less time one by one than in columns
_BYTES = 1 << 23  # of all values that a block creates
_SECONDS = 0.05  # of a block, for whose end other threads wait
_SLOW, _SLOW_FEW = 2e-4, 2e-3  # seconds of a record, below which threads gain nothing


def limited_rows(row_bytes: float) -> int:
    """Return the most rows to run together if the results of one have `row_bytes`; at least 1."""
    return max(1, int(_LIMIT / max(row_bytes, 1)))


def batched_rows(specs: Sequence[TypeSpec], size: int) -> int:
    """Return how many rows to request together for batches of `size`: a multiple of it.

    Components of unknown size count as empty.
    """
    row_bytes = 0
    for spec in specs:
        if isinstance(spec, TensorSpec) and spec.dtype.name != "string":
            row_bytes += (spec.shape.num_elements() or 0) * spec.dtype.size
    return size * max(1, min(READ, _CACHE // max(row_bytes, 1)) // size)


class RunnerWidth:
    """Decides how many records a queue runner's thread processes together.

    Attributes
    ----------
    count : int
        Number of records of the next block.
    seconds : float or None
        Time that one record takes; None before it is measured.
    """

    def __init__(self) -> None:
        self.count = _FIRST
        self.seconds: float | None = None
        self._share: float | None = None  # bytes that are created for each enqueued byte

    def limited(self, capacity: int) -> int:
        """Return the number of records for a queue of that capacity."""
        return min(self.count, max(capacity, _FIRST))

    def is_few(self, count: int) -> bool:
        """Return whether records should be processed one after the other on this thread."""
        return self._share is not None and count <= _FEW and (self.seconds or 0.0) < _SLOW_FEW

    @property
    def is_slow(self) -> bool:
        """Whether a record takes, or may take, long enough for threads to help."""
        return self.seconds is None or self.seconds > _SLOW

    def update(self, count: int, created: int, enqueued: int) -> None:
        """Choose the next count from a block: its records, bytes created, and bytes enqueued."""
        if not self.is_few(count):
            self._share = (created + enqueued) / max(enqueued, 1)
        most = int(_BYTES * count / max(enqueued * (self._share or 1.0), 1))
        if self.seconds is not None and self.seconds > _SLOW:
            most = min(most, max(2 * usable_cpus(), int(_SECONDS / self.seconds)))
        self.count = max(1, min(_MOST, 4 * self.count, most))
