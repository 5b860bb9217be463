# SPDX-License-Identifier: Apache-2.0
"""Datasets of ``tf.contrib.slim``, and the tensors of their items."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..._tf.dtypes import int32, int64, string
from .._nodes import Tensor
from ..array_ops import math, picking
from ..batching import string_input_producer
from ..constants import convert_to_tensor
from ..graph import GraphKeys, name_scope
from ..queue_base import QueueBase
from ..queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from ..readers import ReaderBase
from ..runners import Coordinator, QueueRunner, add_queue_runner, start_queue_runners


class Dataset:
    """A dataset: its location, and how to read it. Other arguments become attributes.

    Parameters
    ----------
    data_sources : str or list of str
        Files, or patterns of their names.
    reader : type
        The class that reads the files.
    decoder : DataDecoder
        Extracts items from records.
    num_samples : int or None
        The number of records.
    items_to_descriptions : dict of str
        A description of each item.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:  # other arguments, which type checkers do not know
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class DataProvider:
    """Items by name; each run of a session returns items of a single record.

    Parameters
    ----------
    items_to_tensors : mapping of str to Tensor
    num_samples : int or None
        The number of records.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = dict(items_to_tensors)
        self._num_samples = num_samples

    def get(self, items: Any) -> list[Any]:
        """Return the tensors of the given items."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        valid = self.list_items()
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {valid}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Return the names of the available items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """Return the number of records."""
        return self._num_samples


class ParallelReader(ReaderBase):
    """Several readers, each with its own thread, that put their records into one queue.

    Parameters
    ----------
    reader_class : callable
        Creates a reader.
    common_queue : QueueBase
        The queue. Its elements are two strings: key and value.
    num_readers : int
        The number of readers.
    reader_kwargs : dict, optional
        Arguments of `reader_class`.

    Raises
    ------
    TypeError
        If the elements of the queue are not two strings.
    """

    def __init__(
        self,
        reader_class: Any,
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if len(common_queue.dtypes) != 2 or any(t is not string for t in common_queue.dtypes):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue that receives the records of the readers."""
        return self._common_queue

    def _start_reading(self, queue: Any) -> None:
        enqueues = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueues))

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next key and value from the common queue."""
        self._start_reading(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return up to `num_records` keys and values from the common queue, which needs shapes."""
        self._start_reading(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the total number of records that the readers have read."""
        total: Tensor = math.add_n(
            [each.num_records_produced() for each in self._readers], name=name
        )
        return total

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the total number of work items that the readers have completed."""
        counts = [reader.num_work_units_completed() for reader in self._readers]
        total: Tensor = math.add_n(counts, name=name)
        return total


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[Any] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return keys and values of records that several readers read in parallel."""
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        types = list(dtypes or [string, string])
        queue: QueueBase
        if shuffle:
            queue = RandomShuffleQueue(
                capacity, min_after_dequeue, types, seed=seed, name="common_queue"
            )
        else:
            queue = FIFOQueue(capacity, types, name="common_queue")
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any,
    reader_class: Any,
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Return keys and values of records once, in order, for arguments of :func:`parallel_read`."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """Return the files that match names and patterns; the files of each pattern are sorted."""
    if isinstance(data_sources, (list, tuple)):
        files = [name for source in data_sources for name in get_data_files(source)]
    else:
        name = os.fspath(data_sources)
        files = sorted(glob.glob(name)) if any(c in name for c in "*?[") else [name]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


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
        Number of passes over the files; None repeats them forever.
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
        key, data = parallel_read(
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


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue whose elements are the values of `tensors`, and add its queue runner."""
    names: list[str] | None = None
    if isinstance(tensors, dict):
        names = sorted(tensors, key=str)
        values = [tensors[key] for key in names]
    else:
        values = list(tensors)
    with name_scope(name, "prefetch_queue", values):
        values = [convert_to_tensor(value) for value in values]
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(
            capacity,
            [value.dtype for value in values],
            [value.shape for value in values],
            names=names,
            shared_name=shared_name,
        )
        element = values if names is None else dict(zip(names, values, strict=True))
        add_queue_runner(QueueRunner(queue, [queue.enqueue(element)] * num_threads))
        return queue


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run all queue runners of the session's graph within the block."""
    coord = Coordinator()
    started = session.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
    threads = start_queue_runners(session, coord) if started else []
    try:
        yield
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=120)


def one_hot_encoding(labels: Any, num_classes: int, scope: str | None = None) -> Any:
    """Return rows with a one at the index of each label."""
    with name_scope(scope, "OneHotEncoding", [labels]):
        tensor = convert_to_tensor(labels)
        if tensor.dtype is int32:
            tensor = math.cast(tensor, int64)
        return picking.one_hot(tensor, num_classes, on_value=1.0, off_value=0.0)
