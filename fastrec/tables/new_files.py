# SPDX-License-Identifier: Apache-2.0
"""New files, one, a set of shards or a directory, that appear together or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..records.object_rules import check_outputs, remove_outputs, stale_outputs
from ..records.output_folder import output_folder
from ..records.paths import PathLike, is_remote, shard_paths
from ..records.targets import open_writer
from ..storage.options import StorageOptions

__all__ = ["NewFiles", "new_folder"]


@contextlib.contextmanager
def new_folder(path: PathLike, storage: StorageOptions) -> Iterator[str]:
    """Yield a directory whose files appear together under its name, or not at all.

    Raises
    ------
    FileExistsError
        Also if overwriting was requested: a directory may have other files.
    ValueError
        For a URL.
    """
    if is_remote(path, storage):
        raise ValueError(
            f"the target must be a local directory, got {os.fsdecode(path)!a}; convert, and copy "
            "the directory"
        )
    with output_folder(path) as folder:
        yield folder


class NewFiles:
    """The files of one output, under the rules of :mod:`fastrec.records.output_rules`.

    Parameters
    ----------
    path
        The file, or the name of the set of shards.
    sharded : bool
        Whether several files are written, named as shards.
    overwrite : bool
        Whether to replace existing files.
    storage_options : StorageOptions
        Options for a path that is a URL.
    inputs
        Input files, which must not be replaced.

    Attributes
    ----------
    paths : list of str
        Paths of the files, after :meth:`close`.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        sharded: bool,
        overwrite: bool,
        storage_options: StorageOptions,
        inputs: Sequence[Any],
    ) -> None:
        rules: dict[str, Any] = {"overwrite": overwrite, "inputs": inputs}
        check_outputs(path, sharded, records=False, storage=storage_options, **rules)
        self._path, self._sharded = os.fsdecode(path), sharded
        self._overwrite, self._storage = overwrite, storage_options
        self._files: list[Any] = []
        self.paths: list[str] = []

    def add(self) -> Any:
        """Finish the last file, and return the writer of the next one."""
        if self._files:
            self._files[-1].finish()
        path = shard_paths(self._path, 1, len(self._files))[0] if self._sharded else self._path
        self._files.append(open_writer(path, self._storage, overwrite=self._overwrite))
        return self._files[-1]

    def close(self) -> None:
        """Publish all files; after an error, none of them."""
        self._files[-1].finish()
        self.paths = [self._path]
        if self._sharded:
            self.paths = shard_paths(self._path, len(self._files))
            for file, path in zip(self._files, self.paths, strict=True):
                file.rename(path)
        try:
            stale = stale_outputs(self._path, self.paths, self._storage) if self._sharded else []
            for file in self._files:
                file.put_in_place()
        except BaseException:
            for file in self._files:
                file.take_back()
            raise
        for file in self._files:
            file.close()
        remove_outputs(stale, self._storage)

    def abort(self) -> None:
        """Discard all files."""
        for file in self._files:
            file.abort()
