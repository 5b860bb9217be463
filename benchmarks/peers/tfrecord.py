# SPDX-License-Identifier: Apache-2.0
"""The ``tfrecord`` package, which reads and parses in Python and checks no checksum."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
from tfrecord import reader
from tfrecord.tools import tfrecord2idx
from tfrecord.writer import TFRecordWriter

from .. import cases, digest
from ..cases import Field
from ..worker import Start, Task, Trial
from . import loader_program

__all__ = ["JOBS", "versions"]


def versions() -> dict[str, str]:
    return {"tfrecord": importlib.metadata.version("tfrecord")}


def _iterate(task: Task) -> Trial:
    def once() -> None:
        for _ in reader.tfrecord_iterator(task.path):
            pass

    return Trial(once, lambda: digest.of_records(reader.tfrecord_iterator(task.path)))


def _parse(task: Task) -> Trial:
    return loader_program.batched(reader, task)


def _load(task: Task) -> Trial:
    return loader_program.trial(reader, task)


def _given(field: Field) -> Callable[[Any], tuple[Any, str]]:
    word = loader_program.WORDS[field.kind]
    if field.kind == "raw":
        return lambda value: (value.tobytes(), word)
    return lambda value: (value.tolist() if isinstance(value, np.ndarray) else value, word)


def _write(task: Task) -> Trial:
    columns = cases.columns_of(task.case, task.seed, task.saved)
    rows = list(cases.rows(columns, task.case.write_records))
    given = {field.name: _given(field) for field in task.case.fields}

    def once() -> None:
        writer = TFRecordWriter(task.out)
        for row in rows:
            writer.write({name: make(row[name]) for name, make in given.items()})
        writer.close()

    return Trial(once, records=len(rows))


def _index(task: Task) -> Trial:
    return Trial(lambda: tfrecord2idx.create_index(task.path, task.out))


JOBS: dict[str, dict[str, Start]] = {
    "iterate": {"": _iterate},
    "loader": {"": _load},
    "parse": {"": _parse},
    "write": {"": _write},
    "index": {"": _index},
}
