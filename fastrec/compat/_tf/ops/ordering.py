# SPDX-License-Identifier: Apache-2.0
"""Sort, repeat and roll elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, constant_of, invalid, of_type, same_spec


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
_NATIVE = ("float32", "float64", "int32", "int64", "uint8")
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
    if 0 < k <= _LISTED and x.dtype.name in _NATIVE:
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
