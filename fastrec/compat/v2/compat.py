# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: strings, and version 1."""

from __future__ import annotations

from typing import Any

from .._tf.texts import as_bytes, as_str, as_str_any, as_text, path_to_str
from .._tf.uncovered import uncovered

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "path_to_str"]


def __getattr__(name: str) -> Any:
    if name == "v1":
        from ._version1 import Version1

        return globals().setdefault("v1", Version1())
    raise uncovered("v2", "compat", name)
