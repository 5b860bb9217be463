# SPDX-License-Identifier: Apache-2.0
"""Expansion of command-line arguments to files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fastrec.records.paths import expand as meant_by

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
            files += map(os.fsdecode, meant_by(word))
        except OSError as error:
            missing.append(error)
    return list(dict.fromkeys(files)), missing
