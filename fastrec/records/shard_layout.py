# SPDX-License-Identifier: Apache-2.0
"""The output files of resharding: arguments, sizes, names and publishing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _core
from ..arguments import check_int
from ..storage.locations import locate
from ..storage.options import StorageOptions
from .object_rules import (
    OBJECT_EXISTS,
    are_there,
    check_outputs,
    remove_outputs,
    stale_outputs,
)
from .output_folder import sync_folder
from .output_rules import exists_error, output_compression, remove_shards, stale_shards
from .paths import PathLike, expand, is_remote, shard_paths
from .recovery import OnError, check_policy
from .reshard_state import STATE_FILE
from .shard_sets import Shards
from .shard_writer import check_sizes
from .targets import Upload

__all__ = ["Layout", "Progress", "Resharded"]


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


@dataclass(frozen=True)
class Layout:
    """The target of :func:`reshard`, and its options in internal form."""

    target: str
    shards: int | None = None
    shard_bytes: int | None = None
    shard_records: int | None = None
    shuffle: bool = False
    seed: int | None = None
    compression: Any = "auto"  # after the checks, a codec or None
    level: int | None = None
    memory: int = 256 << 20
    overwrite: bool = False
    on_error: OnError = "raise"
    progress: Progress | None = None
    work: PathLike | None = None
    storage_options: Any = None  # after the checks, StorageOptions
    source_shards: Shards = "complete"

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression", output_compression(self.target, self.compression))
        object.__setattr__(self, "storage_options", StorageOptions.of(self.storage_options))
        check_policy(self.on_error, None)
        check_sizes(self.sizes, False)
        if self.seed is not None:
            check_int("seed", self.seed, 0, 2**64 - 1)
            if not self.shuffle:
                raise ValueError("seed requires shuffle")
        if self.level is not None and self.compression is None:
            raise ValueError("level requires compression")
        check_int("memory", self.memory, 1 << 20, 2**62)

    @property
    def sizes(self) -> dict[str, int | None]:
        """The number or size of the files."""
        return {name: getattr(self, name) for name in ("shards", "shard_bytes", "shard_records")}

    @property
    def uploads(self) -> bool:
        """Whether the files become objects."""
        return is_remote(self.target, self.storage_options)

    def expand(self, source: Any) -> list[Any]:
        """Return the files of a source."""
        return expand(source, self.storage_options, shards=self.source_shards)

    def records(self, total: int) -> Iterator[int]:
        """Return the number of records in each file, unless its size in bytes decides."""
        if self.shards is not None:
            for number in range(self.shards):
                yield total * (number + 1) // self.shards - total * number // self.shards
        elif self.shard_records is not None:
            for begin in range(0, max(total, 1), self.shard_records):
                yield min(self.shard_records, total - begin)
        else:
            yield total

    def names(self, count: int) -> list[str]:
        """Return the names of the first `count` files."""
        if not any(self.sizes.values()):
            return [self.target][:count]
        return shard_paths(self.target, count)

    def check_targets(self, inputs: Iterable[Any]) -> None:
        """Raise unless the files may be written."""
        rules: dict[str, Any] = {"overwrite": self.overwrite, "storage": self.storage_options}
        check_outputs(self.target, any(self.sizes.values()), records=True, inputs=inputs, **rules)
        if self.uploads and not self.overwrite:  # HTTP servers cannot list shards
            names = self.names(self.shards or 1)
            for path, there in zip(names, are_there(names, self.storage_options), strict=True):
                if there:
                    raise exists_error(locate(path, self.storage_options).name, OBJECT_EXISTS)

    def publish(
        self, staged: list[tuple[str, str]], folder: str, paths: list[str], *, resumable: bool
    ) -> None:
        """Rename or upload the files in a folder to their final names, and remove the folder."""
        if self.uploads:
            storage = self.storage_options
            _upload(
                staged, folder, self.target, paths, self.overwrite, storage, resumable=resumable
            )
        else:
            _rename(staged, folder, self.target, paths, self.overwrite)


def _rename(
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


def _upload(
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
