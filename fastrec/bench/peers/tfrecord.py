# SPDX-License-Identifier: Apache-2.0
"""The ``tfrecord`` package, which reads and parses in Python and checks no checksum."""

from __future__ import annotations

import importlib.metadata
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tfrecord import reader
from tfrecord.tools import tfrecord2idx
from tfrecord.writer import TFRecordWriter

from .. import cases, digest
from ..cases import Case, Column, Field
from ..worker import Start, Task, Trial

__all__ = ["JOBS", "versions"]

_FEW = 5_000
_WORDS = {"int64": "int", "float": "float", "bytes": "byte", "raw": "byte"}


def versions() -> dict[str, str]:
    return {"tfrecord": importlib.metadata.version("tfrecord")}


def _iterate(task: Task) -> Trial:
    def once() -> None:
        for _ in reader.tfrecord_iterator(task.path):
            pass

    return Trial(once, lambda: digest.of_records(reader.tfrecord_iterator(task.path)))


def _stacked(field: Field, rows: list[Any]) -> Column:
    """One column of a batch out of what the loader gives for each row."""
    if field.kind == "raw":
        return np.stack([np.frombuffer(row, np.uint8).reshape(field.shape or -1) for row in rows])
    if field.shape is not None and field.kind == "bytes":
        return cases.Strings.of(rows)
    if field.shape is not None:
        return np.stack(rows).reshape(len(rows), *field.shape)
    rows = [[row] if isinstance(row, bytes) else row for row in rows]
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=splits[1:])
    if field.kind == "bytes":
        strings = [bytes(string) for row in rows for string in row]
        return cases.Ragged(cases.Strings.of(strings), splits)
    return cases.Ragged(np.concatenate(rows), splits)


def _batches(task: Task) -> Iterator[dict[str, Column]]:
    case: Case = task.case
    description = {field.name: _WORDS[field.kind] for field in case.fields}
    loader = reader.tfrecord_loader(task.path, None, description)
    rows = itertools.islice(loader, _FEW)
    while batch := list(itertools.islice(rows, case.batch)):
        yield {f.name: _stacked(f, [row[f.name] for row in batch]) for f in case.fields}


def _parse(task: Task) -> Trial:
    def once() -> None:
        for _ in _batches(task):
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in _batches(task):
            made.add(batch)
        return made.result()

    return Trial(once, digested, records=min(_FEW, task.case.records))


def _given(field: Field) -> Callable[[Any], tuple[Any, str]]:
    word = _WORDS[field.kind]
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
    "parse": {"": _parse},
    "write": {"": _write},
    "index": {"": _index},
}
