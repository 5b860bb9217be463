# SPDX-License-Identifier: Apache-2.0
"""Several readers that run in parallel and fill one queue."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...._tf.dtypes import string
from ..._nodes import Tensor
from ...graph import name_scope
from ...math_ops import math
from ...producers import string_input_producer
from ...queue_base import QueueBase
from ...queues import FIFOQueue, RandomShuffleQueue
from ...readers import ReaderBase
from ...runners import QueueRunner, add_queue_runner

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


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
