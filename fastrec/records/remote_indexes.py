# SPDX-License-Identifier: Apache-2.0
"""Load indexes of objects from the local cache or from the store, or build them by reading."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from functools import partial
from typing import IO, Any

from .. import _core
from ..errors import IndexMismatchError
from ..storage.ahead import run_all
from ..storage.cache import index_place
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..storage.sequential import streams_of
from .index import Index
from .paths import INDEX_SUFFIX
from .remote_dataset import index_mismatch, reserve

__all__ = ["Kept", "load_indexes", "save_index"]

_WARN_BYTES = 1 << 30  # missing indexes that require reading more bytes cause a warning
_INDEX_HEADER = 1 << 10  # bytes of an index besides the record offsets


def load_indexes(
    files: list[RemoteFile],
    storage: StorageOptions,
    beside: bool | None,
    options: dict[str, Any],
    *,
    known: Mapping[int, _core.FileIndex],
    kept: dict[int, Kept] | None,
) -> list[_core.FileIndex]:
    """Return the index of each file: from the local cache, from the store, or by reading the file.

    `beside` is True if an index next to each file is required, False to ignore such indexes, and
    None to use them if present. `known` contains indexes that a pass has found, by file number. The
    bytes of files that are read go into `kept`.

    Raises
    ------
    OSError, CorruptRecordError, IndexMismatchError
    """
    found: list[_core.FileIndex | None] = [None] * len(files)
    if beside is not True:
        run_all(file.identify for file in files if file.version is None)
        found = [
            known[number] if number in known else _cached(file, storage)
            for number, file in enumerate(files)
        ]
    if beside is not False:
        missing = [number for number, index in enumerate(found) if index is None]
        loaded = run_all(partial(_beside, files[n], beside is True) for n in missing)
        for number, index in zip(missing, loaded, strict=True):
            found[number] = index
    missing = [number for number, index in enumerate(found) if index is None]
    total = sum(files[number].size for number in missing)
    if total > _WARN_BYTES:
        warnings.warn(
            f"{total >> 20} MiB are read to find where the records of {len(missing)} objects are; "
            "an index beside each, as Writer(index=True) makes them, saves that",
            RuntimeWarning,
            stacklevel=5,
        )
    local = None if kept is None or not total else _local_file(total, storage)
    streams = streams_of([files[number] for number in missing], storage)
    for number, stream in zip(missing, streams, strict=True):
        file, read = files[number], stream.read
        if kept is not None and local is not None:
            kept[number] = Kept(local)
            read = partial(kept[number].tee, stream)
        reader = _core.RecordReader(
            file.name, read=read, verify=False, max_record=options["max_record"]
        )
        found[number] = index = reader.index()
        save_index(file, index, storage)
    return found  # type: ignore[return-value]


class _LocalFile:
    """A file that is closed with the last object that refers to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def __del__(self) -> None:
        self.file.close()


class Kept:
    """Bytes of a remote file, stored in a local file that it shares with other remote files."""

    def __init__(self, local: _LocalFile) -> None:
        self._owner, self._local = local, local.file
        self._begin = self._at = self._end = self._local.tell()

    def tee(self, stream: Any, size: int) -> bytes:
        """Read from a stream, and store the data."""
        data: bytes = stream.read(size)
        self._local.write(data)
        self._end += len(data)
        return data

    def seek(self, position: int) -> None:
        """Set the position of the next read."""
        self._at = self._begin + position

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes."""
        self._local.seek(self._at)
        data = self._local.read(min(size, self._end - self._at))
        self._at += len(data)
        return data


def _local_file(size: int, storage: StorageOptions) -> _LocalFile | None:
    """Return a file in memory, or a temporary file if it is large; None without enough space."""
    if size <= storage.window_bytes:
        return _LocalFile(io.BytesIO())
    import shutil
    import tempfile

    with contextlib.suppress(OSError):
        if shutil.disk_usage(tempfile.gettempdir()).free // 2 > size:
            local = _LocalFile(tempfile.TemporaryFile(prefix="fastrec-"))  # noqa: SIM115
            reserve(local.file.fileno(), size)
            return local
    return None


def save_index(file: RemoteFile, index: _core.FileIndex, storage: StorageOptions) -> bool:
    """Save the index of a file in the local cache; return False if that is not possible."""
    place = index_place(file, storage)
    if place is None:
        return False
    try:
        Index(file.name, index).save(place, overwrite=True)
    except OSError:
        return False
    return True


def _cached(file: RemoteFile, storage: StorageOptions) -> _core.FileIndex | None:
    place = index_place(file, storage)
    if place is None:
        return None
    try:
        index = Index._read(file.name, place)._core
    except (OSError, IndexMismatchError):
        return None
    return index if index.size == file.size else None


def _beside(file: RemoteFile, required: bool, pause: Any) -> _core.FileIndex | None:
    """Return the index stored next to a file; a damaged one is ignored unless it is required."""
    try:
        limit = _INDEX_HEADER + 2 * file.size  # eight bytes per record of at least 16 bytes
        index = _core.FileIndex.load(file.read_beside(INDEX_SUFFIX, limit, pause), file.name)
        if index.size != file.size:
            raise index_mismatch(file, index)
        return index
    except (OSError, IndexMismatchError):
        if required:
            raise
        return None
