# SPDX-License-Identifier: Apache-2.0
"""One value of many: sums, means, extremes and where these are, and sums along the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..dtypes import DType
from ..kernels.shaping import reduced as along
from ..kernels.shaping import summed
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of, invalid, same_spec

_LINE = 64  # numbers that are worth a call
_WORTH = 1 << 9  # numbers
_NATIVE = {"float32", "float64", "int32", "int64", "uint8", "bool"}


def one_number(value: Any, parameter: str) -> int:
    """The only element of an array.

    Raises
    ------
    InvalidArgumentError
        When it has more, or none.
    """
    array = np.asarray(value)
    if array.size != 1:
        raise invalid(f"{parameter} must be a tensor with a single value.")
    return int(array.reshape(-1)[0])


def _dimensions(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dimensions counted from the first.

    Raises
    ------
    InvalidArgumentError
        For one that is not there, or there twice.
    """
    found: list[int] = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
        if axis % rank in found:
            raise invalid(
                f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}"
            )
        found.append(axis % rank)
    return tuple(found)


def sizes_left(sizes: Sequence[int | None], axes: Any, keep_dims: bool) -> list[int | None]:
    """Sizes of what is left when these dimensions are gone.

    Raises
    ------
    ValueError
        For one that is not there.
    """
    rank = len(sizes)
    flat = [int(a) for a in np.asarray(axes).reshape(-1)]
    for a in flat:
        if not -rank <= a < rank:
            raise ValueError(f"Invalid reduction dimension {a} for input with {rank} dimensions.")
    gone = {a % rank for a in flat}
    if keep_dims:
        return [1 if i in gone else n for i, n in enumerate(sizes)]
    return [n for i, n in enumerate(sizes) if i not in gone]


def _reduced_spec(specs: Sequence[Any], raws: Sequence[Any], *, keep_dims: bool) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    known: list[int | None] | None = None
    if len(raws) == 1:
        if not keep_dims:
            known = []
        elif sizes is not None:
            known = [1] * len(sizes)
    elif sizes is not None:
        axes = constant_of(raws[1])
        if axes is not None:
            known = sizes_left(sizes, axes, keep_dims)
        elif keep_dims:
            known = [None] * len(sizes)
    return [TensorSpec(known, specs[0].dtype)]


def reduction(
    name: str, function: Callable[[Array, tuple[int, ...] | None, bool], Any], kinds: str
) -> Op:
    """An operation over the dimensions of its second input, or over all where that is missing."""

    def reduced(x: Array, axes: tuple[int, ...] | None, keep_dims: bool) -> Array:
        found = function(x, axes, keep_dims)
        return found if type(found) is np.ndarray else np.asarray(found, x.dtype)

    def kernel(x: Any, *axes: Array, keep_dims: bool) -> Array:
        array = as_array(x)
        if not axes:
            return reduced(array, None, keep_dims)
        return reduced(array, _dimensions(axes[0].reshape(-1).tolist(), array.ndim), keep_dims)

    def block(_: int, x: Block, *axes: Block, keep_dims: bool) -> Any:
        if not isinstance(x.value, np.ndarray) or not x.many or any(axis.many for axis in axes):
            return None
        rank = x.value.ndim - 1
        chosen = axes[0].value.reshape(-1).tolist() if axes else range(rank)
        places = tuple([place + 1 for place in _dimensions(chosen, rank)])
        return reduced(x.value, places, keep_dims)

    return Op(name, kernel, _reduced_spec, block, kinds=kinds)


