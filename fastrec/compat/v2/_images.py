# SPDX-License-Identifier: Apache-2.0
"""Helpers of image operations: on one image or many of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import convert_to_tensor
from .._tf.trace import Block, Op, run

__all__ = ["pixels", "resized", "stack_of", "turned"]

Infer = Callable[..., list[TypeSpec]]


def pixels(name: str) -> Any:
    """A function of the pixels."""
    from .._tf.kernels import pixels as kernels

    return getattr(kernels, name)


def stack_of(x: Block) -> Any:
    """The images of a column, when they are of one size."""
    alike = x.many and isinstance(x.value, np.ndarray) and x.value.ndim == 4
    return x.value if alike else None


def _numbers(value: Block) -> Any:
    """A number, or one for each image."""
    if not value.many:
        return value.value
    found = np.asarray(value.value)
    return found.reshape(-1, 1, 1, 1) if found.ndim == 1 else None


def _same(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
    return [TensorSpec(specs[0].shape, specs[0].dtype)]


def turned(
    name: str,
    function: Callable[..., Any],
    image: Any,
    *numbers: Any,
    infer: Infer | None = _same,
    many: bool = True,
) -> Any:
    """An image changed by a function of its pixels and of numbers.

    Parameters
    ----------
    infer : callable, optional
        As of :class:`Op`; by default the shape and type stay.
    many : bool
        Whether the function takes stacks of images and, with them, numbers of shape (n, 1, 1, 1).
    """

    def kernel(x: Any, *values: Any) -> Any:
        return np.asarray(function(x, *values))

    def block(_: int, x: Block, *values: Block) -> Any:
        stack, given = stack_of(x), [_numbers(value) for value in values]
        if not many or stack is None or any(value is None for value in given):
            return None
        return kernel(stack, *given)

    tensors = [convert_to_tensor(value) for value in (image, *numbers)]
    return run(Op(name, kernel, infer, block), tensors)


def resized(
    name: str,
    function: Callable[..., Any],
    image: Any,
    sizes: Sequence[int],
    dtype: Any = None,
) -> Any:
    """An image of another size, of the same type unless `dtype` is given."""

    def kernel(x: Any) -> Any:
        return np.asarray(function(x, *sizes))

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        known = specs[0].shape.sizes
        shape = None if known is None else [*known[:-3], *sizes, known[-1]]
        return [TensorSpec(shape, dtype or specs[0].dtype)]

    def block(_: int, x: Block) -> Any:
        stack = stack_of(x)
        return None if stack is None else kernel(stack)

    return run(Op(name, kernel, infer, block), [convert_to_tensor(image)])
