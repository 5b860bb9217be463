# SPDX-License-Identifier: Apache-2.0
"""Write to targets other than local files: objects in stores and open streams."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol

from .. import _core
from ..storage.ahead import Stopped, run_all
from ..storage.locations import locate
from ..storage.options import StorageOptions
from ..storage.remote import Pause, RemoteFile, find_files, retried
from ..storage.urls import local_path
from .byte_sources import NamedFile
from .object_rules import OBJECT_EXISTS, are_there, check_object
from .output_rules import check_name, check_replaceable, exists_error
from .paths import PathLike, is_remote

__all__ = [
    "ObjectWriter",
    "StreamWriter",
    "Upload",
    "Writable",
    "keep_file",
    "open_in_place",
    "open_writer",
    "read_file",
    "write_file",
]

_BLOCK = 1 << 18  # bytes of frames that are written to a stream in one call
_PIECE = 8 << 20  # bytes per read of a file that is uploaded
_STOP_S = 30.0  # seconds that an interrupted upload has to stop


class Writable(Protocol):
    """An open binary stream."""

    def write(self, data: Any, /) -> Any:
        """Write data; the result is the number of bytes, or None."""


Options = StorageOptions | Mapping[str, Any] | None


class Upload:
    """A local file that becomes an object: complete, or not at all.

    Parameters
    ----------
    url : str
    storage : StorageOptions
    exclusive : bool
        Whether an existing object is an error.
    """

    def __init__(self, url: str, storage: StorageOptions, *, exclusive: bool = False) -> None:
        self._storage, self._exclusive, self._url = storage, exclusive, url
        self._location = locate(url, storage)
        self.name: str = self._location.name  # for messages
        self.published = False
        self.version: str | None = None  # ETag of the published object, if the store returns it
        self._existed = False
        if exclusive and self._exists():
            raise exists_error(self.name, OBJECT_EXISTS)

    def rename(self, url: str) -> None:
        """Set another name to publish under."""
        self._url, self._location = url, locate(url, self._storage)
        self.name = self._location.name

    def _exists(self) -> bool:
        return are_there([self._url], self._storage)[0]

    def put(self, place: str) -> None:
        """Store a file. An interruption waits until the upload is aborted."""
        self._existed = not self._exclusive and self._exists()
        location, stopped, ended = self._location, threading.Event(), threading.Event()

        def send() -> None:
            size, pieces = os.path.getsize(place), _pieces(place, stopped)
            put = location.store.put
            self.version = put(location.key, pieces, size, exclusive=self._exclusive)
            self.published = True

        def job(pause: Pause) -> None:
            try:
                # Libraries retry parts themselves; an object that is stored must not be stored
                # again.
                retried(0, location, send, pause)
            finally:
                ended.set()

        try:
            run_all([job])
        except BaseException:
            stopped.set()
            ended.wait(_STOP_S)
            raise

    def take_back(self) -> bool:
        """Delete the uploaded object; return False if it replaced an existing object."""
        if not self.published:
            return True
        if self._existed:
            return False
        location, retries = self._location, self._storage.retries
        with contextlib.suppress(OSError):
            run_all(
                [
                    lambda pause: retried(
                        retries, location, lambda: location.store.delete(location.key), pause
                    )
                ]
            )
            return True
        return False


def _pieces(path: str, stopped: threading.Event) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while data := file.read(_PIECE):
            if stopped.is_set():
                raise Stopped
            yield data


class ObjectWriter:
    """A writer whose file becomes an object when published, with the methods of RecordWriter.

    Written data is stored in the directory for temporary files until then. The object therefore
    appears complete or not at all, and an aborted writer has sent nothing. The parameters are those
    of :class:`Upload`.
    """

    start = 0

    def __init__(self, path: str, storage: StorageOptions, *, exclusive: bool = False) -> None:
        self._upload = Upload(path, storage, exclusive=exclusive)
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="fastrec-")
        self._pid = os.getpid()
        try:
            self.core: Final = _core.RecordWriter(os.path.join(self._folder, "object"), sync=False)
        except BaseException:
            self._remove()
            raise

    def __getattr__(self, name: str) -> Any:
        if "core" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.core, name)  # until publishing, the local file's methods apply

    @property
    def path(self) -> str:
        """Name of the object, for messages."""
        return self._upload.name

    @property
    def version(self) -> str | None:
        """ETag of the uploaded object, if the store returned one."""
        return self._upload.version

    def rename(self, path: str) -> None:
        """Set another name to publish under."""
        self._upload.rename(path)

    def put_in_place(self) -> None:
        """Upload the object."""
        self._upload.put(os.fsdecode(self.core.place or b""))

    def take_back(self) -> bool:
        """Delete the uploaded object; return False if it replaced an existing object."""
        return self._upload.take_back()

    def close(self) -> None:
        """Upload the object unless that has happened, and delete the local file."""
        if not self._upload.published:
            self.core.finish()
            self.put_in_place()
        self._remove()

    def abort(self) -> None:
        """Delete the local file, so that nothing is uploaded."""
        if self._pid == os.getpid():
            self._remove()

    def _remove(self) -> None:
        if "core" in self.__dict__:
            self.core.abort()
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)
        self._folder = ""

    def __del__(self) -> None:
        if self.__dict__.get("_folder"):  # nothing to do after a normal close
            self.abort()


class StreamWriter:
    """A writer with the methods of RecordWriter to an open binary stream, which stays open."""

    start = 0
    place = None

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.path: str = str(getattr(stream, "name", None) or type(stream).__name__)
        self.core = self
        self.size: int = 0
        self.count: int = 0
        self.closed: bool = False
        self._frames = bytearray()
        self._error: BaseException | None = None

    def write(self, record: Any) -> None:
        """Write a record."""
        self.write_frames(_core.frame(record), 1)

    def write_many(
        self, records: Any, start: int = 0, stop: int | None = None, step: int = 1
    ) -> None:
        """Write the records that a slice selects."""
        for frames, count in _core.Frames(records, start, stop, step):
            self.write_frames(frames, count)

    def write_frames(self, frames: Any, count: int) -> None:
        """Write `count` records that are already framed."""
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
        """Write all buffered records, and flush the stream."""
        if self._error is not None:
            raise self._error
        self._send()
        if hasattr(self._stream, "flush"):
            self._stream.flush()

    def finish(self) -> None:
        """Write all buffered records, and accept no others."""
        if not self.closed:
            self.flush()
            self.closed = True

    put_in_place = finish
    close = finish

    def take_back(self) -> bool:
        """Do nothing, since written bytes cannot be withdrawn from a stream."""
        return True

    def abort(self) -> None:
        """Discard buffered records, and accept no others."""
        self.closed = True


class DeviceWriter(StreamWriter):
    """A writer to a device or a named pipe, which is closed with the writer."""

    def __init__(self, path: str) -> None:
        super().__init__(open(path, "wb", buffering=0))  # noqa: SIM115

    def close(self) -> None:
        """Write all buffered records, and close the device."""
        with self._stream:
            self.finish()


def open_in_place(path: str) -> Any:
    """Truncate a file, and return a writer that appends to it, as TensorFlow's writer does.

    If the path names a device or a pipe, the writer writes to it.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return DeviceWriter(path)
    return _core.RecordWriter(path, sync=False, append=True, empty=True)


