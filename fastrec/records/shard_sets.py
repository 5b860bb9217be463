# SPDX-License-Identifier: Apache-2.0
"""Check sets of shards by their names: complete sets, missing shards and conflicting files.

Files named ``train-00007-of-00010.tfrecord``, in one directory, are shards of one set. The rules
for every source (docs/records.md states them for users):

* A file that is named exactly is read, even if it is only one of several shards.
* A pattern, a directory and ``name@10`` yield complete sets: a missing shard is an error.
* A source must not mix files that hold the same records: shards of two generations of one set
  (``-of-00002`` next to ``-of-00004``), a set next to an unsharded file of its name, or a file next
  to its repaired copy. A pattern and a directory must not mix a file and another copy of it, such
  as its compressed form.

``shards="any"`` disables all of these checks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from ..errors import MissingRecordsError

__all__ = [
    "ANY_SHARDS",
    "Shards",
    "check_shards",
    "check_shards_option",
    "lone_shards",
    "missing_text",
    "shard_count",
]

Shards = Literal["complete", "any"]

_NUMBER = re.compile(r"[0-9]{1,9}")
_COUNT = re.compile(r"([0-9]{1,9})([^/]*)")
_REPAIRED = re.compile(r"\.repaired(?=(?:\.[^./]*){0,2}$)")
# What programs add to the name of a copy: a.tfrecord.gz, a.tfrecord.bak, a.tfrecord~, a (1).tfr
_COPIED = re.compile(
    r"(?i)\.(?:gz|gzip|zz|zlib|deflate|zst|bz2|xz|lz4|bak|backup|old|orig|save|copy)$|~$"
    r"| (?:\(\d+\)|(?:- )?copy(?: \(?\d+\)?)?)(?=(?:\.[^./]*){0,2}$)"
)
ANY_SHARDS = "shards='any' reads the files as they are"
"""Hint of an error about the names of files."""

_NAMED = 3  # maximum number of missing files in a message


@dataclass
class _Set:
    """The shards of one generation of a set, by number."""

    head: str
    tail: str
    count: int
    width: int
    files: dict[int, str] = field(default_factory=dict)

    def missing(self) -> tuple[int, list[str]]:
        """Return the number of missing shards, and the names of the first few.

        Shards are numbered from 0, or from 1 if the set contains its last number but not 0.
        """
        first = 1 if self.count in self.files and 0 not in self.files else 0
        numbers = range(first, first + self.count)
        total = self.count - sum(number in numbers for number in self.files)
        names: list[str] = []
        for number in numbers[: len(self.files) + _NAMED]:
            if number not in self.files and len(names) < _NAMED:
                names.append(self.name(number))
        return total, names

    def name(self, number: int) -> str:
        width = self.width
        return f"{self.head}-{number:0{width}d}-of-{self.count:0{width}d}{self.tail}"


def check_shards_option(shards: object) -> None:
    """Raise ValueError unless `shards` is ``"complete"`` or ``"any"``."""
    if shards not in ("complete", "any"):
        raise ValueError(f"shards must be 'complete' or 'any', got {shards!r}")


def _parts(path: str) -> tuple[str, str, str, str] | None:
    """Split the name of a shard into head, number, count and tail; None for other names."""
    left, of, right = path.rpartition("-of-")
    if not of or (match := _COUNT.fullmatch(right)) is None:
        return None
    head, dash, number = left.rpartition("-")
    if not dash or _NUMBER.fullmatch(number) is None:
        return None
    return head, number, match[1], match[2]


def shard_count(path: str) -> int | None:
    """Return the number of shards that a shard's name states; None for other names."""
    shard = _parts(path)
    return None if shard is None else int(shard[2])


def check_shards(
    paths: Iterable[str | bytes | os.PathLike[str]], chosen: Collection[str] = ()
) -> None:
    """Raise unless the files form complete sets of shards, each of one generation.

    Parameters
    ----------
    chosen
        The files that were named exactly. A set may be incomplete if all its files are chosen.

    Raises
    ------
    MissingRecordsError
        With the names of the files.
    """
    names = [os.fsdecode(path) for path in paths]
    present = set(names)
    sets: dict[tuple[str, str], dict[int, _Set]] = {}
    for name in names:
        original = _REPAIRED.sub("", name) if ".repaired" in name else name
        if original is not name and original != name and original in present:
            raise _mixed(original, name, "a file and its repaired copy")
        copied = _COPIED.sub("", name)
        if copied != name and copied in present and not {copied, name} <= set(chosen):
            raise _mixed(copied, name, "a file and a copy of it")
        shard = _parts(original)
        if shard is None:
            continue
        head, number, count, tail = shard
        generations = sets.setdefault((head, tail), {})
        if int(count) not in generations:
            generations[int(count)] = _Set(head, tail, int(count), len(number))
        generations[int(count)].files[int(number)] = name
    for (head, tail), generations in sets.items():
        some = [next(iter(each.files.values())) for each in generations.values()]
        if len(some) > 1:
            raise _mixed(some[0], some[1], "shards of two generations of one set")
        if head + tail in present:
            raise _mixed(some[0], head + tail, "shards and an unsharded file of their name")
    for generations in sets.values():
        for each in generations.values():
            if all(name in chosen for name in each.files.values()):
                continue
            total, missing = each.missing()
            if total:
                raise _error(missing[0], missing_text(missing, total))


def lone_shards(paths: Iterable[str]) -> set[str]:
    """Return the paths that are the only one of their set of shards, or the only copy of a file."""
    sets: dict[object, list[str]] = {}
    for path in paths:
        original = _COPIED.sub("", path)
        shard = _parts(original)
        key = original if shard is None else (shard[0], *shard[2:])
        sets.setdefault(key, []).append(path)
    return {paths[0] for paths in sets.values() if len(paths) == 1}


def missing_text(names: list[str], total: int) -> str:
    """Return a message that `total` files are missing; `names` has the first few."""
    some = ", ".join(ascii(name) for name in names[:_NAMED])
    if total == 1:
        return f"{some} is missing"
    more = "" if total <= _NAMED else f" and {total - _NAMED} more"
    return f"{some}{more} are missing"


def _mixed(first: str, second: str, what: str) -> MissingRecordsError:
    return _error(
        second,
        f"{first!a} and {second!a} are {what}, which would give records twice: name the files to "
        "read, or move the others away",
    )


def _error(path: str, message: str) -> MissingRecordsError:
    return MissingRecordsError(message, hint=ANY_SHARDS, path=path)
