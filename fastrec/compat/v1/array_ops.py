# SPDX-License-Identifier: Apache-2.0
"""Tensors made, shaped, joined, cut, padded and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.composite import Methods
from .._tf.dtypes import DType, as_dtype, float32, float64, int32, string
from .._tf.ops import filling, joining, shaping
from .._tf.ops.arithmetic import CONJ, IDENTITY
from .._tf.ops.reductions import PROD
from .._tf.shape import TensorShape, as_shape
from . import ragged
from ._nodes import Tensor, operators
from ._ops import numbers_of, record, record_all, tensors_of
from .constants import convert_to_tensor, holds_tensor, of_array
from .math_ops import cast

__all__ = [
    "broadcast_to",
    "concat",
    "expand_dims",
    "fill",
    "linspace",
    "ones",
    "ones_like",
    "pack",
    "pad",
    "range",
    "rank",
    "reshape",
    "reverse",
    "shape",
    "shape_n",
    "size",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unpack",
    "unstack",
    "zeros",
    "zeros_like",
]

_SMALL = 1000  # elements, up to which an array of one value is a constant


def _shape_tensor(value: Any, name: str = "shape") -> Tensor:
    if isinstance(value, TensorShape):
        value.assert_is_fully_defined()
        value = value.as_list()
    if isinstance(value, (list, tuple)) and not value:
        return convert_to_tensor([], int32, name)
    return numbers_of(convert_to_tensor(value, name=name), "shape")


def _numbers(value: Any, parameter: str, rank: int | None = None) -> Tensor:
    """As `numbers_of`, where an empty list is one of integers."""
    empty = isinstance(value, (list, tuple)) and not value
    return numbers_of(np.zeros(0, np.int32) if empty else value, parameter, rank)


# Shapes as values.


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The sizes, as a vector."""
    if hasattr(input, "dense_shape"):
        return cast(input.dense_shape, out_type)
    tensor, dtype = convert_to_tensor(input), as_dtype(out_type)
    if tensor.shape.is_fully_defined():
        return convert_to_tensor(tensor.shape.as_list() or np.zeros(0, np.int32), dtype, name)
    return record(shaping.SHAPE, (tensor,), name, out_type=dtype)


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The sizes of each of several tensors."""
    return [shape(each, name, out_type) for each in input]


def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements."""
    if isinstance(input, ragged.RaggedTensor):
        input = input.flat_values
    if hasattr(input, "dense_shape"):
        return record(PROD, [shape(input, None, out_type)], name, keep_dims=False)
    tensor, dtype = convert_to_tensor(input), as_dtype(out_type)
    count = tensor.shape.num_elements()
    if count is not None:
        return convert_to_tensor(count, dtype, name)
    return record(shaping.SIZE, (tensor,), name, out_type=dtype)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions."""
    tensor: Any = input if isinstance(input, Methods) else convert_to_tensor(input)
    if tensor.shape.ndims is not None:
        return convert_to_tensor(tensor.shape.ndims, int32, name)
    return record(shaping.RANK, (tensor,), name)


# The same elements in another shape.


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape; -1 stands for what is left."""
    given, sizes = convert_to_tensor(tensor), _shape_tensor(shape)
    if sizes.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {sizes.shape.ndims} for 'Reshape'")
    return record(shaping.RESHAPE, (given, sizes), name)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """The same elements with one more dimension, of size 1, at `axis`."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'dim' and 'axis'.")
    if isinstance(input, ragged.RaggedTensor):
        place = dim if axis is None else axis
        return ragged.functions.expand_dims(input, place)  # type: ignore[no-any-return]
    where = numbers_of(dim if axis is None else axis, "dim")
    return record(shaping.EXPAND_DIMS, (convert_to_tensor(input), where), name)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """The same elements without dimensions of size 1: all of these, or those named."""
    if axis is not None and squeeze_dims is not None:
        raise ValueError("Cannot specify both 'squeeze_dims' and 'axis'.")
    chosen = squeeze_dims if axis is None else axis
    if isinstance(chosen, Tensor):
        raise TypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {chosen!r}.")
    axes = [int(a) for a in np.atleast_1d([] if chosen is None else chosen)]
    return record(shaping.SQUEEZE, (convert_to_tensor(input),), name, squeeze_dims=axes)


def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The dimensions in another order; in the opposite one, if none is given."""
    tensor = convert_to_tensor(a)
    if conjugate and tensor.dtype.is_complex:
        tensor = record(CONJ, (tensor,))
    order = [] if perm is None else [_numbers(perm, "perm", 1)]
    return record(shaping.TRANSPOSE, (tensor, *order), name or "transpose")


