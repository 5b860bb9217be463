# SPDX-License-Identifier: Apache-2.0
"""Making, shaping and picking tensors."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from .._tf import errors as _errors
from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.kernels.shaping import new_sizes, reshaped
from .._tf.shape import in_messages
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import OPERATORS, EagerTensor, Tensor, TensorShape, as_array, convert_to_tensor
from .._tf.trace import Block, Op, Symbol, run
from ._types import invalid_type

Array = NDArray[Any]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """A tensor of `value`; of `shape`, which one value fills."""
    tensor = convert_to_tensor(value, dtype)
    if shape is None:
        return tensor
    sizes = TensorShape(shape).as_list()
    if tensor.array.size == 1:
        return EagerTensor(np.full(sizes, tensor.array.reshape(()), tensor.array.dtype))
    return reshape(tensor, sizes)


def _reshaped(x: Any, sizes: Any) -> Any:
    wanted = [int(size) for size in np.asarray(sizes).reshape(-1)]
    if isinstance(x, fastrec.Bytes):
        return fastrec.Bytes(x.data, x.offsets, tuple(new_sizes(x.shape, wanted)))
    return reshaped(as_array(x), wanted)


def _reshape_block(count: int, x: Block, sizes: Block) -> Any:
    if not isinstance(x.value, np.ndarray) or not x.many or sizes.many:
        return None
    wanted = np.asarray(sizes.value).reshape(-1).tolist()
    try:
        return x.value.reshape(count, *new_sizes(x.value.shape[1:], wanted))
    except _errors.InvalidArgumentError:
        return None  # one element after the other says what is wrong


def _reshape_spec(specs: list[TypeSpec], raws: list[Any]) -> list[TypeSpec]:
    sizes = raws[1]
    if isinstance(sizes, Symbol):
        maker = sizes.trace.makers.get(sizes.slot)
        if maker is not None and maker.op is _STACK:
            parts = [None if is_slot else int(np.asarray(v)) for is_slot, v in maker.inputs]
            return [TensorSpec([p if p != -1 else None for p in parts], specs[0].dtype)]
        rank = specs[1].shape.sizes
        return [
            TensorSpec(
                (rank and rank[0] is not None and [None] * (rank[0] or 0)) or None, specs[0].dtype
            )
        ]
    wanted: list[int | None] = [int(s) for s in np.asarray(sizes).reshape(-1)]
    if -1 in wanted:
        total = specs[0].shape.num_elements() if specs[0].shape.sizes is not None else None
        rest = math.prod(s for s in wanted if s is not None and s != -1)
        wanted[wanted.index(-1)] = total // rest if total is not None and rest else None
    return [TensorSpec(wanted, specs[0].dtype)]


_RESHAPE = Op("Reshape", _reshaped, _reshape_spec, _reshape_block, cheap=True)


def sizes_of(shape: Any) -> Any:
    tensor = convert_to_tensor(
        shape if not isinstance(shape, (list, tuple)) or shape else np.zeros(0, np.int32)
    )
    if not tensor.dtype.is_integer:
        raise invalid_type("Tshape", tensor.dtype, "int32, int64")
    return tensor


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same elements in another shape, one of whose sizes may be -1."""
    return run(_RESHAPE, [convert_to_tensor(tensor), sizes_of(shape)])


def _shifted(axis: int, many: bool) -> int:
    return axis + 1 if many and axis >= 0 else axis


def _moving(name: str, function: Any) -> Op:
    """An operation along an axis, which in a column is one further."""

    def kernel(x: Any, *, axis: int) -> Any:
        return function(as_array(x), axis)

    def block(_: int, x: Block, *, axis: int) -> Any:
        if not isinstance(x.value, np.ndarray):
            return None
        return function(x.value, _shifted(axis, True))

    return Op(name, kernel, None, block)


_EXPAND = _moving("ExpandDims", np.expand_dims)


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """A dimension of 1 more."""
    return run(_EXPAND, [convert_to_tensor(input)], axis=int(axis))


