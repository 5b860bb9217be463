# SPDX-License-Identifier: Apache-2.0
"""Switches of TensorFlow 2's compatibility modes, which have no effect here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tf.methods import Methods
from ._nodes import Tensor

__all__ = [
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "executing_eagerly",
    "function",
    "is_tensor",
    "resource_variables_enabled",
]


def disable_v2_behavior() -> None:
    """Nothing: this is how it behaves."""


def disable_eager_execution() -> None:
    """Nothing: it is never on."""


def disable_resource_variables() -> None:
    """Nothing."""


disable_control_flow_v2 = enable_control_flow_v2 = disable_resource_variables
disable_tensor_equality = disable_v2_tensorshape = disable_resource_variables
enable_resource_variables = disable_resource_variables


def enable_eager_execution(*arguments: object, **settings: object) -> None:
    """Refused: there are graphs here."""
    raise NotImplementedError(
        "fastrec.compat.v1 runs graphs in sessions; fastrec.compat.v2 runs at once"
    )


def executing_eagerly() -> bool:
    """False."""
    return False


def control_flow_v2_enabled() -> bool:
    """False."""
    return False


resource_variables_enabled = control_flow_v2_enabled


def function(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    """The function as it is: what it calls is added to the graph."""
    return (lambda f: f) if func is None else func


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor, dense, sparse or ragged, or a variable."""
    return isinstance(x, (Tensor, Methods)) or hasattr(x, "initialized_value")
