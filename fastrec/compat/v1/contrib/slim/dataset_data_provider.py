# SPDX-License-Identifier: Apache-2.0
"""Items of a dataset that several readers read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import parallel_reader
from .data_provider import DataProvider

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """The items of the records of a dataset.

    Parameters
    ----------
    dataset : Dataset
    num_readers : int
        The number of readers.
    reader_kwargs : dict, optional
        Arguments of the readers.
    shuffle : bool
        Whether files and records are shuffled.
    num_epochs : int, optional
        How many times each file is read; by default forever.
    common_queue_capacity, common_queue_min : int
        The capacity of the queue of records, and the number of records that stay in it.
    record_key : str
        The name of the item that is the key of the record.
    seed : int, optional
        The seed of the shuffles.
    scope : str, optional

    Raises
    ------
    ValueError
        If the dataset has an item with the name `record_key`.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_reader.parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: "
                f"{record_key}"
            )
        tensors[record_key] = key
        super().__init__(tensors, dataset.num_samples)
