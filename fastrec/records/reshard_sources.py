# SPDX-License-Identifier: Apache-2.0
"""Read the sources of :func:`fastrec.reshard` in file order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ..columns import Bytes
from ..errors import FastrecError
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from .byte_sources import check_rereadable
from .framing import FRAME_OVERHEAD
from .reader import Reader
from .record_files import RecordFiles
from .recovery import OnError

__all__ = ["BLOCK", "BlockQueue", "Sources"]

BLOCK = 4096  # most records to read together


class Sources:
    """The files of a job.

    Parameters
    ----------
    paths : list of paths and RemoteFile
    on_error : OnError
        Policy for damaged records, as for :class:`fastrec.Reader`.
    storage : StorageOptions
    """

    def __init__(self, paths: list[Any], on_error: OnError, storage: StorageOptions) -> None:
        self.paths = paths
        self._on_error, self._storage = on_error, storage

    def identities(self) -> list[list[Any]]:
        """Return the name, the size and the version of each source."""
        remote = [path for path in self.paths if isinstance(path, RemoteFile)]
        run_all(file.identify for file in remote if file.version is None)
        return [_identity(path) for path in self.paths]

    @cached_property
    def are_remote(self) -> bool:
        """Whether sources are read over a network."""
        remote = any(isinstance(path, RemoteFile) for path in self.paths)
        return remote and self._storage.cache is None

    @property
    def have_random_access(self) -> bool:
        """Whether records can be read cheaply in any order: intact, uncompressed local files."""
        return not self.are_remote and self._on_error == "raise" and not self._open().sequential

    def reader(self) -> Reader:
        """Return a reader that takes records in any order."""
        return Reader(self.paths, index=False, shards="any", storage_options=self._storage)

    def count(self) -> tuple[list[int], int]:
        """Return the number of records in each source, and the size of all records in bytes."""
        files = self._open()
        check_rereadable(files, "its records are counted first")
        if self._may_have_indexes(files):
            counts = files.dataset().file_counts()
            size = sum(file.size for file in files.remote)
            return counts, size - FRAME_OVERHEAD * sum(counts)
        walks = [reader.walk() for reader in self._open(self._on_error != "raise").readers()]
        return [walk[0] for walk in walks], sum(walk[1] for walk in walks)

    def _may_have_indexes(self, files: RecordFiles) -> bool:
        every = self.are_remote and len(files.remote) == len(files.paths)
        return every and self._on_error == "raise" and not files.sequential

    def blocks(self, counts: list[int], first: int) -> Iterator[Bytes]:
        """Yield the records in blocks, starting at number `first`.

        Raises
        ------
        FastrecError
            If a source has fewer or more records than `counts` says.
        """
        files = self._open()
        damage, begin = files.policy(), 0
        while begin < len(counts) and first >= counts[begin]:
            first -= counts[begin]
            begin += 1
        places = files.places[begin:]
        remote = files.streams([place for place in places if isinstance(place, RemoteFile)])
        for number in range(begin, len(counts)):
            count = left = counts[number]
            reader = files.open(number, damage, remote=remote)
            while (block := reader.take(BLOCK)) is not None:
                left -= len(block)
                if first < len(block):
                    yield block[first:] if first else block
                first = max(first - len(block), 0)
            if left:
                name = os.fsdecode(self.paths[number])
                raise FastrecError(
                    f"{name!a} has changed: it had {count} records, and has {count - left}"
                )

    def _open(self, verify: bool = True) -> RecordFiles:
        return RecordFiles(
            self.paths,
            verify=verify,
            on_error=self._on_error,
            index="auto" if self.are_remote else False,
            shards="any",
            storage_options=self._storage,
        )


class BlockQueue:
    """A sequence of blocks from which records can be taken in any numbers."""

    def __init__(self, blocks: Iterator[Bytes]) -> None:
        self._blocks, self._block = blocks, Bytes.from_list([])

    def peek(self) -> Bytes | None:
        """Return the records of the current block that are left; None at the end."""
        while not len(self._block):
            if (block := next(self._blocks, None)) is None:
                return None
            self._block = block
        return self._block

    def take(self, count: int) -> Bytes:
        """Return the next `count` records of the current block."""
        taken, self._block = self._block[:count], self._block[count:]
        return taken


def _identity(path: Any) -> list[Any]:
    if isinstance(path, RemoteFile):
        return [path.name, path.size, path.version]
    status = os.stat(path)
    return [os.path.abspath(os.fsdecode(path)), status.st_size, status.st_mtime_ns]
