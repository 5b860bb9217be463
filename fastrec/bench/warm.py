# SPDX-License-Identifier: Apache-2.0
"""A file in the page cache, in the state in which reading it from the disk leaves it.

A file that was just written lies there in pieces as large as the writes were, and one that was
written a few bytes at a time in single pages, each of which costs a reader its own mapping or copy.
Reading ahead makes pieces of up to megabytes. Data sets are written once and read for weeks, from
the second epoch on out of what the first one read; that is what is measured.
"""

from __future__ import annotations

import os

__all__ = ["drop", "reread"]

_PIECE = 1 << 20


def drop(path: str) -> bool:
    """Drop `path` from the page cache, but for what somebody has mapped; whether that can be."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())  # pages that are not on the disk yet are not dropped
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def reread(path: str) -> None:
    """Drop `path` from the page cache, where that can be done, and read it into it."""
    drop(path)
    with open(path, "rb", buffering=0) as file:
        while file.read(_PIECE):
            pass
