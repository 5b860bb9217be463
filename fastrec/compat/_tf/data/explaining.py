# SPDX-License-Identifier: Apache-2.0
"""Explanations of slow pipelines, for ``FASTREC_COMPAT_EXPLAIN=1``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["explain", "explain_step", "explaining"]

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def explaining() -> bool:
    """Return whether ``FASTREC_COMPAT_EXPLAIN=1`` is set."""
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
    _tell(
        f"{name} is called for each element: {type(error).__name__}: {error}",
        (own[-1].filename, own[-1].lineno or 0) if own else None,
    )


def explain_step(name: str, reason: str, origin: tuple[str, int] | None) -> None:
    """Write to standard error why an operation of a queue runner runs once for each record.

    Parameters
    ----------
    name : str
        Name of the operation.
    reason : str
    origin : (str, int), optional
        File and line of the program that created the operation which requires this.
    """
    _tell(f"{name} runs once for each record: {reason}", origin)


def _tell(what: str, origin: tuple[str, int] | None) -> None:
    import linecache

    line = linecache.getline(*origin).strip() if origin else ""
    where = f"{origin[0]}:{origin[1]}: {line}" if origin else "?"
    print(f"fastrec.compat: {what}\n    {where}", file=sys.stderr)
