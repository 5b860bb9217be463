# SPDX-License-Identifier: Apache-2.0
"""Tensors sorted, repeated, rolled and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Op, Symbol, run
from ._eager import checked, integers

__all__ = [
    "argsort",
    "repeat",
    "roll",
    "sort",
    "top_k",
]


_FEW = 8  # times as many elements as are wanted


class TopK(NamedTuple):
    """The largest values, and where they are."""

    values: Any
    indices: Any


def _op(name: str, kernel: Callable[..., Any], *inputs: Any, kinds: str = "") -> Any:
    tensors, op = [convert_to_tensor(each) for each in inputs], Op(name, kernel, kinds=kinds)
    checked(op, tensors[0])
    return run(op, tensors)


def _axis(axis: Any) -> int:
    return int(convert_to_tensor(axis, "int32" if not hasattr(axis, "dtype") else None))


def _order(array: Any, axis: int, direction: str) -> Any:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be ASCENDING or DESCENDING, not {direction}")
    if direction == "ASCENDING":
        return np.argsort(array, axis, kind="stable")
    back = np.argsort(np.flip(array, axis), axis, kind="stable")  # the first of equals comes first
    return np.flip(array.shape[axis] - 1 - back, axis)


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Indices that sort the elements."""
    along = _axis(axis)
    return _op(
        "Argsort", lambda x: _order(x, along, direction).astype(np.int32), values, kinds="fiu"
    )


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """The elements in the order of their size."""
    along = _axis(axis)
    return _op(
        "Sort",
        lambda x: np.take_along_axis(x, _order(x, along, direction), along),
        values,
        kinds="fiu",
    )


def _largest(x: Any, count: int) -> Any:
    """Where the largest of each row are, those of equal ones that come first."""
    if x.ndim > 1 or not 0 < count < x.size // _FEW:
        return _order(x, -1, "DESCENDING")[..., :count]
    least = np.partition(x, x.size - count)[x.size - count]
    among = np.flatnonzero(x >= least)
    if among.size < count:  # what is no number counts as the largest
        return _order(x, -1, "DESCENDING")[:count]
    return among[_order(x[among], -1, "DESCENDING")[:count]]


def top_k(input: Any, k: int = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The `k` largest of each row, and where they are."""

    def kernel(x: Any) -> Any:
        if k < 0:
            raise invalid(f"Need k >= 0, got {k}")
        if not x.ndim or x.shape[-1] < k:
            columns = x.shape[-1] if x.ndim else 0
            raise invalid(f"input must have at least k columns. Had {columns}, needed {k}")
        where = _largest(x, k)
        return np.take_along_axis(x, where, -1), where.astype(np.int32)

    return TopK(*_op("TopKV2", kernel, input, kinds="fiu"))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Each element so many times, of all or along `axis`."""

    def kernel(x: Any, count: Any) -> Any:
        return np.repeat(as_array(x), count, axis)

    def infer(specs: Any, _: Any) -> Any:
        rank = 1 if axis is None else specs[0].shape.ndims
        return [TensorSpec(None if rank is None else [None] * rank, specs[0].dtype)]

    tensors = [convert_to_tensor(input), convert_to_tensor(repeats)]
    return run(Op("Repeat", kernel, infer if isinstance(tensors[1], Symbol) else None), tensors)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Elements moved along dimensions; those that leave come in on the other side."""
    given = (integers(each, "shift", "Tshift").array for each in (shift, axis))
    by, along = (np.atleast_1d(each).tolist() for each in given)
    if len(by) != len(along):
        raise invalid("shift and axis must have the same size")
    return _op("Roll", lambda x: np.roll(as_array(x), by, along), input)
