# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.compat``: strings, and version 1."""

from __future__ import annotations

import importlib
from typing import Any

from .._tf import texts
from .._tf.texts import *
from .._tf.uncovered import uncovered

__path__: list[str] = []  # submodules are attributes, not files

__all__ = [*texts.__all__]


def __getattr__(name: str) -> Any:
    if name == "v1":
        from ._version1 import Version1

        return globals().setdefault("v1", Version1())
    if name == "v2":
        return importlib.import_module(__package__)
    raise uncovered("v2", "compat", name)
