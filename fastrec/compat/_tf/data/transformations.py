# SPDX-License-Identifier: Apache-2.0
"""Functions for ``Dataset.apply`` of both API versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..specs import sample
from ..structure import flatten, pack

__all__ = [
    "bucket_by_sequence_length",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_structure",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "prefetch_to_device",
    "rejection_resample",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

Transformation = Callable[[Any], Any]


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Return a function for ``apply`` that drops elements which raise an error."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def snapshot(
    path: str, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None
) -> Transformation:
    """Return a function for ``apply`` that stores elements in files once all have been made."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def unbatch() -> Transformation:
    """Return a function for ``apply`` that splits elements into their rows."""
    return lambda dataset: dataset.unbatch()


def dense_to_ragged_batch(
    batch_size: int, drop_remainder: bool = False, row_splits_dtype: Any = np.int64
) -> Transformation:
    """Return a function for ``apply`` that batches elements, ragged where lengths differ."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size: int, row_shape: Any) -> Transformation:
    """Return a function for ``apply`` that combines dense elements into sparse batches."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def prefetch_to_device(device: Any, buffer_size: int | None = None) -> Transformation:
    """Return a function for ``apply`` that makes elements ahead of time, without moving them."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """Return a function for ``apply`` that returns the dataset unchanged."""
    return lambda dataset: dataset


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the specs of the parts of an element."""
    return dataset_or_iterator.element_spec


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    """Return a function for ``apply`` that shuffles the dataset and repeats it."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Return a transformation for ``apply`` that maps a function and batches its results.

    By default a whole batch is mapped in parallel.

    Raises
    ------
    ValueError
        If both `num_parallel_batches` and `num_parallel_calls` are given.
    """
    if num_parallel_calls is None:
        batches = 1 if num_parallel_batches is None else num_parallel_batches
        num_parallel_calls = batch_size * batches if isinstance(batch_size, int) else -1
    elif num_parallel_batches is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            "be set, but both were set."
        )
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Return a function for ``apply`` that takes turns among the datasets of elements."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Transformation:
    """Return a function for ``apply`` that pads a dataset of dicts to `cardinality` elements.

    Raises
    ------
    ValueError
        If elements are not dicts, or their number is unknown or greater than `cardinality`.
    """

    def padded(dataset: Any) -> Any:
        specs = dataset.element_spec
        if not isinstance(specs, dict):
            raise ValueError(
                "`pad_to_cardinality` requires its input dataset to be a dictionary, but it has "
                f"elements of {specs}."
            )
        have, text = dataset._node.cardinality(), "The dataset passed into `pad_to_cardinality`"
        if have < 0:
            raise ValueError(f"{text} must have a known cardinalty, but has cardinality {have}")
        if have > cardinality:
            raise ValueError(
                f"{text} must have a cardinalty less than the target cardinality "
                f"({cardinality}), but has cardinality {have}"
            )
        structure, parts = flatten(specs)
        filler = pack(structure, [sample(part, 0, 0) for part in parts])
        marked = dataset.map(lambda element: {**element, mask_key: True})
        rest = type(dataset).from_tensors({**filler, mask_key: False}).repeat(cardinality - have)
        return marked.concatenate(rest)

    return padded


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """For ``apply``: :meth:`Dataset.bucket_by_sequence_length`."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """For ``apply``: :meth:`Dataset.group_by_window`."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Transformation:
    """For ``apply``: :meth:`Dataset.rejection_resample`."""
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """For ``apply``: :meth:`Dataset.scan`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """For ``apply``: :meth:`Dataset.take_while`."""
    return lambda dataset: dataset.take_while(predicate)


def unique() -> Transformation:
    """For ``apply``: :meth:`Dataset.unique`."""
    return lambda dataset: dataset.unique()


def enumerate_dataset(start: int = 0) -> Transformation:
    """For ``apply``: pairs of a number and an element."""
    return lambda dataset: dataset.enumerate(start)
