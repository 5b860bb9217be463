# SPDX-License-Identifier: Apache-2.0
"""Features of Examples in TensorFlow's terms, checked by TensorFlow's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

import fastrec
from fastrec.features.row_partitions import Partition

from .arrays import make_array
from .dtypes import DType, as_dtype, float32, int32, int64, string
from .shape import as_shape


class VarLenFeature(NamedTuple):
    """Any number of values in each record: a sparse tensor."""

    dtype: Any


class FixedLenFeature(NamedTuple):
    """The same number of values in every record: a dense tensor."""

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """Any number of rows of one shape: a dense tensor, padded to the longest in the batch."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """Values and their indices, which each record stores in several features: a sparse tensor."""

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


class _Ragged(NamedTuple):
    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = int32
    validate: bool = False


class RaggedFeature(_Ragged):
    """Any number of values in each record, divided into rows by other features: a ragged tensor."""

    __slots__ = ()

    RowSplits: Final = Partition.row_splits
    RowLengths: Final = Partition.row_lengths
    RowStarts: Final = Partition.row_starts
    RowLimits: Final = Partition.row_limits
    ValueRowIds: Final = Partition.value_rowids
    UniformRowLength: Final = Partition.uniform_row_length

    def __new__(
        cls,
        dtype: Any,
        value_key: Any = None,
        partitions: Any = (),
        row_splits_dtype: Any = int32,
        validate: bool = False,
    ) -> RaggedFeature:
        """Check the arguments.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid, with TensorFlow's message.
        """
        element, splits = as_dtype(dtype), as_dtype(row_splits_dtype)
        if element not in (int64, float32, string):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes; got {dtype!r}")
        if value_key is not None:
            if not isinstance(value_key, str):
                raise ValueError(f"Argument `value_key` must be a string; got {value_key!r}")
            if not value_key:
                raise ValueError("Argument `value_key` must not be empty")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(
                f"Argument `partitions` must be a list or tuple. Received partitions={partitions}"
            )
        if splits not in (int32, int64):
            raise ValueError(
                f"Argument `row_splits_dtype` must be int32 or int64; got{row_splits_dtype!r}"
            )
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must be a bool; got {validate!r}")
        return super().__new__(cls, element, value_key, tuple(partitions), splits, validate)

    def native(self, key: str) -> fastrec.RaggedFeature:
        """Convert to the feature class of fastrec."""
        return fastrec.RaggedFeature(
            self.dtype.numpy if self.dtype is not string else bytes,
            key if self.value_key is None else self.value_key,
            self.partitions,
            self.row_splits_dtype.numpy,
        )


class Dense(NamedTuple):
    """One tensor of known rank."""

    key: Any
    feature: fastrec.FixedLenFeature | fastrec.FixedLenSequenceFeature
    dtype: DType
    shape: tuple[int, ...]
    rows: bool = False


class Sparse(NamedTuple):
    """A sparse tensor."""

    key: Any
    feature: fastrec.VarLenFeature | fastrec.SparseFeature
    dtype: DType
    rank: int = 1


class Ragged(NamedTuple):
    """A ragged tensor, or a dense one if only the values of one record are ragged."""

    key: Any
    feature: fastrec.RaggedFeature
    dtype: DType
    splits: DType
    levels: int
    inner: tuple[int, ...]


class Checked(NamedTuple):
    """Checked features, in the order in which TensorFlow lists their tensors."""

    sparse: list[Sparse]
    dense: list[Dense]
    ragged: list[Ragged]

    @property
    def features(self) -> dict[Any, Any]:
        """Return the features as fastrec's classes."""
        items: list[Any] = [*self.sparse, *self.dense, *self.ragged]
        return {item.key: item.feature for item in items}


_PLACES = {"dense": "dense_defaults", "sparse": "sparse_types"}


def _element(key: Any, feature: Any, what: str) -> DType:
    if not feature.dtype:
        end = "." if isinstance(feature, FixedLenFeature) else ""
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}{end}")
    dtype = as_dtype(feature.dtype)
    if dtype not in (int64, float32, string):
        raise TypeError(
            f"Value passed to parameter '{_PLACES[what]}' has DataType {dtype.name} not in list of "
            f"allowed values: float32, int64, string"
        )
    return dtype


def _native(dtype: DType) -> Any:
    return bytes if dtype is string else dtype.numpy


def _sizes(key: Any, feature: Any, what: str = "All dimensions") -> tuple[int, ...]:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = as_shape(feature.shape)
    sizes = shape.as_list()
    if sizes and sizes[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            f"FixedLenSequenceFeature. Received feature={feature}."
        )
    if None in sizes:
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape!s}."
        )
    return tuple(size for size in sizes if size is not None)


def _default(key: Any, value: Any, dtype: DType, sizes: tuple[int, ...]) -> Any:
    """Return the default value with the right type and number of elements."""
    if value is None:
        return None
    if hasattr(value, "constant_value"):  # for example default_value=tf.zeros([])
        value = value.constant_value()
    array = make_array(value, dtype)
    total = int(np.prod(sizes, dtype=np.int64))
    if array.size != total:
        wanted = ",".join(str(n) for n in sizes)
        raise ValueError(
            f"Cannot reshape a tensor with {array.size} elements to shape [{wanted}] ({total} "
            f"elements) for the default value of feature {key}"
        )
    return array.reshape(sizes)


