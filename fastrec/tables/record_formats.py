# SPDX-License-Identifier: Apache-2.0
"""Choose how to convert between TFRecord files and other formats of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from .containers import CONTAINERS, read_container, write_container
from .formats import TFRECORD
from .npz import read_npz, write_npz

__all__ = ["between", "refuse"]

_Done = tuple[int, list[str]]
_Options = Mapping[str, Any]
_Convert = Callable[[Sequence[Any], Any, Any, _Options, _Options, _Options], _Done]


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


class _Way(NamedTuple):
    """Name of a format in messages, and the functions that convert from and to it."""

    phrase: str
    read: _Convert
    write: _Convert


_WAYS: dict[str, _Way] = {"npz": _Way("an NPZ file", _from_npz, _to_npz)} | {
    kind: _Way(each.phrase, partial(_from_container, kind), partial(_to_container, kind))
    for kind, each in CONTAINERS.items()
}
