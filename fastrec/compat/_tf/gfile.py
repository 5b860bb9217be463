# SPDX-License-Identifier: Apache-2.0
"""``tf.io.gfile``: files and directories of the local file system."""

from __future__ import annotations

import os
from typing import Any

from .files import (
    GFile,
    copy,
    exists,
    isdir,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)
from .files import glob_files as glob
from .naming import renamed
from .uncovered import uncovered

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


glob = renamed(glob, "glob")


def join(path: Any, *paths: Any) -> Any:
    """Join the parts of a path."""
    return os.path.join(path, *paths)


def __getattr__(name: str) -> Any:
    raise uncovered("v2", "io.gfile", name)
