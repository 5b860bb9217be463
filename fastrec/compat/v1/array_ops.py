# SPDX-License-Identifier: Apache-2.0
"""Arrays of other shapes, and arrays made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, int32
from .._tf.errors import InvalidArgumentError
from .._tf.kernels.shaping import new_sizes, reshaped
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, one_number, pure
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
        value.assert_is_fully_defined()
        value = value.as_list()
    if isinstance(value, (list, tuple)) and not value:
        return convert_to_tensor([], int32, name)
    return numbers_of(convert_to_tensor(value, name=name), "shape")


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
    if sizes.ndim > 1:
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
    if sizes.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {sizes.shape.ndims} for 'Reshape'")
    known = shape_value(sizes) if constant_value(sizes) is None else _reshaped(given, sizes)
    return pure("Reshape", reshape_array, (given, sizes), given.dtype, known, name)


def _reshaped(given: Tensor, sizes: Tensor) -> TensorShape:
    value = constant_value(sizes)
    assert value is not None
    wanted = [int(size) for size in value.reshape(-1)]
    count = given.shape.num_elements()
    for size in wanted:
        if size < -1:
            raise ValueError(f"Invalid value in tensor used for shape: {size}")
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
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'dim' and 'axis'.")
    tensor = convert_to_tensor(input)
    where = numbers_of(dim if axis is None else axis, "dim")
    at, sizes = constant_value(where), tensor.shape.sizes
    if at is not None and at.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value for 'ExpandDims'")
    known: Any = None if sizes is None else [None] * (len(sizes) + 1)
    if sizes is not None and at is not None:
        place = one_number(at, "dim")
        if not -len(sizes) - 1 <= place <= len(sizes):
            raise ValueError(
                f"dim {place} not in the interval [{-len(sizes) - 1}, {len(sizes)}]. for "
                f"'ExpandDims' with input shapes: {in_messages(sizes)}, []."
            )
        front = place % (len(sizes) + 1)
        known = [*sizes[:front], 1, *sizes[front:]]

    def kernel(x: Array, dim: Array) -> Array:
        at = one_number(dim, "'dim' input")
        if not -x.ndim - 1 <= at <= x.ndim:
            raise invalid(f"Tried to expand dim index {at} for tensor with {x.ndim} dimensions.")
        return np.expand_dims(x, at)

    return pure("ExpandDims", kernel, (tensor, where), tensor.dtype, known, name)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """The same elements without dimensions of size 1: all of these, or those named."""
    if axis is not None and squeeze_dims is not None:
        raise ValueError("Cannot specify both 'squeeze_dims' and 'axis'.")
    tensor = convert_to_tensor(input)
    chosen = squeeze_dims if axis is None else axis
    if isinstance(chosen, Tensor):
        raise TypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {chosen!r}.")
    axes = [int(a) for a in np.atleast_1d([] if chosen is None else chosen)]
    sizes, known = tensor.shape.sizes, None
    if sizes is not None and (axes or None not in sizes):
        try:
            drop = _squeezed(sizes, axes)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
        for place in drop:
            if sizes[place] not in (1, None):
                raise ValueError(
                    f"Can not squeeze dim[{place}], expected a dimension of 1, got {sizes[place]} "
                    f"for 'Squeeze' with input shapes: {in_messages(sizes)}."
                )
        known = [n for i, n in enumerate(sizes) if i not in drop]

    def kernel(x: Array) -> Array:
        drop = _squeezed(x.shape, axes)
        for a in sorted(drop):
            if x.shape[a] != 1:
                raise invalid(
                    f"Can not squeeze dim[{a}], expected a dimension of 1, got {x.shape[a]}"
                )
        return np.squeeze(x, tuple(drop))

    return pure("Squeeze", kernel, (tensor,), tensor.dtype, known, name)


def _squeezed(sizes: Sequence[int | None], axes: list[int]) -> set[int]:
    """The dimensions that go: those of `axes`, or all that are of size 1."""
    rank = len(sizes)
    for number, a in enumerate(axes):
        if not -rank <= a < rank:
            raise invalid(f"squeeze_dims[{number}] not in [-{rank},{rank}).")
    return {a % rank for a in axes} or {i for i, n in enumerate(sizes) if n == 1}


def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The dimensions in another order; in the opposite one, if none is given."""
    tensor = convert_to_tensor(a)
    if conjugate and tensor.dtype.is_complex:
        tensor = pure("Conj", np.conjugate, (tensor,), tensor.dtype, tensor.shape)
    if perm is None:
        sizes = tensor.shape.sizes
        known = None if sizes is None else list(sizes[::-1])
        return pure("Transpose", np.transpose, (tensor,), tensor.dtype, known, name or "transpose")
    empty = isinstance(perm, (list, tuple)) and not perm
    order = numbers_of(np.zeros(0, np.int32) if empty else perm, "perm", rank=1)
    value, known = constant_value(order), None
    if value is not None:
        places = [int(p) for p in value]
        sizes = tensor.shape.with_rank(len(places)).sizes
        for p in places:
            if not -len(places) <= p < len(places):
                raise ValueError(f"perm dim {p} is out of range of input rank {len(places)}")
        known = [None] * len(places) if sizes is None else [sizes[p] for p in places]

    def kernel(x: Array, p: Array) -> Array:
        if x.ndim != p.size:
            raise invalid(
                f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size "
                f"{p.size}"
            )
        return x.transpose(_permutation(p))

    return pure("Transpose", kernel, (tensor, order), tensor.dtype, known, name or "transpose")


def _permutation(order: Array) -> list[int]:
    """The order of dimensions that a vector spells out, each counted from the front."""
    rank = order.size
    places = [int(i) for i in order.reshape(-1)]
    for at in places:
        if not -rank <= at < rank:
            raise invalid(f"{at} is out of range [0 .. {rank})")
    places = [at % rank for at in places]
    missing = sorted(set(range(rank)) - set(places))
    if missing:
        raise invalid(f"{missing[0]} is missing from {{{','.join(map(str, places))}}}.")
    return places
