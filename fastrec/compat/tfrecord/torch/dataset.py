# SPDX-License-Identifier: Apache-2.0
"""Record files as data sets of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch.utils.data

from .. import iterator_utils, reader

__all__ = ["MultiTFRecordDataset", "TFRecordDataset"]

Description = list[str] | dict[str, str] | None


def _worker_shard() -> tuple[int, int] | None:
    """Shard that this DataLoader worker reads. NumPy's generator gets the worker's seed."""
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return None
    np.random.seed(worker.seed % np.iinfo(np.uint32).max)  # noqa: NPY002
    return worker.id, worker.num_workers


def _passed(
    items: Iterable[Any], queue_size: int | None, transform: Callable[[Any], Any] | None
) -> Iterator[Any]:
    if queue_size:
        items = iterator_utils.shuffle_iterator(items, queue_size)
    return iter(items) if transform is None else map(transform, items)


class TFRecordDataset(torch.utils.data.IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """The Examples of one file, or its SequenceExamples when `sequence_description` is not None.

    Parameters
    ----------
    data_path : path
    index_path : path or None
        Made by ``tfrecord2idx``. Workers of a DataLoader read a part each, with or without it.
    description, sequence_description : list of str or dict of str, optional
        As for :func:`~fastrec.compat.tfrecord.tfrecord_loader`.
    shuffle_queue_size : int, optional
        Draw each record from so many.
    transform : callable, optional
        Called with each record's features; what it returns is yielded instead.
    compression_type : {None, "gzip"}
    """

    def __init__(
        self,
        data_path: Any,
        index_path: Any,
        description: Description = None,
        shuffle_queue_size: int | None = None,
        transform: Callable[[Any], Any] | None = None,
        sequence_description: Description = None,
        compression_type: str | None = None,
    ) -> None:
        super().__init__()
        self.data_path = data_path
        self.index_path = index_path
        self.description = description
        self.sequence_description = sequence_description
        self.shuffle_queue_size = shuffle_queue_size
        self.transform = transform
        self.compression_type = compression_type

    def __iter__(self) -> Iterator[Any]:
        items = reader.tfrecord_loader(
            data_path=self.data_path,
            index_path=self.index_path,
            description=self.description,
            shard=_worker_shard(),
            sequence_description=self.sequence_description,
            compression_type=self.compression_type,
        )
        return _passed(items, self.shuffle_queue_size, self.transform)


class MultiTFRecordDataset(torch.utils.data.IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """The records of several files, drawn by weight.

    Parameters
    ----------
    data_pattern, index_pattern : str
        With a ``{}`` for the name of each split; there may be no index.
    splits : dict of str to float
        The weight of each.
    description, shuffle_queue_size, transform, sequence_description, compression_type
        As for :class:`TFRecordDataset`.
    infinite : bool
        Begin each file anew at its end.
    """

    def __init__(
        self,
        data_pattern: str,
        index_pattern: str | None,
        splits: Mapping[str, float],
        description: Description = None,
        shuffle_queue_size: int | None = None,
        transform: Callable[[Any], Any] | None = None,
        sequence_description: Description = None,
        compression_type: str | None = None,
        infinite: bool = True,
    ) -> None:
        super().__init__()
        self.data_pattern = data_pattern
        self.index_pattern = index_pattern
        self.splits = splits
        self.description = description
        self.sequence_description = sequence_description
        self.shuffle_queue_size = shuffle_queue_size
        self.transform = transform
        self.compression_type = compression_type
        self.infinite = infinite

    def __iter__(self) -> Iterator[Any]:
        shard = _worker_shard()
        items = reader.multi_tfrecord_loader(
            data_pattern=self.data_pattern,
            index_pattern=self.index_pattern,
            splits=self.splits,
            description=self.description,
            sequence_description=self.sequence_description,
            compression_type=self.compression_type,
            infinite=self.infinite,
            shard=shard,
        )
        return _passed(items, self.shuffle_queue_size, self.transform)
