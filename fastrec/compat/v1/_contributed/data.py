# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.data``, whose functions later moved to ``tf.data.experimental``."""

from __future__ import annotations

from typing import Any

from ..._tf.names import found


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


def read_batch_features(
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
