# SPDX-License-Identifier: Apache-2.0
"""The rewrite rules of traces and pipelines by name, each of which can be disabled.

``FASTREC_COMPAT_DISABLE=pixels,formulas`` disables rules for a process, and :func:`without` for a
block of a test. A rule changes the time that a program takes, never its elements.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["RULES", "enabled", "without"]

RULES = {
    "shapes first": "take shapes from operands, and reshape before a cast",
    "pixels": "run operations on an image in one pass over its pixels",
    "formulas": "run arithmetic in one pass over memory",
    "raw images": "parse the bytes of raw images as images",
    "parse together": "parse many records before each large row runs alone",
    "shuffle first": "shuffle the operands of a map instead of its results",
}

_disabled: set[str] = set()


def _disable(names: Iterator[str]) -> None:
    for name in names:
        if name not in RULES:
            raise ValueError(f"a rule must be one of {', '.join(RULES)}, got {name!r}")
        _disabled.add(name)


_disable(filter(None, map(str.strip, os.environ.get("FASTREC_COMPAT_DISABLE", "").split(","))))


def enabled(name: str) -> bool:
    """Return whether a rule applies to traces and pipelines that are made now."""
    return name not in _disabled


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Disable rules inside a ``with`` statement."""
    before = set(_disabled)
    _disable(iter(names))
    try:
        yield
    finally:
        _disabled.clear()
        _disabled.update(before)
