# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._tf.composite import Methods, of_values
from .._tf.dtypes import as_dtype
from .._tf.ops import picking as rows
from .._tf.ops.arithmetic import SELECT
from .._tf.tensor import OPERATORS, Tensor, convert_to_tensor
from .._tf.trace import Symbol, run
from . import ragged
from ._eager import checked, refused_type
from .array_ops import integers, sizes_of
from .math_ops import _pair, cast

__all__ = [
    "boolean_mask",
    "gather",
    "gather_nd",
    "one_hot",
    "sequence_mask",
    "slice_",
    "unique",
    "where",
]


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices of `params` that `indices` name, along `axis`.

    With `batch_dims`, that many first dimensions of both go together.
    """
    if ragged.functions.among([params, indices]):
        if axis or batch_dims:
            raise NotImplementedError("gather of ragged tensors covers axis=0 without batch_dims")
        return ragged.functions.gather(params, indices)
    along = sizes_of(batch_dims if axis is None else axis, "Taxis")
    inputs = [convert_to_tensor(params), _indices(indices), along]
    return run(rows.GATHER, inputs, batch_dims=int(batch_dims))


def _indices(value: Any) -> Any:
    tensor = convert_to_tensor(value)
    if tensor.dtype.name not in ("int16", "int32", "int64"):
        raise refused_type("", "Tindices", tensor.dtype, ("int16", "int32", "int64"))
    return tensor


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    """The parts of `params` at the places that the rows of `indices` spell out."""
    inputs = [convert_to_tensor(params), _indices(indices)]
    return run(rows.GATHER_ND, inputs, batch_dims=int(batch_dims))


def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Any:
    """The elements for which `mask` is True."""
    values, kept, first = convert_to_tensor(tensor), cast(mask, "bool"), int(axis or 0)
    if kept.shape.ndims == 0:
        raise ValueError("mask cannot be scalar.")
    if None not in (values.shape.ndims, kept.shape.ndims):
        sizes = values.shape[first : first + kept.shape.ndims]
        if not sizes.is_compatible_with(kept.shape):
            raise ValueError(f"Shapes {sizes} and {kept.shape} are incompatible")
    return run(rows.BOOLEAN_MASK, [values, kept], axis=first)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`x` where the condition holds and `y` elsewhere; with neither, where that is."""
    chosen = convert_to_tensor(condition)
    if x is None and y is None:
        checked(rows.WHERE, chosen)
        return run(rows.WHERE, [chosen])
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    checked(SELECT, chosen)
    return run(SELECT, [chosen, *_pair("SelectV2", x, y)])


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """`on_value` (1) at each index along a new dimension of `depth`, `off_value` (0) elsewhere."""
    if isinstance(indices, Methods):
        how = depth, on_value, off_value, axis, dtype
        return of_values(lambda flat: one_hot(flat, *how), indices)
    given = [convert_to_tensor(v).dtype for v in (on_value, off_value) if v is not None]
    if dtype is None and len(set(given)) > 1:
        raise TypeError(
            f"dtype {given[0]!r} of on_value does not match dtype {given[1]!r} of off_value"
        )
    wanted = as_dtype(dtype or (given[0] if given else "float32"))
    on = convert_to_tensor(1 if on_value is None else on_value, wanted)
    off = convert_to_tensor(0 if off_value is None else off_value, wanted)
    tensor, count = convert_to_tensor(indices), integers(depth)
    if not tensor.dtype.is_integer:
        raise refused_type("", "TI", tensor.dtype, ("uint8", "int8", "int32", "int64"))
    return run(rows.ONE_HOT, [tensor, count, on, off], axis=-1 if axis is None else axis)


class Unique(NamedTuple):
    """The values that there are, and which of them each value is."""

    y: Any
    idx: Any


def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """The different elements of a vector as they come, and which of them each element is."""
    return Unique(*run(rows.UNIQUE, [convert_to_tensor(x)], out_idx=as_dtype(out_idx)))


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Any:
    """For each length a row that is True so many times."""
    inputs = [convert_to_tensor(each) for each in (lengths, maxlen) if each is not None]
    return run(rows.SEQUENCE_MASK, inputs, dtype=as_dtype(dtype))


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """So many elements (-1 for the rest) from `begin` on, of each dimension."""
    places = [sizes_of(each, "Index") for each in (begin, size)]
    return run(rows.SLICE, [convert_to_tensor(input_), *places])


def _is_mask(key: Any) -> bool:
    if isinstance(key, Tensor):
        return key.dtype.is_bool
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == bool)


def _number(part: Any) -> Any:
    if isinstance(part, Tensor) and part.dtype.name not in ("int16", "int32", "int64"):
        raise TypeError(f"{rows.INVALID_INDEX}, got {part!r}")
    if isinstance(part, Symbol):
        return part
    if isinstance(part, (bool, np.bool_)):
        raise refused_type("", "Index", as_dtype("bool"), ("int16", "int32", "int64"))
    return rows.python_number(part)


def _getitem(tensor: Any, key: Any) -> Any:
    if not isinstance(key, (tuple, list)) and _is_mask(key):
        return boolean_mask(tensor, key)
    index, tensors = rows.index_of(key, _number)
    return run(rows.STRIDED_SLICE, [tensor, *tensors], index=index)


OPERATORS["getitem"] = _getitem
