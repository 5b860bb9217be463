# SPDX-License-Identifier: Apache-2.0
"""Namespaces whose functions are defined in other modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .._tf import settings
from .._tf.faces import functions_of, in_order, one_of
from . import math_ops, queues, random_ops, scopes, variables
from .control_flow_ops import merge, switch
from .graph import get_seed, set_random_seed
from .math_ops import math, reductions
from .string_ops import strings

__all__ = ["MADE"]


def _of_top(*names: str) -> dict[str, Any]:
    """Return names that ``tf`` has, too."""
    return {name: getattr(sys.modules[__package__], name) for name in names}


def _linalg() -> dict[str, Any]:
    shared = _of_top("einsum", "eye", "matmul", "norm", "tensordot")
    return functions_of(math_ops.matrices) | shared


def _debugging() -> dict[str, Any]:
    checks = ("is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing")
    return _of_top(*checks)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    mean = reductions.reduce_mean(x, axes, keepdims=True)
    variance = reductions.reduce_mean(math.square(x - mean), axes, keepdims=keep)
    return mean if keep else reductions.reduce_mean(x, axes), variance


def _nn() -> dict[str, Any]:
    return {
        **functions_of(math_ops.activations, math_ops.pixels),
        "log_softmax": in_order(math_ops.activations.log_softmax, "logits axis name dim=axis"),
        "softmax": in_order(math_ops.activations.softmax, "logits axis name dim=axis"),
        "l2_normalize": reductions.l2_normalize,
        "log_uniform_candidate_sampler": random_ops.draws.log_uniform_candidate_sampler,
        "moments": moments,
        "sigmoid": math.sigmoid,
        "tanh": math.tanh,
        "top_k": math_ops.ordering.top_k,
        "uniform_candidate_sampler": random_ops.draws.uniform_candidate_sampler,
    }


def _random() -> dict[str, Any]:
    draws = random_ops.draws
    names = """
        categorical fold_in gamma log_uniform_candidate_sampler normal shuffle split
        stateless_categorical stateless_normal stateless_shuffle stateless_truncated_normal
        stateless_uniform truncated_normal uniform uniform_candidate_sampler
    """
    return {
        **{name: getattr(draws, name) for name in names.split()},
        "get_seed": get_seed,
        "multinomial": random_ops.multinomial,
        "set_random_seed": set_random_seed,
    }


def _initializers() -> dict[str, Any]:
    kinds = ("constant", "ones", "random_normal", "random_uniform", "truncated_normal", "zeros")
    return {
        **{kind: getattr(scopes, f"{kind}_initializer") for kind in kinds},
        "global_variables": variables.global_variables_initializer,
        "local_variables": variables.local_variables_initializer,
        "variables": variables.variables_initializer,
    }


# The names of each namespace.
MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "audio": dict,
    "autograph": lambda: vars(settings.autograph),
    "bitwise": lambda: functions_of(math_ops.bitwise),
    "config": lambda: vars(settings.config),
    "debugging": _debugging,
    "initializers": _initializers,
    "linalg": _linalg,
    "math": lambda: math_ops.IN_MATH,
    "nn": _nn,
    "queue": lambda: {name: getattr(queues, name) for name in queues.__all__},
    "random": _random,
    "raw_ops": lambda: {"Merge": merge, "Switch": switch},
    "signal": dict,
    "strings": lambda: functions_of(strings),
}