def _mean(x: Array, axes: Any, keep: bool) -> Any:
    if x.dtype.kind not in "iu":
        total = summed(x, axes, keep)
        return total / total.dtype.type(x.size // max(total.size, 1))
    size = 4 if x.itemsize == 1 and x.size < 1 << 23 else 8  # bytes, which the sum fits
    total = along(np.add, x, axes, keep, dtype=f"{x.dtype.kind}{size}")
    count = total.dtype.type(max(x.size // max(total.size, 1), 1))
    if x.dtype.kind == "i":  # towards zero
        total = total - np.fmod(total, count)
    return (total // count).astype(x.dtype)


def _limit(dtype: np.dtype[Any], greatest: bool) -> Any:
    """The largest or least value of a type, infinite ones included."""
    if dtype.kind == "f":
        return np.inf if greatest else -np.inf
    return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min


def _are_native(x: Array, begin: int, end: int) -> bool:
    """Whether an extreme along these dimensions is found natively: NumPy's loops are shorter."""
    count = math.prod(x.shape[begin:end])
    if x.size < _WORTH or x.dtype.name not in _NATIVE or not 0 < count < 1 << 31:
        return False
    return count < _LINE or bool(math.prod(x.shape[end:]) > 1)


def _extreme(greatest: bool, other: Callable[..., Any]) -> Callable[..., Any]:
    """The largest or least number, or what `other` gives where it is the quicker one."""

    def extreme(x: Array, axes: tuple[int, ...] | None, keep: bool) -> Any:
        if axes:
            begin, end = min(axes), max(axes) + 1
            is_short = math.prod(x.shape[begin + 1 :]) < _LINE  # of NumPy's loops
            if is_short and end - begin == len(axes) and _are_native(x, begin, end):
                found = _tensor.extremes(x, begin, end, greatest=greatest)
                return np.expand_dims(found, axes) if keep else found
        return other(x, axes, keep)

    return extreme


def _logsumexp(x: Array, axes: Any, keep: bool) -> Any:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    most = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0).astype(wide.dtype)
    total = np.sum(np.exp(wide - most), axis=axes, keepdims=keep)
    return (np.log(total) + most.reshape(total.shape)).astype(x.dtype)


def _variance(x: Array, axes: Any, keep: bool) -> Any:
    if x.dtype.kind == "c":
        return np.var(x, axes, keepdims=keep)
    centred = x - _mean(x, axes, True)
    return _mean(np.multiply(centred, centred, out=centred), axes, keep)


SUM = reduction("Sum", summed, "fiuc")
PROD = reduction("Prod", lambda x, a, k: along(np.multiply, x, a, k, dtype=x.dtype), "fiuc")
MEAN = reduction("Mean", _mean, "fiuc")


def _most(x: Array, axes: Any, keep: bool) -> Any:
    return along(np.maximum, x, axes, keep, initial=_limit(x.dtype, False))


def _least(x: Array, axes: Any, keep: bool) -> Any:
    return along(np.minimum, x, axes, keep, initial=_limit(x.dtype, True))


MAX = reduction("Max", _extreme(True, _most), "fiu")
MIN = reduction("Min", _extreme(False, _least), "fiu")
ALL = reduction("All", _extreme(False, lambda x, a, k: along(np.logical_and, x, a, k)), "b")
ANY = reduction("Any", _extreme(True, lambda x, a, k: along(np.logical_or, x, a, k)), "b")
LOG_SUM_EXP = reduction("LogSumExp", _logsumexp, "f")
STD = reduction("Std", lambda x, a, k: np.sqrt(_variance(x, a, k)), "fc")
# The largest singular value.
MATRIX_NORM = reduction("Svd", lambda x, a, k: np.linalg.norm(x, 2, a, k), "fc")
VARIANCE = reduction("Variance", _variance, "fc")


def _place_of(name: str, function: Callable[..., Any], greatest: bool) -> Op:
    def kernel(x: Any, dimension: Array, *, output_type: DType) -> Array:
        axis = one_number(dimension, "dimension")
        array = as_array(x)
        if not -array.ndim <= axis < array.ndim:
            raise invalid(
                f"Expected dimension in the range [{-array.ndim}, {array.ndim}), but got {axis}"
            )
        if not array.shape[axis]:
            raise invalid(
                f"Reduction axis {axis % array.ndim} is empty in shape {in_messages(array.shape)}"
            )
        if _are_native(array, axis % array.ndim, axis % array.ndim + 1):
            begin = axis % array.ndim
            found = _tensor.extremes(array, begin, begin + 1, greatest=greatest, places=True)
            return found.astype(output_type.numpy, copy=False)
        if array.dtype.kind == "f" and np.isnan(array).any():  # which is never the one
            array = np.where(np.isnan(array), _limit(array.dtype, not greatest), array)
        return np.asarray(function(array, axis=axis), output_type.numpy)

    def infer(specs: Sequence[Any], raws: Sequence[Any], output_type: DType) -> list[TypeSpec]:
        sizes, axis = specs[0].shape.sizes, constant_of(raws[1])
        known = None if sizes is None or axis is None else sizes_left(sizes, axis, False)
        return [TensorSpec(known, output_type)]

    def block(_: int, x: Block, dimension: Block, *, output_type: DType) -> Any:
        if not isinstance(x.value, np.ndarray) or not x.many or dimension.many:
            return None
        axis, rank = one_number(dimension.value, "dimension"), x.value.ndim - 1
        if not -rank <= axis < rank:
            return None
        return kernel(x.value, np.asarray(axis % rank + 1), output_type=output_type)

    return Op(name, kernel, infer, block, kinds="fiub")


ARG_MAX = _place_of("ArgMax", np.argmax, True)
ARG_MIN = _place_of("ArgMin", np.argmin, False)


def _sums_along(x: Array, axis: int) -> Array:
    if math.prod(x.shape[axis + 1 :]) < _LINE or x.shape[axis] < 2 or x.dtype == object:
        return np.cumsum(x, axis, dtype=x.dtype)
    result = np.empty(x.shape, x.dtype)  # row by row, which NumPy does column by column
    rows, sums = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    sums[0] = rows[0]
    for before, row, total in zip(sums, rows[1:], sums[1:], strict=False):
        np.add(before, row, out=total)
    return result


def _cumsum(x: Any, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    a, rank = one_number(axis, "axis"), x.ndim
    if not -rank <= a < rank:
        raise invalid(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {a}")
    ordered = np.flip(x, a) if reverse else x
    result = _sums_along(ordered, a % rank)
    if exclusive and x.size:
        nothing = np.zeros_like(result.take([0], a))
        result = np.concatenate([nothing, result], a).take(range(x.shape[a]), a)
    return np.flip(result, a) if reverse else result


CUMSUM = Op("Cumsum", _cumsum, same_spec, kinds="fiuc")
