# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors: what Python's square brackets give, and slices by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tf.dtypes import bool_, int16, int32, int64
from .._tf.kernels import slicing
from .._tf.shape import in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, numbers_of, pure
from .constants import constant_value, convert_to_tensor, shape_value
from .joining_ops import unstack
from .picking_ops import boolean_mask

__all__ = ["newaxis", "slice", "strided_slice"]

newaxis = None
_slice = slice
_PLACES = (int16, int32, int64)
_VALID = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)


class _Input(NamedTuple):
    """A part of an index that a run finds among the inputs of the operation."""

    place: int


class _Index:
    """An index, parts of which are tensors."""

    def __init__(self, key: Any) -> None:
        self.tensors: list[Tensor] = []
        self.parts = [self._part(item) for item in (key if isinstance(key, tuple) else (key,))]
        if sum(part is Ellipsis for part in self.parts) > 1:
            raise ValueError("Multiple ellipses are not allowed.")
        self.dynamic = bool(self.tensors)

    def _part(self, item: Any) -> Any:
        if item is None or item is Ellipsis:
            return item
        if isinstance(item, _slice):
            bounds = (item.start, item.stop, item.step)
            return _slice(*[None if b is None else self._number(b) for b in bounds])
        return self._number(item)

    def _number(self, item: Any) -> Any:
        if isinstance(item, Tensor) or hasattr(item, "_as_graph_element"):
            tensor = convert_to_tensor(item)
            if tensor.dtype not in _PLACES or tensor.shape.ndims not in (0, None):
                raise TypeError(f"{_VALID}, got {item!r}")
            value = constant_value(tensor)
            if value is not None and value.ndim == 0:
                return int(value)
            self.tensors.append(tensor)
            return _Input(len(self.tensors) - 1)
        if hasattr(item, "value") and hasattr(item, "__index__"):  # a Dimension
            return None if item.value is None else int(item)
        if isinstance(item, bool) or not hasattr(item, "__index__") or np.ndim(item):
            raise TypeError(f"{_VALID}, got {item!r}")
        return int(item.__index__())

    def filled(self, values: Sequence[Array]) -> tuple[Any, ...]:
        """The index with the values of its tensors."""
        return tuple(_filled(part, values) for part in self.parts)

    def shape_of(self, sizes: tuple[int | None, ...] | None) -> Any:
        """Static shape of the part, from the sizes of the whole."""
        if sizes is None:
            return None
        used = sum(part is not None and part is not Ellipsis for part in self.parts)
        if used > len(sizes):
            raise ValueError(
                f"Index out of range using input dim {len(sizes)}; input has only {len(sizes)} "
                f"dims for 'StridedSlice' with input shapes: {in_messages(sizes)}."
            )
        known: list[int | None] = []
        left = list(sizes)
        for part in [*self.parts, *([] if Ellipsis in self.parts else [Ellipsis])]:
            if part is None:
                known.append(1)
            elif part is Ellipsis:
                keep = len(sizes) - used
                known.extend(left[:keep])
                del left[:keep]
            elif isinstance(part, _slice):
                known.append(_length(part, left.pop(0)))
            else:
                _within(part, left.pop(0), sizes, len(sizes) - len(left) - 1)
        return known


def _filled(part: Any, values: Sequence[Array]) -> Any:
    if isinstance(part, _Input):
        value = values[part.place]
        if value.ndim:
            raise invalid(
                f"Expected begin, end, and strides to be 1D equal size tensors, but got a part of "
                f"shape {in_messages(value.shape)} instead."
            )
        return int(value)
    if isinstance(part, _slice):
        return _slice(*[_filled(bound, values) for bound in (part.start, part.stop, part.step)])
    return part


def _length(part: Any, size: int | None) -> int | None:
    bounds = (part.start, part.stop, part.step)
    if any(isinstance(bound, _Input) for bound in bounds):
        return None
    if part.step == 0:
        raise ValueError("strides must be non-zero")
    if size is None:
        start, stop, step = part.start or 0, part.stop, part.step or 1
        return 0 if stop is not None and step > 0 and 0 <= stop <= start else None
    return len(range(*part.indices(size)))


