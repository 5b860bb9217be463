# SPDX-License-Identifier: Apache-2.0
"""The output files of resharding: arguments, sizes, names and publishing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .. import _core
from ..arguments import check_int
from ..storage.locations import locate
from ..storage.options import StorageOptions
from .compression import Codec
from .object_rules import (
    OBJECT_EXISTS,
    are_there,
    check_outputs,
    remove_outputs,
    stale_outputs,
)
from .output_folder import sync_folder
from .output_rules import exists_error, remove_shards, stale_shards
from .paths import is_remote, shard_paths
from .reshard_state import STATE_FILE
from .shard_writer import check_sizes
from .targets import Upload

__all__ = [
    "Progress",
    "Resharded",
    "check_arguments",
    "check_targets",
    "publish",
    "shard_names",
    "shard_sizes",
    "upload",
]


Progress = Callable[[int, int], object]


class Resharded(NamedTuple):
    """Result of :func:`reshard`.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> done = fastrec.reshard(path, os.path.join(os.path.dirname(path), "b.tfrecord"), shards=2)
    >>> done.records, [os.path.basename(each) for each in done.paths]
    (3, ['b-00000-of-00002.tfrecord', 'b-00001-of-00002.tfrecord'])
    """

    records: int
    paths: list[str]


def check_arguments(
    files: dict[str, int | None],
    *,
    shuffle: bool,
    seed: int | None,
    compression: Codec | None,
    level: int | None,
    memory: int,
) -> None:
    """Raise unless the arguments are consistent; `files` specifies the number or size of files."""
    check_sizes(files, False)
    if seed is not None:
        check_int("seed", seed, 0, 2**64 - 1)
        if not shuffle:
            raise ValueError("seed requires shuffle")
    if level is not None and compression is None:
        raise ValueError("level requires compression")
    check_int("memory", memory, 1 << 20, 2**62)


def shard_sizes(total: int, shards: int | None, shard_records: int | None) -> Iterator[int]:
    """Return the number of records in each file."""
    if shards is not None:
        for number in range(shards):
            yield total * (number + 1) // shards - total * number // shards
    elif shard_records is not None:
        for begin in range(0, max(total, 1), shard_records):
            yield min(shard_records, total - begin)
    else:
        yield total


def shard_names(target: str, count: int, files: dict[str, int | None]) -> list[str]:
    """Return the names of the first `count` files."""
    if all(size is None for size in files.values()):
        return [target][:count]
    return shard_paths(target, count)


def check_targets(
    target: str,
    files: dict[str, int | None],
    *,
    overwrite: bool,
    inputs: Iterable[Any],
    storage: StorageOptions,
) -> None:
    """Raise unless the files may be written; `files` specifies their number or size."""
    sharded = any(size is not None for size in files.values())
    rules: dict[str, Any] = {"overwrite": overwrite, "inputs": inputs, "storage": storage}
    check_outputs(target, sharded, records=True, **rules)
    if is_remote(target, storage) and not overwrite:  # HTTP servers cannot list shards
        names = shard_names(target, files.get("shards") or 1, files)
        for path, there in zip(names, are_there(names, storage), strict=True):
            if there:
                raise exists_error(locate(path, storage).name, OBJECT_EXISTS)


def publish(
    staged: list[tuple[str, str]], folder: str, target: str, paths: list[str], overwrite: bool
) -> None:
    """Rename the files in a folder to their final names, and remove the folder.

    At the end, shards of the set `target` that are not in its `paths` are removed.
    """
    stale = stale_shards(target, paths) if paths != [target] else []
    for place, path in staged:
        _core.move(place, path, overwrite)
    sync_folder(os.path.dirname(os.path.abspath(folder)))
    remove_shards(stale)
    _remove_folder(folder)


def upload(
    staged: list[tuple[str, str]],
    folder: str,
    target: str,
    paths: list[str],
    overwrite: bool,
    storage: StorageOptions,
    *,
    resumable: bool,
) -> None:
    """Store the files in a folder as objects, and remove the folder.

    At the end, shards of the set `target` that are not in its `paths` are removed.

    If an error occurs, uploaded objects are kept if the job is `resumable`. Otherwise they are
    deleted and the folder is removed, unless uploads have already replaced existing objects.
    """
    stale = stale_outputs(target, paths, storage) if paths != [target] else []
    uploads = [(place, Upload(path, storage, exclusive=not overwrite)) for place, path in staged]
    try:
        for place, each in uploads:
            each.put(place)
            if resumable:
                os.unlink(place)
    except BaseException as error:
        if resumable:
            raise
        left = [each.name for _, each in uploads if not each.take_back()]
        if not left:
            shutil.rmtree(folder, ignore_errors=True)
        elif isinstance(error, OSError):
            replaced = ", ".join(map(ascii, left))
            text = f"{error.strerror}; these are replaced: {replaced}; all shards are in {folder!a}"
            raise OSError(error.errno, text, error.filename) from error
        raise
    remove_outputs(stale, storage)
    _remove_folder(folder)


def _remove_folder(folder: str) -> None:
    """Remove the folder of a complete job.

    The state is removed last, so that a call after a killed process knows that the job is complete.
    """
    for name in os.listdir(folder):
        if name != STATE_FILE:
            os.unlink(os.path.join(folder, name))
    shutil.rmtree(folder)
