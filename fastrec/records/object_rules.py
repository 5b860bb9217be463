# SPDX-License-Identifier: Apache-2.0
"""Apply the rules of :mod:`fastrec.records.output_rules` to local files and to objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..storage.ahead import run_all
from ..storage.locations import locate
from ..storage.options import StorageOptions
from ..storage.remote import Pause, RemoteFile, retried
from ..storage.stores import Location
from .output_rules import (
    HEAD,
    INDEX_HEAD,
    INDEXED,
    IS_INPUT,
    NOT_INDEX,
    NOT_RECORDS,
    begins_with_index,
    begins_with_records,
    check_name,
    check_set,
    exists_error,
    is_input_file,
    remove_shards,
    shard_pattern,
    stale_shards,
)
from .paths import PathLike, is_remote

__all__ = [
    "OBJECT_EXISTS",
    "are_there",
    "check_object",
    "check_outputs",
    "remove_outputs",
    "stale_outputs",
]

OBJECT_EXISTS = "the object exists; overwrite=True replaces it"

_ALIASES = {"s3a://": "s3://", "gcs://": "gs://", "abfss://": "abfs://"}
_HTTP = ("http://", "https://")  # URLs that cannot be listed


def check_outputs(
    path: PathLike,
    sharded: bool,
    *,
    overwrite: bool,
    records: bool,
    inputs: Iterable[Any],
    storage: StorageOptions,
) -> None:
    """Raise unless new files or objects may be written under this name, or this shard set name.

    For a single object, the write itself checks whether it exists.

    Raises
    ------
    FileExistsError
    """
    if not is_remote(path, storage):
        check_set(path, sharded, overwrite=overwrite, records=records, inputs=inputs)
        return
    url = os.fsdecode(path)
    existing = _shards_of(url, storage) if sharded else []
    if existing and not overwrite:
        raise exists_error(locate(existing[0], storage).name, OBJECT_EXISTS)
    urls = existing if sharded else [url]
    for each in urls:
        _check_place(each, index=False, inputs=inputs, storage=storage)
    if overwrite:
        run_all(partial(_check_content, each, storage, records, False) for each in urls)


def check_object(
    url: str,
    *,
    overwrite: bool,
    records: bool,
    index: bool = False,
    inputs: Iterable[Any],
    storage: StorageOptions,
) -> None:
    """Raise if a URL is an input of the same call, or if its content is of another kind.

    Raises
    ------
    FileExistsError
    ValueError
        If an object that is not an index has the name of one.
    """
    _check_place(url, index=index, inputs=inputs, storage=storage)
    if overwrite:
        run_all([partial(_check_content, url, storage, records, index)])


def _check_place(url: str, *, index: bool, inputs: Iterable[Any], storage: StorageOptions) -> None:
    """Raise if the name of an object is reserved, or an input of the same call."""
    location = locate(url, storage)
    if not index:
        check_name(location.name)
    if _is_input(location, inputs, storage):
        raise exists_error(location.name, IS_INPUT)


def _check_content(
    url: str, storage: StorageOptions, records: bool, index: bool, pause: Pause
) -> None:
    """Raise if an object has content that the new content must not replace."""
    try:
        file = RemoteFile.open(url, storage, pause)
        head = bytes(file.read(0, min(file.size, INDEX_HEAD if records else HEAD), pause))
    except FileNotFoundError:
        return
    except PermissionError:  # some credentials may write, but not read
        if records:
            return
        raise
    if not records and begins_with_records(head, url):
        raise exists_error(file.name, NOT_RECORDS)
    if not index and begins_with_index(head):
        raise exists_error(file.name, NOT_INDEX)


def stale_outputs(path: PathLike, written: Sequence[str], storage: StorageOptions) -> list[str]:
    """Return the existing shards of the set `path` that are not in `written`."""
    if not is_remote(path, storage):
        return stale_shards(path, written)
    new = {_identity(locate(each, storage)) for each in written}
    existing = _shards_of(os.fsdecode(path), storage)
    return [each for each in existing if _identity(locate(each, storage)) not in new]


def remove_outputs(paths: Sequence[str], storage: StorageOptions) -> None:
    """Remove stale shards and their indexes, after the files of the new set are in place."""
    remote = [path for path in paths if is_remote(path, storage)]
    remove_shards(path for path in paths if path not in remote)
    run_all(partial(_remove, locate(path, storage), storage) for path in remote)


def are_there(paths: Sequence[str], storage: StorageOptions) -> list[bool]:
    """Return whether each file or object exists."""
    if not any(is_remote(path, storage) for path in paths):
        return [os.path.lexists(path) for path in paths]
    return run_all(partial(_is_there, locate(path, storage), storage.retries) for path in paths)


def _is_there(location: Location, retries: int, pause: Pause) -> bool:
    try:
        retried(retries, location, lambda: location.store.stat(location.key), pause)
    except FileNotFoundError:
        return False
    return True


def _remove(location: Location, storage: StorageOptions, pause: Pause) -> None:
    for suffix in INDEXED:
        key = location.key + suffix
        place = location.at(key)
        if _is_there(place, storage.retries, pause):
            retried(storage.retries, place, partial(place.store.delete, key), pause)


def _shards_of(url: str, storage: StorageOptions) -> list[str]:
    """Return the URLs of the existing shards of a set, for any number of shards."""
    location = locate(url, storage)
    if location.begin.startswith(_HTTP):
        return []
    folder, _, name = location.key.rpartition("/")
    folder = f"{folder}/" if folder else ""
    pattern, where = shard_pattern(name), location.at(folder)

    def ask(pause: Pause) -> list[str]:
        listed = retried(
            storage.retries, where, lambda: list(where.store.list(folder, False)), pause
        )
        return sorted(key for key, _ in listed if pattern.fullmatch(key.rpartition("/")[2]))

    begin = "" if storage.filesystem is not None else location.begin
    return [begin + key for key in run_all([ask])[0]]


def _identity(location: Location) -> tuple[str, str]:
    """Return a value that is equal for all URLs of one object."""
    begin = location.begin
    for alias, scheme in _ALIASES.items():
        if begin.startswith(alias):
            begin = scheme + begin.removeprefix(alias)
    return begin.lower() if begin.startswith(_HTTP) else begin, location.key


def _is_input(location: Location, inputs: Iterable[Any], storage: StorageOptions) -> bool:
    """Return whether an object, or its local file, is an input of the same call."""
    for each in inputs:
        if isinstance(each, RemoteFile):
            other: Location | None = each.location
        elif isinstance(each, (str, bytes, os.PathLike)) and is_remote(each, storage):
            other = locate(os.fsdecode(each), storage)
        else:
            other = None
        if other is not None and _identity(other) == _identity(location):
            return True
        path = location.store.path_of(location.key)
        behind = each if other is None else other.store.path_of(other.key)
        if path is not None and behind is not None and is_input_file(path, [behind]):
            return True
    return False
