# SPDX-License-Identifier: Apache-2.0
"""Arrays that are not made yet, but know how to be: in memory that is there already.

What is joined, cut and filled is then written once, to where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from .shaping import room

__all__ = ["Calculated", "Filled", "Joined", "Piece", "whole"]

Array = np.ndarray[Any, Any]


class Piece:
    """An array that is not made yet; a part of it may be one too."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    def write(self, out: Array) -> None:
        """Write it to an array of its shape and type."""
        raise NotImplementedError

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        return whole(self)[index]


def whole(value: Any, memory: Callable[..., Any] | None = None) -> Any:
    """A piece as an array, in `memory` for one of its shape and type; all else as it is."""
    if not isinstance(value, Piece):
        return value
    out = None if memory is None else memory(value.shape, value.dtype)
    if out is None:
        out = room(value.shape, value.dtype)
    value.write(out)
    return out


class Filled(Piece):
    """One number in every place."""

    def __init__(self, shape: Sequence[int], value: Array) -> None:
        self.shape, self.dtype, self._value = tuple(shape), value.dtype, value

    def write(self, out: Array) -> None:
        out[...] = self._value

    def __getitem__(self, index: tuple[slice, ...]) -> Filled:
        sizes = zip(index, self.shape, strict=True)
        return Filled([len(range(size)[part]) for part, size in sizes], self._value)


class Calculated(Piece):
    """The only result of a formula.

    Parameters
    ----------
    formula : _tensor.Formula
    arrays : list of array
        That it is of.
    shape : tuple of int
        Which these have together.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self, formula: _tensor.Formula, arrays: list[Array], shape: tuple[int, ...]
    ) -> None:
        self.shape, self._formula, self._arrays = shape, formula, arrays

    def write(self, out: Array) -> None:
        if self._formula(self._arrays, out) is None:
            (out[...],) = self._formula(self._arrays) or ()

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        alike = [each.shape == self.shape for each in self._arrays]
        if not all(own or each.size == 1 for own, each in zip(alike, self._arrays, strict=True)):
            return super().__getitem__(index)
        parts = [
            each[index] if own else each for own, each in zip(alike, self._arrays, strict=True)
        ]
        shape = self._formula.shape_of(parts)
        return (
            super().__getitem__(index) if shape is None else type(self)(self._formula, parts, shape)
        )


class Joined(Piece):
    """Arrays or pieces of one type, one after the other along a dimension."""

    def __init__(self, parts: Sequence[Any], axis: int) -> None:
        first = parts[0]
        size = sum([part.shape[axis] for part in parts])
        self.shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
        self.dtype = first.dtype
        self._parts, self._axis = parts, axis

    def write(self, out: Array) -> None:
        begin, before = 0, (slice(None),) * self._axis
        for part in self._parts:
            end = begin + part.shape[self._axis]
            place = out[(*before, slice(begin, end))]
            if isinstance(part, np.ndarray):
                place[...] = part
            elif place.size:
                part.write(place)
            begin = end
