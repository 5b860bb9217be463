# SPDX-License-Identifier: Apache-2.0
"""Parts of signals, and what frequencies they consist of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype
from ..specs import TensorSpec, TypeSpec
from . import Array, Block, Op, invalid

__all__ = ["DCT", "FFT", "FRAME", "IFFT", "IRFFT", "RFFT", "frame_count"]


def frame_count(size: int | None, length: int, step: int, pad_end: bool) -> int | None:
    """How many frames a signal of `size` numbers has; None where that is not known."""
    if size is None:
        return None
    return -(-size // step) if pad_end else max(0, 1 + (size - length) // step)


def _along_the_end(kernel: Callable[..., Array]) -> Callable[..., Any]:
    """What does the same for signals of many elements at once, which keep their last axes."""

    def block(_: int, x: Block, *others: Block, **how: Any) -> Any:
        if not x.many or not isinstance(x.value, np.ndarray) or x.value.ndim < 2:
            return None
        if any(each.many for each in others) or how.get("axis", -1) >= 0:
            return None
        return kernel(x.value, *[each.value for each in others], **how)

    return block


def _frames(x: Array, filler: Array, *, length: int, step: int, pad_end: bool, axis: int) -> Array:
    at = axis % x.ndim
    count = frame_count(x.shape[at], length, step, pad_end) or 0
    more = max(0, length + step * (count - 1) - x.shape[at]) if count else 0
    if more:
        sizes = [(0, more if n == at else 0) for n in range(x.ndim)]
        x = np.pad(x, sizes, constant_values=filler)
    if not count:
        return np.zeros((*x.shape[:at], 0, length, *x.shape[at + 1 :]), x.dtype)
    rows = np.lib.stride_tricks.sliding_window_view(x, length, at)
    rows = rows[(*[slice(None)] * at, slice(0, (count - 1) * step + 1, step))]
    return np.ascontiguousarray(np.moveaxis(rows, -1, at + 1))


def _frames_spec(specs: Sequence[Any], *_: Any, length: int, axis: int, **how: Any) -> list[Any]:
    sizes = specs[0].shape.sizes
    if sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    at = axis % len(sizes)
    count = frame_count(sizes[at], length, **how)
    return [TensorSpec([*sizes[:at], count, length, *sizes[at + 1 :]], specs[0].dtype)]


FRAME = Op("Frame", _frames, _frames_spec, _along_the_end(_frames))


def _other(dtype: DType) -> DType:
    """The complex type of a real one, and the other way round."""
    pairs = {"float32": "complex64", "float64": "complex128"}
    pairs.update({wide: real for real, wide in pairs.items()})
    return as_dtype(pairs[dtype.name])


def _complex(dtype: DType) -> DType:
    return _other(dtype) if dtype.is_floating else dtype


def _transform(
    name: str,
    function: Callable[..., Any],
    kinds: str,
    result: Callable[[DType], DType],
    size: Callable[[int], int],
) -> Op:
    """A transform of the last axis, which is cut or filled with zeros to a length."""

    def kernel(x: Array, *, length: int | None) -> Array:
        if not x.ndim:
            raise invalid(f"Input must have rank of at least 1 but got: {list(x.shape)}")
        found: Array = function(x, length)
        return found.astype(result(as_dtype(x.dtype)).numpy, copy=False)

    def infer(specs: Sequence[Any], *_: Any, length: int | None) -> list[TypeSpec]:
        sizes, dtype = specs[0].shape.sizes, result(specs[0].dtype)
        if sizes is None:
            return [TensorSpec(None, dtype)]
        count = sizes[-1] if length is None else length
        last = None if count is None else size(count)
        return [TensorSpec([*sizes[:-1], last], dtype)]

    return Op(name, kernel, infer, _along_the_end(kernel), kinds=kinds)


def _cosines(x: Array, _: int | None) -> Array:
    count = x.shape[-1]
    turned = 2 * np.exp(-0.5j * np.pi * np.arange(count) / count)
    found: Array = (np.fft.rfft(x, 2 * count)[..., :count] * turned).real
    return found


def _same(value: Any) -> Any:
    return value


RFFT = _transform("RFFT", np.fft.rfft, "f", _other, lambda n: n // 2 + 1)
IRFFT = _transform("IRFFT", np.fft.irfft, "c", _other, _same)
FFT = _transform("FFT", np.fft.fft, "fc", _complex, _same)
IFFT = _transform("IFFT", np.fft.ifft, "fc", _complex, _same)
DCT = _transform("DCT", _cosines, "f", _same, _same)
