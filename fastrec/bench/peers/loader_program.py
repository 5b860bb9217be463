# SPDX-License-Identifier: Apache-2.0
"""A program for the ``tfrecord`` package and for fastrec's replacement of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import cases, digest
from ..cases import Column, Field
from ..worker import Task, Trial

__all__ = ["WORDS", "batched", "trial"]

_FEW = 5_000
WORDS = {"int64": "int", "float": "float", "bytes": "byte", "raw": "byte"}


def _rows(reader: Any, task: Task) -> Iterator[dict[str, Any]]:
    description = {field.name: WORDS[field.kind] for field in task.case.fields}
    return itertools.islice(reader.tfrecord_loader(task.path, None, description), _FEW)


def _stacked(field: Field, rows: list[Any]) -> Column:
    """Stack the values that the loader returns for each row to one column of a batch."""
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


def _batches(reader: Any, task: Task) -> Iterator[dict[str, Column]]:
    rows = _rows(reader, task)
    while batch := list(itertools.islice(rows, task.case.batch)):
        yield {f.name: _stacked(f, [row[f.name] for row in batch]) for f in task.case.fields}


def _trial(reader: Any, task: Task, passed: Any) -> Trial:
    def once() -> None:
        for _ in passed(reader, task):
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in _batches(reader, task):
            made.add(batch)
        return made.result()

    return Trial(once, digested, records=min(_FEW, task.case.records))


def trial(reader: Any, task: Task) -> Trial:
    """Read several thousand rows, one after the other."""
    return _trial(reader, task, _rows)


def batched(reader: Any, task: Task) -> Trial:
    """Read the same rows and stack them to dense batches."""
    return _trial(reader, task, _batches)
