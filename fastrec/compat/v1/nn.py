# SPDX-License-Identifier: Apache-2.0
"""``tf.nn``: what preprocessing uses of it."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of as _functions_of
from .._tf.faces import one_of
from . import _late
from .math_ops import activations as _activations
from .math_ops import math as _math
from .math_ops import ordering as _ordering
from .math_ops import pixels as _pixels
from .math_ops import reductions as _reductions

globals().update(_functions_of(_activations, _pixels))
sigmoid = _math.sigmoid
tanh = _math.tanh
l2_normalize = _reductions.l2_normalize
top_k = _ordering.top_k


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Means and variances along dimensions."""
    keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    mean = _reductions.reduce_mean(x, axes, keepdims=True)
    variance = _reductions.reduce_mean(_math.square(x - mean), axes, keepdims=keep)
    return mean if keep else _reductions.reduce_mean(x, axes), variance


def __getattr__(name: str) -> Any:
    return _late.found("nn", name)
