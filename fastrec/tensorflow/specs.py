# SPDX-License-Identifier: Apache-2.0
"""Element specs of a Batcher, from its options alone, and of a dataset of fastrec.compat.v2."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from .. import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    ImageFeature,
    JsonFeature,
    RaggedFeature,
    RawFeature,
    SequenceFeatures,
    SparseFeature,
    VarLenFeature,
)
from ..columns import Arrays, Bytes, Ragged, Sparse
from ..features.media import MediaBuild
from .leaves import as_array, pack, walk

__all__ = ["spec_of_batcher", "spec_of_compat", "spec_of_value"]


def spec_of_batcher(batcher: Any) -> Any:
    """Return the structure of TypeSpecs of a Batcher's batches.

    Raises
    ------
    ValueError
        When the Batcher has a transform, or the shape of a feature differs between records.
    """
    options = batcher._options
    if options.transform is not None:
        raise ValueError("the element spec of a Batcher with a transform must be given")
    rows: tuple[int | None, ...] = ()
    if options.batch_size is not None:
        buckets = options.buckets
        dealt = buckets is not None and buckets.tokens is not None
        fixed = options.drop_remainder and options.on_error in ("raise", "tolerate_tail")
        rows = (options.batch_size if fixed and not dealt else None,)
    features = options.features
    if features is None:
        return tf.TensorSpec(rows, tf.string)
    if isinstance(features, SequenceFeatures):
        return _sequence_specs(features, rows)
    specs = {name: _spec(name, feature, rows) for name, feature in features.items()}
    for name, augment in options.augment.items():
        shape = list(specs[name].shape)
        if augment.shape is not None:
            shape[-3:-1] = augment.shape
        specs[name] = tf.TensorSpec(shape, tf.float32 if augment.floats else specs[name].dtype)
    for name, feature in features.items() if rows else ():
        sizes = list(specs[name].shape)[-3:]
        if isinstance(feature, ImageFeature) and sizes.count(None) > 1:
            raise ValueError(
                f"feature {name!a} must have a shape, because the images of a batch become one "
                "tensor, got shape=None: pass shape=(height, width) and fit= to the ImageFeature, "
                "or an Augment with a shape"
            )
    if options.buckets is not None:
        for name, spec in list(specs.items()):
            if isinstance(spec, tf.RaggedTensorSpec) and _is_padded(spec):
                specs[name] = tf.TensorSpec((*rows, None, *spec.shape[2:]), spec.dtype)
                specs[f"{name}/length"] = tf.TensorSpec(rows, tf.int64)
    return specs


def _is_padded(spec: Any) -> bool:
    return bool(spec.ragged_rank == 1 and spec.dtype != tf.string)


def _dtype(column: Any) -> Any:
    return tf.string if column.kind == "bytes" and not column.raw else tf.as_dtype(column.dtype)


def _spec(name: str, feature: Any, rows: tuple[int | None, ...]) -> Any:
    """Return the spec of one feature of an Example, for batches of `rows` or for one record."""
    if isinstance(feature, ImageFeature):
        return _image_spec(feature, rows)
    if isinstance(feature, RaggedFeature):
        return _ragged_spec(feature, rows)
    if isinstance(feature, JsonFeature):
        # It is like the feature with the same values in the record itself.
        like = RaggedFeature if feature.shape is None else partial(FixedLenFeature, feature.shape)
        return _spec(name, like(feature.dtype), rows)
    columns, build = feature._columns(b"")
    if isinstance(build, MediaBuild):
        return _media_spec(name, build, rows)
    column = columns[-1]
    dtype = _dtype(column)
    if isinstance(feature, VarLenFeature):
        return tf.SparseTensorSpec((*rows, None), dtype)
    if isinstance(feature, SparseFeature):
        _, sizes = feature._dimensions()
        return tf.SparseTensorSpec((*rows, *sizes), dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        return tf.TensorSpec((*rows, None, *feature.shape), dtype)
    if isinstance(feature, RawFeature) and column.ragged:
        if feature.shape is not None:
            raise ValueError(
                f"feature {name!a} has a shape of its own in each record, which no tensor of a "
                "batch has: give it `pad` or `crop_or_pad`"
            )
        return tf.RaggedTensorSpec((*rows, None), dtype) if rows else tf.TensorSpec((None,), dtype)
    return tf.TensorSpec((*rows, *column.shape), dtype)


def _media_spec(name: str, build: MediaBuild, rows: tuple[int | None, ...]) -> Any:
    if build.inner is None:
        raise ValueError(
            f"feature {name!a} has a shape of its own in each record, which no tensor of a batch "
            "has: give the AudioFeature channels=, or the VideoFeature shape= and fit="
        )
    shape, dtype = (*rows, build.length, *build.inner), tf.as_dtype(build.dtype)
    is_ragged = build.length is None and rows
    return tf.RaggedTensorSpec(shape, dtype, 1) if is_ragged else tf.TensorSpec(shape, dtype)


def _image_spec(feature: Any, rows: tuple[int | None, ...]) -> Any:
    sizes = feature.shape or (None, None)
    fields = feature._fields()
    dtype = tf.as_dtype(str(feature.dtype or "uint8") if fields is None else fields["dtype"])
    channels = feature.channels
    image = (channels, *sizes) if feature.channels_first else (*sizes, channels)
    if not feature.ragged:
        return tf.TensorSpec((*rows, *image), dtype)
    shape = (*rows, None, *image)
    return tf.RaggedTensorSpec(shape, dtype, 1) if rows else tf.TensorSpec(shape, dtype)


def _ragged_spec(feature: Any, rows: tuple[int | None, ...], frames: bool = False) -> Any:
    columns, _ = feature._columns(b"", frames=frames)
    partitions = list(feature.partitions)
    inner: list[int] = []
    while partitions and partitions[-1].key is None:
        inner.insert(0, partitions.pop().length)
    variable = 1 + frames + len(partitions)
    shape = (*rows, *[None] * variable, *inner)
    rank = len(rows) + variable - 1
    dtype = _dtype(columns[-1])
    if rank == 0:
        return tf.TensorSpec(shape, dtype)
    return tf.RaggedTensorSpec(shape, dtype, rank, tf.as_dtype(np.dtype(feature.row_splits_dtype)))


def _sequence_specs(features: Any, rows: tuple[int | None, ...]) -> Any:
    context = {name: _spec(name, each, rows) for name, each in features.context.items()}
    lists: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for name, feature in features.sequence.items():
        if isinstance(feature, RaggedFeature):
            lists[name] = _ragged_spec(feature, rows, frames=True)
            continue
        columns, _ = feature._frame_columns(b"")
        dtype = _dtype(columns[-1])
        if isinstance(feature, FixedLenSequenceFeature):
            lists[name] = tf.TensorSpec((*rows, None, *feature.shape), dtype)
            lengths[name] = tf.TensorSpec(rows, tf.int64)
        else:
            lists[name] = tf.SparseTensorSpec((*rows, None, None), dtype)
    return context, lists, lengths


def spec_of_value(value: Any, rows: int | None) -> Any:
    """Return the structure of specs of a batch that is like `value`, with `rows` rows.

    All dimensions but the first are those of `value`.
    """
    return pack(value, iter([_spec_of_leaf(each, rows) for _, each in walk(value)]))


def _spec_of_leaf(value: Any, rows: int | None) -> Any:
    if value is None:
        return tf.type_spec_from_value(None)
    if isinstance(value, Ragged):
        rank, values = 1, value.values
        while isinstance(values, Ragged):
            rank, values = rank + 1, values.values
        inner = () if isinstance(values, Bytes) else values.shape[1:]
        shape = (rows, *[None] * rank, *inner)
        dtype = tf.string if isinstance(values, Bytes) else tf.as_dtype(values.dtype)
        return tf.RaggedTensorSpec(shape, dtype, rank, tf.as_dtype(value.row_splits.dtype))
    if isinstance(value, Sparse):
        dtype = as_array(value.values).dtype
        shape = (rows, *[None] * (len(value.dense_shape) - 1))
        return tf.SparseTensorSpec(shape, tf.string if dtype.hasobject else tf.as_dtype(dtype))
    if isinstance(value, Arrays):
        raise ValueError(
            f"{value!r} has no common shape, which a tensor requires: the transform must pad it"
        )
    array = as_array(value)
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    return tf.TensorSpec((rows, *array.shape[1:]) if array.ndim else (), dtype)


def spec_of_compat(spec: Any) -> Any:
    """Return TensorFlow's specs for a structure of specs of fastrec.compat.v2.

    Raises
    ------
    TypeError
        For what is not a tensor, such as a dataset of datasets.
    """
    return pack(spec, iter([_translated(name, each) for name, each in walk(spec)]))


def _translated(name: str, spec: Any) -> Any:
    kind = type(spec).__name__
    if kind == "NoneTensorSpec":
        return tf.type_spec_from_value(None)
    if kind not in ("TensorSpec", "RaggedTensorSpec", "SparseTensorSpec"):
        raise TypeError(f"{name} must be a dense, ragged or sparse tensor, got {spec!r}")
    shape, dtype = _sizes(spec), tf.as_dtype(spec.dtype.name)
    if kind == "SparseTensorSpec":
        return tf.SparseTensorSpec(shape, dtype)
    if kind == "TensorSpec":
        return tf.TensorSpec(shape, dtype, spec.name)
    splits = tf.as_dtype(spec.row_splits_dtype.name)
    return tf.RaggedTensorSpec(shape, dtype, spec.ragged_rank, splits)


def _sizes(spec: Any) -> Any:
    sizes = spec.shape.sizes
    return None if sizes is None else list(sizes)
