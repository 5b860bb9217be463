# SPDX-License-Identifier: Apache-2.0
"""Feature specifications: names, kinds, shapes and dtypes of the data in records.

An invalid specification is an error at construction, not at the first record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..arguments import check_fields, shown
from . import builders
from .column_spec import (
    KINDS,
    SPARSE,
    ColumnSpec,
    Feature,
    ItemSpec,
    Planner,
    ReadPlan,
    as_dtype,
    as_shape,
    check_feature,
    column_of,
    default_array,
    encode_key,
    key_of,
    list_dtype,
    serialize_default,
)
from .raw import RawFeature
from .row_partitions import Partition

__all__ = [
    "Feature",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "RawFeature",
    "SequenceFeatures",
    "SparseFeature",
    "VarLenFeature",
]


@dataclass(frozen=True)
class FixedLenFeature(Feature):
    """A fixed number of values in every record.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one record's values; ``()`` for a scalar.
    dtype : dtype-like
        ``np.int64``, ``np.float32`` or ``bytes``; or another integer, bool or float dtype, in
        which int64 values are range-checked and float values rounded.
    default_value : array-like, optional
        Used for records that lack the feature. An empty list does not count as missing: it has the
        wrong number of values.

    Raises
    ------
    TypeError, ValueError
        If no record could match.

    Examples
    --------
    >>> import fastrec
    >>> records = [fastrec.encode_example({"x": [1.0, 2.0]}), fastrec.encode_example({})]
    >>> feature = fastrec.FixedLenFeature((2,), "float32", default_value=[0.0, 0.0])
    >>> fastrec.parse_example(records, {"x": feature})["x"]
    array([[1., 2.],
           [0., 0.]], dtype=float32)
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "shape", as_shape(self.shape))
        self._columns(b"")

    def _columns(self, key: bytes) -> ItemSpec:
        column = column_of(key, self.dtype, shape=self.shape)
        if self.default_value is not None:
            fallback = serialize_default(self.default_value, column.kind, column.dtype, self.shape)
            column = column._replace(fallback=fallback)
        return (column,), None


@dataclass(frozen=True)
class VarLenFeature(Feature):
    """Any number of values in each record, as a :class:`~fastrec.Sparse`.

    The batch has shape ``(records, most values)`` and value ``j`` of record ``i`` is at ``[i, j]``.
    In a feature list of a SequenceExample it is ``(records, most frames, most values)``.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`FixedLenFeature`.

    Examples
    --------
    >>> import fastrec
    >>> records = [fastrec.encode_example({"x": [1, 2]}), fastrec.encode_example({"x": 3})]
    >>> found = fastrec.parse_example(records, {"x": fastrec.VarLenFeature("int64")})["x"]
    >>> found.indices.tolist(), found.values, found.dense_shape
    ([[0, 0], [0, 1], [1, 0]], array([1, 2, 3]), (2, 2))
    """

    dtype: Any

    def __post_init__(self) -> None:
        check_fields(self)
        list_dtype(self.dtype)

    def _columns(self, key: bytes) -> ItemSpec:
        return (column_of(key, self.dtype, ragged=True),), SPARSE

    def _frame_columns(self, key: bytes) -> ItemSpec:
        return (column_of(key, self.dtype, ragged=True, frames=True),), SPARSE


