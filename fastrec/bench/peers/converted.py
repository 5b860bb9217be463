# SPDX-License-Identifier: Apache-2.0
"""Convert records for peers with other formats, and generate event files."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..warm import reread
from ..worker import Task

__all__ = ["array_record_of", "event_rows", "jpegs_of", "numbers", "records_of", "spans_of"]

_RANDOM = 20_000


def records_of(path: str) -> Iterator[bytes]:
    """Yield the records of a file, without checking them."""
    with open(path, "rb") as file:
        while header := file.read(12):
            yield file.read(struct.unpack("<Q", header[:8])[0])
            file.read(4)


def jpegs_of(path: str) -> list[bytes]:
    """Return the JPEG of each record."""
    return [
        record[record.index(b"\xff\xd8\xff") : record.rindex(b"\xff\xd9") + 2]
        for record in records_of(path)
    ]


def array_record_of(path: str) -> str:
    """Write the same records, uncompressed, to an array_record file, and read it once."""
    made = path + ".array_record"
    if not os.path.exists(made):
        from array_record.python import array_record_module

        writer = array_record_module.ArrayRecordWriter(made, "group_size:1,uncompressed")
        for record in records_of(path):
            writer.write(record)
        writer.close()
    reread(made)
    return made


def spans_of(path: str) -> Iterator[tuple[int, int]]:
    """Yield the start and size of the frame of each record."""
    at = 0
    with open(path, "rb") as file:
        while header := file.read(12):
            size = struct.unpack("<Q", header[:8])[0] + 16
            yield at, size
            at = file.seek(at + size)


def numbers(task: Task) -> list[int]:
    """Return the same record numbers for every contestant."""
    random = np.random.default_rng([task.seed, 5])
    return [int(i) for i in random.integers(0, task.case.records, _RANDOM)]


def event_rows(
    tags: Iterable[Any], times: Iterable[float], steps: Iterable[int], values: Iterable[float]
) -> list[bytes]:
    """Yield scalars in the order of tags and steps."""
    return sorted(
        f"{tag} {int(step):016d} {float(time)!r} {float(np.float32(value))!r}".encode()
        for tag, time, step, value in zip(tags, times, steps, values, strict=True)
    )
