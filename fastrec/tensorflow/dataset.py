# SPDX-License-Identifier: Apache-2.0
"""A Batcher, or a dataset of fastrec.compat.v2, as a tf.data.Dataset and as eager tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from .. import Batcher
from .bridge import Feed, SourceDataset
from .leaves import eager
from .specs import spec_of_batcher, spec_of_compat, spec_of_value

if TYPE_CHECKING:
    from ..compat._tf.data.dataset import Dataset as CompatDataset

__all__ = ["batches", "dataset", "spec_of"]


def _is_compat(source: Any) -> bool:
    """Whether `source` is a dataset of fastrec.compat.v2, which those of version 1 are not."""
    is_compat = type(source).__module__.startswith("fastrec.compat.")
    return is_compat and hasattr(source, "element_spec") and hasattr(source, "cardinality")


def _checked(source: Any) -> Any:
    if not isinstance(source, Batcher) and not _is_compat(source):
        raise TypeError(
            "source must be a fastrec.Batcher or a dataset of fastrec.compat.v2, "
            f"got {type(source).__name__}: pass fastrec.Batcher(source, features, batch_size)"
        )
    return source


def spec_of(source: Any) -> Any:
    """Return the structure of TypeSpecs of the elements of a source.

    If a Batcher has a transform, its first batch is made, and all others must be like it.
    """
    if not isinstance(source, Batcher):
        return spec_of_compat(source.element_spec)
    if source._options.transform is None:
        return spec_of_batcher(source)
    if source._order.streams:
        raise ValueError("element_spec must be given for a transform of a source that is a stream")
    with copy.copy(source) as probe:
        first = next(iter(probe), None)
    if first is None:
        raise ValueError("element_spec must be given for a transform of a source without batches")
    options = source._options
    fixed = options.drop_remainder and options.on_error in ("raise", "tolerate_tail")
    return spec_of_value(first, options.batch_size if fixed else None)


def _cardinality(source: Any) -> int:
    if not isinstance(source, Batcher):
        return int(source.cardinality().numpy())
    if source._options.epochs is None:
        return int(tf.data.INFINITE_CARDINALITY)
    try:
        count = len(source)
    except TypeError:
        return int(tf.data.UNKNOWN_CARDINALITY)
    skips = source._options.on_error not in ("raise", "tolerate_tail")
    unknown = skips or source._batches_left() != count
    return int(tf.data.UNKNOWN_CARDINALITY) if unknown else count


def dataset(source: Batcher | CompatDataset, *, element_spec: Any = None) -> tf.data.Dataset[Any]:
    """Return the batches of a source as a ``tf.data.Dataset``.

    Each iterator is the next epoch. The batches are made by the threads of `source`, ahead of the
    consumer; their arrays become tensors without a copy.

    Parameters
    ----------
    source : Batcher, or dataset of fastrec.compat.v2
    element_spec : structure of tf.TypeSpec, optional
        Types and shapes of the batches of a Batcher with a `transform`. By default its first batch
        is made, and all dimensions but the first are those that it has. A batch that differs is an
        error.

    Returns
    -------
    tf.data.Dataset
        It has the structure, names, dtypes and static shapes of `source`; ragged columns are
        ``RaggedTensor`` and sparse ones ``SparseTensor``. The first dimension is static with
        ``drop_remainder=True``. The cardinality is the number of batches. It is unknown for streams
        and buckets, if records may be skipped, and if `source` will resume within an epoch. The
        auto-shard policy is OFF: pass ``shard=`` to the Batcher instead.

    Raises
    ------
    TypeError
        When `source` has another type, or its elements are not tensors.
    ValueError
        When a feature has another shape in each record, such as an ImageFeature without a shape.
    Exception
        From iterating, also over datasets that are derived from this one, and from ``fit``: the
        exception of `source`. See :class:`original_errors` for sessions of TensorFlow 1.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(4.0), "y": np.arange(4)})
    >>> features = {
    ...     "x": fastrec.FixedLenFeature((), np.float32), "y": fastrec.FixedLenFeature((), np.int64)
    ... }
    >>> pairs = dataset(fastrec.Batcher(path, features, 2)).map(lambda b: (b["x"], b["y"]))
    >>> [y.numpy().tolist() for _, y in pairs]
    [[0, 1], [2, 3]]
    """
    return selected(source, None, element_spec)


def selected(
    source: Any, select: Callable[[Any], Any] | None, element_spec: Any = None
) -> tf.data.Dataset[Any]:
    """Apply `select` to each element and to the element spec; return the new dataset."""
    _checked(source)
    spec = spec_of(source) if element_spec is None else element_spec
    cardinality = _cardinality(source)
    exact = isinstance(source, Batcher) and source._options.transform is None
    feed = Feed(
        source,
        _begin_of(source, cardinality),
        spec if select is None else select(spec),
        select=select,
        is_exact=exact and element_spec is None,
        cardinality=cardinality,
    )
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return SourceDataset(feed, SourceDataset(feed).with_options(options))


def _begin_of(source: Any, cardinality: int) -> Callable[[], Iterator[Any]]:
    if not isinstance(source, Batcher) or cardinality < 0:
        return lambda: iter(source)

    def begin() -> Iterator[Any]:
        left = source._batches_left()
        if left != cardinality:
            raise ValueError(
                f"this pass has {left} batches, and the dataset {cardinality}: call "
                "fastrec.tensorflow.dataset() after Batcher.load_state_dict()"
            )
        return iter(source)

    return begin


def batches(source: Batcher | CompatDataset) -> Iterator[Any]:
    """Iterate over the batches of a source as eager tensors, for a custom training loop.

    Each call is the next epoch. Tensors of numbers are the arrays of the batch, by DLPack and
    without a copy; they own their memory, and can be kept. Strings are copied.

    Parameters
    ----------
    source : Batcher, or dataset of fastrec.compat.v2

    Yields
    ------
    structure of tf.Tensor, tf.RaggedTensor and tf.SparseTensor
        As `source` has it. Arrays that a `transform` returns must not be written to afterwards.

    Raises
    ------
    TypeError
        When `source` has another type, or the shape of a column differs between records.
    Exception
        That of `source`, from iterating.

    Examples
    --------
    >>> for batch in batches(batcher):  # doctest: +SKIP
    ...     train_step(batch["image"], batch["label"])
    """
    return map(eager, _checked(source))
