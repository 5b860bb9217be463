# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a Batcher as plain data: their content, and their validation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ..errors import FastrecError
from ..records.byte_sources import NamedFile
from ..records.record_files import RecordFiles
from ..storage.ahead import run_all
from ..storage.remote import RemoteFile

__all__ = ["Position", "Start", "make_state", "read_state", "source_identity"]

FORMAT = "fastrec.Batcher/3"
_TAIL = 16  # last bytes of a file, which contain the checksum of its last record


class Position(NamedTuple):
    """Position of the delivered records.

    All shards together have used `used` positions in the order of epoch `epoch`, and `item` batches
    of the window of buckets that starts there.
    """

    epoch: int = 0
    used: int = 0
    item: int = 0


class Start(NamedTuple):
    """The start of a pass, which begins with epoch `begin` or resumes after it.

    `in_step` states whether the shards together have used exactly the positions before it. If so,
    any other number of shards can resume from it.
    """

    begin: int = 0
    position: Position = Position()
    in_step: bool = True

    @classmethod
    def of_epoch(cls, epoch: int) -> Start:
        """Return the start of a pass that begins at the start of an epoch."""
        return cls(epoch, Position(epoch))


def source_identity(files: RecordFiles) -> dict[str, Any]:
    """Return the identity of files: their names, their sizes and their last bytes.

    The last bytes of a file contain a checksum. Directories are ignored, so a copy of the files in
    another directory is the same source. If a manifest lists the files, or a dataset index
    describes them, its checksums are used instead of the last bytes, and the files are not opened.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    import hashlib  # slow to import and rarely needed

    digest, size = hashlib.sha256(), 0
    if files.listed is not None:
        entries = files.listed.entries
        for file in entries:
            name = os.fsencode(file.name)
            digest.update(b"%d:%s%d:%08x" % (len(name), name, file.size, file.crc32c))
            size += file.size
        return {
            "files": len(entries),
            "bytes": size,
            "manifest": digest.hexdigest()[:32],
        }
    if files.described is not None:
        described = files.described
        size = int(described.sizes.sum())
        return {"files": len(described), "bytes": size, "dataset": described.digest}
    for path, length, tail in _tails(files):
        size += length
        name = os.fsencode(path)
        digest.update(b"%d:%s%d:%d:%s" % (len(name), name, length, len(tail), tail))
    return {"files": len(files.paths), "bytes": size, "digest": digest.hexdigest()[:32]}


def _tails(files: RecordFiles) -> list[tuple[str | bytes, int, bytes]]:
    """Return the name without folders, the size and the last bytes of each file."""

    def tail_of(place: str | bytes | RemoteFile, pause: Any) -> tuple[str | bytes, int, bytes]:
        if isinstance(place, RemoteFile):
            data = bytes(place.read(max(0, place.size - _TAIL), place.size, pause))
            return os.path.basename(place.name), place.size, data
        with NamedFile(place) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return os.path.basename(place), size, file.read(_TAIL)

    if files.remote:
        return run_all(partial(tail_of, place) for place in files.places)
    return [tail_of(place, None) for place in files.places]


def make_state(start: Start, order: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state of plain numbers and strings, which can be written as JSON."""
    return {
        "format": FORMAT,
        "begin": start.begin,
        **start.position._asdict(),
        "in_step": start.in_step,
        "order": dict(order),
        "source": dict(source),
    }


def _refuse(reason: str) -> FastrecError:
    return FastrecError(f"this state does not match this Batcher: {reason}")


