# SPDX-License-Identifier: Apache-2.0
"""Expansion of paths, glob patterns, directories and lists of these to files."""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, Union

from ..storage.remote import RemoteFile

if TYPE_CHECKING:
    from ..storage.options import StorageOptions

__all__ = [
    "INDEX_SUFFIX",
    "PACKED_SUFFIXES",
    "PathLike",
    "beside",
    "expand",
    "index_path",
    "is_path",
    "is_remote",
    "shard_paths",
]

INDEX_SUFFIX = ".frindex"
PACKED_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}

_NO_HOME = "no such file; ~ is not expanded: use os.path.expanduser()"
_Place = TypeVar("_Place")
_Seen = TypeVar("_Seen")

PathLike = Union[str, bytes, "os.PathLike[Any]"]


def is_path(source: object) -> bool:
    return isinstance(source, (str, bytes, os.PathLike))


def expand(
    source: PathLike | Iterable[PathLike], storage: StorageOptions | None = None
) -> list[str | bytes | RemoteFile]:
    """The files that a path, a URL, a glob pattern, or a list of these names, in order.

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
        When the system does not let us look: a directory that may not be listed, also one that a
        pattern leads into, is not passed over.
    """
    if is_path(source):
        listed: list[Any] = [source]
    elif isinstance(source, Iterable):
        listed = list(source)
    else:
        raise TypeError(
            f"source must be a path, a pattern, a list of these or a binary file, got {source!r}"
        )
    if not any(is_remote(each, storage) for each in listed):
        return [path for each in listed for path in _expand_local(each)]
    from ..storage.listing import expand_urls
    from ..storage.options import StorageOptions

    options = storage or StorageOptions()
    urls = [each for each in listed if is_remote(each, storage)]
    found = iter(expand_urls(urls, options, _is_record_name))
    return [
        path
        for each in listed
        for path in (next(found) if is_remote(each, storage) else _expand_local(each))
    ]


def is_remote(path: PathLike, storage: StorageOptions | None) -> bool:
    """Whether a path names an object in a store, by its URL or in the file system of options."""
    if isinstance(path, RemoteFile) or (storage is not None and storage.filesystem is not None):
        return True
    name = os.fsdecode(path)
    named = re.match(r"[a-z][a-z0-9+.-]*://", name) and not name.startswith("file://")
    return bool(named) and not os.path.lexists(name)


def _expand_local(source: PathLike) -> list[str | bytes | RemoteFile]:
    path: str | bytes = os.fspath(source)
    if isinstance(path, str) and path.startswith("file://") and not os.path.lexists(path):
        from urllib.parse import unquote

        path = unquote(path.removeprefix("file://").removeprefix("localhost"))
        if os.name == "nt":
            path = path.removeprefix("/")  # of file:///C:/folder/file
    try:
        mode = os.stat(path).st_mode
    except OSError:
        name = os.fsdecode(path)
        if name.startswith("~") and not os.path.lexists(path):
            raise FileNotFoundError(2, _NO_HOME, name) from None
        if not glob.has_magic(path) or os.path.lexists(path):
            raise
        return [*_matches(path)]
    return [*_record_files(path)] if stat.S_ISDIR(mode) else [path]


def _matches(path: str | bytes) -> list[str | bytes]:
    pattern = os.fsdecode(path)
    drive, tail = os.path.splitdrive(pattern)
    tail = tail.replace(os.sep, "/")
    parts = [part for part in tail.split("/") if part]
    root = drive + os.sep if tail[:1] == "/" else drive
    found = sorted(set(_below(root, parts, ())))
    matches = [name for name in found if not name.endswith(INDEX_SUFFIX)]
    if not matches:
        raise FileNotFoundError(2, "no file matches the pattern", pattern)
    return [os.fsencode(name) for name in matches] if isinstance(path, bytes) else list(matches)


def _below(root: str, parts: list[str], above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """As ``glob.glob``, which passes over directories that may not be listed without a word.

    `above`: the directories that a ``**`` came through, some of which a link may lead back to.
    """
    part, rest = parts[0], parts[1:]
    if part == "**":
        here = _if_there(os.stat, root or ".")
        if here is None or (here.st_dev, here.st_ino) in above:
            return
        above = (*above, (here.st_dev, here.st_ino))
        if rest:
            yield from _below(root, rest, ())
    elif not glob.has_magic(part):
        path = os.path.join(root, part)
        if rest:
            yield from _below(path, rest, ())
        elif _if_there(os.lstat, path):
            yield path
        return
    matches = re.compile(fnmatch.translate("*" if part == "**" else part)).match
    folder = os.path.join(root, "")  # there may be 100,000 entries
    for entry in _listed(root or "."):
        if not matches(entry.name) or (entry.name[0] == "." and part[0] != "."):
            continue
        path = folder + entry.name
        if part == "**" and _if_there(os.DirEntry.is_dir, entry):
            yield from _below(path, parts, above)
        elif rest and part != "**":
            yield from _below(path, rest, ())
        elif not rest:
            yield path


def _listed(directory: str) -> list[os.DirEntry[str]]:
    entries = _if_there(os.scandir, directory)
    if entries is None:
        return []
    with entries:
        return list(entries)


def _if_there(look: Callable[[_Place], _Seen], place: _Place) -> _Seen | None:
    """The result of a call on a path; None where there is no such path."""
    try:
        return look(place)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def _record_files(directory: str | bytes) -> list[str | bytes]:
    with os.scandir(os.fsdecode(directory)) as entries:
        files = sorted(entry.path for entry in entries if _is_record_file(entry))
    if not files:
        name = os.fsdecode(directory)
        raise IsADirectoryError(21, "a directory without a *.tfrecord* file in it", name)
    return [os.fsencode(path) for path in files] if isinstance(directory, bytes) else list(files)


def _is_record_file(entry: os.DirEntry[str]) -> bool:
    return _is_record_name(entry.name) and entry.is_file()


def _is_record_name(name: str) -> bool:
    return ".tfrecord" in name and name[0] != "." and not name.endswith(INDEX_SUFFIX)


def index_path(path: PathLike) -> str | bytes:
    """Return the path of a file's index, beside it."""
    name: str | bytes = os.fspath(path)
    if isinstance(name, bytes):
        return name + INDEX_SUFFIX.encode()
    return beside(name, INDEX_SUFFIX)


def beside(path: str, suffix: str) -> str:
    """The path of a file whose name has a suffix more; a URL keeps its query."""
    if not path.startswith(("http://", "https://")):
        return path + suffix
    place, mark, query = path.partition("?")
    return f"{place}{suffix}{mark}{query}"


def shard_paths(path: PathLike, shards: int, number: int | None = None) -> list[str]:
    """``train.tfrecord`` in 3 shards: ``train-00000-of-00003.tfrecord`` and so on.

    ``train.csv.gz`` likewise becomes ``train-00000-of-00003.csv.gz``. With `number`, what one is
    called while nobody knows how many there will be.
    """
    root, suffix = os.path.splitext(os.fsdecode(path))
    if suffix.lower() in PACKED_SUFFIXES:
        inner, kind = os.path.splitext(root)
        if kind[1:].isalpha():  # not the 5 of v1.5.gz
            root, suffix = inner, kind + suffix
    if number is not None:
        return [f"{root}-{number:05d}{suffix}"]
    return [f"{root}-{shard:05d}-of-{shards:05d}{suffix}" for shard in range(shards)]