@dataclass(frozen=True)
class SparseFeature(Feature):
    """Values and their indices, which each record stores in two or more features.

    Parameters
    ----------
    index_key : str or list of str
        The int64 features with the index of each value, one per dimension.
    value_key : str
        The feature with the values.
    dtype : dtype-like
        The dtype of the values, as for :class:`FixedLenFeature`.
    size : int or list of int
        The size of each dimension. As in TensorFlow, indices are not checked against it.
    already_sorted : bool
        Whether to keep the order of the record. Otherwise values are sorted by index, and values
        with equal indices keep their order.

    Raises
    ------
    TypeError, ValueError
        If the arguments contradict each other.

    Examples
    --------
    >>> import fastrec
    >>> record = fastrec.encode_example({"at": [4, 1], "value": [0.5, 0.25]})
    >>> feature = fastrec.SparseFeature("at", "value", "float32", size=6)
    >>> found = fastrec.parse_example([record], {"x": feature})["x"]
    >>> found.indices.tolist(), found.values, found.dense_shape
    ([[0, 1], [0, 4]], array([0.25, 0.5 ], dtype=float32), (1, 6))
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        keys, sizes = self._dimensions()
        if len(keys) != len(sizes) or not keys:
            raise ValueError(
                f"index_key {self.index_key!r} and size {self.size!r} must have the "
                "same number of dimensions, at least one"
            )
        self._columns(b"")

    def _dimensions(self) -> tuple[list[bytes], tuple[int, ...]]:
        one = isinstance(self.index_key, (str, bytes))
        if one != isinstance(self.size, (int, np.integer)):
            raise TypeError("index_key and size must both be single values, or both be lists")
        if not isinstance(self.index_key, (str, bytes, list, tuple)):
            kind = type(self.index_key).__name__
            raise TypeError(f"index_key must be a str or a list of str, got {kind}")
        keys = [self.index_key] if one else list(self.index_key)
        return [key_of(key, "index_key") for key in keys], as_shape(self.size, "size")

    def _columns(self, key: bytes) -> ItemSpec:
        keys, sizes = self._dimensions()
        indices = [ColumnSpec(index, "int64", np.dtype(np.int64), ragged=True) for index in keys]
        values = column_of(key_of(self.value_key, "value_key"), self.dtype, ragged=True)
        build = builders.SparseBuild(sizes, bool(self.already_sorted), values.key)
        return (*indices, values), build


@dataclass(frozen=True)
class RaggedFeature(Feature):
    """Any number of values in each record, as a :class:`~fastrec.Ragged`; zero if it is missing.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`FixedLenFeature`.
    value_key : str, optional
        The feature with the values; the name of this one by default.
    partitions : sequence of partition
        How the values of a record are cut into rows, outermost first:
        ``RaggedFeature.RowSplits(key)``, ``RowLengths(key)``, ``RowStarts(key)``,
        ``RowLimits(key)``, ``ValueRowIds(key)``, which name int64 features, and
        ``UniformRowLength(length)``. Uniform rows at the end become dimensions of the values.
    row_splits_dtype : dtype-like
        ``np.int64`` (the default, not copied) or ``np.int32``.
    validate : bool
        Accepted for compatibility: partitions are always validated.

    Examples
    --------
    >>> from fastrec import encode_example, parse_example
    >>> record = encode_example({"values": [3, 1, 4, 1, 5], "lengths": [2, 0, 3]})
    >>> partitions = [RaggedFeature.RowLengths("lengths")]
    >>> feature = RaggedFeature(np.int64, "values", partitions)
    >>> parse_example([record], {"rows": feature})["rows"].to_list()
    [[[3, 1], [], [4, 1, 5]]]
    """

    dtype: Any
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: Any = np.int64
    validate: bool = False

    RowSplits: ClassVar[Callable[[str], Partition]] = Partition.row_splits
    RowLengths: ClassVar[Callable[[str], Partition]] = Partition.row_lengths
    RowStarts: ClassVar[Callable[[str], Partition]] = Partition.row_starts
    RowLimits: ClassVar[Callable[[str], Partition]] = Partition.row_limits
    ValueRowIds: ClassVar[Callable[[str], Partition]] = Partition.value_rowids
    UniformRowLength: ClassVar[Callable[[int], Partition]] = Partition.uniform_row_length

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.partitions, (list, tuple)):
            raise TypeError(f"partitions must be a list or tuple, got {shown(self.partitions)}")
        object.__setattr__(self, "partitions", tuple(map(_as_partition, self.partitions)))
        if as_dtype(self.row_splits_dtype, "row_splits_dtype") not in (
            np.dtype(np.int32),
            np.dtype(np.int64),
        ):
            raise ValueError(
                f"row_splits_dtype must be int32 or int64, got {self.row_splits_dtype!r}"
            )
        self._columns(b"")

    def _columns(self, key: bytes, frames: bool = False) -> ItemSpec:
        value_key = key if self.value_key is None else key_of(self.value_key, "value_key")
        values = column_of(value_key, self.dtype, ragged=True, frames=frames)
        splits = as_dtype(self.row_splits_dtype)
        if not self.partitions:
            same = splits == np.dtype(np.int64)
            return (values,), None if same else builders.RaggedBuild((), (), splits, frames)
        int64 = np.dtype(np.int64)
        keyed = [
            ColumnSpec(part.key, "int64", int64, ragged=True, frames=frames)
            for part in self.partitions
            if part.key is not None
        ]
        names = (*(column.key for column in keyed), value_key)
        return (*keyed, values), builders.RaggedBuild(self.partitions, names, splits, frames)

    def _frame_columns(self, key: bytes) -> ItemSpec:
        return self._columns(key, frames=True)


def _as_partition(part: Any) -> Partition:
    """Return a Partition of fastrec, or convert one of TensorFlow."""
    if isinstance(part, Partition):
        return part
    name = type(part).__name__
    if name == "UniformRowLength" and hasattr(part, "length"):
        return Partition.uniform_row_length(part.length)
    if name in Partition.KINDS and hasattr(part, "key"):
        return Partition(name, key_of(part.key, "the key of a partition"))
    raise TypeError(
        f"partitions must be RaggedFeature.RowSplits(key) or its like, got {shown(part)}"
    )


@dataclass(frozen=True)
class FixedLenSequenceFeature(Feature):
    """Any number of rows of one shape, padded to the longest in the batch.

    In an Example the values of the feature are divided into rows, and `allow_missing` must be True.
    In a feature list of a SequenceExample each frame is a row.

    Parameters
    ----------
    shape : int or sequence of int
        The shape of one row.
    dtype : dtype-like
        As for :class:`FixedLenFeature`.
    allow_missing : bool
        Whether a record may lack the feature; it then has 0 rows.
    default_value : scalar, optional
        The padding, 0 or ``b""`` by default. Only in an Example.

    Examples
    --------
    >>> import fastrec
    >>> records = [fastrec.encode_example({"x": x}) for x in ([1, 2, 3, 4], [5, 6])]
    >>> feature = fastrec.FixedLenSequenceFeature((2,), "int64", True, default_value=-1)
    >>> fastrec.parse_example(records, {"x": feature})["x"].tolist()
    [[[1, 2], [3, 4]], [[5, 6], [-1, -1]]]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "shape", as_shape(self.shape))
        if 0 in self.shape:
            raise ValueError(f"shape must have no dimension of 0, got {self.shape}")
        self._padding()

    def _padding(self) -> Any:
        dtype = list_dtype(self.dtype)
        if self.default_value is None:
            return None
        kind = KINDS[dtype.kind]
        array = default_array(self.default_value, kind, dtype, (1,))
        serialize_default(array, kind, dtype, (1,))
        value = array.reshape(-1)[0]
        return value.encode() if isinstance(value, str) else value

    def _columns(self, key: bytes) -> ItemSpec:
        if not self.allow_missing:
            raise ValueError("a FixedLenSequenceFeature of an Example requires allow_missing=True")
        build = builders.PaddedBuild(self.shape, self._padding(), key)
        return (column_of(key, self.dtype, ragged=True),), build

    def _frame_columns(self, key: bytes) -> ItemSpec:
        if self.default_value is not None:
            raise ValueError("in a feature list, default_value must be None")
        fallback = b"" if self.allow_missing else None
        column = column_of(key, self.dtype, shape=self.shape, frames=True, fallback=fallback)
        return (column,), builders.padded_frames


