# SPDX-License-Identifier: Apache-2.0
"""``tf.nn``: what preprocessing uses of it."""

from __future__ import annotations

from typing import Any

from . import _missing
from .math_ops import sigmoid as sigmoid
from .math_ops import square
from .math_ops import tanh as tanh
from .reductions import reduce_mean
from .shared_ops import operations

softmax = operations.softmax
log_softmax = operations.log_softmax
relu = operations.relu  # type: ignore[attr-defined]
softplus = operations.softplus  # type: ignore[attr-defined]
l2_normalize = operations.l2_normalize
space_to_depth = operations.space_to_depth
depth_to_space = operations.depth_to_space


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Means and variances along dimensions."""
    keep = bool(keepdims or keep_dims)
    mean = reduce_mean(x, axes, keepdims=True)
    variance = reduce_mean(square(x - mean), axes, keepdims=keep)
    return mean if keep else reduce_mean(x, axes), variance


def __getattr__(name: str) -> Any:
    raise _missing.error("nn", name)
