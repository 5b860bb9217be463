# SPDX-License-Identifier: Apache-2.0
"""PyTorch datasets of record files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch.utils.data

from .. import iterator_utils, reader

__all__ = ["MultiTFRecordDataset", "TFRecordDataset"]

Description = list[str] | dict[str, str] | None


def _worker_shard() -> tuple[int, int] | None:
    """Return the shard of this DataLoader worker, and seed NumPy with the worker's seed."""
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
    """The Examples of one file, or its SequenceExamples if `sequence_description` is set.

    Parameters
    ----------
    data_path : path
    index_path : path or None
        An index that ``tfrecord2idx`` wrote. With or without it, each DataLoader worker reads a
        part.
    description, sequence_description : list of str or dict of str, optional
        As for :func:`~fastrec.compat.tfrecord.tfrecord_loader`.
    shuffle_queue_size : int, optional
        Size of the buffer from which records are drawn.
    transform : callable, optional
        A function of the features of a record; its result is yielded instead.
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
        Patterns with ``{}`` for the name of a split; the index is optional.
    splits : dict of str to float
        The weight of each split.
    description, shuffle_queue_size, transform, sequence_description, compression_type
        As for :class:`TFRecordDataset`.
    infinite : bool
        Whether to restart each file at its end.
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
