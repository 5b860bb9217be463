# SPDX-License-Identifier: Apache-2.0
"""Expand URLs, URL patterns and folders to objects."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ..errors import warn_caller
from .adapters import ObstoreStore
from .ahead import run_all
from .locations import locate
from .options import StorageOptions
from .remote import Pause, RemoteFile, find_files, retried
from .stores import Location, Stat

__all__ = ["expand_urls", "warn_of_hidden"]

_FEW = 8  # maximum number of named objects that are requested before they are needed
_MANY = 32  # minimum number of named objects in a folder to list the folder


def expand_urls(
    sources: list[Any],
    options: StorageOptions,
    is_record_file: Callable[[str], bool],
    is_side_key: Callable[[str], bool],
    *,
    late: bool = False,
) -> list[list[RemoteFile]]:
    """Return the objects that each URL names, in order; an open object is returned unchanged.

    With `late`, each of many named objects may be opened when it is needed.


    A URL with ``*``, ``?`` or ``[`` in its key is a pattern; its matches are sorted, and ``**``
    matches across folders. Keys that `is_side_key` accepts are skipped; it gets the key without the
    folder that the pattern begins with. In ``https://`` URLs, ``?`` begins a query. A folder
    expands to its files whose names `is_record_file` accepts.

    Raises
    ------
    OSError
        FileNotFoundError if an object does not exist or a pattern has no match.
    """
    found: dict[int, list[RemoteFile]] = {}
    plain = []
    urls = list(map(os.fsdecode, sources))
    for number, url in enumerate(urls):
        if isinstance(sources[number], RemoteFile):
            found[number] = [sources[number]]
            continue
        location = locate(url, options)
        if _has_magic(location.key):
            found[number] = _matches(location, options, is_side_key)
        elif location.key.endswith("/") or not location.key:
            found[number] = _folder(location, options, is_record_file)
        else:
            plain.append(number)
    if len(plain) == 1:  # folders are only expanded when passed alone, not in a list
        number = plain[0]
        found[number] = _object_or_folder(urls[number], options, is_record_file)
    else:
        for number, file in zip(
            plain, _named([urls[i] for i in plain], options, late), strict=True
        ):
            found[number] = [file]
    return [found[number] for number in range(len(urls))]


def _has_magic(key: str) -> bool:
    return any(mark in key for mark in "*?[")


def _object_or_folder(
    url: str, options: StorageOptions, is_record_file: Callable[[str], bool]
) -> list[RemoteFile]:
    try:
        return find_files([url], options)
    except FileNotFoundError:
        if url.startswith(("http://", "https://")):
            raise
        location = locate(url, options)
        folder = location.at(f"{location.key}/")
        if files := _files_of(folder, options, is_record_file):
            return files
        raise


def _named(urls: list[str], options: StorageOptions, late: bool) -> list[RemoteFile]:
    """Open objects by their names.

    If many are in one folder, the folder is listed: one request instead of 1,000. If the store
    refuses the listing, or the folder has many other objects, each object is requested by its name:
    now, or with `late` each of more than 8 objects when it is needed.
    """
    folders: dict[tuple[str, str], dict[str, list[int]]] = {}
    places = [locate(url, options) for url in urls]
    for number, place in enumerate(places):
        folder = place.key[: place.key.rfind("/") + 1]
        keys = folders.setdefault((place.begin, folder), {})
        keys.setdefault(place.key, []).append(number)
    files: dict[int, RemoteFile] = {}
    for (_, folder), keys in folders.items():
        first = places[next(iter(keys.values()))[0]]
        if len(keys) < _MANY or not _lists_lazily(first):
            continue
        for key, stat in _some_listed(first, folder, len(keys)):
            for number in keys.get(key, ()):
                file = RemoteFile(urls[number], options, places[number].name, stat.size)
                if stat.version is not None:
                    file.pin(stat)
                files[number] = file
    rest = [number for number in range(len(urls)) if number not in files]
    if late and len(rest) > _FEW and all(isinstance(places[i].store, ObstoreStore) for i in rest):
        files.update((i, RemoteFile(urls[i], options, places[i].name, None)) for i in rest)
    else:
        files.update(zip(rest, find_files((urls[i] for i in rest), options), strict=True))
    return [files[number] for number in range(len(urls))]


def _lists_lazily(location: Location) -> bool:
    is_http = location.begin.startswith(("http://", "https://"))
    return isinstance(location.store, ObstoreStore) and not is_http


def _some_listed(location: Location, folder: str, wanted: int) -> list[tuple[str, Stat]]:
    """Return the first objects in a folder, at most several times the wanted number.

    A failure is not an error, because each object can be requested by its name.
    """
    most = 4 * wanted + 1000

    def ask(pause: Pause) -> list[tuple[str, Stat]]:
        where = location.at(folder)
        try:
            return retried(
                0, where, lambda: list(islice(where.store.list(folder, True), most)), pause
            )
        except OSError:
            return []

    return run_all([ask])[0]


def _listed(
    location: Location, folder: str, deep: bool, options: StorageOptions
) -> list[tuple[str, Stat]]:
    where = location.at(folder)
    if location.begin.startswith(("http://", "https://")):
        raise OSError(
            errno.EOPNOTSUPP,
            "a pattern or folder requires a listing, which HTTP servers do not give; name the "
            "objects",
            location.name,
        )

    def ask(pause: Pause) -> list[tuple[str, Stat]]:
        return retried(options.retries, where, lambda: list(where.store.list(folder, deep)), pause)

    return sorted(run_all([ask])[0])


def _files(
    location: Location, found: Iterable[tuple[str, Stat]], options: StorageOptions
) -> list[RemoteFile]:
    files = []
    for key, stat in found:
        name = location.at(key).name
        file = RemoteFile(_url_of(location, key, options), options, name, stat.size)
        if stat.version is not None:
            file.pin(stat)
        files.append(file)
    return files


def _url_of(location: Location, key: str, options: StorageOptions) -> str:
    return key if options.filesystem is not None else location.begin + key


def _files_of(
    location: Location, options: StorageOptions, is_record_file: Callable[[str], bool]
) -> list[RemoteFile]:
    keys = _listed(location, location.key, False, options)
    found = (each for each in keys if is_record_file(each[0].rpartition("/")[2]))
    return _files(location, found, options)


def _folder(
    location: Location, options: StorageOptions, is_record_file: Callable[[str], bool]
) -> list[RemoteFile]:
    files = _files_of(location, options, is_record_file)
    if not files:
        raise FileNotFoundError(2, "no object, and no folder with *.tfrecord* in it", location.name)
    return files


def _matches(
    location: Location, options: StorageOptions, is_side_key: Callable[[str], bool]
) -> list[RemoteFile]:
    parts = location.key.split("/")
    first = next(number for number, part in enumerate(parts) if _has_magic(part))
    folder = "".join(f"{part}/" for part in parts[:first])
    wanted = re.compile(_pattern("/".join(parts[first:])))
    keys = _listed(location, folder, len(parts) > first + 1, options)
    begin = len(folder)
    found = [
        each
        for each in keys
        if each[0].startswith(folder)
        and wanted.fullmatch(each[0][begin:])
        and not is_side_key(each[0][begin:])
    ]
    if itself := [each for each in keys if each[0] == location.key]:
        if others := [each for each in found if each not in itself]:
            warn_of_hidden(location.name, location.at(others[0][0]).name)
        found = itself
    files = _files(location, found, options)
    if not files:
        raise FileNotFoundError(2, "no object matches the pattern", location.name)
    return files


def warn_of_hidden(name: str, other: str) -> None:
    """Warn that a file is read, although its name is also a pattern for others."""
    warn_caller(
        f"{name!a} is a file, which is read, and a pattern for others, such as {other!a}, which "
        "are not read; rename the file"
    )


def _pattern(glob: str) -> str:
    """Convert a pattern to a regular expression; ``*`` and ``?`` do not match across folders."""
    out, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at):
            out, at = out + "(?:[^/.][^/]*/)*", at + 3
            continue
        mark = glob[at]
        at += 1
        at_start = at == 1 or glob[at - 2] == "/"
        if mark == "*":
            out += ("(?!\\.)" if at_start else "") + "[^/]*"
        elif mark == "?":
            out += "[^/]"
        elif mark == "[" and (end := glob.find("]", at + 1)) > 0:
            inside = glob[at:end].replace("\\", "\\\\").replace("[", "\\[")
            out += f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            at = end + 1
        else:
            out += re.escape(mark)
    return out
