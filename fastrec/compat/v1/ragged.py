# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors: rows of different lengths, and rows of these."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._tf.dtypes import DType
from .._tf.shape import TensorShape
from ._graph import Graph
from ._nodes import Tensor
from ._ops import Array, pure
from .constants import convert_to_tensor

__all__ = ["RaggedTensor", "RaggedTensorValue"]


class RaggedTensorValue:
    """Value of a ragged tensor in a session.

    Parameters
    ----------
    values : ndarray or RaggedTensorValue
        The rows, one after the other.
    row_splits : ndarray
        Where each begins, and where the last ends.
    """

    def __init__(self, values: Any, row_splits: Array) -> None:
        self.values, self.row_splits = values, row_splits

    @property
    def flat_values(self) -> Array:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[Array, ...]:
        """The splits, outermost first."""
        inner = self.values
        more = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None for ragged dimensions."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """Lists within lists."""
        whole = self.values
        rows = whole.to_list() if isinstance(whole, RaggedTensorValue) else whole.tolist()
        ends = self.row_splits.tolist()
        return [rows[a:b] for a, b in pairwise(ends)]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"


class RaggedTensor:
    """A tensor whose rows have different lengths.

    Parameters
    ----------
    values : Tensor or RaggedTensor
        The rows, one after the other.
    row_splits : Tensor
        Where each begins, and where the last ends.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
        self.row_splits = convert_to_tensor(row_splits)

    @classmethod
    def from_nested_row_splits(cls, flat_values: Any, nested_row_splits: Sequence[Any]) -> Any:
        """One with the innermost values, and the splits outermost first."""
        result = flat_values
        for splits in reversed(list(nested_row_splits)):
            result = cls(result, splits)
        return result

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any) -> RaggedTensor:
        """One whose rows begin and end at `row_splits`."""
        return cls(values, row_splits)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits, outermost first."""
        more = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.flat_values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.row_splits.graph

    @property
    def shape(self) -> TensorShape:
        """Static shape; the size of a ragged dimension is unknown."""
        rows = self.row_splits.shape.sizes
        count = None if not rows or rows[0] is None else rows[0] - 1
        return TensorShape([count, None]).concatenate(self.values.shape[1:])

    def get_shape(self) -> TensorShape:
        """Return the static shape; the size of a ragged dimension is unknown."""
        return self.shape

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        """Return the length of each row."""
        splits = self.row_splits
        return pure("RowLengths", np.diff, (splits,), splits.dtype, [None], name)

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """The rows side by side, `default_value` behind the shorter ones."""
        flat = self.flat_values
        filler = b"" if flat.dtype.numpy.kind == "O" else 0
        default = convert_to_tensor(filler if default_value is None else default_value, flat.dtype)

        def kernel(values: Array, fill: Array, *splits: Array) -> Array:
            return padded(values, splits, fill)

        inputs = [flat, default, *self.nested_row_splits]
        known = [None] * (self.ragged_rank + 1)
        shape = TensorShape(known).concatenate(flat.shape[1:])
        return pure("RaggedTensorToTensor", kernel, inputs, flat.dtype, shape, name)

    def _fetch_parts(self) -> tuple[list[Tensor], Any]:
        def rebuild(values: Any, *splits: Any) -> Any:
            for each in reversed(splits):
                values = RaggedTensorValue(values, each)
            return values

        return [self.flat_values, *self.nested_row_splits], rebuild

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"


def padded(values: Array, splits: Sequence[Array], fill: Array) -> Array:
    """The rows side by side, `fill` behind the shorter ones."""
    for each in reversed(splits):
        lengths = np.diff(each)
        width = int(lengths.max(initial=0))
        whole = np.full((len(lengths), width, *values.shape[1:]), fill[()], dtype=values.dtype)
        whole[np.arange(width) < lengths[:, None]] = values[: int(each[-1])]
        values = whole
    return values
