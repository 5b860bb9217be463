# SPDX-License-Identifier: Apache-2.0
"""Compute checksums from Python, with the same loop for every contestant."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

from .. import digest
from ..worker import Start, Task, Trial

__all__ = ["buffers", "jobs", "size_of"]

Crc = Callable[[bytes], int]

_UNITS = {"B": 0, "KiB": 10, "MiB": 20}


def size_of(task: Task) -> int:
    """Return the size of each buffer, from the case's name: ``64 KiB cold``."""
    count, unit, _ = task.case.name.split()
    return int(count) << _UNITS[unit]


def buffers(task: Task) -> list[bytes]:
    """Return the task's random buffers."""
    size = size_of(task)
    whole = np.random.default_rng(task.seed).bytes(size * task.case.records)
    return [whole[i : i + size] for i in range(0, len(whole), size)]


def _sizes(crc: Crc) -> Start:
    def start(task: Task) -> Trial:
        pieces = buffers(task)

        def once() -> None:
            for piece in pieces:
                crc(piece)

        def digested() -> dict[str, int]:
            return digest.of_records(crc(piece).to_bytes(4, "little") for piece in pieces)

        return Trial(once, digested)

    return start


def _cut(path: str) -> Iterator[tuple[bytes, int]]:
    """Yield each record of a file, and the masked checksum that follows it."""
    with open(path, "rb") as file:
        while header := file.read(12):
            record = file.read(struct.unpack("<Q", header[:8])[0])
            yield record, struct.unpack("<I", file.read(4))[0]


def _verify(crc: Crc) -> Start:
    def start(task: Task) -> Trial:
        records = list(_cut(task.path))

        def once() -> None:
            for record, stored in records:
                found = crc(record)
                if ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF != stored:
                    raise ValueError("a sound record was found damaged")

        return Trial(once)

    return start


def jobs(crc: Crc) -> dict[str, dict[str, Start]]:
    """Return the checksum jobs for a checksum function, by name and variant."""
    return {"crc": {"": _sizes(crc)}, "verify": {"": _verify(crc)}}
