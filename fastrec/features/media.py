# SPDX-License-Identifier: Apache-2.0
"""Build columns of sounds and videos: arrays whose first dimension is time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import is_int, shown
from ..columns import Arrays, Bytes, Ragged
from ..errors import ExampleParseError, one_line, printable

__all__ = ["MediaBuild", "check_count"]


def check_count(value: Any, name: str, most: int) -> int | None:
    """Return a positive number of at most `most`, or None."""
    if value is not None and not (is_int(value) and 0 < value <= most):
        raise ValueError(f"{name} must be from 1 to {most}, or None, got {shown(value)}")
    return None if value is None else int(value)


@dataclass(frozen=True)
class MediaBuild:
    """Builds a column of values of `length` steps of shape `inner`; both may be None.

    With both it is an array, where shorter values end in zeros; with `inner` alone a Ragged; and
    otherwise an Arrays.
    """

    decode: Callable[[bytes], NDArray[Any]]  # has at most `length` steps in its result
    length: int | None
    inner: tuple[int, ...] | None
    dtype: np.dtype[Any]
    key: bytes

    def __call__(self, column: Bytes) -> NDArray[Any] | Ragged | Arrays:
        if self.length is not None and self.inner is not None:
            out = np.zeros((len(column), self.length, *self.inner), self.dtype)
            for row, value in enumerate(column):
                array = self._decoded(row, value)
                out[row, : len(array)] = array
            return out
        arrays = [self._decoded(row, value) for row, value in enumerate(column)]
        if self.inner is not None:
            splits = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
            return Ragged(np.concatenate([np.zeros((0, *self.inner), self.dtype), *arrays]), splits)
        if self.length is not None:
            padded = [np.zeros((self.length, *array.shape[1:]), self.dtype) for array in arrays]
            for whole, array in zip(padded, arrays, strict=True):
                whole[: len(array)] = array
            arrays = padded
        return self._arrays(arrays)

    def _arrays(self, arrays: list[NDArray[Any]]) -> Arrays:
        rank = arrays[0].ndim if arrays else 1
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), rank)
        splits = np.cumsum([0, *(array.size for array in arrays)], dtype=np.int64)
        flat = [np.zeros(0, self.dtype), *(array.reshape(-1) for array in arrays)]
        return Arrays(np.concatenate(flat), splits, shapes)

    def _decoded(self, row: int, value: bytes) -> NDArray[Any]:
        try:
            return self.decode(value)
        except ValueError as error:
            name = printable(self.key)
            cause = f"cannot be decoded: {one_line(error)}"
            raise ExampleParseError(cause, kind="media", record=row, feature=name) from error
