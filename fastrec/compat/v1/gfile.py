# SPDX-License-Identifier: Apache-2.0
"""``tf.gfile``: files and directories of the local file system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._tf import files as _files
from .._tf.files import GFile as GFile
from .._tf.uncovered import uncovered

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

Open = FastGFile = GFile
Exists = _files.exists
Glob = _files.glob_files
IsDirectory = _files.isdir
ListDirectory = _files.listdir
MakeDirs = _files.makedirs
MkDir = _files.mkdir
Remove = _files.remove
DeleteRecursively = _files.rmtree
Stat = _files.stat


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _files.copy(oldpath, newpath, overwrite)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or directory."""
    _files.rename(oldname, newname, overwrite)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top`, with the names of the directories and files in it."""
    return _files.walk(top, in_order)


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "gfile", name)
