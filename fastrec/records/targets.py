# SPDX-License-Identifier: Apache-2.0
"""Where written bytes go when it is no local file: an object in a store, or an open stream."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from .. import _core
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile, find_files, retried
from ..storage.stores import locate
from .byte_sources import NamedFile
from .paths import PathLike, is_remote

__all__ = ["ObjectWriter", "StreamWriter", "Writable", "open_writer", "read_file", "write_file"]

_BLOCK = 1 << 18


class Writable(Protocol):
    """An open binary stream."""

    def write(self, data: Any, /) -> Any: ...


Options = StorageOptions | Mapping[str, Any] | None


class ObjectWriter:
    """A file that becomes an object when it is published; the methods are RecordWriter's.

    What is written waits in the directory for temporary files, so that an object appears whole or
    not at all, and a writer that is aborted has sent nothing.

    Parameters
    ----------
    path : str
        A URL.
    storage : StorageOptions
    exclusive : bool
        An object that exists is an error.
    """

    start = 0

    def __init__(self, path: str, storage: StorageOptions, *, exclusive: bool = False) -> None:
        self._storage, self._exclusive = storage, exclusive
        self._location = locate(path, storage)
        self.path = self._location.name
        self._published = self._existed = False
        if exclusive and self._exists():
            raise FileExistsError(17, "the object exists", self.path)
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="fastrec-")
        self._pid = os.getpid()
        try:
            self.core = _core.RecordWriter(os.path.join(self._folder, "object"), sync=False)
        except BaseException:
            self._remove()
            raise

    def _exists(self) -> bool:
        try:
            self._ask(lambda: self._location.store.stat(self._location.key))
        except FileNotFoundError:
            return False
        return True

    def _ask(self, request: Any, retries: int | None = None) -> Any:
        retries = self._storage.retries if retries is None else retries
        return run_all([lambda pause: retried(retries, self._location, request, pause)])[0]

    def __getattr__(self, name: str) -> Any:
        if "core" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.core, name)  # what is before publishing is the file's

    def rename(self, path: str) -> None:
        """Publish under another name."""
        self._location = locate(path, self._storage)
        self.path = self._location.name

    def put_in_place(self) -> None:
        """Upload the object."""
        self._existed = not self._exclusive and self._exists()
        store, key = self._location.store, self._location.key
        place = os.fsdecode(self.core.place or b"")
        # Libraries repeat parts by themselves; what was stored must not be stored again.
        self._ask(lambda: store.put(key, place, self._exclusive), retries=0)
        self._published = True

    def take_back(self) -> bool:
        """Delete what was uploaded; False when that took the place of another object."""
        if not self._published:
            return True
        if self._existed:
            return False
        with contextlib.suppress(OSError):
            self._ask(lambda: self._location.store.delete(self._location.key))
            return True
        return False

    def close(self) -> None:
        if not self._published:
            self.core.finish()
            self.put_in_place()
        self._remove()

    def abort(self) -> None:
        if self._pid == os.getpid():
            self._remove()

    def _remove(self) -> None:
        if "core" in self.__dict__:
            self.core.abort()
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)
        self._folder = ""

    def __del__(self) -> None:
        if self.__dict__.get("_folder"):  # at the usual end there is nothing to do
            self.abort()


class StreamWriter:
    """Records into an open binary stream, which is not closed; the methods are RecordWriter's."""

    start = 0
    place = None

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.path = str(getattr(stream, "name", None) or type(stream).__name__)
        self.core = self
        self.count = self.size = 0
        self.closed = False
        self._frames = bytearray()
        self._error: BaseException | None = None

    def write(self, record: Any) -> None:
        self.write_frames(_core.frame(record), 1)

    def write_many(self, records: Any) -> None:
        for frames, count in _core.Frames(records):
            self.write_frames(frames, count)

    def write_frames(self, frames: Any, count: int) -> None:
        if self._error is not None:
            raise self._error
        if self.closed:
            raise ValueError("the writer is closed")
        self._frames += memoryview(frames)
        self.size += memoryview(frames).nbytes
        self.count += count
        if len(self._frames) >= _BLOCK:
            self._send()

    def _send(self) -> None:
        try:
            with memoryview(self._frames) as data:
                done = 0
                while done < len(data):
                    some = self._stream.write(data[done:])
                    if some is None:
                        raise BlockingIOError(11, "the stream takes no bytes now", self.path)
                    done += some
        except BaseException as error:
            self._error = error
            raise
        self._frames.clear()

    def flush(self) -> None:
        if self._error is not None:
            raise self._error
        self._send()
        if hasattr(self._stream, "flush"):
            self._stream.flush()

    def finish(self) -> None:
        if not self.closed:
            self.flush()
            self.closed = True

    put_in_place = close = finish

    def take_back(self) -> bool:
        return True

    def abort(self) -> None:
        self.closed = True


def open_writer(path: Any, storage: StorageOptions, **options: bool) -> Any:
    """A RecordWriter, or what does the same for a URL or an open stream.

    Raises
    ------
    ValueError
        For ``append`` where it cannot be.
    """
    if hasattr(path, "write"):
        return StreamWriter(path)
    if not is_remote(path, storage):
        return _core.RecordWriter(path, **options)
    if options.get("append"):
        raise ValueError("append requires a local file: an object cannot be appended to")
    return ObjectWriter(os.fsdecode(path), storage, exclusive=options.get("exclusive", False))


def read_file(path: PathLike, storage_options: Options = None, *, limit: int = -1) -> bytes:
    """The bytes of a local file, or of an object; of a larger one than `limit` the first ones."""
    storage = StorageOptions.of(storage_options)
    if not is_remote(path, storage):
        with NamedFile(path) as local:
            return local.read(limit)
    if not isinstance(path, RemoteFile):
        path = find_files([os.fsdecode(path)], storage)[0]
    end = path.size if limit < 0 else min(path.size, limit)
    return bytes(run_all([partial(path.read, 0, end)])[0])


def write_file(path: PathLike, data: Any, storage_options: Options = None) -> None:
    """Write a file or an object, completely or not at all."""
    writer = open_writer(path, StorageOptions.of(storage_options))
    try:
        writer.write_frames(data, 0)
        writer.close()
    finally:
        writer.abort()
