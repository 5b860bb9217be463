# SPDX-License-Identifier: Apache-2.0
"""Python's operators on tensors, and a few functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.errors import InvalidArgumentError
from .._tf.faces import functions_of
from .._tf.ops import Op
from .._tf.ops import arithmetic as rows
from .._tf.tensor import OPERATORS, Tensor
from .._tf.tracing.recording import run
from ._eager import pair
from ._faces import bitwise, math, products, reductions


def _compared(row: Op, unequal: bool) -> Callable[[Any, Any], Any]:
    """Return ``==`` or ``!=``, for which None and other shapes are unequal."""
    op = _broadcast_or(row, unequal)

    def compare(x: Any, y: Any) -> Any:
        return unequal if x is None or y is None else run(op, pair(row.name, x, y))

    return compare


def _broadcast_or(op: Op, otherwise: bool) -> Op:
    def kernel(x: Any, y: Any) -> Any:
        try:
            return op.kernel(x, y)
        except InvalidArgumentError:
            return np.asarray(otherwise)

    return op.but(kernel=kernel)


def _logical(
    on_bools: Callable[..., Any], on_bits: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    return lambda x, y: (on_bools if x.dtype.is_bool else on_bits)(x, y)


OPERATORS.update(
    {
        **functions_of(math),
        "equal": _compared(rows.EQUAL, False),
        "not_equal": _compared(rows.NOT_EQUAL, True),
        "multiply": lambda x, y: (
            math.logical_and if isinstance(x, Tensor) and x.dtype.is_bool else math.multiply
        )(x, y),
        "and": _logical(math.logical_and, bitwise.bitwise_and),
        "or": _logical(math.logical_or, bitwise.bitwise_or),
        "xor": _logical(math.logical_xor, bitwise.bitwise_xor),
        "invert": lambda x: (math.logical_not if x.dtype.is_bool else bitwise.invert)(x),
    }
)


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    return (
        reductions.reduce_mean(x, axes, keepdims),
        reductions.reduce_variance(x, axes, keepdims),
    )


def matvec(a: Any, b: Any, transpose_a: bool = False, name: str | None = None, **_: Any) -> Any:
    """Multiply matrices by vectors."""
    letters = "...ji,...j->...i" if transpose_a else "...ij,...j->...i"
    return products.einsum(letters, a, b)
