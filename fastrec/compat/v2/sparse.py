# SPDX-License-Identifier: Apache-2.0
"""``tf.sparse``."""

from __future__ import annotations

from typing import Any

from .._tf.composite import SparseTensor
from .._tf.faces.composites import SparseFunctions

__all__ = ["SparseTensor"]

functions = SparseFunctions(SparseTensor)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(functions, name):
        raise AttributeError(
            f"fastrec.compat.v2.sparse has no {name!r}; docs/compat-v2.md says what is covered"
        )
    return getattr(functions, name)
