# SPDX-License-Identifier: Apache-2.0
"""Convert ``file://`` URLs to local paths."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["local_path"]


def local_path(path: Any) -> Any:
    """Return the local path that a ``file://`` URL names; return any other path unchanged.

    Raises
    ------
    ValueError
        If the URL names another host.
    """
    if isinstance(path, bytes):
        return os.fsencode(local_path(os.fsdecode(path))) if path[:7] == b"file://" else path
    if not isinstance(path, str) or not path.startswith("file://") or os.path.lexists(path):
        return path
    from urllib.parse import unquote

    host, slash, rest = path.removeprefix("file://").partition("/")
    if host not in ("", "localhost") or not slash:
        raise ValueError(f"a file:// URL must be file:///PATH, without a host, got {path!a}")
    place = unquote(f"/{rest}", errors="surrogateescape")
    if "\0" in place:
        raise ValueError(f"a file:// URL must have no null character, got {path!a}")
    return place.removeprefix("/") if os.name == "nt" else place  # for file:///C:/folder/file
