# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import fastrec

from .._tf import errors as _errors
from .._tf.dtypes import as_dtype
from .._tf.kernels import slicing
from .._tf.ops.arithmetic import SELECT
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import OPERATORS, Tensor, as_array, convert_to_tensor
from .._tf.trace import Block, Op, Symbol, run
from ._types import check_type, invalid_type

__all__ = ["boolean_mask", "gather", "gather_nd", "slice_", "where"]


def _gathered(params: Any, indices: Any, *, axis: int, batch_dims: int) -> Any:
    return slicing.gather(as_array(params), np.asarray(indices), axis, batch_dims)


def _gather_block(_: int, params: Block, indices: Block, *, axis: int, batch_dims: int) -> Any:
    if params.many or axis or batch_dims or not isinstance(indices.value, np.ndarray):
        return None
    return _gathered(params.value, indices.value, axis=0, batch_dims=0)


_GATHER = Op("GatherV2", _gathered, None, _gather_block)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices of `params` that `indices` name, along `axis`.

    With `batch_dims`, that many first dimensions of both go together.
    """
    tensors = [convert_to_tensor(params), _indices(indices)]
    where = int(batch_dims) if axis is None else int(axis)
    return run(_GATHER, tensors, axis=where, batch_dims=int(batch_dims))


def _indices(value: Any) -> Any:
    tensor = convert_to_tensor(value)
    if tensor.dtype.name not in ("int16", "int32", "int64"):
        raise invalid_type("Tindices", tensor.dtype, "int16, int32, int64")
    return tensor


_GATHER_ND = Op("GatherNd", lambda x, i: slicing.gather_nd(as_array(x), np.asarray(i)))


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    """The parts of `params` at the places that the rows of `indices` spell out."""
    if batch_dims:
        raise NotImplementedError("gather_nd with batch_dims is not covered")
    return run(_GATHER_ND, [convert_to_tensor(params), _indices(indices)])


_MASK = Op(
    "BooleanMask",
    lambda x, mask, axis: (
        np.compress(mask, as_array(x), axis)
        if mask.ndim == 1
        else as_array(x)[(builtins.slice(None),) * axis + (mask.astype(bool),)]
    ),
    lambda s, _, axis: [
        TensorSpec([None, *s[0].shape.as_list()[s[1].shape.ndims or 1 :]], s[0].dtype)
    ],
)


def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Any:
    """The elements for which `mask` is True."""
    values, kept, first = convert_to_tensor(tensor), convert_to_tensor(mask), int(axis or 0)
    if kept.shape.ndims == 0:
        raise ValueError("mask cannot be scalar.")
    if None not in (values.shape.ndims, kept.shape.ndims):
        sizes = values.shape[first : first + kept.shape.ndims]
        if not sizes.is_compatible_with(kept.shape):
            raise ValueError(f"Shapes {sizes} and {kept.shape} are incompatible")
    return run(_MASK, [values, kept], axis=first)


_WHERE = Op(
    "Where",
    lambda x: np.argwhere(as_array(x)).astype(np.int64),
    lambda s, _: [TensorSpec([None, s[0].shape.ndims], "int64")],
)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`x` where the condition holds and `y` elsewhere; with neither, where that is."""
    from .math_ops import _pair

    if x is None and y is None:
        return run(_WHERE, [convert_to_tensor(condition)])
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    chosen = convert_to_tensor(condition)
    check_type(SELECT, chosen)
    return run(SELECT, [chosen, *_pair("SelectV2", x, y)])


def _slice_spec(specs: list[TypeSpec], raws: list[Any]) -> list[TypeSpec]:
    rank = specs[0].shape.ndims
    if isinstance(raws[2], Symbol):
        return [TensorSpec(None if rank is None else [None] * rank, specs[0].dtype)]
    sizes = [None if size == -1 else int(size) for size in raws[2]]
    return [TensorSpec(sizes, specs[0].dtype)]


_SLICE = Op(
    "Slice",
    lambda x, begin, size: slicing.slice_array(as_array(x), np.asarray(begin), np.asarray(size)),
    _slice_spec,
)


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """So many elements (-1 for the rest) from `begin` on, of each dimension."""
    return run(_SLICE, [convert_to_tensor(each) for each in (input_, begin, size)])


def _picked(x: Any, *indices: Any, key: tuple[Any, ...]) -> Any:
    array = as_array(x)
    try:
        found = array[_filled(key, indices)]
    except IndexError as error:
        raise _errors.InvalidArgumentError(
            None, None, f"slice index is out of bounds: {error}"
        ) from error
    return found if isinstance(found, np.ndarray) else np.asarray(found, array.dtype)


def _filled(key: tuple[Any, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key, with the values of what were tensors in it."""
    numbers = iter(int(i) for i in indices)

    def one(part: Any) -> Any:
        if part is _HOLE:
            return next(numbers)
        if isinstance(part, builtins.slice):
            return builtins.slice(one(part.start), one(part.stop), one(part.step))
        return part

    return tuple(map(one, key))


def _part_of_rows(rows: fastrec.Ragged, part: builtins.slice) -> Any:
    """From the beginnings of rows, or from places after them, up to some length."""
    begin, end = part.start or 0, part.stop
    if begin < 0 or part.step not in (None, 1) or (end is not None and end < 0):
        return None
    lengths = rows.row_lengths
    kept = np.maximum((lengths if end is None else np.minimum(lengths, end)) - begin, 0)
    splits = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=splits[1:])
    places = np.arange(splits[-1]) + np.repeat(rows.row_splits[:-1] + begin - splits[:-1], kept)
    return fastrec.Ragged(rows.values[places], splits)


def _pick_block(_: int, x: Block, *indices: Block, key: tuple[Any, ...]) -> Any:
    if isinstance(x.value, fastrec.Ragged) and x.many and not indices:
        parts = [each for each in key if each is not Ellipsis]
        of_numbers = isinstance(x.value.values, np.ndarray)
        if len(parts) == 1 and isinstance(parts[0], builtins.slice) and of_numbers:
            return _part_of_rows(x.value, parts[0])
        return None
    if not isinstance(x.value, np.ndarray) or indices or not x.many:
        return None
    return x.value[(builtins.slice(None), *key)]


def _is_mask(key: Any) -> bool:
    if isinstance(key, Tensor):
        return key.dtype.is_bool
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == bool)


_HOLE = object()
_STRIDED_SLICE = Op("StridedSlice", _picked, None, _pick_block)


def _getitem(tensor: Any, key: Any) -> Any:
    parts = tuple(key) if isinstance(key, (tuple, list)) else (key,)
    if not isinstance(key, (tuple, list)) and _is_mask(key):
        return boolean_mask(tensor, key)
    holes: list[Any] = []

    def one(part: Any) -> Any:
        if isinstance(part, builtins.slice):
            return builtins.slice(one(part.start), one(part.stop), one(part.step))
        if isinstance(part, Symbol):
            holes.append(part)
            return _HOLE
        if isinstance(part, Tensor):
            return int(part)  # type: ignore[call-overload]
        if isinstance(part, (bool, np.bool_)):
            raise invalid_type("Index", as_dtype("bool"), "int16, int32, int64")
        if part is None or part is Ellipsis or (np.ndim(part) == 0 and hasattr(part, "__index__")):
            return part
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {part!r}"
        )

    filled = tuple(map(one, parts))
    return run(_STRIDED_SLICE, [tensor, *holes], key=filled)


OPERATORS["getitem"] = _getitem
