# SPDX-License-Identifier: Apache-2.0
"""Write records given as bytes to one file, or to shards that are published together."""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int, check_path, shown
from ..columns import Bytes
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..storage.urls import local_path
from ..threads.locks import check_process
from .compression import Compression
from .dataset_building import describe, open_dataset_writer, place_of
from .framing import FRAME_OVERHEAD
from .index import Index
from .object_rules import check_outputs, remove_outputs, stale_outputs
from .output_file import Output
from .output_rules import is_index, output_compression
from .paths import PathLike, dataset_path, shard_paths
from .record_files import RecordFiles
from .targets import Writable

__all__ = ["ShardWriter", "check_sizes"]

_MOST_SHARDS = 99999
_AT_ONCE = 1024  # records taken from an iterator, which may be infinite or exceed memory
_PIECE = 8192  # records of a tuple per round, so that their objects stay in the CPU cache

_Self = TypeVar("_Self", bound="ShardWriter")


def _check_iterable(records: Any) -> None:
    """Raise if an argument of `write_many` is one record, is columns, or has lost bytes."""
    problem = None
    is_flat = isinstance(records, memoryview) and records.ndim < 2
    kind = type(records).__name__
    if isinstance(records, (bytes, bytearray, str)) or is_flat:
        problem = f"one {kind}; use write()"
    elif isinstance(records, Mapping) or hasattr(records, "schema"):
        problem = f"{kind}; write_batch() writes columns, and write() one mapping"
    elif not (hasattr(records, "__iter__") or hasattr(records, "__getitem__")):
        problem = kind
    if problem is not None:
        raise TypeError(f"records must be an iterable of records, got {problem}")
    if isinstance(records, np.ndarray) and records.dtype.kind in "SU":
        _core.as_records(records)  # raises, because such an array has lost zero bytes


