# SPDX-License-Identifier: Apache-2.0
"""Products, grids, histograms and updates that preprocessing uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.specs import TensorSpec
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from . import math_ops

__all__ = [
    "add_n",
    "bitwise",
    "einsum",
    "histogram_fixed_width",
    "meshgrid",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_update",
    "tensordot",
]


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """The sum of tensors."""
    total = convert_to_tensor(inputs[0])
    for each in inputs[1:]:
        total = math_ops.add(total, each)
    return total


def einsum(equation: str, *inputs: Any, **_: Any) -> Any:
    """The sum that an equation of indices says."""
    tensors = [convert_to_tensor(each) for each in inputs]
    dtype = tensors[0].dtype.numpy
    op = Op("Einsum", lambda *arrays: np.einsum(equation, *arrays).astype(dtype))
    return run(op, tensors)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """The sums of products along dimensions of both."""
    one = convert_to_tensor(a)
    along = axes if isinstance(axes, int) else np.asarray(axes).tolist()
    op = Op("Tensordot", lambda x, y: np.tensordot(x, y, along))
    return run(op, [one, convert_to_tensor(b, one.dtype)])


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
    """Coordinates of a grid, a tensor for each dimension."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij'")
    way: Any = indexing
    op = Op("Meshgrid", lambda *arrays: tuple(np.meshgrid(*arrays, indexing=way)))
    found = run(op, [convert_to_tensor(each) for each in args])
    return list(found) if isinstance(found, tuple) else [found]


def _histogram(values: Any, limits: Any, *, bins: int, dtype: Any) -> Any:
    low, high = np.asarray(limits, np.float64)
    scaled = (values.astype(np.float64) - low) / (high - low)
    places = np.clip(np.floor(scaled * bins), 0, bins - 1).astype(np.int64)
    return np.bincount(places.reshape(-1), minlength=bins).astype(dtype)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Any:
    """Number of values in each of `nbins` equal parts of a range."""
    tensor, wanted = convert_to_tensor(values), as_dtype(dtype)
    bins = int(np.asarray(nbins))
    op = Op("HistogramFixedWidth", _histogram, lambda *_, **__: [TensorSpec([bins], wanted)])
    limits = convert_to_tensor(value_range, tensor.dtype)
    return run(op, [tensor, limits], bins=bins, dtype=wanted.numpy)


def _scattered(name: str, change: Callable[..., None]) -> Callable[..., Any]:
    def kernel(x: Any, indices: Any, updates: Any) -> Any:
        result = x.copy()
        change(result, tuple(np.moveaxis(indices, -1, 0)), updates)
        return result

    op = Op(name, kernel, lambda specs, _: [specs[0]])

    def scatter(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
        given = convert_to_tensor(tensor)
        return run(op, [given, convert_to_tensor(indices), convert_to_tensor(updates, given.dtype)])

    scatter.__doc__ = f"TensorFlow's ``{name}``."
    return scatter


def _set(result: Any, where: Any, updates: Any) -> None:
    result[where] = updates


tensor_scatter_nd_update = _scattered("TensorScatterUpdate", _set)
tensor_scatter_nd_add = _scattered("TensorScatterAdd", np.add.at)


def _shift(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    op = Op(name, function)

    def shift(x: Any, y: Any, name: str | None = None) -> Any:
        one = convert_to_tensor(x)
        return run(op, [one, convert_to_tensor(y, one.dtype)])

    shift.__doc__ = f"TensorFlow's ``{name}`` of each element."
    return shift


bitwise = SimpleNamespace(
    bitwise_and=math_ops.bitwise_and,
    bitwise_or=math_ops.bitwise_or,
    bitwise_xor=math_ops.bitwise_xor,
    left_shift=_shift("LeftShift", np.left_shift),
    right_shift=_shift("RightShift", np.right_shift),
)