def _dense(key: Any, feature: Any) -> Dense:
    dtype = _element(key, feature, "dense")
    sizes = _sizes(key, feature)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
        filler = _default(key, feature.default_value, dtype, ())
        native: Any = fastrec.FixedLenSequenceFeature(
            sizes, _native(dtype), True, None if filler is None else filler[()]
        )
        return Dense(key, native, dtype, sizes, rows=True)
    default = _default(key, feature.default_value, dtype, sizes)
    if default is not None and dtype is string:
        default = default.tolist()
    native = fastrec.FixedLenFeature(sizes, _native(dtype), default)
    return Dense(key, native, dtype, sizes)


def _sparse(key: Any, feature: Any) -> Sparse:
    if isinstance(feature, VarLenFeature):
        dtype = _element(key, feature, "sparse")
        return Sparse(key, fastrec.VarLenFeature(_native(dtype)), dtype)
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {feature}.")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {feature}.")
    dtype = _element(key, feature, "sparse")
    several = isinstance(feature.index_key, (list, tuple))
    if several and not isinstance(feature.size, (list, tuple)):
        raise TypeError(
            f"vocab_size has to be a list of Tensors or Python ints. Found {type(feature.size)}"
        )
    if several and len(feature.index_key) != len(feature.size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    native = fastrec.SparseFeature(
        list(feature.index_key) if several else feature.index_key,
        feature.value_key,
        _native(dtype),
        list(feature.size) if several else feature.size,
        feature.already_sorted,
    )
    return Sparse(key, native, dtype, len(feature.size) if several else 1)


def _ragged(key: Any, feature: RaggedFeature) -> Ragged:
    native = feature.native(key)
    parts = list(native.partitions)
    inner: list[int] = []
    while parts and parts[-1].kind == "UniformRowLength":
        inner.insert(0, int(parts.pop().length))
    return Ragged(key, native, feature.dtype, feature.row_splits_dtype, len(parts), tuple(inner))


_KINDS = (FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature, RaggedFeature)


def _sorted(features: Mapping[Any, Any], allowed: tuple[type, ...]) -> Checked:
    found = Checked([], [], [])
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, allowed):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}")
        if isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
            found.dense.append(_dense(key, feature))
        elif isinstance(feature, RaggedFeature):
            found.ragged.append(_ragged(key, feature))
        else:
            found.sparse.append(_sparse(key, feature))
    _agree(features, found)
    return found


def _agree(features: Mapping[Any, Any], found: Checked) -> None:
    types: dict[Any, DType] = {}
    for item in found.sparse:
        feature = features[item.key]
        if isinstance(feature, VarLenFeature):
            pairs = [(item.key, item.dtype)]
        else:
            keys = feature.index_key
            indices = list(keys) if isinstance(keys, (list, tuple)) else [keys]
            pairs = [*((k, int64) for k in sorted(indices)), (feature.value_key, item.dtype)]
        for key, dtype in pairs:
            if types.setdefault(key, dtype) is not dtype:
                raise ValueError(f"Conflicting type {types[key]} vs {dtype} for feature {key}.")
    dense = {item.key for item in found.dense}
    ragged = {features[item.key].value_key or item.key for item in found.ragged}
    _disjoint("Dense and sparse", ("dense_keys", dense), ("sparse_keys", set(types)))
    _disjoint("Dense and ragged", ("dense_keys", dense), ("ragged_keys", ragged))
    _disjoint("Sparse and ragged", ("sparse_keys", set(types)), ("ragged_keys", ragged))


def _disjoint(which: str, one: tuple[str, set[Any]], other: tuple[str, set[Any]]) -> None:
    both = one[1] & other[1]
    if both:
        raise ValueError(
            f"{which} keys must not intersect; {one[0]}: {sorted(one[1])}, {other[0]}: "
            f"{sorted(other[1])}, intersection: {both}"
        )


def checked_example(features: Any, single: bool = False) -> Checked:
    """Check the features of an Example.

    Raises
    ------
    ValueError, TypeError
        If a feature is invalid, with TensorFlow's message.
    """
    if not features:
        if single:
            state = "None" if features is None else "empty"
            raise ValueError(f"Invalid argument: features cannot be {state}.")
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    return _sorted(features, _KINDS)


def checked_context(features: Any) -> Checked:
    """Check the features of the context of a SequenceExample."""
    return _sorted(features or {}, (FixedLenFeature, VarLenFeature, RaggedFeature))


def checked_sequence(features: Any) -> Checked:
    """Check the features of the feature lists of a SequenceExample."""
    found = Checked([], [], [])
    allowed = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)
    for key in sorted(features or {}):
        feature = features[key]
        if not isinstance(feature, allowed):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}")
        if isinstance(feature, VarLenFeature):
            found.sparse.append(_sparse(key, feature)._replace(rank=2))
        elif isinstance(feature, RaggedFeature):
            found.ragged.append(_ragged(key, feature))
        else:
            found.dense.append(_frames(key, feature))
    return found


def _frames(key: Any, feature: FixedLenSequenceFeature) -> Dense:
    if feature.default_value is not None:
        raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")
    dtype = _element(key, feature, "dense")
    sizes = _sizes(key, feature)
    native = fastrec.FixedLenSequenceFeature(sizes, _native(dtype), bool(feature.allow_missing))
    return Dense(key, native, dtype, sizes, rows=True)
