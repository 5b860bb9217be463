# SPDX-License-Identifier: Apache-2.0
"""What a source is: paths, patterns and lists of them become a list of paths."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any, Union

__all__ = ["PathLike", "expand", "shard_paths"]

PathLike = Union[str, bytes, "os.PathLike[Any]"]


def is_path(source: object) -> bool:
    return isinstance(source, (str, bytes, os.PathLike))


def expand(source: PathLike | Iterable[PathLike]) -> list[str | bytes]:
    """The files that a path, a glob pattern, or a list of these names, in order.

    A name that exists is taken as it is, whatever characters are in it; otherwise one with
    ``*``, ``?`` or ``[`` is a pattern, whose matches come sorted.

    Raises
    ------
    FileNotFoundError
        When a pattern matches nothing. A plain name is not looked at here: opening it tells.
    """
    if not is_path(source):
        if not isinstance(source, Iterable):
            raise TypeError(
                f"a source is a path, a pattern, a list of them or a binary file, not {source!r}"
            )
        return [path for each in source for path in expand(each)]
    path: str | bytes = os.fspath(source)  # type: ignore[arg-type]
    if not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise FileNotFoundError(2, "no file matches the pattern", os.fsdecode(path))
    return matches


def shard_paths(path: PathLike, shards: int) -> list[str]:
    """``train.tfrecord`` in 3 shards: ``train-00000-of-00003.tfrecord`` and so on."""
    root, suffix = os.path.splitext(os.fsdecode(path))
    return [f"{root}-{shard:05d}-of-{shards:05d}{suffix}" for shard in range(shards)]
