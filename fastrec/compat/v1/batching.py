# SPDX-License-Identifier: Apache-2.0
"""Batch examples with a queue, a queue runner that fills it, and a dequeue operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._tf.naming import named
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


def _of_all(maybe: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for all examples, without the parameter `keep_input`."""
    signature = inspect.signature(maybe)
    others = [each for each in signature.parameters.values() if each.name != "keep_input"]
    without = signature.replace(parameters=others)

    def function(*arguments: Any, **named: Any) -> Any:
        return maybe(keep_input=True, **without.bind(*arguments, **named).arguments)

    function.__signature__ = without  # type: ignore[attr-defined]
    name = maybe.__name__.removeprefix("maybe_")
    return named(function, name, doc=f"Do what :func:`{maybe.__name__}` does, for all examples.")


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
    """Batch the examples for which `keep_input` holds, in the order of their arrival."""
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
    """Batch as :func:`maybe_batch` does, with one thread for each of several lists of tensors."""
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
    """Batch as :func:`maybe_batch` does, drawing examples at random from the queue."""
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
    """Batch as :func:`maybe_shuffle_batch` does, with one thread for each list of tensors."""
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


batch, batch_join = _of_all(maybe_batch), _of_all(maybe_batch_join)
shuffle_batch = _of_all(maybe_shuffle_batch)
shuffle_batch_join = _of_all(maybe_shuffle_batch_join)
