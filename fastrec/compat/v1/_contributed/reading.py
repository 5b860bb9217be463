# SPDX-License-Identifier: Apache-2.0
"""The functions of ``tf.contrib.learn`` that read batches with queue runners, and
``tf.contrib.data``, whose functions later moved to ``tf.data.experimental``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tf.names import found
from ..batching import batch_join, shuffle_batch_join, string_input_producer
from ..file_ops import match_filenames_once
from ..string_ops import parsers


def read_batch_examples(
    file_pattern: Any,
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return batches of records from files, as strings or as results of `parse_fn`."""
    names = string_input_producer(
        match_filenames_once(file_pattern),
        num_epochs=num_epochs,
        shuffle=randomize_input,
        seed=seed,
        name="input",
    )

    def read() -> list[Any]:
        if read_batch_size > 1:
            records = reader().read_up_to(names, read_batch_size)[1]
        else:
            records = reader().read(names)[1]
        return [records if parse_fn is None else parse_fn(records)]

    read_lists = [read() for _ in range(num_threads)]
    how: dict[str, Any] = {
        "batch_size": batch_size,
        "capacity": queue_capacity,
        "enqueue_many": read_batch_size > 1,
        "allow_smaller_final_batch": num_epochs is not None,
        "name": name,
    }
    if randomize_input:
        least = int(queue_capacity * 0.4)
        return shuffle_batch_join(read_lists, min_after_dequeue=least, seed=seed, **how)
    return batch_join(read_lists, **how)


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of the features of Examples from files."""
    records = read_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads,
        read_batch_size,
        parse_fn,
        name,
    )
    return parsers.parse_example(records, features)


def batch_and_drop_remainder(batch_size: Any) -> Any:
    """Return a transformation for ``apply`` that creates full batches only."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Any:
    """Return a transformation for ``apply`` that creates full, padded batches only."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sliding_window_batch(
    window_size: int,
    stride: int | None = None,
    window_shift: int | None = None,
    window_stride: int = 1,
) -> Any:
    """Return a transformation for ``apply`` that creates batches with overlapping elements."""
    shift = window_shift or stride or 1

    def joined(*parts: Any) -> Any:
        from .._datasets import Dataset

        whole = Dataset.zip(parts) if len(parts) > 1 else parts[0]
        return whole.batch(window_size)

    return lambda dataset: dataset.window(window_size, shift, window_stride, True).flat_map(joined)


def next_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """Return tensors of the next batch of parsed Examples from the files of a pattern."""
    dataset = found("v1", "data.experimental", "make_batched_features_dataset")(
        file_pattern,
        batch_size,
        features,
        reader,
        None,
        reader_args,
        num_epochs,
        randomize_input,
        capacity,
    )
    return dataset.make_one_shot_iterator().get_next()
