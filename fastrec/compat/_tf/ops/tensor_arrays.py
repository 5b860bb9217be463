# SPDX-License-Identifier: Apache-2.0
"""Numbered tensors, as loops write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..columns import rows_of
from ..errors import OutOfRangeError, invalid
from ..shape import TensorShape
from ..specs import TensorArraySpec, TensorSpec, TypeSpec, batched, unbatched
from ..tensor import as_array
from . import Array, Mismatch, Op
from .joining import CONCAT, PACK


class Tensors:
    """Tensors by number; None for a number without a tensor.

    A write returns a new object and leaves this one unchanged. Appended tensors are stored in a
    list that both objects share.

    Parameters
    ----------
    spec : TensorArraySpec
    size : int
    """

    __slots__ = ("_held", "size", "spec")

    def __init__(self, spec: TensorArraySpec, size: int, held: list[Any] | None = None) -> None:
        self.spec, self.size = spec, size
        self._held = [None] * size if held is None else held

    def written(self, at: int, value: Any) -> Tensors:
        """Return a copy with a tensor at a number."""
        if at < 0:
            raise OutOfRangeError(
                None, None, f"Writing to negative indices (index {at}) is not allowed."
            )
        if at >= self.size and not self.spec.dynamic_size:
            text = f"Tried to write to index {at} but array is not resizeable and size is: "
            raise OutOfRangeError(None, None, f"{text}{self.size} ")
        shape = np.shape(value)
        if not self.spec.element_shape.is_compatible_with(shape):
            raise invalid(
                f"Incompatible shape for value ({TensorShape(shape)}), expected "
                f"({self.spec.element_shape})"
            )
        held = self._held
        if at < self.size or len(held) != self.size:
            held = held[: self.size]
        held.extend([None] * (at + 1 - len(held)))
        held[at] = value
        return Tensors(self.spec.written(shape), max(self.size, at + 1), held)

    def with_rows(self, places: list[int], rows: Array) -> Tensors:
        """Return a copy with the rows of an array at the given numbers."""
        if len(places) != len(rows):
            raise invalid(f"{len(places)} indices do not fit {len(rows)} rows")
        values = list(rows_of(rows))
        first = self.written(min(places), values[0]).written(max(places), values[0])
        held = first._held[: first.size]
        for at, value in zip(places, values, strict=True):
            held[at] = value
        return Tensors(first.spec, first.size, held)

    def at(self, at: int, shape: TensorShape | None = None) -> Any:
        """Return the tensor at a number; if it is missing, zeros of the known shape."""
        if at < 0:
            raise OutOfRangeError(None, None, f"Tried to read from negative index {at}")
        if at >= self.size:
            what = f"index {at} but array size is: {self.size} "
            raise OutOfRangeError(None, None, f"Tried to read from {what}")
        found = self._held[at]
        return self._nothing(shape) if found is None else found

    def _nothing(self, shape: TensorShape | None) -> Array:
        shape, dtype = self.spec.element_shape.merge_with(shape), self.spec.dtype
        if not shape.is_fully_defined():
            raise Mismatch(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
        return np.full(shape.as_list(), b"" if dtype.name == "string" else 0, dtype.numpy)


def _sized(tensors: Tensors, size: Array) -> Tensors:
    return Tensors(tensors.spec, int(size))


SIZED = Op("TensorArray", _sized, lambda specs, *_: [specs[0]])


def _write(tensors: Tensors, at: Array, value: Any) -> Tensors:
    return tensors.written(int(at), value)


WRITE = Op("TensorArrayWrite", _write, lambda specs, *_: [specs[0].written(specs[2].shape)])
READ = Op(
    "TensorArrayRead",
    lambda tensors, at, *, shape: tensors.at(int(at), shape),
    lambda specs, *_, **__: [TensorSpec(specs[0].element_shape, specs[0].dtype)],
)
SIZE = Op(
    "TensorArraySize",
    lambda tensors: np.asarray(tensors.size, np.int32),
    lambda *_: [TensorSpec([], "int32")],
)


def _gather(tensors: Tensors, places: Array, *, shape: TensorShape) -> Any:
    found = [tensors.at(at, shape) for at in places.reshape(-1).tolist()]
    if found:
        return PACK.kernel(*found, axis=0)
    sizes = tensors.spec.element_shape.merge_with(shape).sizes or ()
    return np.zeros((0, *[size or 0 for size in sizes]), tensors.spec.dtype.numpy)


def _stack(tensors: Tensors, *, size: int | None, shape: TensorShape) -> Any:
    return _gather(tensors, np.arange(tensors.size), shape=shape)


def _rows_spec(spec: Any, size: int | None) -> list[TypeSpec]:
    return [batched(TensorSpec(spec.element_shape, spec.dtype), size)]


GATHER = Op(
    "TensorArrayGather",
    _gather,
    lambda specs, *_, **__: _rows_spec(specs[0], specs[1].shape.num_elements()),
)
STACK = Op("TensorArrayStack", _stack, lambda specs, *_, size, **__: _rows_spec(specs[0], size))


def _concat(tensors: Tensors) -> Any:
    parts = [as_array(tensors.at(at)) for at in range(tensors.size)]
    return CONCAT.kernel(np.asarray(0), *parts)


def _concat_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes = specs[0].element_shape.sizes
    return [TensorSpec(None if sizes is None else [None, *sizes[1:]], specs[0].dtype)]


JOINED = Op("TensorArrayConcat", _concat, _concat_spec)


def _scatter(tensors: Tensors, places: Array, value: Any) -> Tensors:
    if isinstance(value, np.ndarray) and len(value):
        return tensors.with_rows(places.reshape(-1).tolist(), value)
    for at, row in zip(places.reshape(-1).tolist(), rows_of(value), strict=True):
        tensors = tensors.written(at, row)
    return tensors


def _unstack(tensors: Tensors, value: Any) -> Tensors:
    count = len(value)
    if count != tensors.size and not tensors.spec.dynamic_size:
        raise Mismatch(
            f"Cannot unstack {count} tensors into a TensorArray of static size {tensors.size} "
        )
    return _scatter(tensors, np.arange(count), value)


def _split(tensors: Tensors, value: Any, lengths: Array) -> Tensors:
    parts = np.split(value, np.cumsum(lengths.reshape(-1))[:-1])
    left = [None] * (tensors.size - len(parts))
    return Tensors(tensors.spec, max(tensors.size, len(parts)), parts + left)


def _with_rows(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    return [specs[0].written(unbatched(specs[-1]).shape)]


SCATTER = Op("TensorArrayScatter", _scatter, _with_rows)
UNSTACK = Op("TensorArrayUnstack", _unstack, _with_rows)
SPLIT = Op("TensorArraySplit", _split, lambda specs, *_: [specs[0]])
