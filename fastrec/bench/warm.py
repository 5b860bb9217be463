# SPDX-License-Identifier: Apache-2.0
"""Bring a file into the page cache, in the state that reading it from the disk produces.

A file that was just written is cached in pieces of the size of its writes. If it was written a few
bytes at a time, these are single pages, and a reader maps or copies every page separately. A read
from the disk with readahead caches pieces of up to megabytes. Datasets are written once and read
for weeks: the second epoch finds the cache as the first epoch left it, so this state is measured.
"""

from __future__ import annotations

import os

__all__ = ["drop", "reread"]

_PIECE = 1 << 20


def drop(path: str) -> bool:
    """Drop the unmapped pages of `path` from the page cache, and return whether this worked."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())  # pages that are not on the disk yet cannot be dropped
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def reread(path: str) -> None:
    """Drop `path` from the page cache where possible, and read it into the cache."""
    drop(path)
    with open(path, "rb", buffering=0) as file:
        while file.read(_PIECE):
            pass
