# SPDX-License-Identifier: Apache-2.0
"""array_record: the same records, uncompressed, in a file made for random access."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from array_record.python import array_record_module

from .. import digest
from ..worker import Start, Task, Trial
from .converted import array_record_of, numbers

__all__ = ["JOBS", "versions"]

_BATCH = 1024
_FEW = 2_000
"""One at a time it reads a few thousand a second."""

# What its documentation gives for random access.
_OPTIONS = "readahead_buffer_size:0,max_parallelism:0"


def versions() -> dict[str, str]:
    return {"array_record": importlib.metadata.version("array_record")}


def _reader(task: Task, options: str) -> Any:
    path = array_record_of(task.path)
    return array_record_module.ArrayRecordReader(path, options)


def _single(task: Task) -> Trial:
    reader, wanted = _reader(task, _OPTIONS), numbers(task)[:_FEW]

    def once() -> None:
        for number in wanted:
            reader.read([number])

    def digested() -> dict[str, int]:
        return digest.of_records(reader.read([number])[0] for number in wanted)

    return Trial(once, digested, records=len(wanted))


def _batched(task: Task) -> Trial:
    reader, wanted = _reader(task, _OPTIONS), numbers(task)
    batches = [wanted[i : i + _BATCH] for i in range(0, len(wanted), _BATCH)]

    def once() -> None:
        for batch in batches:
            reader.read(batch)

    def digested() -> dict[str, int]:
        return digest.of_records(record for batch in batches for record in reader.read(batch))

    return Trial(once, digested, records=len(wanted))


JOBS: dict[str, dict[str, Start]] = {
    "random": {"one at a time": _single, f"{_BATCH} at a time": _batched},
}
