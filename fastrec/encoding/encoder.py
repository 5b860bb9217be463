# SPDX-License-Identifier: Apache-2.0
"""What a features specification and the wish for shapes make of rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .. import _core
from ..features.column_spec import Feature
from .check_spec import named_shapes, pins_of
from .nested_rows import nested_features

__all__ = ["Encoding"]


class Encoding:
    """Encodes rows and columns by one specification; see :func:`fastrec.encode_example`."""

    def __init__(
        self,
        features: Mapping[str, Feature] | None = None,
        shapes: Mapping[str, str] | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and not 1 <= threads <= 256:
            raise ValueError(f"threads must be 1 to 256, not {threads}")
        self._pins = pins_of(features)
        self._shapes = {**named_shapes(features), **(shapes or {})}
        self._nested = nested_features(features)
        self._threads = threads
        self._encoder = _core.ExampleEncoder(self._pins)

    def straight(self) -> _core.ExampleEncoder | None:
        """What encodes a row just as it is; None where something has to be made of it first."""
        return None if self._shapes or self._nested else self._encoder

    def row(self, mapping: Mapping[str, Any]) -> bytes:
        """The bytes of an Example."""
        if self._shapes:
            mapping = _with_shapes(mapping, self._shapes)
        for nested in self._nested:
            if nested.is_in(mapping):
                mapping = _spread(mapping, nested.key, nested.spread(mapping[nested.key]))
        return self._encoder.encode(mapping)

    def columns(self, columns: Mapping[str, Any]) -> _core.Values:
        """Rows that are ready to be encoded."""
        if self._shapes:
            columns = _with_shape_columns(columns, self._shapes)
        for nested in self._nested:
            if nested.is_in(columns):
                columns = _spread(columns, nested.key, nested.spread_columns(columns[nested.key]))
        return _core.column_values(columns, self._pins)

    def frames(self, values: _core.Values, turns: int) -> Iterator[tuple[int, Any, int]]:
        """Rows dealt out in turn: whose turn it is, a block of frames, and how many."""
        for turn in range(turns):
            for frames, count in values.blocks(turn, turns, self._threads):
                yield turn, frames, count


def _spread(mapping: Mapping[str, Any], key: str, spread: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in mapping.items() if name != key}, **spread}


def _with_shapes(mapping: Mapping[Any, Any], shapes: Mapping[str, str]) -> dict[Any, Any]:
    """`mapping`, and for each feature that `shapes` names, under the name given there, its shape.

    A feature of that name that is there already stays.

    Raises
    ------
    ValueError
        When a feature is missing.
    """
    added = dict(mapping)
    for key, name in shapes.items():
        if key not in mapping:
            raise ValueError(f"feature {key!a}, whose shape is asked for, is missing")
        if name not in added:  # else it is as the caller has it
            added[name] = list(np.shape(mapping[key]))
    return added


def _with_shape_columns(columns: Mapping[Any, Any], shapes: Mapping[str, str]) -> dict[Any, Any]:
    """As :func:`_with_shapes`, of every row."""
    added = dict(columns)
    for key, name in shapes.items():
        if key not in columns:
            raise ValueError(f"feature {key!a}, whose shape is asked for, is missing")
        column = columns[key]
        if name in columns:
            continue
        if isinstance(column, np.ndarray) and column.ndim:
            added[name] = np.tile(np.array(column.shape[1:], np.int64), (len(column), 1))
        else:
            added[name] = [list(np.shape(row)) for row in column]
    return added
