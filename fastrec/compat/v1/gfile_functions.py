# SPDX-License-Identifier: Apache-2.0
"""``tf.gfile``: files and directories of the local file system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._tf import files as _files
from .._tf.files import GFile as GFile
from .._tf.naming import named, renamed

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


def _of_version_1(name: str, function: Callable[..., Any], parameter: str) -> Any:
    """Return a function with version 1's names of itself and of its parameter."""
    return named(renamed(function, name), name, parameters=parameter)


Open = FastGFile = GFile
Exists = _of_version_1("Exists", _files.exists, "filename")
Glob = _of_version_1("Glob", _files.glob_files, "filename")
IsDirectory = _of_version_1("IsDirectory", _files.isdir, "dirname")
ListDirectory = _of_version_1("ListDirectory", _files.listdir, "dirname")
MakeDirs = _of_version_1("MakeDirs", _files.makedirs, "dirname")
MkDir = _of_version_1("MkDir", _files.mkdir, "dirname")
Remove = _of_version_1("Remove", _files.remove, "filename")
DeleteRecursively = _of_version_1("DeleteRecursively", _files.rmtree, "dirname")
Stat = _of_version_1("Stat", _files.stat, "filename")


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _files.copy(oldpath, newpath, overwrite)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or directory."""
    _files.rename(oldname, newname, overwrite)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each directory below `top`, with the names of its directories and files."""
    return _files.walk(top, in_order)
