# SPDX-License-Identifier: Apache-2.0
"""Arrays of other shapes, and arrays made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtypes import DType, as_dtype, int32
from .._shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, pure, tensors_of, typed
from .constants import constant_value, convert_to_tensor, make_array, of_array, shape_value
from .graph import create_op

__all__ = [
    "concat",
    "expand_dims",
    "pack",
    "rank",
    "reshape",
    "shape",
    "shape_n",
    "size",
    "split",
    "squeeze",
    "stack",
    "transpose",
    "unpack",
    "unstack",
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
    try:
        return value.reshape(wanted)
    except ValueError:
        raise invalid(_why_not(value.size, wanted)) from None


def _why_not(count: int, wanted: list[int]) -> str:
    if wanted.count(-1) > 1:
        first, second = [i for i, n in enumerate(wanted) if n == -1][:2]
        return f"Only one input size may be -1, not both {first} and {second}"
    for at, size in enumerate(wanted):
        if size < -1:
            return f"Size {at} must be non-negative, not {size}"
    total = 1
    for size in wanted:
        total *= 1 if size == -1 else size
    if -1 not in wanted:
        return (
            f"Input to reshape is a tensor with {count} values, but the requested shape has {total}"
        )
    if total == 0:
        return (
            "reshape cannot infer the missing input size for an empty tensor unless all specified "
            "input sizes are non-zero"
        )
    return (
        f"Input to reshape is a tensor with {count} values, but the requested shape requires a "
        f"multiple of {total}"
    )


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
    total = int(np.prod([size for size in wanted if size >= 0], dtype=np.int64))
    if wanted.count(-1) == 1 and total > 0 and count % total == 0:
        return TensorShape([count // total if size == -1 else size for size in wanted])
    if -1 not in wanted and min(wanted, default=0) >= 0:
        if total != count:
            raise ValueError(
                f"Cannot reshape a tensor with {count} elements to shape {in_messages(wanted)} "
                f"({total} elements) for 'Reshape' with input shapes: "
                f"{in_messages(given.shape)}, [{len(wanted)}]."
            )
        return TensorShape(wanted)
    raise ValueError(_why_not(count, wanted))


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


# Several arrays as one, and one as several.


def _merged_shape(tensors: Sequence[Tensor], what: str) -> TensorShape:
    merged = TensorShape(None)
    for tensor in tensors:
        try:
            merged = merged.merge_with(tensor.shape)
        except ValueError:
            raise ValueError(
                f"Dimension mismatch: shapes must be equal, but are {in_messages(merged)} and "
                f"{in_messages(tensor.shape)} for '{what}'."
            ) from None
    return merged


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape, side by side along a new dimension."""
    return _stack(values, None, name, axis)


