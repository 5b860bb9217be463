# SPDX-License-Identifier: Apache-2.0
"""Batches in the forms that Keras takes: a ``tf.data.Dataset``, or a ``PyDataset`` of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from .. import Batcher
from ..arguments import check_types
from ..columns import Arrays, Bytes, Ragged, Sparse
from .passes import Columns, Passes, Selection

__all__ = ["dataset"]


def dataset(
    source: Batcher,
    x: Columns = None,
    y: Columns = None,
    sample_weight: Columns = None,
    *,
    steps_per_epoch: int | None = None,
) -> Any:
    """Return the batches of a Batcher in the form that ``fit``, ``evaluate`` and ``predict`` take.

    Each Keras epoch is the next epoch of the Batcher.

    Parameters
    ----------
    source : Batcher
        Its columns must be dense, except on the TensorFlow backend.
    x, y, sample_weight : str, sequence of str, or mapping of str to str, optional
        The columns that are inputs, targets and weights: a name for one array, names for a dict of
        these columns, a mapping from names of the model's inputs or outputs to columns. Without
        `x`, the inputs are a dict of all other columns; without all three, a batch is passed as it
        is, for a `transform` that returns ``(x, y)``.
    steps_per_epoch : int, optional
        Number of batches of a Keras epoch. Each Keras epoch then starts where the last one ended,
        across the epochs of the Batcher. Required if `source` has ``epochs=None``, or if its
        number of batches is unknown.

    Returns
    -------
    tf.data.Dataset or keras.utils.PyDataset
        The former on the TensorFlow backend, where :func:`fastrec.tensorflow.dataset` describes
        the tensors; the latter, of NumPy arrays, on all others.

    Raises
    ------
    TypeError
        When an argument has another type; on iteration, when a column is not dense.
    KeyError
        When a column does not exist.
    ValueError
        When `steps_per_epoch` is required; on iteration, when an epoch has fewer batches than
        expected, because damaged records were skipped.

    Examples
    --------
    >>> batcher = fastrec.Batcher(path, features, 128, shuffle=True, seed=0)  # doctest: +SKIP
    >>> model.fit(dataset(batcher, x="image", y="label"), epochs=10)  # doctest: +SKIP
    """
    if not isinstance(source, Batcher):
        raise TypeError(f"source must be a fastrec.Batcher, got {type(source).__name__}")
    check_types(dataset, locals())
    passes = Passes(source, Selection(x, y, sample_weight), steps_per_epoch)
    if keras.backend.backend() == "tensorflow":
        return _tensorflow_dataset(passes)
    return _Batches(passes)


class _Batches(keras.utils.PyDataset):  # type: ignore[misc]
    """The batches of a pass one after the other, whatever their indices.

    Keras reads :attr:`num_batches` exactly when it makes an iterator, so the batch that follows is
    the first of the next pass.
    """

    def __init__(self, passes: Passes) -> None:
        super().__init__(workers=0)
        self.passes = passes
        self._batches: Iterator[Any] | None = None

    @property
    def num_batches(self) -> int:
        """Batches of the epoch that comes next."""
        self._batches = None
        return self.passes.left

    def __len__(self) -> int:
        return self.passes.length

    def __getitem__(self, index: int) -> Any:
        if self._batches is None:
            self._batches = self.passes.begin()
        return _dense(self.passes.select(next(self._batches)))


def _dense(value: Any, name: str = "the batch") -> Any:
    if isinstance(value, Mapping):
        return {key: _dense(each, f"column {key!r}") for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_dense(each, name) for each in value)
    if isinstance(value, (Ragged, Sparse, Arrays, Bytes)):
        raise TypeError(
            f"{name} must be dense on the {keras.backend.backend()} backend, got {value!r}: pad it "
            "with Buckets or a transform, or leave it out of x, y and sample_weight"
        )
    return np.asarray(value)


def _tensorflow_dataset(passes: Passes) -> Any:
    import tensorflow as tf

    from ..tensorflow.bridge import Feed, SourceDataset
    from ..tensorflow.dataset import spec_of

    batcher = passes.batcher
    feed = Feed(
        batcher,
        passes.begin,
        passes.select(spec_of(batcher)),
        select=passes.select,
        is_exact=batcher._options.transform is None,
    )
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.experimental_optimization.inject_prefetch = (
        False  # would read an epoch that Keras discards
    )
    result = SourceDataset(feed, SourceDataset(feed).with_options(options), length=passes.length)
    result.passes = passes
    return result
