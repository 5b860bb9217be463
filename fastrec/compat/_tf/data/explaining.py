# SPDX-License-Identifier: Apache-2.0
"""Reasons why functions run element by element, for ``FASTREC_COMPAT_EXPLAIN=1``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["explain", "explaining"]

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def explaining() -> bool:
    """Whether ``FASTREC_COMPAT_EXPLAIN=1`` is set."""
    return os.environ.get("FASTREC_COMPAT_EXPLAIN", "0") not in ("", "0")


def explain(function: Callable[..., Any], error: Exception) -> None:
    """Write to standard error which line of a program keeps a function from being traced.

    Parameters
    ----------
    function : callable
        The function of a ``map``, ``filter`` or the like.
    error : Exception
        The error raised when it was called with symbols.
    """
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_HERE)]
    name = getattr(function, "__qualname__", type(function).__name__)
    where = f"{own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else "?"
    print(
        f"fastrec.compat: {name} is called for each element: {type(error).__name__}: {error}\n"
        f"    {where}",
        file=sys.stderr,
    )
