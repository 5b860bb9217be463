# SPDX-License-Identifier: Apache-2.0
"""Switches of TensorFlow 2's compatibility modes, which have no effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tf.methods import Methods
from ._nodes import Tensor

__all__ = [
    "VERSION",
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

VERSION = "1.15.0"


def disable_v2_behavior() -> None:
    """Do nothing, because this is the only behaviour."""


def disable_eager_execution() -> None:
    """Do nothing, because eager execution is not supported."""


def disable_resource_variables() -> None:
    """Do nothing."""


disable_control_flow_v2 = enable_control_flow_v2 = disable_resource_variables
disable_tensor_equality = disable_v2_tensorshape = disable_resource_variables
enable_resource_variables = disable_resource_variables


def enable_eager_execution(*arguments: object, **settings: object) -> None:
    """Raise an error, because this version supports only graphs."""
    raise NotImplementedError(
        "fastrec.compat.v1 runs graphs in sessions; fastrec.compat.v2 runs at once"
    )


def executing_eagerly() -> bool:
    """Return False."""
    return False


def control_flow_v2_enabled() -> bool:
    """Return False."""
    return False


resource_variables_enabled = control_flow_v2_enabled


def function(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Return the function unchanged: its calls add operations to the graph."""
    return (lambda f: f) if func is None else func


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor (dense, sparse or ragged) or a variable."""
    return isinstance(x, (Tensor, Methods)) or hasattr(x, "initialized_value")
