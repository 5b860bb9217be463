# SPDX-License-Identifier: Apache-2.0
"""Tensors sorted, repeated, rolled and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Op, Symbol, run
from ._types import check_type
from .array_ops import sizes_of
from .math_ops import cast

__all__ = [
    "argsort",
    "eye",
    "linspace",
    "repeat",
    "roll",
    "sequence_mask",
    "sort",
    "top_k",
    "unique",
]


class TopK(NamedTuple):
    """The largest values, and where they are."""

    values: Any
    indices: Any


class Unique(NamedTuple):
    """The values that there are, and which of them each value is."""

    y: Any
    idx: Any


def _op(name: str, kernel: Callable[..., Any], *inputs: Any, kinds: str = "") -> Any:
    tensors, op = [convert_to_tensor(each) for each in inputs], Op(name, kernel, kinds=kinds)
    check_type(op, tensors[0])
    return run(op, tensors)


def _axis(axis: Any) -> int:
    return int(convert_to_tensor(axis, "int32" if not hasattr(axis, "dtype") else None))


def _order(array: Any, axis: int, direction: str) -> Any:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be ASCENDING or DESCENDING, not {direction}")
    if direction == "ASCENDING":
        return np.argsort(array, axis, kind="stable")
    back = np.argsort(np.flip(array, axis), axis, kind="stable")  # the first of equals comes first
    return np.flip(array.shape[axis] - 1 - back, axis)


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Indices that sort the elements."""
    along = _axis(axis)
    return _op(
        "Argsort", lambda x: _order(x, along, direction).astype(np.int32), values, kinds="fiu"
    )


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """The elements in the order of their size."""
    along = _axis(axis)
    return _op(
        "Sort",
        lambda x: np.take_along_axis(x, _order(x, along, direction), along),
        values,
        kinds="fiu",
    )


def top_k(input: Any, k: int = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The `k` largest of each row, and where they are."""

    def kernel(x: Any) -> Any:
        if k < 0:
            raise invalid(f"Need k >= 0, got {k}")
        if not x.ndim or x.shape[-1] < k:
            columns = x.shape[-1] if x.ndim else 0
            raise invalid(f"input must have at least k columns. Had {columns}, needed {k}")
        where = _order(x, -1, "DESCENDING")[..., :k]
        return np.take_along_axis(x, where, -1), where.astype(np.int32)

    return TopK(*_op("TopKV2", kernel, input, kinds="fiu"))


def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """The different elements of a vector as they come, and which of them each element is."""
    wanted = as_dtype(out_idx)

    def kernel(values: Any) -> Any:
        if values.ndim != 1:
            raise invalid("unique expects a 1D vector.")
        seen: dict[Any, int] = {}
        numbers = [seen.setdefault(value, len(seen)) for value in as_array(values).tolist()]
        found = np.empty(len(seen), as_array(values).dtype)
        found[:] = list(seen)
        return found, np.array(numbers, wanted.numpy)

    def infer(specs: Any, _: Any) -> Any:
        return [TensorSpec([None], specs[0].dtype), TensorSpec(specs[0].shape, wanted)]

    return Unique(*run(Op("Unique", kernel, infer), [convert_to_tensor(x)]))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Each element so many times, of all or along `axis`."""

    def kernel(x: Any, count: Any) -> Any:
        return np.repeat(as_array(x), count, axis)

    def infer(specs: Any, _: Any) -> Any:
        rank = 1 if axis is None else specs[0].shape.ndims
        return [TensorSpec(None if rank is None else [None] * rank, specs[0].dtype)]

    tensors = [convert_to_tensor(input), convert_to_tensor(repeats)]
    return run(Op("Repeat", kernel, infer if isinstance(tensors[1], Symbol) else None), tensors)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Elements moved along dimensions; those that leave come in on the other side."""
    by, along = (np.atleast_1d(sizes_of(each).array).tolist() for each in (shift, axis))
    if len(by) != len(along):
        raise invalid("shift and axis must have the same size")
    return _op("Roll", lambda x: np.roll(as_array(x), by, along), input)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Any:
    """For each length a row that is True so many times."""
    wanted = as_dtype(dtype)
    if maxlen is not None and int(maxlen) < 0:
        raise invalid(f"Requires start <= limit when delta > 0: 0/{int(maxlen)}")

    def kernel(counts: Any) -> Any:
        most = int(np.max(counts, initial=0)) if maxlen is None else int(maxlen)
        return (np.arange(most) < counts.astype(np.int64)[..., np.newaxis]).astype(wanted.numpy)

    def infer(specs: Any, _: Any) -> Any:
        sizes = specs[0].shape.sizes
        most = None if maxlen is None else int(maxlen)
        return [TensorSpec(None if sizes is None else [*sizes, most], wanted)]

    return run(Op("SequenceMask", kernel, infer), [convert_to_tensor(lengths)])


def linspace(start: Any, stop: Any, num: int, name: str | None = None, axis: int = 0) -> Any:
    """`num` numbers from `start` to `stop`, as far from each other."""
    if int(num) < 0:
        raise invalid(f"Requires num >= 0: {num}")
    ends = [convert_to_tensor(each) for each in (start, stop)]
    ends = [cast(end, "float64") if end.dtype.is_integer else end for end in ends]
    return _op("LinSpace", lambda a, b: np.linspace(a, b, num, axis=axis).astype(a.dtype), *ends)


def eye(
    num_rows: int, num_columns: int | None = None, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Ones where row and column have the same number, zeros elsewhere."""
    return convert_to_tensor(np.eye(num_rows, num_columns, dtype=as_dtype(dtype).numpy))
