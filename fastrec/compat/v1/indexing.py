# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors: slices, rows by number, places where something holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._dtypes import DType, as_dtype, bool_, float32, int32, int64
from .._kernels import slicing
from .._shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, pure, tensors_of
from .constants import constant_value, convert_to_tensor
from .graph import create_op
from .joining_ops import unstack

__all__ = [
    "boolean_mask",
    "gather",
    "gather_nd",
    "newaxis",
    "one_hot",
    "sequence_mask",
    "slice",
    "strided_slice",
    "unique",
    "where",
]

newaxis = None
_slice = slice
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
            value = constant_value(tensor)
            if value is not None and value.ndim == 0 and value.dtype.kind in "iu":
                return int(value)
            if not tensor.dtype.is_integer or tensor.shape.ndims not in (0, None):
                raise TypeError(f"{_VALID}, got {item!r}")
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
        """What is known of the shape of the part, from that of the whole."""
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
        return int(values[part.place])
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


def _getitem(tensor: Any, key: Any, name: str | None = None) -> Tensor:
    given = convert_to_tensor(tensor)
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
    tensor = convert_to_tensor(value)
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
    """What ``input_[begin[0]:end[0]:strides[0], ...]`` would be; bits of the masks change a part.

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
            key.append(first[i])
        else:
            start = None if begin_mask & bit else first[i]
            stop = None if end_mask & bit else last[i]
            key.append(_slice(start, stop, steps[i]))
    return _getitem(input_, tuple(key), name or "StridedSlice")


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """`size` elements along each dimension, from `begin` on; -1 for all that are left."""
    tensor = convert_to_tensor(input_)
    first, count = convert_to_tensor(begin), convert_to_tensor(size)
    wanted, start, sizes = constant_value(count), constant_value(first), tensor.shape.sizes
    known: Any = None
    if wanted is not None:
        known = [None if n < 0 else int(n) for n in wanted]
        if start is not None and sizes is not None and len(sizes) == len(known):
            known = [
                (None if m is None else m - int(b)) if n is None else n
                for n, m, b in zip(known, sizes, start, strict=True)
            ]
            known = [None if n is not None and n < 0 else n for n in known]
    inputs = (tensor, first, count)
    return pure("Slice", slicing.slice_array, inputs, tensor.dtype, known, name)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The parts of `params` that `indices` name, along one dimension."""
    tensor, places = convert_to_tensor(params), convert_to_tensor(indices)
    if not places.dtype.is_integer:
        raise TypeError(
            f"Value passed to parameter 'indices' has DataType {places.dtype.name} not in list of "
            f"allowed values: int16, int32, int64"
        )
    at = batch_dims if axis is None else int(constant_value(convert_to_tensor(axis)) or 0)
    sizes, picked = tensor.shape.sizes, places.shape.sizes
    known: Any = None
    if sizes is not None and picked is not None and sizes:
        front = at % len(sizes)
        known = [*sizes[:front], *picked[batch_dims:], *sizes[front + 1 :]]

    def kernel(x: Array, i: Array) -> Array:
        return slicing.gather(x, i, at, batch_dims)

    return pure("GatherV2", kernel, (tensor, places), tensor.dtype, known, name)


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The parts of `params` at the places that the last dimension of `indices` spells out."""
    tensor, places = convert_to_tensor(params), convert_to_tensor(indices)
    sizes, picked = tensor.shape.sizes, places.shape.sizes
    known: Any = None
    if sizes is not None and picked and picked[-1] is not None:
        known = [*picked[:-1], *sizes[picked[-1] :]]
    return pure("GatherNd", slicing.gather_nd, (tensor, places), tensor.dtype, known, name)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Rows of `depth` elements that have `on_value` at one place and `off_value` elsewhere."""
    places, count = convert_to_tensor(indices), convert_to_tensor(depth)
    element = _one_hot_type(on_value, off_value, dtype)
    on = convert_to_tensor(1 if on_value is None else on_value, element)
    off = convert_to_tensor(0 if off_value is None else off_value, element)
    at = -1 if axis is None else int(axis)
    sizes, length = places.shape.sizes, constant_value(count)
    known: Any = None
    if sizes is not None:
        front = len(sizes) if at == -1 else at
        known = [*sizes[:front], None if length is None else int(length), *sizes[front:]]

    def kernel(i: Array, n: Array, yes: Array, no: Array) -> Array:
        hit = np.expand_dims(i, -1) == np.arange(int(n))
        return np.moveaxis(np.where(hit, yes, no), -1, at)

    return pure("OneHot", kernel, (places, count, on, off), element, known, name or "one_hot")


