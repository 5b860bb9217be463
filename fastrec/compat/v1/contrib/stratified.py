# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training``: batches with chosen class frequencies, based on queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tf.dtypes import float32, int32, int64
from .._nodes import Tensor
from ..array_ops import arrays, picking
from ..batching import batch, maybe_batch
from ..constants import convert_to_tensor
from ..draws import draws
from ..graph import name_scope
from ..math_ops import math, reductions
from ..variables import Variable

__all__ = ["rejection_sample", "stratified_sample"]

_SMOOTHING = 10  # The initial count of each class, in examples, smooths the estimated shares.


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Return batches of examples whose class frequencies are `target_probs`.

    Examples of frequent classes are dropped at random, so that examples of the rarest class are
    always kept.

    Parameters
    ----------
    tensors : list of Tensor
        One example, or several if `enqueue_many` is True.
    labels : Tensor of int
        The class of each example.
    target_probs : list of float
        The wanted frequency of each class.
    init_probs : list of float, optional
        The frequency of each class in the data; by default, the frequency in the examples so far.
    """
    with name_scope(name, "stratified_sample"):
        wanted = convert_to_tensor(target_probs, float32)
        classes = convert_to_tensor(labels)
        if classes.dtype is not int32:
            classes = math.cast(classes, int32)
        count = wanted.shape.num_elements()
        if count is None:
            raise ValueError("target_probs must have a known number of elements")
        if init_probs is None:
            share = _shares_so_far(classes, count)
        else:
            share = convert_to_tensor(init_probs, float32)
            share.shape.assert_is_compatible_with(wanted.shape)
        ratios = math.divide_no_nan(wanted, share)
        chances = math.truediv(ratios, reductions.reduce_max(ratios))
        *alone, label = batch(
            [*tensors, classes],
            1,
            threads_per_queue,
            queue_capacity,
            enqueue_many,
        )
        example = [arrays.squeeze(each, [0]) for each in alone]
        number = arrays.squeeze(label, [0])
        keep = math.less(draws.uniform([]), picking.gather(chances, number))
        *found, kept = maybe_batch([*example, number], keep, batch_size, threads_per_queue)
        return list(found), kept


def _shares_so_far(classes: Tensor, count: int) -> Tensor:
    """Return the share of each class in the examples so far."""
    start = np.full(count, _SMOOTHING, np.int64)
    seen = Variable(start, trainable=False, name="class_count")
    now = picking.one_hot(arrays.reshape(classes, [-1]), count, dtype=int64)
    total = seen.assign_add(reductions.reduce_sum(now, 0))
    share = math.truediv(total, reductions.reduce_sum(total))
    found: Tensor = math.cast(share, float32)
    return found


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Any,
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Return batches of examples, each kept with a probability that a function computes."""
    with name_scope(name, "rejection_sample"):
        alone = batch(list(tensors), 1, prebatch_threads, prebatch_capacity, enqueue_many)
        listed = list(alone) if isinstance(alone, (list, tuple)) else [alone]
        example = [arrays.squeeze(each, [0]) for each in listed]
        keep = math.less(draws.uniform([]), accept_prob_fn(example))
        found = maybe_batch(example, keep, batch_size, queue_threads)
        return list(found) if isinstance(found, (list, tuple)) else [found]
