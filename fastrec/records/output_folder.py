# SPDX-License-Identifier: Apache-2.0
"""Create directories that appear complete or not at all, in one call or in several."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from .. import _core
from .output_rules import UNFINISHED, exists_error
from .paths import PathLike
from .targets import read_file, write_file

__all__ = ["output_folder", "resumable_folder", "sync_folder"]

_EXISTS = "the directory exists; name another one or remove it"
_STATE = "state.json"


@contextlib.contextmanager
def output_folder(target: PathLike) -> Iterator[str]:
    """Yield a new directory, which is renamed to `target` if the block succeeds.

    Parent directories are created. If the block raises, all created directories are removed.

    Raises
    ------
    FileExistsError
        If `target` exists.
    """
    name = os.path.abspath(os.fsdecode(target))
    if os.path.lexists(name):
        raise exists_error(name, _EXISTS)
    folder, base = os.path.split(name)
    unfinished = os.path.join(folder, f".{base}.{os.urandom(8).hex()}.tmp")
    created = [unfinished, *_missing(folder)]
    try:
        os.makedirs(unfinished)
        yield unfinished
        _core.move(unfinished, name, False)
        sync_folder(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        for each in created[1:]:
            with contextlib.suppress(OSError):  # another process has created files in it
                os.rmdir(each)
        raise


@contextlib.contextmanager
def resumable_folder(target: PathLike, plan: Mapping[str, Any], *, resume: bool) -> Iterator[str]:
    """Yield the directory of unfinished work, which is renamed to `target` if the block succeeds.

    If the block raises, the directory is kept with `resume`, and removed without it.

    Parameters
    ----------
    target : path
    plan : mapping
        Sources and options, in the types of JSON. Work of another plan is not continued.
    resume : bool

    Raises
    ------
    FileExistsError
        If `target` exists, or unfinished work without `resume`.
    ValueError
        If the unfinished work has another plan.
    """
    name = os.path.abspath(os.fsdecode(target))
    if os.path.lexists(name):
        raise exists_error(name, _EXISTS)
    unfinished = f"{name}.reshard"
    state = os.path.join(unfinished, _STATE)
    text = json.dumps(plan).encode()
    os.makedirs(os.path.dirname(name), exist_ok=True)
    try:
        os.mkdir(unfinished)
    except FileExistsError:
        if not resume:
            raise FileExistsError(errno.EEXIST, UNFINISHED, unfinished) from None
    try:
        if not os.path.lexists(state):
            write_file(state, text)
        elif read_file(state) != text:
            raise ValueError(
                f"{unfinished!a} has work of other arguments or other files; remove it"
            )
        yield unfinished
        os.unlink(state)
        _core.move(unfinished, name, False)
        sync_folder(os.path.dirname(name))
    except BaseException:
        if not resume:
            shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _missing(folder: str) -> list[str]:
    """Return the directories of a path that do not exist, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def sync_folder(folder: str) -> None:
    """Sync the names in a directory to the disk, if the system supports it."""
    if os.name == "nt":  # Windows cannot open directories, and journals their names
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError as error:
        # Other errors mean that directories cannot be synced.
        if error.errno in (errno.EIO, errno.ENOSPC):
            raise OSError(error.errno, error.strerror, folder) from None
    finally:
        os.close(file)
