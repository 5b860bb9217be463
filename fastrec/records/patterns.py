# SPDX-License-Identifier: Apache-2.0
"""Match patterns in the names of local files: ``*``, ``?``, ``[...]``, ``**`` and braces."""

from __future__ import annotations

import errno
import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from ..errors import LimitExceededError
from .side_files import is_leftover, is_side_file

__all__ = ["brace_words", "matching_files"]

_Place = TypeVar("_Place")
_Seen = TypeVar("_Seen")

_BRACES = re.compile(r"(?s)(.*?)\{([^{}]*)\}(.*)")
_NUMBERS = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
_MOST_WORDS = 1_000_000  # names that braces may yield


def brace_words(text: str) -> list[str]:
    """Expand ``{a,b}`` and ``{00..15}`` as a shell does; text without these is one word.

    Raises
    ------
    LimitExceededError
        For more than a million words.

    Examples
    --------
    >>> brace_words("{a,b}-{08..10}")
    ['a-08', 'a-09', 'a-10', 'b-08', 'b-09', 'b-10']
    """
    pieces: list[list[str]] = []
    total = 1
    while (match := _BRACES.fullmatch(text)) is not None:
        head, inside, text = match.groups()
        numbers = _NUMBERS.fullmatch(inside)
        if numbers is not None:
            first, last = int(numbers[1]), int(numbers[2])
            total *= abs(last - first) + 1
            _check_count(total)
            step = 1 if last >= first else -1
            width = len(numbers[1]) if numbers[1][0] == "0" or numbers[2][0] == "0" else 0
            choices = [f"{number:0{width}d}" for number in range(first, last + step, step)]
        elif "," in inside:
            choices = inside.split(",")
            total *= len(choices)
            _check_count(total)
        else:
            choices = [f"{{{inside}}}"]
        pieces += [[head], choices]
    return ["".join(parts) for parts in itertools.product(*pieces, [text])]


def _check_count(count: int) -> None:
    if count > _MOST_WORDS:
        raise LimitExceededError(f"braces must yield at most {_MOST_WORDS} names, got {count}")


def matching_files(pattern: str) -> list[str]:
    """Return the files that match, sorted, like ``glob.glob(pattern, recursive=True)``.

    Side files are skipped. The names of directories end in a separator, as ``**`` matches none. A
    directory that cannot be listed raises an error; ``glob.glob`` skips it.
    """
    drive, tail = os.path.splitdrive(pattern)
    tail = tail.replace(os.sep, "/")
    parts = [part for part in tail.split("/") if part]
    root = drive + os.sep if tail[:1] == "/" else drive
    names = sorted(set(_below(root, parts, ())))
    return [
        name for name in names if name[-1] == os.sep or not is_side_file(os.path.basename(name))
    ]


def _below(root: str, parts: list[str], above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Yield the matches below a directory.

    `above` contains the directories that a ``**`` has entered, because a link may lead back to
    them.
    """
    part, rest = parts[0], parts[1:]
    while rest and not glob.has_magic(part):
        root, part, rest = os.path.join(root, part), rest[0], rest[1:]
    parts = [part, *rest]
    if part == "**":
        here = _if_there(os.stat, root or ".")
        if here is None or (here.st_dev, here.st_ino) in above:
            return
        above = (*above, (here.st_dev, here.st_ino))
        if rest:
            yield from _below(root, rest, ())
    elif not glob.has_magic(part):
        path = os.path.join(root, part)
        if _if_there(os.lstat, path):
            yield _with_separator(path, os.path.isdir(path))
        return
    matches = re.compile(fnmatch.translate("*" if part == "**" else part)).match
    folder = os.path.join(root, "")  # computed once, since a folder may have 100,000 entries
    for entry in _listed(root or "."):
        if not matches(entry.name) or (entry.name[0] == "." and part[0] != "."):
            continue
        path = folder + entry.name
        if is_leftover(entry.name) and _if_there(os.DirEntry.is_dir, entry):
            continue
        if part == "**" and _if_there(os.DirEntry.is_dir, entry):
            yield from _below(path, parts, above)
        elif rest and part != "**":
            yield from _below(path, rest, ())
        elif not rest:
            yield _with_separator(path, bool(_if_there(os.DirEntry.is_dir, entry)))


def _with_separator(path: str, is_directory: bool) -> str:
    return path + os.sep if is_directory else path


def _listed(directory: str) -> list[os.DirEntry[str]]:
    entries = _if_there(os.scandir, directory)
    if entries is None:
        return []
    with entries:
        return list(entries)


def _if_there(look: Callable[[_Place], _Seen], place: _Place) -> _Seen | None:
    """Return the result of a call on a path; None if the path does not exist."""
    try:
        return look(place)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
