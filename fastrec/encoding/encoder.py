# SPDX-License-Identifier: Apache-2.0
"""Prepare rows and columns for the core: store shapes and flatten nested lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int, check_types
from ..columns import Ragged
from ..features.column_spec import Feature
from ..features.spec import RaggedFeature
from .check_spec import named_shapes, specs_of

__all__ = ["Encoding"]

Ints = NDArray[np.int64]

# Converts row lengths to the stored numbers of each kind of partition.
_PARTITIONS: dict[str, Callable[[Ints], Ints]] = {
    "RowLengths": lambda lengths: lengths,
    "RowSplits": lambda lengths: np.concatenate([[0], np.cumsum(lengths)]),
    "RowStarts": lambda lengths: np.cumsum(lengths) - lengths,
    "RowLimits": np.cumsum,
    "ValueRowIds": lambda lengths: np.repeat(np.arange(len(lengths)), lengths),
}


class Encoding:
    """Encodes rows and columns by one specification; see :func:`fastrec.encode_example`."""

    def __init__(
        self,
        features: Mapping[str, Feature] | None = None,
        shapes: Mapping[str, str] | None = None,
        threads: int | None = None,
    ) -> None:
        if shapes is not None:
            check_types(Encoding.__init__, {"shapes": shapes})
        if threads is not None:
            check_int("threads", threads, 1, 256)
        self._specs = specs_of(features)
        self._shapes = {**named_shapes(features), **(shapes or {})}
        self._nested = nested_features(features)
        self._threads = threads
        self._encoder = _core.ExampleEncoder(self._specs)

    def straight(self) -> _core.ExampleEncoder | None:
        """Return the encoder of rows; None if rows must be transformed first."""
        return None if self._shapes or self._nested else self._encoder

    def row(self, mapping: Mapping[str, Any]) -> bytes:
        """Encode a mapping as an Example."""
        if self._shapes:
            mapping = _with_shapes(mapping, self._shapes)
        for nested in self._nested:
            if nested.is_in(mapping):
                mapping = _spread(mapping, nested.key, nested.spread(mapping[nested.key]))
        return self._encoder.encode(mapping)

    def columns(self, columns: Mapping[str, Any]) -> _core.Values:
        """Prepare columns for encoding."""
        columns = _columns_by_name(columns)
        if self._shapes:
            columns = _with_shape_columns(columns, self._shapes)
        for nested in self._nested:
            if nested.is_in(columns):
                columns = _spread(columns, nested.key, nested.spread_columns(columns[nested.key]))
        return _core.column_values(columns, self._specs)

    def frames(self, values: _core.Values, turns: int) -> Iterator[tuple[int, Any, int]]:
        """Encode rows for `turns` shards in turn; yield shard, frames, and number of frames."""
        for turn in range(turns):
            for frames, count in values.blocks(turn, turns, self._threads):
                yield turn, frames, count


def _columns_by_name(columns: Any) -> Any:
    """Return the columns of an Arrow table as a mapping; return anything else unchanged."""
    names = getattr(getattr(columns, "schema", None), "names", None)
    if isinstance(columns, Mapping) or not isinstance(names, list):
        return columns
    if len(set(names)) != len(names):
        raise ValueError("two columns of the table have the same name")
    return {name: columns.column(number) for number, name in enumerate(names)}


def _spread(mapping: Mapping[str, Any], key: str, spread: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in mapping.items() if name != key}, **spread}


def _with_shapes(mapping: Mapping[Any, Any], shapes: Mapping[str, str]) -> dict[Any, Any]:
    """Add the shape of each feature in `shapes` to `mapping`, under the name in `shapes`.

    An existing feature with this name is kept.

    Raises
    ------
    ValueError
        If a feature is missing.
    """
    added = dict(mapping)
    for key, name in shapes.items():
        if key not in mapping:
            raise ValueError(f"shapes: feature {key!a} is missing")
        if name not in added:  # an existing feature is kept
            added[name] = list(np.shape(mapping[key]))
    return added


def _with_shape_columns(columns: Mapping[Any, Any], shapes: Mapping[str, str]) -> dict[Any, Any]:
    """Apply :func:`_with_shapes` to every row."""
    added = dict(columns)
    for key, name in shapes.items():
        if key not in columns:
            raise ValueError(f"shapes: feature {key!a} is missing")
        column = columns[key]
        if name in columns:
            continue
        if isinstance(column, np.ndarray) and column.ndim:
            added[name] = np.tile(np.array(column.shape[1:], np.int64), (len(column), 1))
        else:
            added[name] = [list(np.shape(row)) for row in column]
    return added


class Nested:
    """Writes nested lists by a :class:`~fastrec.RaggedFeature` with partitions."""

    def __init__(self, key: str, feature: RaggedFeature) -> None:
        self.key = key
        self.values: str = key if feature.value_key is None else feature.value_key
        self._partitions = feature.partitions
        self._names = [
            None if p.key is None else p.key.decode("utf-8", "surrogateescape")
            for p in feature.partitions
        ]

    def is_in(self, mapping: Mapping[Any, Any]) -> bool:
        """Return whether the value is a nested list, and not flat values with their partitions."""
        return self.key in mapping and not any(name in mapping for name in self._names if name)

    def spread(self, value: Any) -> dict[str, Any]:
        """Flatten the nested list of one row to its values and one feature per partition."""
        spread: dict[str, Any] = {}
        items = self._items(value, 0)
        for depth, (partition, name) in enumerate(zip(self._partitions, self._names, strict=True)):
            rows = [self._items(item, depth + 1) for item in items]
            lengths = np.array([len(row) for row in rows], np.int64)
            if name is not None:
                spread[name] = _PARTITIONS[partition.kind](lengths)
            elif (lengths != partition.length).any():
                raise ValueError(
                    f"feature {self.key!a}: a row must have {partition.length} values by the "
                    f"specification, got {lengths[lengths != partition.length][0]}"
                )
            items = [item for row in rows for item in row]
        return {**spread, self.values: items}

    def _items(self, value: Any, depth: int) -> Any:
        if isinstance(value, (list, tuple, Ragged)):
            return value
        if isinstance(value, np.ndarray) and value.ndim:
            return value.tolist() if depth == len(self._partitions) else list(value)
        raise TypeError(
            f"feature {self.key!a}: must be nested lists of depth {len(self._partitions) + 1} by "
            f"the specification, got {type(value).__name__}"
        )

    def spread_columns(self, column: Any) -> dict[str, Any]:
        """Apply :meth:`spread` to every row."""
        rows = [self.spread(row) for row in column]
        names = [name for name in self._names if name] + [self.values]
        return {name: [row[name] for row in rows] for name in names}


def nested_features(features: Mapping[str, Feature] | None) -> list[Nested]:
    """Return the features of a specification that have partitions."""
    return [
        Nested(key, feature)
        for key, feature in (features or {}).items()
        if isinstance(feature, RaggedFeature) and feature.partitions
    ]
