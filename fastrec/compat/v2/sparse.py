# SPDX-License-Identifier: Apache-2.0
"""``tf.sparse``."""

from __future__ import annotations

from typing import Any

from .._tf.composite import SparseTensor
from .._tf.faces.sparse import SparseFunctions
from .._tf.uncovered import uncovered

__all__ = ["SparseTensor"]

functions = SparseFunctions(SparseTensor)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(functions, name):
        raise uncovered("v2", "sparse", name)
    return getattr(functions, name)