_SQUEEZE = Op("Squeeze", lambda x, axis: np.squeeze(as_array(x), axis))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Without dimensions of 1: those of `axis`, or all."""
    axes = None if axis is None else tuple(np.atleast_1d(np.asarray(axis)).tolist())
    return run(_SQUEEZE, [convert_to_tensor(input)], axis=axes)


def _transposed(x: Any, *, perm: tuple[int, ...] | None) -> Any:
    return np.transpose(as_array(x), perm)


def _transpose_block(_: int, x: Block, *, perm: tuple[int, ...] | None) -> Any:
    if not isinstance(x.value, np.ndarray):
        return None
    rank = x.value.ndim - 1
    order = tuple(p % rank for p in perm) if perm is not None else tuple(range(rank))[::-1]
    return np.transpose(x.value, (0, *(p + 1 for p in order)))


_TRANSPOSE = Op("Transpose", _transposed, None, _transpose_block)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    """The dimensions in another order."""
    order = None if perm is None else tuple(np.asarray(perm).tolist())
    return run(_TRANSPOSE, [convert_to_tensor(a)], perm=order)


def _stacked(*values: Any, axis: int = 0) -> Any:
    return np.stack([as_array(value) for value in values], axis)


def _stack_block(count: int, *blocks: Block, axis: int = 0) -> Any:
    if not all(isinstance(b.value, np.ndarray) for b in blocks):
        return None
    full = [
        b.value if b.many else np.broadcast_to(b.value, (count, *b.value.shape)) for b in blocks
    ]
    if len({v.shape for v in full}) > 1:
        return None
    return np.stack(full, _shifted(axis, True))


_STACK = Op("Pack", _stacked, None, _stack_block)


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Any:
    """Tensors of one shape as one, along a new dimension."""
    if isinstance(values, Tensor):
        values = unstack(values)
    if not values:
        return convert_to_tensor([])
    return run(_STACK, _alike(values), axis=axis)


def _alike(values: Any) -> list[Any]:
    """Tensors of the type of the first one that is a tensor, or of the widest."""
    dtype = next((value.dtype for value in values if isinstance(value, Tensor)), None)
    if dtype is None:
        found = [convert_to_tensor(value) for value in values]
        dtype = next((each.dtype for each in found if each.dtype.is_floating), None)
        dtype = dtype or (found[0].dtype if found else None)
    return [convert_to_tensor(value, dtype) for value in values]


def _joined(*values: Any, axis: int) -> Any:
    return np.concatenate([as_array(value) for value in values], axis)


def _concat_block(count: int, *blocks: Block, axis: int) -> Any:
    if not all(isinstance(b.value, np.ndarray) for b in blocks):
        return None
    full = [
        b.value if b.many else np.broadcast_to(b.value, (count, *b.value.shape)) for b in blocks
    ]
    return np.concatenate(full, _shifted(axis, True))


_CONCAT = Op("ConcatV2", _joined, None, _concat_block)


def concat(values: Any, axis: int, name: str | None = "concat") -> Any:
    """Tensors one after the other, along a dimension that they have."""
    return run(_CONCAT, _alike(values), axis=int(axis))


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str | None = None
) -> list[Any]:
    """The slices of a tensor along a dimension."""
    tensor = convert_to_tensor(value)
    count = num if num is not None else tensor.shape.as_list()[axis]
    key = (builtins.slice(None),) * (axis % (tensor.shape.ndims or 1))
    return [tensor[(*key, i)] for i in range(count)]


def split(value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None) -> list[Any]:
    """A tensor in so many equal parts, or in parts of those sizes, along a dimension.

    Raises
    ------
    InvalidArgumentError
        When these are not the sizes of its parts.
    """
    tensor, along = convert_to_tensor(value), int(axis)
    rank = tensor.shape.ndims or 0
    if not -rank <= along < rank:
        raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {along}")
    total = tensor.shape.as_list()[along]
    sizes = _parts(total, np.asarray(convert_to_tensor(num_or_size_splits)), along)
    key = (builtins.slice(None),) * (along % rank)
    ends = np.cumsum(sizes).tolist()
    return [tensor[(*key, builtins.slice(e - s, e))] for s, e in zip(sizes, ends, strict=True)]


def _parts(total: int, wanted: Array, axis: int) -> list[int]:
    """Sizes of the parts of `total`; one of those wanted may be -1."""
    if wanted.dtype.kind not in "iu":
        raise TypeError(f"Cannot split into {wanted.tolist()} parts")
    if not wanted.ndim:
        count = int(wanted)
        if count < 1 or total % count:
            raise invalid(
                f"Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {axis} (size = {total}) and num_split {count}"
            )
        return [total // count] * count
    sizes: list[int] = wanted.reshape(-1).tolist()
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = total - sum(sizes) - 1
    if min(sizes, default=0) < 0 or sum(sizes) != total:
        raise invalid(
            f"Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {sum(sizes)}"
        )
    return sizes


def _shape_kernel(x: Any, *, dtype: Any) -> Any:
    return np.array(() if isinstance(x, bytes) else x.shape, dtype)


def _shape_block(_: int, x: Block, *, dtype: Any) -> Any:
    if x.many and isinstance(x.value, fastrec.Ragged):
        return x.value.row_lengths[:, np.newaxis].astype(dtype)
    if not isinstance(x.value, np.ndarray):
        return None
    return Block(np.array(x.value.shape[1:] if x.many else x.value.shape, dtype), False)


_SHAPE = Op(
    "Shape",
    _shape_kernel,
    lambda s, _, dtype: [TensorSpec([s[0].shape.ndims], dtype)],
    _shape_block,
)


def shape(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """The shape of a tensor, as a tensor."""
    tensor = convert_to_tensor(input)
    dtype = as_dtype(out_type).numpy
    sizes = tensor.shape.sizes
    if sizes is not None and None not in sizes:
        return EagerTensor(np.array(sizes, dtype))
    return run(_SHAPE, [tensor], dtype=dtype)


def size(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """Return the number of elements."""
    if not isinstance(input, Tensor) and hasattr(input, "_raw"):
        from .reductions import reduce_prod

        return reduce_prod(shape(input, out_type))
    return run(_SIZE, [convert_to_tensor(input)], dtype=as_dtype(out_type).numpy)


def _size_block(_: int, x: Block, *, dtype: Any) -> Any:
    if x.many and isinstance(x.value, fastrec.Ragged):
        return x.value.row_lengths.astype(dtype)
    if not isinstance(x.value, np.ndarray):
        return None
    sizes = x.value.shape[1:] if x.many else x.value.shape
    return Block(np.array(math.prod(sizes), dtype), False)


_SIZE = Op(
    "Size",
    lambda x, dtype: np.asarray(as_array(x).size, dtype),
    lambda specs, _, dtype: [TensorSpec((), dtype)],
    _size_block,
)


def rank(input: Any, name: str | None = None) -> Any:
    """Return the number of dimensions."""
    return constant(convert_to_tensor(input).shape.ndims, "int32")


def _tiled(x: Any, multiples: Any) -> Any:
    array, counts = as_array(x), np.asarray(multiples)
    if counts.ndim != 1 or len(counts) != array.ndim:
        raise invalid(
            f"Expected multiples argument to be a vector of length {array.ndim} but got length "
            f"{len(counts) if counts.ndim else 0}"
        )
    return np.tile(array, counts.tolist())


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """A tensor repeated along its dimensions."""
    return run(Op("Tile", _tiled), [convert_to_tensor(input), sizes_of(multiples)])


def _turned(x: Any, axes: Any) -> Any:
    if np.ndim(axes) != 1:
        raise invalid(f"'dims' must be 1-dimension, not {np.ndim(axes)}")
    return np.flip(as_array(x), tuple(axes.tolist()))


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """A tensor turned around along dimensions."""
    return run(Op("ReverseV2", _turned), [convert_to_tensor(tensor), sizes_of(axis)])


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
    op = Op("BroadcastTo", lambda x, n: np.broadcast_to(as_array(x), np.asarray(n).tolist()).copy())
    return run(op, [convert_to_tensor(input), sizes_of(shape)])


OPERATORS["stack"] = stack
