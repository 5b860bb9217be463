# SPDX-License-Identifier: Apache-2.0
"""Switches of TensorFlow 2's compatibility modes, which have no effect here."""

from __future__ import annotations

__all__ = [
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "enable_eager_execution",
    "executing_eagerly",
]


def disable_v2_behavior() -> None:
    """Nothing: this is how it behaves."""


def disable_eager_execution() -> None:
    """Nothing: it is never on."""


def disable_resource_variables() -> None:
    """Nothing."""


def enable_eager_execution(*arguments: object, **settings: object) -> None:
    """Refused: there are graphs here."""
    raise NotImplementedError(
        "fastrec.compat.v1 runs graphs in sessions; fastrec.compat.v2 runs at once"
    )


def executing_eagerly() -> bool:
    """False."""
    return False