def _one_hot_type(on_value: Any, off_value: Any, dtype: Any) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    for value in (on_value, off_value):
        if value is not None:
            return convert_to_tensor(value).dtype
    return float32


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """The places where `condition` holds; or elements of `x` there, and of `y` elsewhere.

    A vector as the condition chooses among rows.
    """
    holds = convert_to_tensor(condition, bool_ if x is not None else None)
    if x is None and y is None:
        function = lambda c: np.argwhere(c).astype(np.int64)  # noqa: E731
        return pure("Where", function, (holds,), int64, [None, holds.shape.ndims], name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    yes, no = tensors_of([x, y])

    def kernel(c: Array, a: Array, b: Array) -> Array:
        if a.shape != b.shape or (c.shape != a.shape and c.shape != a.shape[: c.ndim]):
            raise invalid(
                f"'then' and 'else' must have the same size.  but received: "
                f"{in_messages(a.shape)} vs. {in_messages(b.shape)}"
            )
        return np.where(c.reshape(c.shape + (1,) * (a.ndim - c.ndim)), a, b)

    known = yes.shape.merge_with(no.shape)
    return pure("Select", kernel, (holds, yes, no), yes.dtype, known, name)


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """The elements at the places where `mask` is true, in a row."""
    given, holds = convert_to_tensor(tensor), convert_to_tensor(mask, bool_)
    at = axis or 0
    sizes, rank = given.shape.sizes, holds.shape.ndims
    known: Any = None
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if sizes is not None and rank is not None:
        TensorShape(sizes[at : at + rank]).assert_is_compatible_with(holds.shape)
        known = [*sizes[:at], None, *sizes[at + rank :]]

    def kernel(x: Array, m: Array) -> Array:
        if x.shape[at : at + m.ndim] != m.shape:
            raise invalid(
                f"Shapes {in_messages(x.shape)} and {in_messages(m.shape)} are incompatible"
            )
        return x[(_slice(None),) * at + (m,)]

    return pure("BooleanMask", kernel, (given, holds), given.dtype, known, name)


class Unique(NamedTuple):
    """Values without repetition, and where each element's value is among them."""

    y: Tensor
    idx: Tensor


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The values of a vector in the order in which they first come."""
    tensor, index = convert_to_tensor(x), as_dtype(out_idx)

    def kernel(step: Any, value: Array) -> tuple[Array, Array]:
        seen: dict[Any, int] = {}
        idx = [seen.setdefault(item, len(seen)) for item in value.tolist()]
        y = np.empty(len(seen), dtype=value.dtype)
        y[:] = list(seen)
        return y, np.array(idx, dtype=index.numpy)

    outputs = [(tensor.dtype, [None]), (index, tensor.shape)]
    return Unique(*create_op("Unique", (tensor,), outputs, kernel, name=name).outputs)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Tensor:
    """Rows that are true in front, each for as long as its length says."""
    tensor, element = convert_to_tensor(lengths), as_dtype(dtype)
    inputs = [tensor] if maxlen is None else [tensor, convert_to_tensor(maxlen)]
    known = tensor.shape.concatenate(
        [None if maxlen is None or isinstance(maxlen, Tensor) else maxlen]
    )

    def kernel(n: Array, *most: Array) -> Array:
        width = int(most[0]) if most else int(n.max(initial=0))
        return (np.arange(width) < np.expand_dims(n, -1)).astype(element.numpy)

    return pure("SequenceMask", kernel, inputs, element, known, name)
