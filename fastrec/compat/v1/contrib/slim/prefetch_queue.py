# SPDX-License-Identifier: Apache-2.0
"""A queue of prefetched batches."""

from __future__ import annotations

from typing import Any

from ...constants import convert_to_tensor
from ...graph import name_scope
from ...queue_base import QueueBase
from ...queues import FIFOQueue, PaddingFIFOQueue
from ...runners import QueueRunner, add_queue_runner

__all__ = ["prefetch_queue"]


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