class ShardWriter:
    """A writer of records given as bytes; the parameters are those of :class:`fastrec.Writer`.

    `inputs` are files of the caller that must not be replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.tfrecord")
    >>> with ShardWriter(path, shards=2) as writer:
    ...     writer.write_many([b"a", b"few", b"words"])
    >>> [os.path.basename(each) for each in writer.paths], writer.count
    (['train-00000-of-00002.tfrecord', 'train-00001-of-00002.tfrecord'], 3)
    """

    def __init__(
        self,
        path: PathLike | Writable,
        *,
        compression: Compression = "auto",
        level: int | None = None,
        overwrite: bool = False,
        shards: int | None = None,
        shard_bytes: int | None = None,
        shard_records: int | None = None,
        append: bool = False,
        index: bool | Literal["dataset"] = False,
        fsync: bool = True,
        verify_after_write: bool = False,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
        inputs: Iterable[Any] = (),
    ) -> None:
        self._shards: list[Output] = []
        self._open = False
        self._cores: list[_core.RecordWriter] = []  # of uncompressed files of a fixed number
        self._single: _core.RecordWriter | None = None  # the only file, if uncompressed
        self._lock = threading.RLock()  # for everything but writing to a single file
        self._turn = 0  # number of the shard that takes the next record
        self._pid = os.getpid()
        sizes = {"shards": shards, "shard_bytes": shard_bytes, "shard_records": shard_records}
        check_sizes(sizes, append)
        kind = output_compression(path, compression)
        if level is not None and kind is None:
            raise ValueError("level requires compression")
        if append and kind == "ZLIB":
            raise ValueError(
                "append and compression='ZLIB' are mutually exclusive: TensorFlow "
                "reads only the first stream of a ZLIB file"
            )
        if append and verify_after_write:
            raise ValueError("append and verify_after_write are mutually exclusive")
        self._storage = StorageOptions.of(storage_options)
        is_path = isinstance(path, (str, bytes, os.PathLike))
        if not is_path and not hasattr(path, "write"):
            raise TypeError(f"path must be a path or a binary stream, got {shown(path)}")
        if is_path:
            check_path("path", path)
        stream: Any = None if is_path else path
        plain = not (append or index or verify_after_write or any(sizes.values()))
        if stream is not None and not plain:
            raise ValueError(
                "shards, append, index and verify_after_write require a path, got an open stream"
            )
        self._path = os.fsdecode(local_path(path)) if is_path else ""
        self._most = shard_bytes, shard_records
        self._rolls = shard_bytes is not None or shard_records is not None
        self._sharded = self._rolls or shards is not None
        self.paths: list[str] = [self._path] if shards is None else shard_paths(self._path, shards)
        self._index = index
        self._verify = verify_after_write
        self._overwrite = overwrite
        self._options = {"overwrite": overwrite, "sync": fsync, "append": append}
        self._compression = kind, level
        if is_path and not append:
            rules: dict[str, Any] = {"overwrite": overwrite, "inputs": tuple(inputs)}
            check_outputs(self._path, self._sharded, records=True, storage=self._storage, **rules)
        try:
            for each in shard_paths(self._path, 1, 0) if self._rolls else self.paths:
                self._add(each if stream is None else stream)
            if append:
                self._check_tail()
        except BaseException:
            self.abort()
            raise
        self._open = True
        if kind is None and not self._rolls and stream is None:
            self._cores = [shard.core for shard in self._shards]
        if len(self._cores) == 1:
            self._single = self._cores[0]

    def _add(self, path: Any) -> None:
        kind, level = self._compression
        output = Output(path, kind, level, self._verify, self._storage, **self._options)
        self._shards.append(output)

    def _check_tail(self) -> None:
        """Raise unless the file to append to ends with a complete record."""
        if self._shards[0].file.start:
            files = RecordFiles(self._path, compression=self._compression[0], verify=False)
            for reader in files.readers():
                reader.walk()

    @property
    def count(self) -> int:
        """Number of records written."""
        return sum(shard.count for shard in self._shards)

    # -- Writing ---------------------------------------------------------------------------------

    def _next_shard(self) -> Output:
        """Return the shard that takes the next record."""
        if not self._rolls:
            return self._shards[self._turn % len(self._shards)]
        shard = self._shards[-1]
        most_bytes, most_records = self._most
        full = most_bytes is not None and shard.size >= most_bytes
        if full or (most_records is not None and shard.count >= most_records):
            shard.finish()
            self._add(shard_paths(self._path, 1, len(self._shards))[0])
            shard = self._shards[-1]
        return shard

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("the writer is closed")

    def _locked(self) -> Any:
        """Return the lock; raise in a forked process, where a missing thread may hold it."""
        check_process(self._pid, "the writer")
        return self._lock

    def write(self, record: Any) -> None:
        """Write one record."""
        self._check_open()
        if self._single is not None:
            self._single.write(record)
            return
        with self._locked():
            self._check_open()  # another thread may have closed the writer
            self._next_shard().write(record)
            self._turn += 1

    def write_many(self, records: Bytes | Iterable[bytes | bytearray | memoryview | Bytes]) -> None:
        """Write records given as bytes, many in each native call without the GIL.

        `records` is any iterable. A :class:`Bytes` among its items is a block of records, as
        :meth:`Reader.blocks` yields them. Mappings and messages are encoded first, as for
        :meth:`Writer.write`.
        """
        self._check_open()
        _check_iterable(records)
        if isinstance(records, memoryview):
            records = np.asarray(records)  # makes its rows iterable
        if isinstance(records, (Bytes, list, tuple)):
            self._write_some(records)
            return
        items = iter(records)
        while some := list(itertools.islice(items, _AT_ONCE)):
            self._check_open()
            self._write_some(some)

    def _write_some(self, records: Any) -> None:
        if self._single is not None:
            self._single.write_many(records)
            return
        records = _core.as_records(records)  # checks all records before the first is written
        with self._locked():
            self._check_open()
            if isinstance(records, Bytes):
                self._write_block(records)
                return
            for start in range(0, len(records), _PIECE):
                self._write_block(records[start : start + _PIECE])

    def _write_block(self, records: Any) -> None:
        """Write records to the shards in turn, with few native calls per shard."""
        shards = len(self._shards)
        if not self._rolls:
            if self._cores:
                _core.deal(self._cores, records, self._turn % shards)
            else:
                for place in range(min(shards, len(records))):
                    shard = self._shards[(self._turn + place) % shards]
                    _write_part(shard, records, place, None, shards)
            self._turn += len(records)
            return
        sizes: Any = []
        if isinstance(records, Bytes):
            sizes = np.diff(records.offsets)
        elif self._most[0] is not None:
            size = len if set(map(type, records)) == {bytes} else _size
            sizes = np.fromiter(map(size, records), np.int64, len(records))
        ends = np.cumsum(np.asarray(sizes, np.int64) + FRAME_OVERHEAD)
        for shard, start, stop in self._parts(len(records), ends):
            _write_part(shard, records, start, stop)

    def _parts(self, count: int, ends: NDArray[np.int64]) -> Iterator[tuple[Output, int, int]]:
        """Yield the shard that takes each part of `count` records, and the part's start and stop.

        `ends` has the framed bytes up to the end of each record; it may be empty if only the number
        of records limits a shard.
        """
        start = before = 0
        while start < count:
            shard = self._next_shard()
            stop = start + self._room(shard, count - start, ends[start:], before)
            yield shard, start, stop
            self._turn += stop - start
            start, before = stop, int(ends[stop - 1]) if len(ends) else 0

    def _room(self, shard: Output, count: int, ends: NDArray[np.int64], before: int) -> int:
        """Return how many of `count` records fit before the shard is full, at least 1."""
        most_bytes, most_records = self._most
        if most_records is not None:
            count = min(count, most_records - shard.count)
        if most_bytes is not None:
            full = int(np.searchsorted(ends, before + most_bytes - shard.size)) + 1
            count = min(count, full)
        return count

    def _write_frames(
        self, deal: Callable[[int], Iterator[tuple[int, Any, int]]], count: int
    ) -> None:
        """Write `count` framed records, all of them or none.

        ``deal(shards)`` yields blocks of frames: the shard's number, counted from the next shard in
        turn, the bytes, and the number of frames. A failure ends the writer.
        """
        with self._locked():
            self._check_open()
            shards, first = (1 if self._rolls else len(self._shards)), self._turn
            try:
                for turn, frames, some in deal(shards):
                    if self._rolls:
                        self._write_block_of_frames(memoryview(frames).cast("B"), some)
                    else:
                        self._shards[(first + turn) % shards].write_frames(frames, some)
                if not self._rolls:
                    self._turn += count
            except OSError:
                raise  # the shard raises it again on later calls
            except BaseException:
                self.abort()
                raise

    def _write_block_of_frames(self, frames: memoryview, count: int) -> None:
        """Write `count` framed records to shards of a limited size."""
        ends = _ends_of(frames, count)
        for shard, start, stop in self._parts(count, ends):
            begin = int(ends[start - 1]) if start else 0
            shard.write_frames(frames[begin : int(ends[stop - 1])], stop - start)

    # -- Publishing ------------------------------------------------------------------------------

    def flush(self) -> None:
        """Pass buffered data to the system. The file does not have its final name until close."""
        with self._locked():
            self._check_open()
            for shard in self._shards:
                shard.flush()

    def close(self) -> None:
        """Publish the files. Closing twice has no effect."""
        with self._locked():
            if self._open:
                self._open = False
                self._publish()

    def _publish(self) -> None:
        """Publish all files or none: if one fails, the others are taken back."""
        files = [shard.file for shard in self._shards]
        try:
            for shard in self._shards:
                shard.finish()
            if self._rolls:
                self.paths = shard_paths(self._path, len(self._shards))
                for file, path in zip(files, self.paths, strict=True):
                    file.rename(path)
            if self._index == "dataset":
                files.append(self._dataset_writer())
            elif self._index:
                pairs = list(zip(self.paths, files, strict=True))
                for path, file in pairs:
                    place, kind = file.place or path, self._compression[0]
                    if kind is None:
                        index = Index._of(path, place)
                    else:
                        index = Index._inflated(path, place, kind, {"verify": False})
                    files.append(index._writer(None, self._overwrite, self._storage))
            stale = []
            if self._sharded:
                stale = stale_outputs(self._path, self.paths, self._storage)
            for file in files:
                file.put_in_place()
        except BaseException as error:
            left = [os.fsdecode(file.path) for file in files if not file.take_back()]
            for file in files:
                file.abort()
            if left and isinstance(error, OSError):
                text = f"{error.strerror}; these are replaced: {', '.join(map(ascii, left))}"
                raise OSError(error.errno, text, error.filename) from error
            raise
        _close_all(files)
        remove_outputs(stale, self._storage)

    def _dataset_writer(self) -> Any:
        """Return a finished writer of the index of all shards."""
        kind = self._compression[0]
        described = (
            describe(path, shard.file.place or path, kind)
            for path, shard in zip(self.paths, self._shards, strict=True)
        )
        names = [place_of(path, self._storage) for path in self.paths]
        target = dataset_path(self._path)
        overwrite = self._overwrite or is_index(target, self._storage)
        is_remote = isinstance(names[0], RemoteFile)
        return open_dataset_writer(
            target,
            names,
            described,
            self._storage,
            overwrite=overwrite,
            versions=self._versions if is_remote else None,
        )

    def _versions(self) -> list[str | None]:
        """Return the ETag of each uploaded shard, or None if the store did not return it."""
        return [shard.file.version for shard in self._shards]

    def abort(self) -> None:
        """Discard all files that are not published yet."""
        self._open = False
        for shard in self._shards:
            shard.file.abort()  # keeps the parent's file in a child made by fork()

    def __enter__(self: _Self) -> _Self:
        self._check_open()
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_open", False) and self._pid == os.getpid():
            self.abort()
            warnings.warn(
                f"a fastrec.{type(self).__name__} was dropped without close(): "
                f"{self._shown} is not written",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    @property
    def _shown(self) -> str:
        """First path, for messages."""
        path = self._shards[0].file.path if self._shards and not self._rolls else self.paths[0]
        return ascii(os.fsdecode(path))

    def __repr__(self) -> str:
        state = "" if self._open else ", closed"
        records = "1 record" if self.count == 1 else f"{self.count} records"
        return f"<fastrec.{type(self).__name__} of {self._shown}, {records}{state}>"


def _write_part(shard: Output, records: Any, start: int, stop: int | None, step: int = 1) -> None:
    """Write a slice of records to a shard; only the selected records of a tuple are checked."""
    if isinstance(records, Bytes):
        shard.write_many(records, start, stop, step)
    else:
        shard.write_many(records[start:stop:step])


def _ends_of(frames: memoryview, count: int) -> NDArray[np.int64]:
    """Return the end of each of `count` frames, in bytes from the start of the first."""
    ends, end = np.empty(count, np.int64), 0
    for place in range(count):
        end += int.from_bytes(frames[end : end + 8], "little") + FRAME_OVERHEAD
        ends[place] = end
    return ends


def _size(record: Any) -> int:
    return memoryview(record).nbytes


def _close_all(files: Iterable[Any]) -> None:
    """Close published files; after the first error, still close the others."""
    failed = None
    for file in files:
        try:
            file.close()
        except OSError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def check_sizes(sizes: dict[str, int | None], append: bool) -> None:
    """Check the options that determine the size of shards; at most one may be set."""
    for name, value in sizes.items():
        if value is not None:
            check_int(name, value, 1, _MOST_SHARDS if name == "shards" else 2**63 - 1)
    if sum(value is not None for value in sizes.values()) + append > 1:
        raise ValueError("shards, shard_bytes, shard_records and append are mutually exclusive")
