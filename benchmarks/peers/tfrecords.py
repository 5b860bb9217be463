# SPDX-License-Identifier: Apache-2.0
"""The ``tfrecords`` package: TensorFlow's record layer by itself, without a parser."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import tfrecords

from .. import digest
from ..worker import Start, Task, Trial
from .converted import numbers

__all__ = ["JOBS", "versions"]

_FEW = 1_000
"""It fills a buffer of 256 KiB for each record that is read out of order."""


def versions() -> dict[str, str]:
    return {"tfrecords": importlib.metadata.version("tfrecords")}


def _iterator(path: str) -> Any:
    return tfrecords.tf_record_iterator(path)


def _iterate(task: Task) -> Trial:
    def once() -> None:
        for _ in _iterator(task.path):
            pass

    return Trial(once, lambda: digest.of_records(_iterator(task.path)))


def _count(task: Task) -> Trial:
    def once() -> None:
        assert _iterator(task.path).read_count(0) == task.case.records

    return Trial(once)


def _index(task: Task) -> Trial:
    def once() -> None:
        assert len(_iterator(task.path).read_offsets(0)) == task.case.records

    return Trial(once)


def _random(task: Task) -> Trial:
    reader: Any = tfrecords.tf_record_random_reader(task.path)
    offsets = [int(offset) for offset, _ in reader.read_offsets(0)]
    wanted = [offsets[i] for i in numbers(task)[:_FEW]]

    def once() -> None:
        for offset in wanted:
            reader.read(offset)

    def digested() -> dict[str, int]:
        return digest.of_records(reader.read(offset)[0] for offset in wanted)

    return Trial(once, digested, records=len(wanted))


JOBS: dict[str, dict[str, Start]] = {
    "iterate": {"": _iterate},
    "count": {"": _count},
    "index": {"": _index},
    "random": {"one at a time": _random},
}
