# SPDX-License-Identifier: Apache-2.0
"""Rows of rows into Examples: the values in one list, and where rows end as the partitions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Ragged
from ..features.column_spec import Feature, encode_key
from ..features.spec import RaggedFeature

__all__ = ["Nested", "nested_features"]

Ints = NDArray[np.int64]

# What a record says of rows of these lengths.
_SAYINGS: dict[str, Callable[[Ints], Ints]] = {
    "RowLengths": lambda lengths: lengths,
    "RowSplits": lambda lengths: np.concatenate([[0], np.cumsum(lengths)]),
    "RowStarts": lambda lengths: np.cumsum(lengths) - lengths,
    "RowLimits": np.cumsum,
    "ValueRowIds": lambda lengths: np.repeat(np.arange(len(lengths)), lengths),
}


class Nested:
    """A :class:`~fastrec.RaggedFeature` with partitions, and how a nested list is written by it."""

    def __init__(self, key: str, feature: RaggedFeature) -> None:
        self.key = key
        self.values = key if feature.value_key is None else feature.value_key
        self._partitions = feature.partitions
        self._names = [
            None if p.key is None else p.key.decode("utf-8", "surrogateescape")
            for p in feature.partitions
        ]

    def is_in(self, mapping: Mapping[Any, Any]) -> bool:
        """Whether there is a nested list: the values beside their partitions are none."""
        return self.key in mapping and not any(name in mapping for name in self._names if name)

    def spread(self, value: Any) -> dict[str, Any]:
        """The features that one row's nested list becomes."""
        spread: dict[str, Any] = {}
        items = self._items(value, 0)
        for depth, (partition, name) in enumerate(zip(self._partitions, self._names, strict=True)):
            rows = [self._items(item, depth + 1) for item in items]
            lengths = np.array([len(row) for row in rows], np.int64)
            if name is not None:
                spread[name] = _SAYINGS[partition.kind](lengths)
            elif (lengths != partition.length).any():
                raise ValueError(
                    f"feature {self.key!a}: a row of {lengths[lengths != partition.length][0]} "
                    f"values, where the specification says {partition.length}"
                )
            items = [item for row in rows for item in row]
        return {**spread, self.values: items}

    def _items(self, value: Any, depth: int) -> Any:
        if isinstance(value, (list, tuple, Ragged)):
            return value
        if isinstance(value, np.ndarray) and value.ndim:
            return value.tolist() if depth == len(self._partitions) else list(value)
        raise TypeError(
            f"feature {self.key!a}: {type(value).__name__} where the specification says a list of "
            f"lists, {len(self._partitions) + 1} deep"
        )

    def spread_columns(self, column: Any) -> dict[str, Any]:
        """As :meth:`spread`, of every row."""
        rows = [self.spread(row) for row in column]
        names = [name for name in self._names if name] + [self.values]
        return {name: [row[name] for row in rows] for name in names}


def nested_features(features: Mapping[str, Feature] | None) -> list[Nested]:
    """Those features of a specification that cut values into rows."""
    return [
        Nested(key, feature)
        for key, feature in (features or {}).items()
        if isinstance(feature, RaggedFeature) and feature.partitions
    ]


def value_name(key: Any, feature: Feature) -> bytes:
    """The name under which a feature's values are in the record."""
    name = getattr(feature, "value_key", None) if isinstance(feature, RaggedFeature) else None
    return encode_key(key if name is None else name)
