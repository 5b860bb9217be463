# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: strings, and version 1."""

from __future__ import annotations

from typing import Any

from .._tf.texts import as_bytes, as_str, as_str_any, as_text, path_to_str

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "path_to_str"]


def __getattr__(name: str) -> Any:
    if name == "v1":  # graphs and queues are imported when they are asked for
        import importlib

        return importlib.import_module("fastrec.compat.v1")
    raise AttributeError(f"fastrec.compat.v2.compat has no {name!r}")