# Several tensors as one, and one as several.


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape, side by side along a new dimension."""
    if ragged.functions.among(values):
        return ragged.functions.stack(values, axis)  # type: ignore[no-any-return]
    if axis == 0:
        try:  # what is one array, or one tensor, already
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for 'values' argument to 'stack' Op, not {values!r}.")
    return _stack(values, None, name, axis)


def _stack(
    values: Any, dtype: DType | None = None, name: str | None = None, axis: int = 0
) -> Tensor:
    if axis == 0 and not holds_tensor(values):
        return of_array(make_array(list(values), dtype), name or "stack")
    tensors = tensors_of(list(values), dtype or _type_within(values))
    if not tensors:
        raise ValueError("stack() needs at least one tensor")
    return record(joining.PACK, tensors, name or "stack", axis=axis)


def _type_within(values: Any) -> DType | None:
    """The type of the first tensor in lists of lists."""
    for value in values:
        if isinstance(value, (list, tuple)):
            found = _type_within(value)
            if found is not None:
                return found
        elif holds_tensor([value]):
            return convert_to_tensor(value).dtype
    return None


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along one dimension, each without it."""
    tensor = convert_to_tensor(value)
    count = joining.number_of_parts(tensor.shape, num, axis)
    return record_all(joining.UNPACK, (tensor,), name, num=count, axis=axis)


