# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: conversions of text and bytes."""

from __future__ import annotations

from typing import Any

from .._tf.texts import as_bytes as as_bytes
from .._tf.texts import as_str as as_str
from .._tf.texts import as_str_any as as_str_any
from .._tf.texts import as_text as as_text
from .._tf.texts import bytes_or_text_types as bytes_or_text_types
from .._tf.texts import complex_types as complex_types
from .._tf.texts import dimension_at_index as dimension_at_index
from .._tf.texts import dimension_value as dimension_value
from .._tf.texts import forward_compatible as forward_compatible
from .._tf.texts import integral_types as integral_types
from .._tf.texts import path_to_str as path_to_str
from .._tf.texts import real_types as real_types
from .._tf.uncovered import uncovered

__path__: list[str] = []  # submodules are attributes, not files


def __getattr__(name: str) -> Any:
    if name == "v1":
        import importlib

        return importlib.import_module("fastrec.compat.v1")
    raise uncovered("v1", "compat", name)
