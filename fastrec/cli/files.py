# SPDX-License-Identifier: Apache-2.0
"""Expansion of command-line arguments to files."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable

__all__ = ["expand"]


def expand(words: Iterable[str]) -> tuple[list[str], list[OSError]]:
    """The files that `words` name, in that order, and what could not be found.

    A word is a file, a directory (the files in it with ``.tfrecord`` in their names) or a pattern
    that the shell left alone.
    """
    files: list[str] = []
    missing: list[OSError] = []
    for word in words:
        try:
            files += _meant_by(word)
        except OSError as error:
            missing.append(error)
    return list(dict.fromkeys(files)), missing


def _meant_by(word: str) -> list[str]:
    if os.path.isdir(word):
        names = sorted(name for name in os.listdir(word) if ".tfrecord" in name and name[0] != ".")
        files = [path for name in names if os.path.isfile(path := os.path.join(word, name))]
        if not files:
            raise FileNotFoundError(errno.ENOENT, "no *.tfrecord* files in this directory", word)
        return files
    if os.path.lexists(word) or not glob.has_magic(word):
        return [word]
    if found := sorted(glob.glob(word)):
        return found
    raise FileNotFoundError(errno.ENOENT, "no file matches", word)
