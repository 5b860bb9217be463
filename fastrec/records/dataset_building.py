# SPDX-License-Identifier: Apache-2.0
"""Build dataset indexes of existing files, and of files that a writer is about to publish."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import IO, Any, Final

import numpy as np

from .. import _core
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from .compression import detect
from .dataset_table import BAD_NAME, KINDS, Head, version_kind
from .framing import HEAD_SIZE
from .index import Index
from .paths import PathLike, is_remote
from .targets import open_writer

__all__ = ["Described", "describe", "described_files", "open_dataset_writer", "place_of"]

_AT_ONCE = 1000  # files to index before their sections are written to the disk


class Described:
    """The table entry and the section of one file."""

    def __init__(
        self, size: int, count: int, kind: str | None, version: str | None, section: Any
    ) -> None:
        self.size: int = size
        self.count: int = count
        self.kind: str | None = kind
        self.version: str | None = version
        self.section: Final = section


def described_files(
    places: Sequence[Any], options: dict[str, Any], storage: StorageOptions
) -> Iterator[Described]:
    """Index files in groups, so that all their sections need not be in memory together."""
    from .remote_indexes import load_indexes

    for first in range(0, len(places), _AT_ONCE):
        some = places[first : first + _AT_ONCE]
        if not isinstance(some[0], RemoteFile):
            yield from (_described_file(place, options) for place in some)
            continue
        heads = run_all(partial(each.head, HEAD_SIZE) for each in some)
        kinds = [detect(head) for head in heads]
        plain = [file for file, kind in zip(some, kinds, strict=True) if kind is None]
        found = iter(load_indexes(plain, storage, None, options, known={}, kept=None))
        for file, kind in zip(some, kinds, strict=True):
            version = file.version if version_kind(file.version) else None
            if kind is None:
                index = next(found)
                count, section = len(index), bytes(memoryview(index.save()))
            else:
                count, section = _count_packed(file, storage), b""
            yield Described(file.size, count, kind, version, section)


def _count_packed(file: RemoteFile, storage: StorageOptions) -> int:
    from .record_files import RecordFiles

    files = RecordFiles([file], storage_options=storage, verify=False)
    return sum(part.walk()[0] for part in files.readers())


def _described_file(place: str | bytes, options: dict[str, Any]) -> Described:
    index = Index._built(place, options["max_record"] or None)
    kind = None if index.checkpoints is None else index.checkpoints.kind
    return Described(index.data_size, len(index), kind, None, memoryview(index._saved()))


def _relative(path: PathLike, places: Sequence[Any]) -> Iterator[bytes]:
    """Yield the name of each file relative to the folder of an index.

    Raises
    ------
    ValueError
        If a file is not in the folder.
    """
    for place in places:
        name, here = os.fsdecode(place), os.fsdecode(path)
        if isinstance(place, RemoteFile):
            from urllib.parse import unquote

            name = place.url.partition("?")[0]
            here = here.partition("?")[0]
            folder = here[: here.rfind("/") + 1]
            relative = name[len(folder) :] if name.startswith(folder) else ""
            if name.startswith(("http://", "https://")):
                relative = unquote(relative)
        else:
            folder = os.path.join(os.path.dirname(os.path.abspath(here)), "")
            relative = name[len(folder) :] if name.startswith(folder) else ""
            relative = relative.replace(os.sep, "/")
        encoded = os.fsencode(relative) + b"\0"
        if not relative or BAD_NAME.search(encoded) or encoded.count(b"\0") != 1:
            raise ValueError(
                f"the files of a dataset index must be in its folder or below, {name!a} is not in "
                f"that of {here!a}: write the index into the folder of the files"
            )
        yield encoded


def describe(path: PathLike, place: PathLike, kind: str | None) -> Described:
    """Describe a file that is temporarily at `place`."""
    if kind is None:
        index = Index._of(path, place)
    else:
        index = Index._inflated(path, place, kind, {"verify": False})
    section = memoryview(index._saved())
    return Described(index.data_size, len(index), kind, None, section)


def place_of(path: str, storage: StorageOptions) -> str | RemoteFile:
    """Return an absolute path, or an object, which need not exist yet."""
    return RemoteFile(path, storage, path, 0) if is_remote(path, storage) else os.path.abspath(path)


class DatasetWriter:
    """Writer of a dataset index, with the methods of a writer that publish it.

    With `versions`, the table is written when the index is published, after its files.
    """

    def __init__(
        self, writer: Any, spool: IO[bytes], names: bytes, versions: Callable[[], Any] | None
    ) -> None:
        self._writer, self._spool, self._names = writer, spool, names
        self._get_versions = versions
        self._columns: list[tuple[int, int, int]] = []  # size, records, bytes of the section
        self._kinds = bytearray()
        self._versions: list[str | None] = []
        self._is_complete = False

    @property
    def path(self) -> Any:
        """Name of the index, for messages."""
        return self._writer.path

    def add(self, file: Described) -> None:
        """Add a file."""
        self._columns.append((file.size, file.count, len(file.section)))
        self._kinds.append(KINDS.index(file.kind))
        self._versions.append(file.version)
        self._spool.write(file.section)

    def finish(self) -> None:
        """Write the table and the sections."""
        self._is_complete = True
        found = self._versions if self._get_versions is None else self._get_versions()
        versions = b"".join(
            (version or "").encode("utf-8", "surrogateescape") + b"\0" for version in found
        )
        columns = np.array(self._columns, "<u8").reshape(-1, 3).T.tobytes()
        raw = b"".join([columns, self._kinds, self._names, versions])
        table = zlib.compress(raw, 6)
        head = Head(len(self._columns), len(raw), len(self._names), len(table), _core.crc32c(table))
        self._writer.write_frames(head.pack() + table, 0)
        self._spool.seek(0)
        while data := self._spool.read(1 << 20):
            self._writer.write_frames(data, 0)
        self._spool.close()
        self._writer.finish()

    def put_in_place(self) -> None:
        """Publish the index."""
        if not self._is_complete:
            self.finish()
        self._writer.put_in_place()

    def take_back(self) -> bool:
        """Delete the published index; return False if it replaced an existing file."""
        taken: bool = self._writer.take_back()
        return taken

    def close(self) -> None:
        """Publish the index unless that has happened, and close it."""
        if not self._is_complete:
            self.finish()
        self._writer.close()

    def abort(self) -> None:
        """Discard the index unless it is published."""
        self._spool.close()
        self._writer.abort()


def open_dataset_writer(
    path: PathLike,
    places: Sequence[Any],
    described: Iterable[Described],
    storage: StorageOptions,
    *,
    overwrite: bool,
    versions: Callable[[], list[str | None]] | None = None,
) -> DatasetWriter:
    """Return a writer of the index of some files; its `close` publishes the index.

    The index is complete, unless `versions` returns the versions of the files after these were
    published.
    """
    names = b"".join(_relative(path, places))
    writer = open_writer(path, storage, overwrite=overwrite, index=True, inputs=places)
    try:
        spool = tempfile.TemporaryFile(prefix="fastrec-")  # noqa: SIM115
    except BaseException:
        writer.abort()
        raise
    dataset = DatasetWriter(writer, spool, names, versions)
    try:
        for each in described:
            dataset.add(each)
        if versions is None:
            dataset.finish()
    except BaseException:
        dataset.abort()
        raise
    return dataset
