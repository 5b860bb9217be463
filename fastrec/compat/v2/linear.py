# SPDX-License-Identifier: Apache-2.0
"""Products, grids, histograms and updates that preprocessing uses."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from . import math_ops

__all__ = [
    "bitwise",
    "einsum",
    "histogram_fixed_width",
    "meshgrid",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_update",
    "tensordot",
]


def einsum(equation: str, *inputs: Any, **_: Any) -> Any:
    """The sum that an equation of indices says."""
    return run(rows.EINSUM, [convert_to_tensor(each) for each in inputs], equation=equation)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """The sums of products along dimensions of both."""
    one = convert_to_tensor(a)
    along = axes if isinstance(axes, int) else np.asarray(axes).tolist()
    return run(rows.TENSORDOT, [one, convert_to_tensor(b, one.dtype)], axes=along)


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
    """Coordinates of a grid, a tensor for each dimension."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij'")
    found = run(rows.MESHGRID, [convert_to_tensor(each) for each in args], indexing=indexing)
    return list(found) if isinstance(found, tuple) else [found]


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Any:
    """Number of values in each of `nbins` equal parts of a range."""
    tensor = convert_to_tensor(values)
    inputs = [tensor, convert_to_tensor(value_range, tensor.dtype)]
    return run(rows.HISTOGRAM, inputs, nbins=int(np.asarray(nbins)), dtype=as_dtype(dtype))


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


bitwise = SimpleNamespace(
    bitwise_and=math_ops.bitwise_and,
    bitwise_or=math_ops.bitwise_or,
    bitwise_xor=math_ops.bitwise_xor,
    invert=math_ops._invert,
    left_shift=math_ops.left_shift,
    right_shift=math_ops.right_shift,
)
