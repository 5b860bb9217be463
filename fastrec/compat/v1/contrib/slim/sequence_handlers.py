# SPDX-License-Identifier: Apache-2.0
"""Items of SequenceExamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._tf.dtypes import int64
from ...._tf.ops import Array
from ..._composites import SparseTensor
from ..._nodes import Tensor
from ..._ops import pure
from ...array_ops import arrays, picking
from ...constants import convert_to_tensor
from ...sparse_tensors import sparse_tensor_to_dense
from .item_handler import ItemHandler, Tensors, is_sparse

__all__ = ["BoundingBoxSequence", "KeypointsSequence", "NumBoxesSequence"]


class _Together(ItemHandler):
    """Handler that stacks sparse features ``[time, n]`` into one item ``[time, n, features]``."""

    usual: tuple[str, ...] = ()

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        prefix: str | None = None,
        return_dense: bool = True,
        default_value: float = -1.0,
    ) -> None:
        names = list(self.usual if keys is None else keys)
        if len(names) != len(self.usual):
            kind = type(self).__name__
            raise ValueError(f"{kind} expects {len(self.usual)} keys but got {len(names)}")
        self._return_dense, self._default_value = return_dense, default_value
        super().__init__([(prefix or "") + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        parts = [keys_to_tensors[key] for key in self._keys]
        sizes = arrays.concat([parts[0].dense_shape, convert_to_tensor([len(parts)], int64)], 0)
        columns = [
            arrays.concat([p.indices, arrays.expand_dims(_same(p.indices[:, 0], i), 1)], 1)
            for i, p in enumerate(parts)
        ]
        indices, values = (
            arrays.concat(columns, 0),
            arrays.concat([part.values for part in parts], 0),
        )
        order = pure("Order", _row_major, (indices,), int64, [None])
        tensor = SparseTensor(picking.gather(indices, order), picking.gather(values, order), sizes)
        if self._return_dense:
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor


def _same(like: Tensor, value: int) -> Tensor:
    return pure("Fill", lambda x: np.full(x.shape, value, np.int64), (like,), int64, like.shape)


def _row_major(indices: Array) -> Array:
    return np.lexsort(indices.T[::-1]).astype(np.int64)


class BoundingBoxSequence(_Together):
    """Boxes ``[time, n, 4]`` from four features of a SequenceExample.

    Parameters
    ----------
    keys : list of str, optional
        The sides; by default ymin, xmin, ymax and xmax.
    prefix : str, optional
        The prefix of the feature names.
    return_dense : bool
        Whether the result is a dense tensor.
    default_value : float
        The value for missing boxes in a dense tensor.
    """

    usual: tuple[str, ...] = ("ymin", "xmin", "ymax", "xmax")


class KeypointsSequence(_Together):
    """Points ``[time, n, 2]`` from two features; arguments as for BoundingBoxSequence."""

    usual: tuple[str, ...] = ("y", "x")


class NumBoxesSequence(ItemHandler):
    """The number of boxes at each time step.

    Parameters
    ----------
    keys : list of str
        Features of a SequenceExample. The first one determines the number.
    check_consistency : bool
        Whether to raise an error if the other features have different numbers.
    """

    def __init__(self, keys: Any = None, check_consistency: bool = True) -> None:
        if not keys:
            raise ValueError("keys must not be empty.")
        self._check_consistency = check_consistency
        super().__init__(keys)

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        parts = [keys_to_tensors[key] for key in self._keys]
        if not all(map(is_sparse, parts)):
            raise ValueError("tensor must be of type tf.SparseTensor.")
        if not self._check_consistency:
            parts = parts[:1]
        inputs = [each for part in parts for each in (part.indices, part.dense_shape)]
        return pure("NumBoxes", _counted, inputs, int64, [None], names=self._keys)


def _counted(*pairs: Array) -> Array:
    counts = []
    for indices, sizes in zip(pairs[::2], pairs[1::2], strict=True):
        count = np.zeros(int(sizes[0]), np.int64)
        np.maximum.at(count, indices[:, 0], indices[:, 1] + 1)
        counts.append(count)
    for other in counts[1:]:
        if not np.array_equal(counts[0], other):
            raise ValueError(
                f"assertion failed: numbers of boxes differ: {counts[0].tolist()} and "
                f"{other.tolist()}"
            )
    return counts[0]
