# SPDX-License-Identifier: Apache-2.0
"""Tensors made, shaped, joined, cut, padded and repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf.composite import Methods, RaggedTensor, SparseTensor, of_values
from .._tf.dtypes import as_dtype
from .._tf.ops import Op, filling, invalid, joining, shaping
from .._tf.ops.arithmetic import CONJ, IDENTITY
from .._tf.ops.reductions import PROD
from .._tf.shape import in_messages
from .._tf.tensor import OPERATORS, EagerTensor, Tensor, TensorShape, convert_to_tensor, mismatch
from .._tf.trace import run
from . import ragged
from ._eager import refused_type
from .math_ops import cast


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """A tensor of `value`; of `shape`, which one value fills."""
    tensor = convert_to_tensor(value, dtype)
    if shape is None:
        return tensor
    sizes = TensorShape(shape).as_list()
    if tensor.array.size == 1:
        return EagerTensor(np.full(sizes, tensor.array.reshape(()), tensor.array.dtype))
    return reshape(tensor, sizes)


def integers(value: Any) -> Any:
    """Integers as a tensor."""
    tensor = convert_to_tensor(value)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Cannot convert {value} to EagerTensor of dtype int32")
    return tensor


def sizes_of(shape: Any, attr: str = "Tshape") -> Any:
    """Sizes, or places, as a tensor of integers."""
    empty = isinstance(shape, (list, tuple)) and not shape
    tensor = convert_to_tensor(np.zeros(0, np.int32) if empty else shape)
    if not tensor.dtype.is_integer:
        raise refused_type("", attr, tensor.dtype, ("int32", "int64"))
    return tensor


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same elements in another shape, one of whose sizes may be -1."""
    return run(shaping.RESHAPE, [convert_to_tensor(tensor), sizes_of(shape)])


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """A dimension of 1 more."""
    if isinstance(input, RaggedTensor):
        return ragged.functions.expand_dims(input, axis)
    return run(shaping.EXPAND_DIMS, [convert_to_tensor(input), integers(axis)])


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Without dimensions of 1: those of `axis`, or all."""
    axes = [] if axis is None else np.atleast_1d(np.asarray(axis)).tolist()
    return run(shaping.SQUEEZE, [convert_to_tensor(input)], squeeze_dims=axes)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    """The dimensions in another order."""
    tensor = convert_to_tensor(a)
    if conjugate and tensor.dtype.is_complex:
        tensor = run(CONJ, [tensor])
    order = [] if perm is None else [sizes_of(perm, "Tperm")]
    return run(shaping.TRANSPOSE, [tensor, *order])


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Any:
    """Tensors of one shape as one, along a new dimension."""
    if isinstance(values, Tensor):
        values = unstack(values)
    if ragged.functions.among(values):
        return ragged.functions.stack(values, axis)
    if not values:
        return convert_to_tensor([])
    return run(joining.PACK, _alike("Pack", values), axis=axis)


def _alike(op: str, values: Any) -> list[Any]:
    """Tensors of the type of the first one that is a tensor, or of the widest."""
    dtype = next((value.dtype for value in values if isinstance(value, Tensor)), None)
    if dtype is None:
        found = [convert_to_tensor(value) for value in values]
        dtype = next((each.dtype for each in found if each.dtype.is_floating), None)
        dtype = dtype or (found[0].dtype if found else None)
    for number, value in enumerate(values):
        if dtype and isinstance(value, Tensor) and value.dtype != dtype:
            raise mismatch(op, dtype, value.dtype, number)
    return [convert_to_tensor(value, dtype) for value in values]


def concat(values: Any, axis: Any, name: str | None = "concat") -> Any:
    """Tensors one after the other, along a dimension that they have."""
    if ragged.functions.among(values):
        return ragged.functions.concat(values, axis)
    tensors, where = _alike("ConcatV2", values), integers(axis)
    if not tensors:
        raise ValueError("List argument 'values' to 'ConcatV2' Op with length 0 is too short.")
    return run(joining.CONCAT, [where, *tensors]) if len(tensors) > 1 else run(IDENTITY, tensors)


def _several(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str | None = None
) -> list[Any]:
    """The slices of a tensor along a dimension."""
    tensor = convert_to_tensor(value)
    count = joining.number_of_parts(tensor.shape, num, axis)
    return _several(run(joining.UNPACK, [tensor], num=count, axis=axis))


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Any]:
    """A tensor in so many equal parts, or in parts of those sizes, along a dimension."""
    inputs = [convert_to_tensor(value), sizes_of(axis, "Tdim")]
    if isinstance(num_or_size_splits, (int, np.integer)):
        count = int(num_or_size_splits)
        if count < 1:
            raise invalid(f"Number of ways to split should be > 0, but got {count}")
    else:
        lengths = sizes_of(num_or_size_splits, "Tlen")
        if not lengths.shape.ndims:
            raise ValueError(
                "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
                f"Argument provided: {num_or_size_splits}"
            )
        found = lengths.shape.num_elements() if num is None else num
        if found is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
        count = found
        inputs.append(lengths)
    return _several(run(joining.SPLIT, inputs, num=count))


def shape(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """The shape of a tensor, as a tensor."""
    wanted = as_dtype(out_type)
    if isinstance(input, SparseTensor):
        return cast(input.dense_shape, wanted)
    tensor = convert_to_tensor(input)
    sizes = tensor.shape.sizes
    if sizes is not None and None not in sizes:
        return EagerTensor(np.array(sizes, wanted.numpy))
    return run(shaping.SHAPE, [tensor], out_type=wanted)


def size(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """Return the number of elements."""
    if isinstance(input, RaggedTensor):
        return size(input.flat_values, out_type)
    if isinstance(input, SparseTensor):
        return run(PROD, [shape(input, out_type)], keep_dims=False)
    return run(shaping.SIZE, [convert_to_tensor(input)], out_type=as_dtype(out_type))


def rank(input: Any, name: str | None = None) -> Any:
    """Return the number of dimensions."""
    tensor: Any = input if isinstance(input, Methods) else convert_to_tensor(input)
    known = tensor.shape.ndims
    return run(shaping.RANK, [tensor]) if known is None else constant(known, "int32")


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """A tensor repeated along its dimensions."""
    return run(filling.TILE, [convert_to_tensor(input), sizes_of(multiples, "Tmultiples")])


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """A tensor turned around along dimensions."""
    return run(filling.REVERSE, [convert_to_tensor(tensor), sizes_of(axis, "Tidx")])


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """A tensor with more before and after each of its dimensions."""
    way = mode.upper()
    if way not in filling.PAD_MODES:
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    values = convert_to_tensor(tensor)
    if isinstance(constant_values, int) and not constant_values:  # of whatever type
        constant_values = b"" if values.dtype.name == "string" else np.zeros((), values.dtype.numpy)
    filler = convert_to_tensor(constant_values, values.dtype)
    return run(filling.PAD, [values, sizes_of(paddings, "Tpaddings"), filler], mode=way)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """The tensor, which has to be of that shape."""
    wanted = TensorShape(shape)

    def check(value: Any) -> Any:
        found = () if isinstance(value, bytes) else value.shape
        if not wanted.is_compatible_with(found):
            text = (
                f"Shape of tensor {in_messages(found)} is not compatible with expected shape "
                f"{in_messages(wanted)}."
            )
            raise _errors.InvalidArgumentError(None, None, text)
        return value

    op = Op("EnsureShape", check, lambda s, _: [s[0].reshaped(s[0].shape.merge_with(wanted))])
    return run(op, [convert_to_tensor(x)])


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor repeated to a shape."""
    return run(filling.BROADCAST_TO, [convert_to_tensor(input), sizes_of(shape, "Tidx")])


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """A tensor of one value."""
    return run(filling.FILL, [sizes_of(dims, "index_type"), convert_to_tensor(value)])


def zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Zeros, or empty strings."""
    wanted = as_dtype(dtype)
    if wanted.is_bool or wanted.name == "string":
        return fill(shape, constant(False if wanted.is_bool else b""))
    return fill(shape, constant(0, wanted))


def ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Ones."""
    return fill(shape, constant(True if as_dtype(dtype).is_bool else 1, dtype))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros of the shape of a tensor."""
    if isinstance(input, RaggedTensor):
        return of_values(lambda flat: zeros_like(flat, dtype), input)
    tensor = convert_to_tensor(input)
    return zeros(shape(tensor), dtype or tensor.dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Ones of the shape of a tensor."""
    if isinstance(input, RaggedTensor):
        return of_values(lambda flat: ones_like(flat, dtype), input)
    tensor = convert_to_tensor(input)
    return ones(shape(tensor), dtype or tensor.dtype)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Any:
    """Numbers from `start` up to `limit`."""
    begin, end = (0, start) if limit is None else (start, limit)
    parts = [convert_to_tensor(part) for part in (begin, end, delta)]
    order = ["int32", "int64", "float32", "float64"]
    wanted = dtype or max((part.dtype.name for part in parts), key=order.index)
    return run(filling.RANGE, [cast(part, wanted) for part in parts])


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Any:
    """`num` numbers from `start` to `stop`, as far from each other."""
    ends = [convert_to_tensor(each) for each in (start, stop)]
    ends = [cast(end, "float64") if end.dtype.is_integer else end for end in ends]
    return run(filling.LINSPACE, [*ends, integers(num)], axis=axis)


OPERATORS["stack"] = stack
