# SPDX-License-Identifier: Apache-2.0
"""Choose how to convert between TFRecord files and other formats of records."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..records.paths import PACKED_SUFFIXES
from ..storage.options import StorageOptions
from .archives import are_tar, read_archives, write_archives
from .containers import CONTAINERS, read_container, write_container
from .formats import TFRECORD
from .npz import read_npz, write_npz

__all__ = ["are_archives", "between", "refuse"]

_Done = tuple[int, list[str]]
_Options = Mapping[str, Any]
_Convert = Callable[[Sequence[Any], Any, Any, _Options, _Options, _Options], _Done]


def are_archives(origin: str, paths: Sequence[Any], storage: StorageOptions) -> bool:
    """Return whether files, whose names have the format `origin`, are all tar archives."""
    return origin == "tar" or (origin == TFRECORD and are_tar(paths, storage))


def between(origin: str, goal: str, samples: _Options) -> _Convert | None:
    """Return the function that converts between two formats of records; None for a table.

    `samples` are options for a tar archive as the target.

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
    if goal == "tar":
        return partial(_to_archives, samples)
    return _WAYS[origin].read if goal == TFRECORD else _WAYS[goal].write


def refuse(requires: str, options: Mapping[str, Any]) -> None:
    """Raise for the first option that is set: each requires something else."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} requires {requires}")


def _packed(packing: _Options) -> dict[str, Any]:
    """Return the options for compressing record files."""
    compression = packing["compression"]
    return {
        "level": packing["level"],
        "compression": None if compression == "none" else compression or "auto",
    }


def _refuse_writing(options: _Options) -> None:
    if options:
        raise TypeError(f"{next(iter(options))} requires a target that is TFRecord")


def _refuse_packing(target: Any, phrase: str) -> None:
    """Raise for a name that promises compression, which the target does not have as a whole."""
    if os.path.splitext(os.fsdecode(target).lower())[1] in PACKED_SUFFIXES:
        raise ValueError(
            f"{phrase} is written without further compression, which would prevent random "
            f"access, got {os.fsdecode(target)!a}; leave out the last suffix"
        )


def _refuse_features(kind: str, features: Any) -> None:
    if features is not None:
        phrase = CONTAINERS[kind].phrase
        raise ValueError(f"features and {phrase} are mutually exclusive: records stay as they are")


def _to_container(
    kind: str,
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    _refuse_features(kind, features)
    _refuse_writing(options)
    if packing["compression"] is not None:
        raise ValueError(f"compression is part of {CONTAINERS[kind].phrase}; leave it out")
    _refuse_packing(target, CONTAINERS[kind].phrase)
    return write_container(kind, paths, target, level=packing["level"], **common)


def _from_container(
    kind: str,
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    _refuse_features(kind, features)
    return read_container(kind, paths, target, **common, **_packed(packing), **options)


def _to_npz(
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    _refuse_writing(options)
    if packing["compression"] not in (None, "none") or packing["level"] is not None:
        raise ValueError("compression and level are not supported for NPZ")
    _refuse_packing(target, "an NPZ file")
    return write_npz(paths, target, features=features, **common)


def _from_npz(
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    refuse("a source that is not an NPZ file", {"features": features})
    return read_npz(paths, target, **common, **_packed(packing), **options)


def _to_archives(
    samples: _Options,
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    if isinstance(features, Mapping) or hasattr(features, "context"):
        raise TypeError("features must be a list of names for a tar archive")
    _refuse_writing(options)
    _refuse_packing(target, "a tar archive")
    if packing["compression"] not in (None, "none") or packing["level"] is not None:
        raise ValueError(
            "tar archives are written without compression, which would prevent random access; "
            "end the name in .tar"
        )
    return write_archives(paths, target, names=features, **samples, **common)


def _from_archives(
    paths: Sequence[Any],
    target: Any,
    features: Any,
    packing: _Options,
    common: _Options,
    options: _Options,
) -> _Done:
    refuse("a source that is not a tar archive", {"features": features})
    return read_archives(paths, target, **common, **_packed(packing), **options)


class _Way(NamedTuple):
    """Name of a format in messages, and the functions that convert from and to it."""

    phrase: str
    read: _Convert
    write: _Convert


_WAYS: dict[str, _Way] = {
    "npz": _Way("an NPZ file", _from_npz, _to_npz),
    "tar": _Way("a tar archive", _from_archives, partial(_to_archives, {})),
} | {
    kind: _Way(each.phrase, partial(_from_container, kind), partial(_to_container, kind))
    for kind, each in CONTAINERS.items()
}