def _is_number(value: Any, end: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


def _check_source(theirs: Any, ours: Mapping[str, Any]) -> None:
    if not isinstance(theirs, Mapping):
        raise _refuse("it names no files")
    for what, unit in (("files", "files"), ("bytes", "bytes")):
        if theirs.get(what) != ours[what]:
            raise _refuse(f"it has {theirs.get(what)} {unit}, and the source has {ours[what]}")
    if ("manifest" in theirs) != ("manifest" in ours):
        raise _refuse("one of the two was made with a manifest, and the other without")
    if theirs.get("digest") != ours.get("digest") or theirs.get("manifest") != ours.get("manifest"):
        raise _refuse("it was made from other files: their names or their contents differ")


def _why_fixed(start: Start, order: Mapping[str, Any]) -> str | None:
    """Return the reason why another number of shards cannot resume from a state, or None."""
    begins = start.position == (start.position.epoch, 0, 0)
    if begins and start.in_step:
        return None
    if order.get("shuffle") == "buffer":
        return "with shuffle=N, each shard draws from a buffer of its own records"
    if not start.in_step and order.get("buckets") is not None:
        return "with buckets, shards make different numbers of batches of their windows"
    if not start.in_step and order.get("uneven") != "longer":
        return "with on_error, shards skip different records"
    if not start.in_step:
        return "with uneven='longer', shards can make different numbers of batches of an epoch"
    return None


def _global_batch(order: Mapping[str, Any]) -> Any:
    """Return an order whose batch size is the sum over all shards.

    The positions of a state are valid for all orders with the same global batch.
    """
    shards, size, buckets = order.get("shards"), order.get("batch_size"), order.get("buckets")
    if not (_is_number(shards, 2**63) and _is_number(size, 2**63)):
        return dict(order)
    rest = {key: value for key, value in order.items() if key != "shards"}
    rest["batch_size"] = shards * size  # type: ignore[operator]
    if isinstance(buckets, Mapping) and _is_number(buckets.get("batch_size"), 2**63):
        rest["buckets"] = {**buckets, "batch_size": shards * buckets["batch_size"]}
        if buckets.get("planned") is True and _is_number(buckets.get("tokens"), 2**63):
            rest["buckets"]["tokens"] = shards * buckets["tokens"]
    return rest


def _began(schedule: Any, order: Mapping[str, Any], start: Start) -> Any:
    """Return the stages of a schedule that started before a state; later stages may change."""
    size, shards = order.get("batch_size"), order.get("shards")
    if (
        not isinstance(schedule, list)
        or not _is_number(size, 2**40)
        or not _is_number(shards, 2**40)
    ):
        return schedule
    step = start.position.used // max(size * shards, 1)  # type: ignore[operator]
    return [stage for stage in schedule if isinstance(stage, list) and stage[0] < max(step, 1)]


def _check_order(theirs: Any, ours: Mapping[str, Any], start: Start, any_seed: bool) -> None:
    if not isinstance(theirs, Mapping):
        raise _refuse("it has no order")
    why = _why_fixed(start, ours)
    if why is None and theirs.get("shards") != ours["shards"]:
        old, new = _global_batch(theirs), _global_batch(ours)
        if all(old.get(key) == new.get(key) for key in ("batch_size", "buckets")):
            theirs = {**theirs, **{key: ours.get(key) for key in ("batch_size", "buckets")}}
    for key in {**ours, **theirs}:
        old, new = theirs.get(key), ours.get(key)
        if old == new or (key == "seed" and any_seed and _is_number(old, 2**64)):
            continue
        if key == "schedule" and _began(old, ours, start) == _began(new, ours, start):
            continue
        hint = ""
        if key == "shards":
            if why is None:
                continue
            hint = f", and {why}: resume with {old!r} shards, or at the beginning of an epoch"
        raise _refuse(f"its {key} is {old!r}, and that of this Batcher is {new!r}{hint}")


def _read_start(state: Mapping[str, Any]) -> Start:
    numbers = {name: state.get(name) for name in ("begin", *Position._fields)}
    for name, number in numbers.items():
        if not _is_number(number, 2**62):
            raise _refuse(f"its {name} is out of range: {number!r}")
    begin = numbers.pop("begin")
    start = Start(begin, Position(**numbers), state.get("in_step"))  # type: ignore[arg-type]
    if start.begin > start.position.epoch:
        raise _refuse(
            f"its begin must be at most its epoch, got {begin} and {start.position.epoch}"
        )
    if not isinstance(start.in_step, bool):
        raise _refuse(f"its in_step must be a bool, got {start.in_step!r}")
    return start


def read_state(
    state: Any, order: Mapping[str, Any], source: Mapping[str, Any], *, any_seed: bool
) -> tuple[Start, int]:
    """Return the position of a state, and its seed.

    Parameters
    ----------
    any_seed : bool
        Whether the seed was drawn at random, so that the state's seed replaces it.

    Raises
    ------
    FastrecError
        If the state belongs to another source or other options, with the reason.
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("format"), str):
        raise _refuse("it is not the state of a Batcher")
    if state["format"] != FORMAT:
        raise _refuse(f"its format is {state['format']!a}, and this version reads {FORMAT!r}")
    start = _read_start(state)
    _check_source(state.get("source"), source)
    _check_order(state.get("order"), order, start, any_seed)
    return start, state["order"]["seed"]
