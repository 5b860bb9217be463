# SPDX-License-Identifier: Apache-2.0
"""``tf.nn``, ``tf.linalg`` and ``tf.bitwise``."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of
from .._tf.faces.late import Names
from ._faces import activations, math, matrices, ordering, pixels, products, reductions
from ._faces import bitwise as _bitwise
from ._late import found

__all__ = ["bitwise", "linalg", "nn"]


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


bitwise = Names(found, "bitwise", **functions_of(_bitwise))


nn = Names(
    found,
    "nn",
    **functions_of(activations, pixels),
    sigmoid=math.sigmoid,
    tanh=math.tanh,
    l2_normalize=reductions.l2_normalize,
    moments=moments,
    top_k=ordering.top_k,
)
linalg = Names(
    found,
    "linalg",
    **functions_of(matrices),
    norm=reductions.norm,
    l2_normalize=reductions.l2_normalize,
    matmul=math.matmul,
    matvec=matvec,
    einsum=products.einsum,
    tensordot=products.tensordot,
    eye=products.eye,
)
