# SPDX-License-Identifier: Apache-2.0
"""Choose how to convert between TFRecord files and other formats of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..storage.options import StorageOptions
from .archives import are_tar, read_archives, write_archives
from .containers import CONTAINERS, read_container, write_container
from .conversion import Conversion, Done
from .formats import TFRECORD
from .npz import read_npz, write_npz
from .sample_folders import SAMPLE_FOLDERS, read_folders, write_folder

__all__ = ["are_archives", "between"]

_Convert = Callable[[Conversion], Done]


def are_archives(origin: str, paths: Sequence[Any], storage: StorageOptions) -> bool:
    """Return whether files, whose names have the format `origin`, are all tar archives."""
    return origin == "tar" or (origin == TFRECORD and are_tar(paths, storage))


def between(origin: str, goal: str) -> _Convert | None:
    """Return the function that converts between two formats of records; None for a table.

    Raises
    ------
    ValueError
        If neither format is TFRecord.
    """
    if origin not in _WAYS and goal not in _WAYS:
        return None
    if TFRECORD not in (origin, goal):
        names = " and ".join(
            _WAYS[each].phrase if each in _WAYS else each for each in (origin, goal)
        )
        raise ValueError(
            f"source or target must be a record file, got {names}: convert to records first"
        )
    return _WAYS[origin].read if goal == TFRECORD else _WAYS[goal].write


class _Way(NamedTuple):
    """Name of a format in messages, and the functions that convert from and to it."""

    phrase: str
    read: _Convert
    write: _Convert


_WAYS: dict[str, _Way] = (
    {
        "npz": _Way("an NPZ file", read_npz, write_npz),
        "tar": _Way("a tar archive", read_archives, write_archives),
    }
    | {
        kind: _Way(each.phrase, partial(read_container, kind), partial(write_container, kind))
        for kind, each in CONTAINERS.items()
    }
    | {
        kind: _Way(each.phrase, partial(read_folders, kind), partial(write_folder, kind))
        for kind, each in SAMPLE_FOLDERS.items()
    }
)
