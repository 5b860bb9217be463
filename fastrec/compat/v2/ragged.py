# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged``."""

from __future__ import annotations

from typing import Any

from .._tf.composite import RaggedTensor
from .._tf.faces.composites import RaggedFunctions

__all__ = ["RaggedTensor"]

functions = RaggedFunctions(RaggedTensor)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(functions, name):
        raise AttributeError(
            f"fastrec.compat.v2.ragged has no {name!r}; docs/compat-v2.md says what is covered"
        )
    return getattr(functions, name)
