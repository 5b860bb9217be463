# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DataLoader: over fastrec's map-style dataset, and over others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset

import fastrec.torch

from .. import cases, digest
from ..cases import Case, Column
from ..worker import Start, Task, Trial
from . import loader_program
from .ours import features_of

__all__ = ["JOBS", "versions"]

_FEW = 5_000


def versions() -> dict[str, str]:
    return {"torch": torch.__version__}


class _OneByOne(torch.utils.data.Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    """The same dataset for who asks for one record at a time."""

    def __init__(self, dataset: fastrec.torch.Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        return dict(self._dataset[index])


def _column(value: Any) -> Column:
    return value.numpy() if isinstance(value, torch.Tensor) else cases.Strings.of(list(value))


def _trial(task: Task, batches: Iterable[Any], timed: Iterable[Any], records: int) -> Trial:
    def once() -> None:
        for _ in timed:
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in batches:
            made.add({field.name: _column(batch[field.name]) for field in task.case.fields})
        return made.result()

    return Trial(once, digested, records=records)


def _map_style(wrapped: Callable[[fastrec.torch.Dataset], Any], few: int | None) -> Start:
    def start(task: Task) -> Trial:
        torch.set_num_threads(task.threads)
        dataset = wrapped(fastrec.torch.Dataset(task.path, features_of(task.case)))
        records = min(few or task.case.records, task.case.records)
        chosen = np.random.default_rng(task.seed).permutation(task.case.records)[:records]
        part = dataset if few is None else Subset(dataset, chosen.tolist())
        loaders = [DataLoader(d, batch_size=task.case.batch, shuffle=True) for d in (dataset, part)]
        return _trial(task, *loaders, records)

    return start


def _description(case: Case) -> dict[str, str]:
    return {field.name: loader_program.WORDS[field.kind] for field in case.fields}


def _iterable(task: Task) -> Trial:
    from tfrecord.torch.dataset import TFRecordDataset

    dataset = TFRecordDataset(task.path, None, _description(task.case))
    loader = DataLoader(dataset, batch_size=task.case.batch)
    batches = min(_FEW, task.case.records) // task.case.batch

    def once() -> None:
        for _ in itertools.islice(loader, batches):
            pass

    return Trial(once, records=batches * task.case.batch)


JOBS: dict[str, dict[str, Start]] = {
    "dataloader": {
        "fastrec.torch.Dataset": _map_style(lambda dataset: dataset, None),
        "one record at a time": _map_style(_OneByOne, _FEW),
        "tfrecord.torch": _iterable,
    },
}