pack, unpack = stack, unstack


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along a dimension that they have."""
    if ragged.functions.among(values):
        return ragged.functions.concat(values, axis)  # type: ignore[no-any-return]
    if isinstance(axis, (list, tuple, Tensor)) and isinstance(values, int):
        values, axis = axis, values  # the order of the arguments until version 1.0
    tensors = tensors_of(list(values if isinstance(values, (list, tuple)) else [values]))
    if not tensors:
        raise ValueError("List argument 'values' to 'ConcatV2' Op with length 0 is too short.")
    where = numbers_of(axis, "axis", rank=0)
    if len(tensors) == 1:
        return record(IDENTITY, tensors, name)
    return record(joining.CONCAT, [where, *tensors], name)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """A tensor cut along a dimension, into so many parts of one size or into parts of given ones.

    One size may be -1, for what is left; `num` says how many sizes there are, if that is not known.
    """
    inputs = [convert_to_tensor(value), numbers_of(axis, "axis", rank=0)]
    if isinstance(num_or_size_splits, (int, np.integer)):
        count = int(num_or_size_splits)
        if count < 1:
            raise ValueError(f"Attr 'num_split' of 'Split' Op passed {count} less than minimum 1.")
    else:
        lengths = _lengths(num_or_size_splits)
        found = lengths.shape.num_elements() if num is None else num
        if found is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
        count = found
        inputs.append(lengths)
    return record_all(joining.SPLIT, inputs, name, num=count)


def _lengths(value: Any) -> Tensor:
    lengths = numbers_of(value, "size_splits", allowed=("int8", "int32", "int64"))
    if lengths.shape.ndims == 0:
        raise ValueError(
            f"Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {value}"
        )
    if lengths.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {lengths.shape.ndims} for 'SplitV'")
    return lengths


# Tensors filled, repeated, padded and turned.


def _uniform(sizes: Any, value: Any, dtype: Any, name: str) -> Tensor:
    element = as_dtype(dtype)
    if element is string:
        value = _text(value)
    shape = _shape_tensor(sizes) if isinstance(sizes, Tensor) else None
    if shape is None:
        known = as_shape(sizes) if not isinstance(sizes, (list, tuple)) else None
        if known is None and not any(isinstance(n, Tensor) for n in sizes):
            known = TensorShape(sizes)
        if known is not None and known.is_fully_defined() and (known.num_elements() or 0) < _SMALL:
            sizes_known: Any = known.as_list()
            filled = np.full(sizes_known, value, dtype=element.numpy)
            return of_array(filled, name)
        shape = _shape_tensor(sizes)
    return fill(shape, convert_to_tensor(value, element), name)


def _text(value: int) -> bytes:
    if value:
        raise TypeError(f"Expected string, but got {value} of type 'int'.")
    return b""


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but zeros: of strings, empty ones."""
    return _uniform(shape, 0, dtype, name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Nothing but ones."""
    return _uniform(shape, 1, dtype, name or "ones")


def _like(tensor: Any, value: Any, dtype: Any, name: str) -> Tensor:
    if isinstance(tensor, ragged.RaggedTensor):
        return tensor._mapped(lambda flat: _like(flat, value, dtype, name))  # type: ignore[no-any-return]
    given = convert_to_tensor(tensor)
    element = given.dtype if dtype is None else as_dtype(dtype)
    what, kind = _text(value) if element is string else value, "OnesLike" if value else "ZerosLike"
    return record(filling.FILLED_LIKE, (given,), name, kind, value=what, dtype=element)


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros in the shape of another tensor."""
    return _like(tensor, 0, dtype, name or "zeros_like")


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones in the shape of another tensor."""
    return _like(tensor, 1, dtype, name or "ones_like")


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """One value, over and over."""
    return record(filling.FILL, (_shape_tensor(dims), convert_to_tensor(value)), name)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """Numbers from `start` up to and without `limit`, `delta` apart; from 0 when one is given."""
    if limit is None:
        start, limit = 0, start
    if dtype is not None:
        tensors = [convert_to_tensor(v, dtype) for v in (start, limit, delta)]
    else:
        tensors = _ranged(start, limit, delta)
    return record(filling.RANGE, tensors, name)


def _ranged(*values: Any) -> list[Tensor]:
    tensors = [convert_to_tensor(v) for v in values]
    order = [int32, as_dtype("int64"), float32, float64]
    widest = max((t.dtype for t in tensors), key=lambda t: order.index(t) if t in order else 0)
    return [cast(t, widest) for t in tensors]


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """Numbers at equal distances from `start` to `stop`."""
    ends = tensors_of([start, stop])
    if ends[0].dtype.is_integer:
        ends = [cast(end, float64) for end in ends]
    return record(filling.LINSPACE, [*ends, numbers_of(num, "num", rank=0)], name, axis=0)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """An array again and again, along each dimension as often as `multiples` say."""
    times = _numbers(multiples, "multiples", 1)
    return record(filling.TILE, (convert_to_tensor(input), times), name)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """An array repeated along dimensions of size 1, and along new ones in front."""
    return record(filling.BROADCAST_TO, (convert_to_tensor(input), _shape_tensor(shape)), name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """More elements before and after, as many along each dimension as `paddings` say."""
    way = mode.upper()
    if way not in filling.PAD_MODES:
        raise ValueError(
            f"Value of argument `mode` expected to be one of CONSTANT, REFLECT, or "
            f"SYMMETRIC. Received `mode` = {mode}"
        )
    given = convert_to_tensor(tensor)
    if isinstance(constant_values, int) and not constant_values:  # of whatever type
        constant_values = np.zeros((), given.dtype.numpy) if given.dtype is not string else b""
    filler = convert_to_tensor(constant_values, given.dtype)
    inputs = (given, numbers_of(paddings, "paddings", rank=2), filler)
    return record(filling.PAD, inputs, name, mode=way)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along some dimensions in the opposite order."""
    inputs = convert_to_tensor(tensor), _numbers(axis, "axis", 1)
    return record(filling.REVERSE, inputs, name)


operators["stack"] = _stack
