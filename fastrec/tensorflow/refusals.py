# SPDX-License-Identifier: Apache-2.0
"""Refuse datasets that Keras would read for ever, or that a strategy cannot divide."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from .bridge import SourceDataset

__all__ = ["install"]


def _is_derived(dataset: Any) -> bool:
    """Return whether the elements of a dataset come from a source of fastrec."""
    visited: dict[int, Any] = {}  # zip() of a dataset with itself, repeated, has 2**n paths
    waiting = [getattr(dataset, "_original_dataset", dataset)]  # inside a DistributedDataset
    while waiting:
        dataset = waiting.pop()
        if isinstance(dataset, SourceDataset):
            return True
        if isinstance(dataset, tf.data.Dataset) and id(dataset) not in visited:
            visited[id(dataset)] = dataset
            waiting.extend(dataset._inputs())
    return False


def _check_end(dataset: Any, steps: int | None) -> None:
    if steps is not None or not _is_derived(dataset):
        return
    count = dataset.cardinality
    if int(count() if callable(count) else count) == tf.data.INFINITE_CARDINALITY:
        raise ValueError(
            "the dataset has no end, because its source has epochs=None or repeats for ever: pass "
            "steps_per_epoch= (validation_steps= for validation_data) to fit(), or steps= to "
            "evaluate() and predict()"
        )


def _check_batches(dataset: Any) -> None:
    if not _is_derived(dataset):
        return
    shapes = [getattr(spec, "shape", None) for spec in tf.nest.flatten(dataset.element_spec)]
    if any(shape is not None and shape.rank == 0 for shape in shapes):
        raise ValueError(
            "a strategy divides the rows of batches, and an element of this dataset has none in "
            f"{dataset.element_spec!r}: give the Batcher a batch_size, call batch() on the "
            "dataset, or leave out the columns without rows"
        )


def install() -> None:
    """Have Keras and strategies call the checks of this module.

    Each of them asks for the number of steps, or for the size of a batch, in one private place.
    Without these places, as in a future release, Keras trains for ever, as on any endless dataset,
    and a strategy raises an IndexError.
    """
    try:
        from keras.src.trainers.epoch_iterator import EpochIterator
        from tensorflow.python.data.experimental.ops import distribute

        begin, batch_size = EpochIterator.__init__, distribute.compute_batch_size
    except (ImportError, AttributeError):
        return

    @functools.wraps(begin)
    def begin_epochs(self: Any, x: Any, *args: Any, **options: Any) -> None:
        begin(self, x, *args, **options)
        _check_end(x, self.steps_per_epoch)

    @functools.wraps(batch_size)
    def compute_batch_size(dataset: Any) -> Any:
        _check_batches(dataset)
        return batch_size(dataset)

    EpochIterator.__init__ = begin_epochs
    distribute.compute_batch_size = compute_batch_size
