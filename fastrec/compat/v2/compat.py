# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: strings, and version 1."""

from __future__ import annotations

import importlib
from typing import Any

from .._tf.texts import (
    as_bytes,
    as_str,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    dimension_at_index,
    dimension_value,
    forward_compatible,
    integral_types,
    path_to_str,
    real_types,
)
from .._tf.uncovered import uncovered

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]


def __getattr__(name: str) -> Any:
    if name == "v1":
        from ._version1 import Version1

        return globals().setdefault("v1", Version1())
    if name == "v2":
        return importlib.import_module(__package__)
    raise uncovered("v2", "compat", name)