def _stack(values: Any, dtype: DType | None, name: str | None, axis: int = 0) -> Tensor:
    if axis == 0 and not typed(values):
        return of_array(make_array(list(values), dtype), name or "stack")
    tensors = tensors_of(list(values), dtype)
    if not tensors:
        raise ValueError("stack() needs at least one tensor")
    merged = _merged_shape(tensors, "Pack")
    sizes, known = merged.sizes, None
    if sizes is not None:
        if not -len(sizes) - 1 <= axis <= len(sizes):
            rank = len(sizes) + 1
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
        front = axis % (len(sizes) + 1)
        known = [*sizes[:front], len(tensors), *sizes[front:]]

    def kernel(*parts: Array) -> Array:
        for i, part in enumerate(parts):
            if part.shape != parts[0].shape:
                raise invalid(
                    f"Shapes of all inputs must match: values[0].shape = "
                    f"{in_messages(parts[0].shape)} != values[{i}].shape = "
                    f"{in_messages(part.shape)}"
                )
        return np.stack(parts, axis)

    return pure("Pack", kernel, tensors, tensors[0].dtype, known, name or "stack", axis=axis)


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along one dimension, each without it."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    if num is None:
        if sizes is None:
            raise ValueError(f"Cannot infer argument `num` from shape {tensor.shape}")
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
        num = sizes[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {tensor.shape}")
    known = None
    if sizes is not None:
        front = axis % len(sizes)
        known = [*sizes[:front], *sizes[front + 1 :]]
    count = num

    def kernel(step: Any, x: Array) -> tuple[Array, ...]:
        if x.shape[axis] != count:
            raise invalid(
                f"Input shape axis {axis} must equal {count}, got shape {in_messages(x.shape)}"
            )
        return tuple(np.asarray(part, x.dtype) for part in np.moveaxis(x, axis, 0))

    op = create_op("Unpack", (tensor,), [(tensor.dtype, known)] * num, kernel, name=name)
    return list(op.outputs)


pack, unpack = stack, unstack


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along a dimension that they have."""
    if isinstance(axis, (list, tuple, Tensor)) and isinstance(values, int):
        values, axis = axis, values  # the order of the arguments until version 1.0
    given = values if isinstance(values, (list, tuple)) else [values]
    tensors = tensors_of(list(given))
    at = constant_value(convert_to_tensor(axis))
    place = None if at is None else int(at)
    known = None if place is None else _concatenated(tensors, place)

    def kernel(where: Array, *parts: Array) -> Array:
        rank = parts[0].ndim
        if rank == 0 or not -rank <= int(where) < rank:
            raise invalid(
                f"ConcatOp : Expected concatenating dimensions in the range "
                f"[{-rank}, {rank}), but got {int(where)}"
            )
        for i, part in enumerate(parts):
            _same_but(parts[0], part, i, int(where) % rank)
        return np.concatenate(parts, int(where))

    inputs = [convert_to_tensor(axis, name="concat/axis"), *tensors]
    return pure("ConcatV2", kernel, inputs, tensors[0].dtype, known, name)


def _same_but(first: Array, part: Array, i: int, axis: int) -> None:
    if part.ndim != first.ndim:
        raise invalid(
            f"ConcatOp : Ranks of all input tensors should match: shape[0] = "
            f"{in_messages(first.shape)} vs. shape[{i}] = {in_messages(part.shape)}"
        )
    for d in range(first.ndim):
        if d != axis and part.shape[d] != first.shape[d]:
            raise invalid(
                f"ConcatOp : Dimension {d} in both shapes must be equal: shape[0] = "
                f"{in_messages(first.shape)} vs. shape[{i}] = {in_messages(part.shape)}"
            )


def _concatenated(tensors: Sequence[Tensor], axis: int) -> Any:
    shapes = [t.shape for t in tensors]
    ranks = {s.ndims for s in shapes} - {None}
    if not ranks:
        return None
    rank = ranks.pop()
    if ranks:
        raise ValueError("Shapes must be of equal rank for 'ConcatV2'")
    if not rank or not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for 'ConcatV2' of rank {rank}")
    axis %= rank
    rest = TensorShape(None)
    total: int | None = 0
    for known in shapes:
        sizes = known.sizes
        along = None if sizes is None else sizes[axis]
        total = None if total is None or along is None else total + along
        if sizes is not None:
            rest = rest.merge_with([None if i == axis else n for i, n in enumerate(sizes)])
    return [total if i == axis else n for i, n in enumerate(rest.as_list())]


def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """A tensor cut along a dimension, into parts of one size or of given ones."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    if isinstance(num_or_size_splits, int):
        count = num_or_size_splits
        along = None if sizes is None else sizes[axis]
        if along is not None and along % count:
            raise ValueError(f"Dimension size must be evenly divisible by {count} but is {along}")
        parts: list[int | None] = [None if along is None else along // count] * count
    else:
        parts = [int(n) for n in np.asarray(num_or_size_splits)]
        count = len(parts)

    def kernel(step: Any, x: Array) -> tuple[Array, ...]:
        if parts and None not in parts and sum(n or 0 for n in parts) != x.shape[axis]:
            raise invalid(f"the parts {parts} do not add up to {x.shape[axis]}")
        if None in parts and x.shape[axis] % count:
            raise invalid(f"{x.shape[axis]} cannot be split evenly into {count}")
        ends = np.cumsum([n or 0 for n in parts])[:-1]
        cut = np.split(x, count if None in parts else ends, axis)
        return tuple(cut)

    shapes = []
    for n in parts:
        known = None if sizes is None else [*sizes]
        if known is not None:
            known[axis] = n
        shapes.append((tensor.dtype, known))
    return list(create_op("Split", (tensor,), shapes, kernel, name=name).outputs)


operators["stack"] = _stack
