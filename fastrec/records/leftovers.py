# SPDX-License-Identifier: Apache-2.0
"""Find leftovers of killed jobs in a directory: unfinished files and working directories."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from typing import NamedTuple

from .side_files import is_leftover

__all__ = ["Leftover", "find_leftovers", "remove"]

_OF_A_UNIT = re.compile(r"[a-z]+-[0-9a-f]{32}")  # names in the directory of a reshard by tasks
_OLD = "old-"  # prefix of replaced files in the directory of a Spark job


class Leftover(NamedTuple):
    """An unfinished file or directory of a job, or a damaged file that a repair has kept.

    Attributes
    ----------
    path : str
    size : int
        Size in bytes; for a directory, the total of its files.
    age : float
        Seconds since the last change.
    kind : {"unfinished", "reshard", "replaced", "damaged"}
        A ``"reshard"`` can be resumed. ``"replaced"`` is a directory of a Spark job with files
        that the job was about to replace: these may be the only copies.
    """

    path: str
    size: int
    age: float
    kind: str


def find_leftovers(folder: str) -> Iterator[Leftover]:
    """Yield the leftovers of killed jobs below a directory, in sorted order.

    Symbolic links to directories are not followed.

    Raises
    ------
    OSError
        If a directory cannot be listed.
    """
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    names = {entry.name for entry in entries}
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_leftover(entry.name) and _is_of_a_job(entry, is_folder):
            yield _described(entry.path, is_folder)
        elif entry.name.endswith(".damaged") and entry.name.removesuffix(".damaged") in names:
            yield _described(entry.path, is_folder)._replace(kind="damaged")
        elif is_folder:
            yield from find_leftovers(entry.path)


def _is_of_a_job(entry: os.DirEntry[str], is_folder: bool) -> bool:
    """Return whether an entry with the name of a leftover was created by a job."""
    if not is_folder:
        return entry.name.endswith((".tmp", ".part"))
    if not entry.name.endswith(".reshard"):
        return True
    names = os.listdir(entry.path)
    return "state.json" in names or all(map(_OF_A_UNIT.fullmatch, names))


def _described(path: str, is_folder: bool) -> Leftover:
    size, changed, kind = 0, 0.0, "unfinished"
    for each in [path, *(_below(path) if is_folder else ())]:
        status = os.lstat(each)
        size += 0 if os.path.isdir(each) else status.st_size
        changed = max(changed, status.st_mtime)
    if is_folder and path.endswith(".reshard"):
        kind = "reshard"
    elif is_folder and any(name.startswith(_OLD) for name in os.listdir(path)):
        kind = "replaced"
    return Leftover(path, size, max(time.time() - changed, 0.0), kind)


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in (*folders, *files))


def remove(leftover: Leftover) -> None:
    """Delete a leftover. A missing leftover is not an error."""
    try:
        if os.path.isdir(leftover.path) and not os.path.islink(leftover.path):
            shutil.rmtree(leftover.path)
        else:
            os.unlink(leftover.path)
    except FileNotFoundError:
        pass
