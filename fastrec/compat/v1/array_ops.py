# SPDX-License-Identifier: Apache-2.0
"""Arrays of other shapes, and arrays made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtypes import as_dtype, int32
from .._errors import InvalidArgumentError
from .._kernels.shaping import new_sizes, reshaped
from .._shape import TensorShape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .constants import constant_value, convert_to_tensor, shape_value

__all__ = [
    "expand_dims",
    "rank",
    "reshape",
    "shape",
    "shape_n",
    "size",
    "squeeze",
    "transpose",
]


def axis_of(axis: Any, rank: int) -> int:
    """A dimension counted from the front.

    Raises
    ------
    InvalidArgumentError
        When there is none.
    """
    if not -rank <= axis < rank:
        raise invalid(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
    return int(axis) % rank


def _shape_tensor(value: Any, name: str = "shape") -> Tensor:
    if isinstance(value, TensorShape):
        value = value.as_list()
    if isinstance(value, (list, tuple)) and not value:
        return convert_to_tensor([], int32, name)
    tensor = convert_to_tensor(value, name=name)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"Value passed to parameter 'shape' has DataType {tensor.dtype.name} not in list of "
            f"allowed values: int32, int64"
        )
    return tensor


# Shapes as values.


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The sizes, as a vector."""
    if hasattr(input, "dense_shape"):
        from .math_ops import cast

        return cast(input.dense_shape, out_type)
    tensor, dtype = convert_to_tensor(input), as_dtype(out_type)
    if tensor.shape.is_fully_defined():
        return convert_to_tensor(tensor.shape.as_list() or np.zeros(0, np.int32), dtype, name)
    known = TensorShape([tensor.shape.ndims])
    function = lambda x: np.array(x.shape, dtype=dtype.numpy)  # noqa: E731
    return pure("Shape", function, (tensor,), dtype, known, name)


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The sizes of each of several tensors."""
    return [shape(each, name, out_type) for each in input]


def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements."""
    tensor, dtype = convert_to_tensor(input), as_dtype(out_type)
    count = tensor.shape.num_elements()
    if count is not None:
        return convert_to_tensor(count, dtype, name)
    return pure("Size", lambda x: np.asarray(x.size, dtype.numpy), (tensor,), dtype, [], name)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions."""
    tensor = convert_to_tensor(input)
    if tensor.shape.ndims is not None:
        return convert_to_tensor(tensor.shape.ndims, int32, name)
    return pure("Rank", lambda x: np.asarray(x.ndim, np.int32), (tensor,), int32, [], name)


# The same elements in another shape.


def reshape_array(value: Array, sizes: Array) -> Array:
    """`value` with the sizes `sizes`, one of which may be -1.

    Raises
    ------
    InvalidArgumentError
        With TensorFlow's text, when the elements do not fit.
    """
    wanted = [int(size) for size in sizes.reshape(-1)]
    if sizes.ndim != 1:
        raise invalid(f"sizes input must be 1-D, not {in_messages(sizes.shape)}")
    return reshaped(value, wanted)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape; -1 stands for what is left.

    Raises
    ------
    ValueError
        When it is known beforehand that they do not fit.
    """
    given, sizes = convert_to_tensor(tensor), _shape_tensor(shape)
    known = shape_value(sizes) if constant_value(sizes) is None else _reshaped(given, sizes)
    return pure("Reshape", reshape_array, (given, sizes), given.dtype, known, name)


def _reshaped(given: Tensor, sizes: Tensor) -> TensorShape:
    value = constant_value(sizes)
    assert value is not None
    wanted = [int(size) for size in value.reshape(-1)]
    count = given.shape.num_elements()
    if count is None:
        return TensorShape([None if size < 0 else size for size in wanted])
    total = math.prod(wanted)
    if min(wanted, default=0) >= 0 and total != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {in_messages(wanted)} "
            f"({total} elements) for 'Reshape' with input shapes: "
            f"{in_messages(given.shape)}, [{len(wanted)}]."
        )
    try:
        return TensorShape(new_sizes([size or 0 for size in given.shape.as_list()], wanted))
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """The same elements with one more dimension, of size 1, at `axis`."""
    tensor = convert_to_tensor(input)
    at = constant_value(convert_to_tensor(dim if axis is None else axis))
    if at is None:
        raise TypeError("axis must be known when the graph is made")
    place = int(at)
    sizes = tensor.shape.sizes
    known: Any = None
    if sizes is not None:
        if not -len(sizes) - 1 <= place <= len(sizes):
            raise ValueError(
                f"dim {place} not in the interval [{-len(sizes) - 1}, {len(sizes)}]. for "
                f"'ExpandDims' with input shapes: {in_messages(sizes)}, []."
            )
        front = place % (len(sizes) + 1)
        known = [*sizes[:front], 1, *sizes[front:]]
    return pure(
        "ExpandDims", lambda x: np.expand_dims(x, place), (tensor,), tensor.dtype, known, name
    )


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """The same elements without dimensions of size 1: all of these, or those named."""
    tensor = convert_to_tensor(input)
    chosen = squeeze_dims if axis is None else axis
    axes = [chosen] if isinstance(chosen, int) else list(chosen or [])
    sizes, known = tensor.shape.sizes, None
    if sizes is not None and (axes or None not in sizes):
        drop = {a % len(sizes) for a in axes} or {i for i, n in enumerate(sizes) if n == 1}
        for place in drop:
            if sizes[place] not in (1, None):
                raise ValueError(
                    f"Can not squeeze dim[{place}], expected a dimension of 1, got {sizes[place]} "
                    f"for 'Squeeze' with input shapes: {in_messages(sizes)}."
                )
        known = [n for i, n in enumerate(sizes) if i not in drop]

    def kernel(x: Array) -> Array:
        for a in axes:
            if x.shape[a] != 1:
                raise invalid(
                    f"Can not squeeze dim[{a}], expected a dimension of 1, got {x.shape[a]}"
                )
        return np.squeeze(x, tuple(axes) if axes else None)

    return pure("Squeeze", kernel, (tensor,), tensor.dtype, known, name)


def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The dimensions in another order; in the opposite one, if none is given."""
    tensor = convert_to_tensor(a)
    if perm is None:
        sizes = tensor.shape.sizes
        known = None if sizes is None else list(sizes[::-1])
        return pure("Transpose", np.transpose, (tensor,), tensor.dtype, known, name or "transpose")
    order = convert_to_tensor(perm)
    value, known = constant_value(order), None
    if value is not None:
        places = [int(p) for p in value]
        sizes = tensor.shape.with_rank(len(places)).sizes
        known = [None] * len(places) if sizes is None else [sizes[p] for p in places]
        if sorted(p % len(places) for p in places) != list(range(len(places))):
            raise ValueError(f"perm must be a permutation of the dimensions, not {places}")

    def kernel(x: Array, p: Array) -> Array:
        if x.ndim != p.size:
            raise invalid(
                f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size "
                f"{p.size}"
            )
        return x.transpose([int(i) for i in p])

    return pure("Transpose", kernel, (tensor, order), tensor.dtype, known, name or "transpose")
