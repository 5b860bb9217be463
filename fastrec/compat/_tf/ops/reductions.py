# SPDX-License-Identifier: Apache-2.0
"""Reductions (sums, means, extremes, their indices, cumulative sums), and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..columns import flat_values
from ..dtypes import DType
from ..errors import invalid
from ..kernels.shaping import reduced as along
from ..kernels.shaping import summed
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of, of_type, same_spec

_LINE = 64  # the minimum length of a loop that justifies a call
_WORTH = 1 << 9  # the minimum number of elements for native code
# Types are compared, because NumPy computes the name of a type each time.
_SORTED_NATIVELY = set(map(np.dtype, ("float32", "float64", "int32", "int64", "uint8")))
_NATIVE = {*_SORTED_NATIVELY, np.dtype("bool")}


def one_number(value: Any, parameter: str) -> int:
    """Return the only element of an array.

    Raises
    ------
    InvalidArgumentError
        If the array does not have exactly one element.
    """
    array = np.asarray(value)
    if array.size != 1:
        raise invalid(f"{parameter} must be a tensor with a single value.")
    return int(array.reshape(-1)[0])


def _dimensions(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return non-negative axes.

    Raises
    ------
    InvalidArgumentError
        If an axis is out of range or repeated.
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
    """Return the sizes after a reduction over axes.

    Raises
    ------
    ValueError
        If an axis is out of range.
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
    """Return an operation that reduces the axes in the second input, or by default all axes."""

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
    # Bytes of an integer that holds the sum.
    size = 4 if x.itemsize == 1 and x.size < 1 << 23 else 8
    total = along(np.add, x, axes, keep, dtype=f"{x.dtype.kind}{size}")
    count = total.dtype.type(max(x.size // max(total.size, 1), 1))
    if x.dtype.kind == "i":  # truncate towards zero
        total = total - np.fmod(total, count)
    return (total // count).astype(x.dtype)


def _limit(dtype: np.dtype[Any], greatest: bool) -> Any:
    """Return the largest or smallest value of a type, including infinity."""
    if dtype.kind == "f":
        return np.inf if greatest else -np.inf
    return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min


def _are_native(x: Array, begin: int, end: int) -> bool:
    """Return whether an extreme over these axes is computed natively.

    Native code is used if NumPy's loops would be short.
    """
    count = math.prod(x.shape[begin:end])
    if x.size < _WORTH or x.dtype not in _NATIVE or not 0 < count < 1 << 31:
        return False
    return count < _LINE or bool(math.prod(x.shape[end:]) > 1)


def _extreme(greatest: bool, other: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for the maximum or minimum, which calls `other` if that is faster."""

    def extreme(x: Array, axes: tuple[int, ...] | None, keep: bool) -> Any:
        if axes:
            begin, end = min(axes), max(axes) + 1
            # Whether NumPy's loops would be short.
            is_short = math.prod(x.shape[begin + 1 :]) < _LINE
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
# Computes the largest singular value.
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
        if array.dtype.kind == "f" and np.isnan(array).any():  # NaN is never selected
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
    result = np.empty(x.shape, x.dtype)  # add row by row, because np.cumsum works column by column
    rows, sums = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    sums[0] = rows[0]
    for before, row, total in zip(sums, rows[1:], sums[1:], strict=False):
        np.add(before, row, out=total)
    return result


def accumulating(name: str, along: Callable[[Array, int], Array], first: float, kinds: str) -> Op:
    """Return an operation that computes cumulative results along a dimension.

    Parameters
    ----------
    name : str
    along : callable
        Takes an array and an axis; returns the cumulative results.
    first : float
        The first result if the element itself is excluded.
    kinds : str
        The kinds of types that the operation accepts.
    """

    def kernel(x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
        a, rank = one_number(axis, "axis"), x.ndim
        if not -rank <= a < rank:
            raise invalid(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {a}")
        ordered = np.flip(x, a) if reverse else x
        result = along(ordered, a % rank)
        if exclusive and x.size:
            before = np.full_like(result.take([0], a), first)
            result = np.concatenate([before, result], a).take(range(x.shape[a]), a)
        return np.flip(result, a) if reverse else result

    def block(_: int, x: Block, axis: Block, *, exclusive: bool, reverse: bool) -> Any:
        """Sum integers, whose rounding does not depend on the numbers before a row."""
        if name != "Cumsum" or axis.many or one_number(axis.value, "axis") not in (0, -1):
            return None
        if not x.many or not isinstance(x.value, fastrec.Ragged):
            return None
        if not isinstance(x.value.values, np.ndarray) or x.value.values.dtype.kind not in "iu":
            return None
        rows, splits = flat_values(x.value), x.value.row_splits - x.value.row_splits[0]
        sums = np.zeros(len(rows) + 1, rows.dtype)
        np.cumsum(rows, out=sums[1:])
        lengths = np.diff(splits)
        if reverse:
            found = np.repeat(sums[splits[1:]], lengths) - (sums[1:] if exclusive else sums[:-1])
        else:
            found = (sums[:-1] if exclusive else sums[1:]) - np.repeat(sums[splits[:-1]], lengths)
        return fastrec.Ragged(found, splits)

    return Op(name, kernel, same_spec, block, kinds=kinds)


CUMSUM = accumulating("Cumsum", _sums_along, 0, "fiuc")


def _order(x: Array, axis: int, descending: bool) -> Array:
    if not -x.ndim <= axis < x.ndim:
        raise invalid(f"axis {axis} is out of range for a tensor of {x.ndim} dimensions")
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # The first of equal elements stays first.
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


def _sorted(x: Array, *, axis: int, descending: bool) -> Array:
    return np.take_along_axis(x, _order(x, axis, descending), axis)


def _places(x: Array, *, axis: int, descending: bool) -> Array:
    return _order(x, axis, descending).astype(np.int32)


ARGSORT = Op("Argsort", _places, of_type("int32"), kinds="fiu")
SORT = Op("Sort", _sorted, same_spec, kinds="fiu")


_LISTED = 32  # up to this number, inserting into a list is faster
_FEW = 8  # a partition is faster with over 8 times more elements than results


def _largest(x: Array, count: int) -> Array:
    """Return the indices of the largest elements of each row; ties keep their order."""
    if x.ndim > 1 or not 0 < count < x.size // _FEW:
        return _order(x, -1, True)[..., :count]
    least = np.partition(x, x.size - count)[x.size - count]
    among = np.flatnonzero(x >= least)
    if among.size < count:  # NaN counts as the largest
        return _order(x, -1, True)[:count]
    return np.asarray(among[_order(x[among], -1, True)[:count]])


def _top(x: Array, *, k: int) -> tuple[Array, Array]:
    if k < 0:
        raise invalid(f"Need k >= 0, got {k}")
    columns = x.shape[-1] if x.ndim else 0
    if columns < k or not x.ndim:
        raise invalid(f"input must have at least k columns. Had {columns}, needed {k}")
    if 0 < k <= _LISTED and x.dtype in _SORTED_NATIVELY:
        return _tensor.largest(x, k)
    where = _largest(x, k)
    return np.take_along_axis(x, where, -1), where.astype(np.int32)


def _top_spec(specs: Sequence[Any], *_: Any, k: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is not None and (not sizes or (sizes[-1] is not None and sizes[-1] < k)):
        columns = sizes[-1] if sizes else 0
        raise invalid(f"input must have at least k columns. Had {columns}, needed {k}")
    shape = None if sizes is None else [*sizes[:-1], k]
    return [TensorSpec(shape, specs[0].dtype), TensorSpec(shape, "int32")]


TOP_K = Op("TopKV2", _top, _top_spec, kinds="fiu")


def _repeated(x: Any, counts: Array, *, axis: int | None) -> Array:
    return np.repeat(as_array(x), counts, axis)


def _repeated_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, axis: int | None
) -> list[TypeSpec]:
    sizes, counts = specs[0].shape.sizes, constant_of(raws[1])
    if axis is None:
        size = specs[0].shape.num_elements()
    elif sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    else:
        size = sizes[axis]
    if counts is None or size is None:
        total = None
    else:
        total = int(np.broadcast_to(counts.reshape(-1), size).sum())
    if axis is None:
        return [TensorSpec([total], specs[0].dtype)]
    found = list(sizes or ())
    found[axis] = total
    return [TensorSpec(found, specs[0].dtype)]


REPEAT = Op("Repeat", _repeated, _repeated_spec)


def _rolled(x: Any, shift: Array, axis: Array) -> Array:
    by, along = (np.atleast_1d(each).tolist() for each in (shift, axis))
    if len(by) != len(along):
        raise invalid("shift and axis must have the same size")
    return np.roll(as_array(x), by, along)


ROLL = Op("Roll", _rolled, same_spec)
