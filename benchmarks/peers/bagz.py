# SPDX-License-Identifier: Apache-2.0
"""bagz: the same records in a file of its own, which is mapped and carries no checksums."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from typing import Any

import bagz
import numpy as np

from .. import digest
from ..warm import reread
from ..worker import Start, Task, Trial
from .converted import numbers, records_of

__all__ = ["JOBS", "versions"]

_BATCH = 1024


def versions() -> dict[str, str]:
    return {"bagz": importlib.metadata.version("bagz")}


def _reader(task: Task) -> Any:
    path = task.path + ".bag"
    if not os.path.exists(path):
        options = bagz.Writer.Options(compression=bagz.CompressionNone())
        with bagz.Writer(path, options) as writer:
            for record in records_of(task.path):
                writer.write(record)
    reread(path)
    return bagz.Reader(path)


def _single(task: Task) -> Trial:
    reader, wanted = _reader(task), numbers(task)

    def once() -> None:
        for number in wanted:
            reader[number]

    return Trial(once, lambda: digest.of_records(reader[i] for i in wanted), records=len(wanted))


def _batched(task: Task) -> Trial:
    reader = _reader(task)
    wanted = np.array(numbers(task))
    batches = [wanted[i : i + _BATCH] for i in range(0, len(wanted), _BATCH)]

    def once() -> None:
        for batch in batches:
            reader.read_indices(batch)

    def read() -> Iterator[bytes]:
        for batch in batches:
            yield from reader.read_indices(batch)

    return Trial(once, lambda: digest.of_records(read()), records=len(wanted))


def _iterate(task: Task) -> Trial:
    reader = _reader(task)

    def once() -> None:
        for _ in reader:
            pass

    return Trial(once, lambda: digest.of_records(reader))


JOBS: dict[str, dict[str, Start]] = {
    "iterate": {"": _iterate},
    "random": {"one at a time": _single, f"{_BATCH} at a time": _batched},
}
