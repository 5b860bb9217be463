# SPDX-License-Identifier: Apache-2.0
"""Create directories that appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator

from .. import _core
from .output_rules import exists_error
from .paths import PathLike

__all__ = ["output_folder", "sync_folder"]


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
        raise exists_error(name, "the directory exists; name another one or remove it")
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
