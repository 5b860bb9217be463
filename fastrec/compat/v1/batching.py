# SPDX-License-Identifier: Apache-2.0
"""Examples become batches: a queue, a queue runner to fill it, and what takes batches out."""

from __future__ import annotations

from typing import Any

from ._batched import all_alike, at_random, batched, in_order

__all__ = [
    "batch",
    "batch_join",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "shuffle_batch",
    "shuffle_batch_join",
]


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of examples, in the order in which they come.

    Parameters
    ----------
    tensors : list or dict of Tensor or SparseTensor
        An example.
    batch_size : int or Tensor
        Examples in a batch.
    num_threads : int
        Threads that make examples; with more than one, their order is not certain.
    capacity : int
        Examples that are made ahead.
    enqueue_many : bool
        Whether `tensors` are many examples, one after the other in the first dimension.
    shapes : list of shapes, optional
        Those of an example, where the tensors do not tell.
    dynamic_pad : bool
        Whether dimensions may be open: examples are padded to the largest of their batch.
    allow_smaller_final_batch : bool
        Whether what is left at the end is a batch, too. Otherwise it is lost.
    shared_name, name : str, optional

    Returns
    -------
    Tensor, list or dict
        As `tensors`, with one dimension more in front; a bare tensor for a list of one.

    Raises
    ------
    ValueError
        When ranks or shapes that are needed are not known.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`batch`, of those examples for which `keep_input` holds."""
    return batched(
        "batch",
        in_order(capacity, dynamic_pad, shared_name),
        [tensors],
        num_threads,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )


def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`batch`, with a thread for each of several lists of tensors."""
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`batch_join`, of those examples for which `keep_input` holds."""
    return batched(
        "batch_join",
        in_order(capacity, dynamic_pad, shared_name),
        all_alike(tensors_list),
        1,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`batch`, of examples drawn at random from those that are there.

    Parameters
    ----------
    tensors, batch_size, num_threads, enqueue_many, shapes : optional
        As for :func:`batch`.
    capacity : int
        Examples that are made ahead.
    min_after_dequeue : int
        Examples that stay behind, for a good mixture.
    seed : int, optional
        That of the draws.
    allow_smaller_final_batch, shared_name, name : optional
        As for :func:`batch`.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`shuffle_batch`, of those examples for which `keep_input` holds."""
    return batched(
        "shuffle_batch",
        at_random(capacity, min_after_dequeue, seed, shared_name),
        [tensors],
        num_threads,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )


def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`shuffle_batch`, with a thread for each of several lists of tensors."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As :func:`shuffle_batch_join`, of those examples for which `keep_input` holds."""
    return batched(
        "shuffle_batch_join",
        at_random(capacity, min_after_dequeue, seed, shared_name),
        all_alike(tensors_list),
        1,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
