# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training``: batches of examples of one bucket, based on queues."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._tf.naming import uncovered
from .._nodes import Tensor
from ..batching import as_given, example_of, in_order, restored_of
from ..constants import convert_to_tensor
from ..control_flow import group
from ..graph import name_scope
from ..math_ops import math, reductions
from ..queues import PaddingFIFOQueue
from ..runners import QueueRunner, add_queue_runner
from .hparams import HParams
from .stratified import rejection_sample, stratified_sample

__all__ = [
    "HParams",
    "bucket",
    "bucket_by_sequence_length",
    "rejection_sample",
    "stratified_sample",
]


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return batches of examples, each from a single bucket, and the number of the bucket.

    Parameters
    ----------
    tensors : list or dict of Tensor
        One example.
    which_bucket : Tensor of int32
        The number of the bucket of the example.
    batch_size : int or list of int
        One size for all buckets, or a size for each.
    num_buckets : int
    bucket_capacities : list of int, optional
        The maximum number of examples in each bucket; by default `capacity`.

    Raises
    ------
    ValueError
        If the number of sizes or capacities differs from the number of buckets.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1, got {num_buckets}")
    sizes = _for_each("batch_size", batch_size, num_buckets)
    rooms = _for_each("bucket_capacities", bucket_capacities or capacity, num_buckets)
    with name_scope(name, "bucket", None):
        ready, sparse, types, known = example_of(tensors, shapes)
        number = convert_to_tensor(which_bucket, convert_to_tensor(np.int32(0)).dtype)
        keep = convert_to_tensor(keep_input)
        queues = [
            in_order(room, dynamic_pad, f"{shared_name}_{i}" if shared_name else None)(types, known)
            for i, room in enumerate(rooms)
        ]
        enqueues = [
            queue.enqueue_if(
                math.logical_and(keep, math.equal(number, np.int32(i))),
                ready,
                many=False,
            )
            for i, queue in enumerate(queues)
        ]
        _run(queues[0], [group(*enqueues)] * num_threads, queues)
        whole = [None if allow_smaller_final_batch else size for size in sizes]
        same = whole[0] if len(set(whole)) == 1 else None
        top = PaddingFIFOQueue(
            capacity,
            [number.dtype, *types],
            [[], *[[same, *shape.as_list()] for shape in queues[0].shapes]],
            shared_name=shared_name,
        )
        taken = [
            (queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many)(size)
            for queue, size in zip(queues, sizes, strict=True)
        ]
        batches = [each if isinstance(each, list) else [each] for each in taken]
        moved = [
            top.enqueue([convert_to_tensor(np.int32(i)), *batch]) for i, batch in enumerate(batches)
        ]
        _run(top, moved, [top])
        which, *found = top.dequeue()
        values = restored_of(found if len(found) > 1 else found[0], sparse)
        return which, as_given(tensors, values)


def _for_each(parameter: str, value: Any, count: int) -> list[int]:
    found = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(found) != count:
        raise ValueError(
            f"The list {parameter} must have the same number of elements as num_buckets, got "
            f"{len(found)} and {count}"
        )
    return [int(each) for each in found]


def _run(queue: Any, enqueues: Sequence[Any], closed: Sequence[Any]) -> None:
    """Add a queue runner that runs `enqueues` and finally closes the queues `closed`."""
    close = group(*[each.close() for each in closed])
    cancel = group(*[each.close(cancel_pending_enqueues=True) for each in closed])
    add_queue_runner(QueueRunner(queue, list(enqueues), close, cancel))


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return batches of examples of similar length, and the lengths.

    Parameters
    ----------
    input_length : Tensor of int32
        The length of one example.
    bucket_boundaries : list of int
        Lengths in ascending order. Each is the lower boundary of a bucket.

    Raises
    ------
    ValueError
        If the boundaries are not in ascending order.
    """
    limits = [int(each) for each in bucket_boundaries]
    if not limits or any(a >= b for a, b in pairwise(limits)):
        raise ValueError(f"bucket_boundaries must be ascending and not empty, got {limits}")
    with name_scope(name, "bucket_by_sequence_length", None):
        length = convert_to_tensor(input_length, convert_to_tensor(np.int32(0)).dtype)
        beyond = math.greater_equal(length, convert_to_tensor(np.array(limits, np.int32)))
        which = reductions.reduce_sum(math.cast(beyond, length.dtype))
        names = sorted(tensors, key=str) if isinstance(tensors, dict) else None
        listed = [tensors[key] for key in names] if names else list(tensors)
        _, found = bucket(
            [length, *listed],
            which,
            batch_size,
            len(limits) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
    values = found[1:] if len(listed) > 1 else found[1]
    return found[0], as_given(tensors, values)


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "contrib.training", name)
