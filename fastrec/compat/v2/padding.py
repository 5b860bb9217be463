# SPDX-License-Identifier: Apache-2.0
"""More before and after the elements of tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.ops import Op
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Symbol, run
from .array_ops import sizes_of

__all__ = ["pad"]

_MODES = ("CONSTANT", "REFLECT", "SYMMETRIC")


def _padded(x: Any, paddings: Any, mode: str, value: Any) -> Any:
    array, around = as_array(x), np.asarray(paddings)
    if around.shape != (array.ndim, 2):
        raise invalid(
            "The first dimension of paddings must be the rank of inputs"
            f"{list(around.shape)} {list(array.shape)}"
        )
    if around.size and around.min() < 0:
        raise invalid(f"Paddings must be non-negative: {' '.join(map(str, around.min(0)))}")
    if mode == "CONSTANT":
        out = np.full(np.add(array.shape, around.sum(1)).tolist(), value, array.dtype)
        inner = zip(array.shape, around.tolist(), strict=True)
        out[tuple(slice(before, before + size) for size, (before, _) in inner)] = array
        return out
    for size, (before, after) in zip(array.shape, around.tolist(), strict=True):
        most = size - 1 if mode == "REFLECT" else size
        if max(before, after) > max(most, 0):
            least = "less than" if mode == "REFLECT" else "no greater than"
            raise invalid(
                f"paddings must be {least} the dimension size: {before}, {after} not {least} {size}"
            )
    return np.pad(array, around.tolist(), mode.lower())  # type: ignore[call-overload]


def _padded_spec(specs: list[TypeSpec], raws: list[Any]) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is None or isinstance(raws[1], Symbol):
        return [TensorSpec(None if sizes is None else [None] * len(sizes), specs[0].dtype)]
    around = np.asarray(raws[1])
    if around.shape != (len(sizes), 2):
        raise ValueError(f"Shape must be [{len(sizes)},2] but is {list(around.shape)}")
    added = around.sum(1).tolist()
    known = [d if d is None else d + more for d, more in zip(sizes, added, strict=True)]
    return [TensorSpec(known, specs[0].dtype)]


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """A tensor with more before and after each of its dimensions."""
    if mode.upper() not in _MODES:
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    values = convert_to_tensor(tensor)
    empty = (
        values.dtype.name == "string" and isinstance(constant_values, int) and not constant_values
    )
    filler = convert_to_tensor(b"" if empty else constant_values, values.dtype).array[()]
    kernel = functools.partial(_padded, mode=mode.upper(), value=filler)
    return run(Op("Pad", kernel, _padded_spec), [values, sizes_of(paddings)])
