# SPDX-License-Identifier: Apache-2.0
"""Expansion of paths, glob patterns, directories and lists of these to files."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable
from typing import Any, Union

__all__ = ["INDEX_SUFFIX", "PathLike", "expand", "index_path", "is_path", "shard_paths"]

INDEX_SUFFIX = ".frindex"

_NO_URLS = "no such file; what a URL names is read through an open file, as fsspec.open() makes"

_NO_HOME = "no such file; ~ is not expanded: use os.path.expanduser()"

PathLike = Union[str, bytes, "os.PathLike[Any]"]


def is_path(source: object) -> bool:
    return isinstance(source, (str, bytes, os.PathLike))


def expand(source: PathLike | Iterable[PathLike]) -> list[str | bytes]:
    """The files that a path, a glob pattern, or a list of these names, in order.

    A name that exists is taken as it is, whatever characters are in it; otherwise one with
    ``*``, ``?`` or ``[`` is a pattern, whose matches come sorted (``**`` goes through folders). A
    directory stands for the files in it with ``.tfrecord`` in their names. Neither gives indexes.

    Raises
    ------
    FileNotFoundError
        When there is no such file, or a pattern matches nothing.
    IsADirectoryError
        When there is no such file in a directory.
    OSError
        When the system does not let us look.
    """
    if not is_path(source):
        if not isinstance(source, Iterable):
            raise TypeError(
                f"source must be a path, a pattern, a list of these or a binary file, "
                f"got {source!r}"
            )
        return [path for each in source for path in expand(each)]  # type: ignore[arg-type]
    path: str | bytes = os.fspath(source)  # type: ignore[arg-type]
    try:
        mode = os.stat(path).st_mode
    except OSError:
        name = os.fsdecode(path)
        if _is_url(path):
            raise FileNotFoundError(2, _NO_URLS, name) from None
        if name.startswith("~") and not os.path.lexists(path):
            raise FileNotFoundError(2, _NO_HOME, name) from None
        if not glob.has_magic(path) or os.path.lexists(path):
            raise
        return _matches(path)
    return _record_files(path) if stat.S_ISDIR(mode) else [path]


def _is_url(path: str | bytes) -> bool:
    return bool(re.match(r"[a-z][a-z0-9+.-]*://", os.fsdecode(path)))


def _matches(path: str | bytes) -> list[str | bytes]:
    found: list[str | bytes] = sorted(glob.glob(path, recursive=True))  # type: ignore[type-var]
    matches = [name for name in found if not _is_index(name)]
    if not matches:
        raise FileNotFoundError(2, "no file matches the pattern", os.fsdecode(path))
    return matches


def _is_index(path: str | bytes) -> bool:
    return os.fsdecode(path).endswith(INDEX_SUFFIX)


def _record_files(directory: str | bytes) -> list[str | bytes]:
    names = sorted(os.fsdecode(name) for name in os.listdir(directory))
    wanted = [n for n in names if ".tfrecord" in n and n[0] != "." and not _is_index(n)]
    paths = [os.path.join(os.fsdecode(directory), name) for name in wanted]
    files: list[str | bytes] = [path for path in paths if os.path.isfile(path)]
    if not files:
        name = os.fsdecode(directory)
        raise IsADirectoryError(21, "a directory without a *.tfrecord* file in it", name)
    if isinstance(directory, bytes):
        return [os.fsencode(path) for path in files]
    return files


def index_path(path: PathLike) -> str | bytes:
    """Return the path of a file's index, beside it."""
    name: str | bytes = os.fspath(path)
    return name + INDEX_SUFFIX.encode() if isinstance(name, bytes) else name + INDEX_SUFFIX


def shard_paths(path: PathLike, shards: int, number: int | None = None) -> list[str]:
    """``train.tfrecord`` in 3 shards: ``train-00000-of-00003.tfrecord`` and so on.

    With `number`, what one is called while nobody knows how many there will be.
    """
    root, suffix = os.path.splitext(os.fsdecode(path))
    if number is not None:
        return [f"{root}-{number:05d}{suffix}"]
    return [f"{root}-{shard:05d}-of-{shards:05d}{suffix}" for shard in range(shards)]
