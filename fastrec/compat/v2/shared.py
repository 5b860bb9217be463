# SPDX-License-Identifier: Apache-2.0
"""``tf.nn``, ``tf.linalg`` and other functions that version 1 has, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tf.faces.more import Operations
from .._tf.ops import Op
from .._tf.tensor import convert_to_tensor
from .._tf.trace import run
from . import linear, math_ops, ordering_ops, reductions

__all__ = ["linalg", "nn", "operations"]


def _applied(op: Op, inputs: list[Any], name: str | None, **attributes: Any) -> Any:
    return run(op, inputs, **attributes)


operations = Operations(_applied, convert_to_tensor)


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Means and variances along dimensions."""
    return (
        reductions.reduce_mean(x, axes, keepdims),
        reductions.reduce_variance(x, axes, keepdims),
    )


def matvec(a: Any, b: Any, transpose_a: bool = False, name: str | None = None, **_: Any) -> Any:
    """Matrices times vectors."""
    letters = "...ji,...j->...i" if transpose_a else "...ij,...j->...i"
    return linear.einsum(letters, a, b)


nn = SimpleNamespace(
    softmax=operations.softmax,
    log_softmax=operations.log_softmax,
    relu=operations.relu,  # type: ignore[attr-defined]
    sigmoid=math_ops.sigmoid,
    tanh=math_ops.tanh,
    softplus=operations.softplus,  # type: ignore[attr-defined]
    l2_normalize=operations.l2_normalize,
    moments=moments,
    top_k=ordering_ops.top_k,
    space_to_depth=operations.space_to_depth,
    depth_to_space=operations.depth_to_space,
)
linalg = SimpleNamespace(
    norm=operations.norm,
    l2_normalize=operations.l2_normalize,
    matmul=math_ops.matmul,
    matvec=matvec,
    einsum=linear.einsum,
    tensordot=linear.tensordot,
    eye=ordering_ops.eye,
    band_part=operations.band_part,
    diag=operations.diag,
    diag_part=operations.diag_part,
    trace=operations.trace,
    inv=operations.inv,
    det=operations.det,
)