@dataclass(frozen=True)
class SequenceFeatures:
    """Features of a ``tf.train.SequenceExample``: `features` of a :class:`~fastrec.Batcher`.

    Parameters
    ----------
    context, sequence : mapping of str to feature
        As `context_features` and `sequence_features` of :func:`~fastrec.parse_sequence_example`.

    Examples
    --------
    >>> import numpy as np, fastrec
    >>> features = fastrec.SequenceFeatures(
    ...     context={"label": fastrec.FixedLenFeature((), np.int64)},
    ...     sequence={"frame": fastrec.RaggedFeature(np.float32)},
    ... )
    """

    context: Mapping[str, Feature] = field(default_factory=dict)
    sequence: Mapping[str, Feature] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.context and not self.sequence:
            raise ValueError("SequenceFeatures requires context, sequence, or both")
        plan_context(self.context)
        plan_frames(self.sequence)


def plan_example(features: Mapping[str, Feature]) -> ReadPlan:
    """Plan the reading of an Example, or of the context of a SequenceExample."""
    if not isinstance(features, Mapping):
        is_sequence = isinstance(features, SequenceFeatures)
        hint = "; parse_sequence_example and Batcher read SequenceExamples" if is_sequence else ""
        kind = type(features).__name__
        raise TypeError(f"features must map names to features, got {kind}{hint}")
    if not features:
        raise ValueError("features is empty: name at least one feature")
    planner = Planner()
    for key, feature in features.items():
        planner.add(key, check_feature(key, feature)._columns(encode_key(key)))
    return planner.plan()


def plan_context(features: Mapping[str, Feature]) -> ReadPlan:
    """Plan as :func:`plan_example`; `features` may be empty."""
    return plan_example(features) if features else ReadPlan((), ())


def plan_frames(features: Mapping[str, Feature]) -> ReadPlan:
    """Plan the reading of feature lists.

    The number of frames of each padded feature ``name`` is an output named ``(name,)``.
    """
    if not isinstance(features, Mapping):
        raise TypeError(f"features must map names to features, got {type(features).__name__}")
    planner = Planner()
    for key, feature in features.items():
        columns, build = check_feature(key, feature)._frame_columns(encode_key(key))
        planner.add(key, (columns, build))
        if isinstance(feature, FixedLenSequenceFeature):
            planner.add((key,), (columns, builders.frame_counts))
    return planner.plan()


def plan_frame_rows(features: Mapping[str, Feature]) -> ReadPlan:
    """Plan as :func:`plan_frames`; a FixedLenSequenceFeature is its frames, without padding."""
    planner = Planner()
    for key, feature in features.items():
        columns, build = check_feature(key, feature)._frame_columns(encode_key(key))
        rows = isinstance(feature, FixedLenSequenceFeature)
        planner.add(key, (columns, None if rows else build))
    return planner.plan()
