# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged``."""

from __future__ import annotations

from typing import Any

from .._tf.composite import RaggedTensor
from .._tf.faces.ragged import RaggedFunctions
from .._tf.uncovered import uncovered

__all__ = ["RaggedTensor"]

functions = RaggedFunctions(RaggedTensor)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(functions, name):
        raise uncovered("v2", "ragged", name)
    return getattr(functions, name)
