# SPDX-License-Identifier: Apache-2.0
"""Where a Batcher stands, as plain data: what is written down, and when it is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import FastrecError
from ..records.byte_sources import NamedFile

__all__ = ["Position", "make_state", "read_state", "source_identity"]

FORMAT = "fastrec.Batcher/1"
_TAIL = 16


class Position(NamedTuple):
    """So much is delivered: `item` batches of block `block` of epoch `epoch`."""

    epoch: int = 0
    block: int = 0
    item: int = 0


def source_identity(paths: Sequence[str | bytes]) -> dict[str, Any]:
    """What tells these files from others: names, sizes, and how each ends (in a checksum).

    Directories do not count, so that a copy of the files elsewhere is the same source.

    Raises
    ------
    OSError
        When a file cannot be read.
    """
    import hashlib  # slow to import, and most programs need it never

    digest, size = hashlib.sha256(), 0
    for path in paths:
        with NamedFile(path) as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - _TAIL))
            tail = file.read(_TAIL)
        size += length
        name = os.path.basename(os.fsencode(path))
        digest.update(b"%d:%s%d:%d:%s" % (len(name), name, length, len(tail), tail))
    return {"files": len(paths), "bytes": size, "digest": digest.hexdigest()[:32]}


def make_state(
    position: Position, order: Mapping[str, Any], source: Mapping[str, Any]
) -> dict[str, Any]:
    """A state of plain numbers and strings, which JSON takes."""
    return {
        "format": FORMAT,
        "epoch": position.epoch,
        "block": position.block,
        "item": position.item,
        "order": dict(order),
        "source": dict(source),
    }


def _refuse(reason: str) -> FastrecError:
    return FastrecError(f"this state is not of this Batcher: {reason}")


def _is_number(value: Any, end: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


def _check_source(theirs: Any, ours: Mapping[str, Any]) -> None:
    if not isinstance(theirs, Mapping):
        raise _refuse("it does not say of which files it is")
    for what, unit in (("files", "files"), ("bytes", "bytes")):
        if theirs.get(what) != ours[what]:
            raise _refuse(f"it is of {theirs.get(what)} {unit}, and here are {ours[what]}")
    if theirs.get("digest") != ours["digest"]:
        raise _refuse("it is of other files: their names or their contents differ")


def _check_order(theirs: Any, ours: Mapping[str, Any], position: Position, any_seed: bool) -> None:
    if not isinstance(theirs, Mapping):
        raise _refuse("it does not say of which order it is")
    for key in {**ours, **theirs}:
        old, new = theirs.get(key), ours.get(key)
        if old == new or (key == "seed" and any_seed and _is_number(old, 2**64)):
            continue
        if key == "shards" and position.block == position.item == 0:
            continue
        hint = " (it can change between epochs)" if key == "shards" else ""
        raise _refuse(f"its {key} is {old!r}, and here it is {new!r}{hint}")


def read_state(
    state: Any, order: Mapping[str, Any], source: Mapping[str, Any], *, any_seed: bool
) -> tuple[Position, int]:
    """The position that a state says, and its seed.

    Parameters
    ----------
    any_seed : bool
        Whether the seed was drawn at random, so that the state's takes its place.

    Raises
    ------
    FastrecError
        With the reason, when the state was made of something else.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("format"), str):
        raise _refuse("it is no state of any Batcher")
    if state["format"] != FORMAT:
        raise _refuse(f"its format is {state['format']!a}, and this version reads {FORMAT!r}")
    numbers = [state.get(name) for name in Position._fields]
    for name, number in zip(Position._fields, numbers, strict=True):
        if not _is_number(number, 2**63):
            raise _refuse(f"its {name} is {number!r}")
    position = Position(*numbers)  # type: ignore[arg-type]
    _check_source(state.get("source"), source)
    _check_order(state.get("order"), order, position, any_seed)
    return position, state["order"]["seed"]
