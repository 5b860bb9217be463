# SPDX-License-Identifier: Apache-2.0
"""Load indexes of objects from the local cache or from the store, or build them by reading."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import IndexMismatchError, warn_caller
from ..storage.ahead import run_all
from ..storage.cache import index_place
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..storage.sequential import streams_of
from ..threads.locks import ProcessLock
from .index import Index
from .paths import INDEX_SUFFIX
from .remote_dataset import IndexList, index_mismatch, reserve

__all__ = ["FEW", "Kept", "LateIndexes", "index_beside", "load_indexes", "save_index"]

_WARN_BYTES = 1 << 30  # missing indexes that require reading more bytes cause a warning
_INDEX_HEADER = 1 << 10  # bytes of an index besides the record offsets
_MOST_BYTES = 1 << 30  # maximum bytes of the index of an object whose size is unknown
FEW = 8  # maximum number of objects whose indexes are all fetched first
_AHEAD = 16  # indexes that are fetched together after the first ones


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
    found: list[_core.FileIndex | None] = [known.get(number) for number in range(len(files))]

    def load_beside(numbers: list[int]) -> None:
        missing = [number for number in numbers if found[number] is None]
        loaded = run_all(partial(index_beside, files[n], beside is True) for n in missing)
        for number, index in zip(missing, loaded, strict=True):
            found[number] = index

    numbers, tried = [*range(len(files))], set[int]()
    if beside is not False:  # the index of an object also contains its size
        tried = {number for number in numbers if not files[number].is_open}
        load_beside([*tried])
    if beside is not True:
        missing = [number for number in numbers if found[number] is None]
        run_all(files[number].identify for number in missing if files[number].version is None)
        for number in missing:
            found[number] = _cached(files[number], storage)
    if beside is not False:
        load_beside([number for number in numbers if number not in tried])
    missing = [number for number in numbers if found[number] is None]
    total = sum(files[number].size for number in missing)
    if total > _WARN_BYTES:
        warn_caller(
            f"{total >> 20} MiB are read to find where the records of {len(missing)} objects are; "
            "an index beside each, as Writer(index=True) makes them, saves that"
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


class LateIndexes:
    """Indexes next to objects, which are fetched in the order of the objects as they are needed.

    Thread-safe.

    Parameters
    ----------
    files : sequence of RemoteFile
    load : callable
        Returns the indexes of the files with the numbers `first` to `stop`.
    """

    def __init__(
        self, files: Sequence[RemoteFile], load: Callable[[int, int], list[_core.FileIndex]]
    ) -> None:
        self._files, self._load = files, load
        self._indexes: list[_core.FileIndex] = []  # of the first files
        self._records = 0
        self._lock = ProcessLock()

    def counts_until(self, record: int | None, ahead: int = 0) -> NDArray[np.uint64]:
        """Return the record counts of the first files, at least up to the one with a record.

        With None, return the counts of all files. Otherwise, the indexes of enough files for
        `record` and `ahead` more records are fetched together, after the first 16 at least 16.
        """
        with self._lock.current():
            while (done := len(self._indexes)) < len(self._files):
                if record is None:
                    count = len(self._files)
                elif record < self._records:
                    break
                elif done:
                    mean = max(1, self._records // done)
                    missing = -(-(record + 1 + ahead - self._records) // mean)
                    count = max(missing, _AHEAD if done >= _AHEAD else 1)
                else:
                    count = 1
                loaded = self._load(done, min(done + count, len(self._files)))
                self._indexes += loaded
                self._records += sum(map(len, loaded))
            return np.array([*map(len, self._indexes)], np.uint64)

    def prepare(self, numbers: Iterable[int]) -> None:
        """Do nothing: the files whose records were counted have their indexes in memory."""

    def __getitem__(self, number: int, /) -> _core.FileIndex:
        return self._indexes[number]

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.counts_until(None)
        return IndexList(self._indexes).__reduce_ex__(protocol)


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


def index_beside(file: RemoteFile, required: bool, pause: Any) -> _core.FileIndex | None:
    """Return the index stored next to a file; a damaged one is ignored unless it is required."""
    try:
        # An index has eight bytes per record of at least 16 bytes.
        limit = _INDEX_HEADER + 2 * file.size if file.is_open else _MOST_BYTES
        index = _core.FileIndex.load(file.read_beside(INDEX_SUFFIX, limit, pause), file.name)
        file.expect(index.size)
        if index.size != file.size:
            raise index_mismatch(file, index)
        return index
    except (OSError, IndexMismatchError):
        if required:
            raise
        return None