def open_writer(
    path: Any,
    storage: StorageOptions,
    *,
    overwrite: bool = False,
    records: bool = False,
    index: bool = False,
    inputs: Iterable[Any] = (),
    sync: bool = True,
    append: bool = False,
) -> Any:
    """Return a RecordWriter, or an object with its methods for a URL or an open stream.

    Every file that the package writes is opened here. :mod:`fastrec.records.output_rules` explains
    `overwrite`, `records`, `index` and `inputs`.

    Raises
    ------
    FileExistsError
    ValueError
        For `append` and a URL.
    """
    if hasattr(path, "write"):
        return StreamWriter(path)
    path = local_path(path)
    if is_remote(path, storage):
        if append:
            raise ValueError("append requires a local file: an object cannot be appended to")
        url = os.fsdecode(path)
        check_object(
            url, overwrite=overwrite, records=records, index=index, inputs=inputs, storage=storage
        )
        return ObjectWriter(url, storage, exclusive=not overwrite)
    if not append:
        check_replaceable(path, overwrite=overwrite, records=records, index=index, inputs=inputs)
    elif not index:
        check_name(path)
    return _core.RecordWriter(path, exclusive=not (overwrite or append), sync=sync, append=append)


def keep_file(path: str, kept: str, *, overwrite: bool) -> None:
    """Give a record file a second name, `kept`, or copy it if the file system lacks hard links."""
    check_replaceable(kept, overwrite=overwrite, records=True)
    if overwrite:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kept)
    try:
        os.link(path, kept)
    except FileExistsError:
        raise exists_error(kept) from None
    except OSError:  # the file system lacks hard links
        with (
            NamedFile(path) as source,
            contextlib.closing(open_writer(kept, StorageOptions(), records=True)) as copy,
        ):
            while piece := source.read(_PIECE):
                copy.write_frames(piece, 0)


def read_file(path: PathLike, storage_options: Options = None, *, limit: int = -1) -> bytes:
    """Return the bytes of a local file or an object; at most the first `limit` bytes."""
    storage, path = StorageOptions.of(storage_options), local_path(path)
    if not is_remote(path, storage):
        with NamedFile(path) as local:
            return local.read(limit)
    if not isinstance(path, RemoteFile):
        path = find_files([os.fsdecode(path)], storage)[0]
    end = path.size if limit < 0 else min(path.size, limit)
    return bytes(run_all([partial(path.read, 0, end)])[0])


def write_file(
    path: PathLike,
    data: Any,
    storage_options: Options = None,
    *,
    overwrite: bool = False,
    index: bool = False,
    inputs: Iterable[Any] = (),
    sync: bool = True,
) -> None:
    """Write a file or an object; it appears complete or not at all."""
    storage = StorageOptions.of(storage_options)
    writer = open_writer(path, storage, overwrite=overwrite, index=index, inputs=inputs, sync=sync)
    try:
        writer.write_frames(data, 0)
        writer.close()
    finally:
        writer.abort()
