# SPDX-License-Identifier: Apache-2.0
"""Grain: over fastrec's datasets, and over its own sources with protobuf's parser."""

from __future__ import annotations

import importlib.metadata
import itertools
from collections.abc import Callable
from typing import Any

import grain
import numpy as np

import fastrec.grain

from .. import cases, digest
from ..cases import Case, Column
from ..worker import Start, Task, Trial
from .converted import array_record_of
from .ours import column_of, features_of

__all__ = ["JOBS", "versions"]

_FEW = 5_000


def versions() -> dict[str, str]:
    return {"grain": importlib.metadata.version("grain")}


def _parser(case: Case) -> Callable[[bytes], dict[str, Any]]:
    """A function as users of Grain write it; strings become arrays, which batches need."""

    def parse(record: bytes) -> dict[str, Any]:
        features = fastrec.train.Example.FromString(record).features.feature
        row: dict[str, Any] = {}
        for field in case.fields:
            value = features[field.name]
            if field.kind == "int64":
                row[field.name] = np.array(value.int64_list.value, np.int64)
            elif field.kind == "float":
                row[field.name] = np.array(value.float_list.value, np.float32)
            else:
                row[field.name] = np.frombuffer(value.bytes_list.value[0], np.uint8)
            row[field.name] = row[field.name].reshape(
                (-1,) if field.kind == "bytes" else field.shape
            )
        return row

    return parse


def _column(value: Any, kind: str) -> Column:
    if kind == "bytes" and isinstance(value, np.ndarray):
        rows = value.tolist() if value.dtype.hasobject else [row.tobytes() for row in value]
        return cases.Strings.of(rows)
    return column_of(value)


def _trial(task: Task, dataset: Any, few: int | None = None) -> Trial:
    batches = None if few is None else min(few, task.case.records) // task.case.batch

    def once() -> None:
        for _ in itertools.islice(dataset, batches):
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in dataset:
            made.add({f.name: _column(batch[f.name], f.kind) for f in task.case.fields})
        return made.result()

    return Trial(once, digested, records=batches and batches * task.case.batch)


def _batches(task: Task) -> Trial:
    features = features_of(task.case)
    dataset = fastrec.grain.BatchIterDataset(
        task.path, features, task.case.batch, shuffle=True, seed=1, threads=task.threads
    )
    return _trial(task, dataset)


def _of_source(task: Task, dataset: Any, batch_fn: Any = None) -> Trial:
    rows = dataset.shuffle(seed=1).to_iter_dataset()
    return _trial(task, rows.batch(task.case.batch, batch_fn=batch_fn), _FEW)


def _source(task: Task) -> Trial:
    source = fastrec.grain.Source(task.path, features_of(task.case))
    return _of_source(task, grain.MapDataset.source(source), fastrec.grain.collate)


def _array_record(task: Task) -> Trial:
    path = array_record_of(task.path)
    dataset = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(path))
    return _of_source(task, dataset.map(_parser(task.case)))


def _tfrecord(task: Task) -> Trial:
    rows = grain.experimental.TFRecordIterDataset(task.path).map(_parser(task.case))
    return _trial(task, rows.batch(task.case.batch), _FEW)


JOBS: dict[str, dict[str, Start]] = {
    "grain": {
        "fastrec.grain.BatchIterDataset": _batches,
        "fastrec.grain.Source": _source,
        "array_record": _array_record,
        "its TFRecord reader": _tfrecord,
    },
}