def _within(part: Any, size: int | None, sizes: Any, dim: int) -> None:
    if size is not None and not isinstance(part, _Input) and not -size <= part < size:
        raise ValueError(
            f"slice index {part} of dimension {dim} out of bounds. for 'StridedSlice' with input "
            f"shapes: {in_messages(sizes)}."
        )


def _is_mask(key: Any) -> bool:
    if isinstance(key, np.ndarray):
        return bool(key.dtype.kind == "b")
    return isinstance(key, Tensor) and key.dtype is bool_


def _getitem(tensor: Any, key: Any, name: str | None = None) -> Tensor:
    given = convert_to_tensor(tensor)
    if _is_mask(key):
        return boolean_mask(given, key)
    if isinstance(key, list):
        key = tuple(key)
    index = _Index(key)
    known = index.shape_of(given.shape.sizes)
    fixed = None if index.dynamic else index.filled(())

    def kernel(x: Array, *values: Array) -> Array:
        return slicing.strided_slice(x, index.filled(values) if fixed is None else fixed)

    inputs = [given, *index.tensors]
    return pure(
        "StridedSlice", kernel, inputs, given.dtype, known, name or "strided_slice", index=fixed
    )


operators["getitem"] = _getitem


def _listed(value: Any) -> list[Any]:
    tensor = numbers_of(value, "begin", rank=1, allowed=("int16", "int32", "int64"))
    found = constant_value(tensor)
    return unstack(tensor) if found is None else [int(n) for n in found]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return ``input_[begin[0]:end[0]:strides[0], ...]``; bits of the masks change a part.

    Parameters
    ----------
    input_ : Tensor
        The whole.
    begin, end, strides : sequence of int
        One of each for a part of the index.
    begin_mask, end_mask : int
        Which parts begin, and end, where the whole does.
    ellipsis_mask, new_axis_mask, shrink_axis_mask : int
        Which parts are ``...``, which ``None``, and which a single number.
    """
    first, last = _listed(begin), _listed(end)
    steps = [1] * len(first) if strides is None else _listed(strides)
    if not len(first) == len(last) == len(steps):
        raise ValueError("begin, end and strides must be of the same length")
    key: list[Any] = []
    for i in range(len(first)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if not isinstance(steps[i], Tensor) and steps[i] <= 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            key.append(first[i])
        else:
            start = None if begin_mask & bit else first[i]
            stop = None if end_mask & bit else last[i]
            key.append(_slice(start, stop, steps[i]))
    return _getitem(input_, tuple(key), name or "StridedSlice")


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """`size` elements along each dimension, from `begin` on; -1 for all that are left."""
    tensor = convert_to_tensor(input_)
    first, count = numbers_of(begin, "begin", rank=1), numbers_of(size, "size", rank=1)
    wanted, start, sizes = constant_value(count), constant_value(first), tensor.shape.sizes
    known: Any = None
    for each in (first, count):
        parts = each.shape.num_elements()
        if sizes is not None and parts not in (len(sizes), None):
            raise ValueError(f"Shape must be rank {parts} but is rank {len(sizes)} for 'Slice'")
    if wanted is not None:
        known = [None if n < 0 else int(n) for n in wanted]
        if start is not None and sizes is not None and len(sizes) == len(known):
            known = [
                (None if m is None else m - int(b)) if n is None else n
                for n, m, b in zip(known, sizes, start, strict=True)
            ]
            known = [None if n is not None and n < 0 else n for n in known]
    else:
        known = shape_value(count)
        if known.ndims is None and sizes is not None:
            known = [None] * len(sizes)
    inputs = (tensor, first, count)
    return pure("Slice", slicing.slice_array, inputs, tensor.dtype, known, name)
