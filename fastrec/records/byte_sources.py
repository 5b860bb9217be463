# SPDX-License-Identifier: Apache-2.0
"""Byte sources that are not mapped files: initial bytes, streams, growing files."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from .. import _core
from ..errors import RandomAccessError, call_out
from .compression import needs_more
from .framing import HEAD_SIZE, HEADER_SIZE
from .paths import PathLike, is_path

if TYPE_CHECKING:
    from .record_files import RecordFiles

__all__ = [
    "NamedFile",
    "NamedPipe",
    "Patience",
    "Stream",
    "StreamedFiles",
    "Summed",
    "binary_file",
    "check_rereadable",
    "head_of",
    "is_regular",
    "read_some",
    "regular_head",
    "stream_name",
]

_POLL_S = 0.05  # seconds between two checks whether a file has grown
_QUIET_S = 5.0  # until a warning about a named pipe without a writer
_PIECE = 1 << 20  # bytes of a read by default
_PIPE_SIZE = 1 << 16  # bytes that a pipe of Linux holds


def binary_file(source: Any) -> Any:
    """Return the file object that a source is, or None for a path and other sources.

    A connected socket counts as a file.

    Raises
    ------
    TypeError, ValueError
        If the file is open in text mode, for writing, or not at all.
    """
    if is_path(source):
        return None
    if not hasattr(source, "read"):
        sockets = sys.modules.get("socket")
        is_socket = sockets is not None and isinstance(source, sockets.socket)
        return Socket(source) if is_socket else None
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open in text mode; open it with mode 'rb'")
    if isinstance(source, io.IOBase) and not source.readable():
        raise ValueError("the file is open for writing only; open it with mode 'rb'")
    return source


def stream_name(file: Any) -> PathLike:
    """Return the name of a file object in messages: its path, or else its type."""
    name: Any = getattr(file, "name", None)
    return name if is_path(name) else type(file).__name__


class Socket:
    """The received bytes of a connected socket, as a file."""

    def __init__(self, connection: Any) -> None:
        self.read: Final = connection.recv


@contextlib.contextmanager
def _naming(path: Any) -> Iterator[None]:
    """Add the file name to OS errors that lack one, such as errors of ``read(2)``."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fsdecode(path)
        raise


def _close_quietly(file: io.FileIO) -> None:
    with contextlib.suppress(OSError):
        file.close()


class NamedFile:
    """A file open for unbuffered reading, whose errors name it as `path`.

    It is closed when it is dropped: a pass that is abandoned leaves files open, for example those
    that threads opened ahead. Nobody can close them, and the user must not see a ResourceWarning.

    Closing never raises: a failure of ``close(2)`` cannot lose data of a file that is only read.
    """

    def __init__(self, place: PathLike, path: PathLike | None = None) -> None:
        self._path = place if path is None else path
        self._file = open(place, "rb", buffering=0)  # noqa: SIM115
        # The collector may finalize objects of a cycle in any order, so that a `__del__` here could
        # come after the warning of the file. A finalizer keeps the file out of the cycle.
        self._close = weakref.finalize(self, _close_quietly, self._file)

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or the rest of the file."""
        with _naming(self._path):
            return self._file.read(size)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        with _naming(self._path):
            return self._file.readinto(buffer)

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Change the position, and return the new one."""
        with _naming(self._path):
            return self._file.seek(position, whence)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __enter__(self) -> NamedFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class NamedPipe(NamedFile):
    """A pipe, socket or device with a path. Reads are short, since longer ones only use memory."""

    def __init__(self, place: PathLike, path: PathLike | None = None) -> None:
        # Opening a named pipe waits for a writer, and may wait for ever.
        timer = threading.Timer(_QUIET_S, _warn_of_waiting, [place if path is None else path])
        timer.daemon = True
        timer.start()
        try:
            super().__init__(place, path)
        finally:
            timer.cancel()

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, but never more than one small piece."""
        return super().read(min(size, _PIPE_SIZE) if size > 0 else _PIPE_SIZE)


def _warn_of_waiting(path: PathLike) -> None:
    name = os.fsdecode(path)
    text = f"{name!a} is a named pipe that no process has opened for writing yet; waiting for one"
    warnings.warn(text, RuntimeWarning, stacklevel=1)


class Stream:
    """A binary file object whose initial bytes have been read in advance."""

    def __init__(self, file: Any) -> None:
        self._read, self._pid = file.read, os.getpid()
        self.head: bytes = b""
        self._look(HEADER_SIZE)
        if needs_more(self.head):
            # Reading more in any case would delay the first record of a slow pipe.
            self._look(HEAD_SIZE)

    def _look(self, size: int) -> None:
        while len(self.head) < size:
            more = call_out(self._read, size - len(self.head))
            if not more:
                break
            self.head += more

    def __call__(self, size: int) -> bytes:
        if self._pid != os.getpid():  # parent and child share one file position
            raise ValueError("a stream can only be read in the process that opened it")
        if self.head:
            head, self.head = self.head, b""
            return head
        return call_out(self._read, size)  # type: ignore[no-any-return]


class StreamedFiles:
    """The files that a pass has read as streams: another pass would get nothing from them."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()

    def add(self, number: int, path: Any, head: bytes | None = None) -> None:
        """Add a file that a pass opens; `head` are the first bytes of a file object.

        Raises
        ------
        RandomAccessError
            If an earlier pass has read the file, and a file object was not rewound since.
        """
        if number in self._numbers and not head:
            raise _once(path, "a pass has read it")
        if head != b"":
            self._numbers.add(number)


def check_rereadable(files: RecordFiles, reason: str) -> None:
    """Raise if files cannot be read twice; `reason` says why they are read twice.

    Raises
    ------
    RandomAccessError
        For a file object, a pipe or a device.
    """
    if files.file is not None:
        raise _once(stream_name(files.file), reason)
    # Ranges are of regular files, of objects, or of a file system's files.
    if files.ranges is None and len(files.remote) < len(files.paths):
        for path, place in zip(files.paths, files.places, strict=True):
            if isinstance(place, (str, bytes)) and not is_regular(place):
                raise _once(path, reason)


def _once(path: Any, reason: str) -> RandomAccessError:
    return RandomAccessError(
        f"{os.fsdecode(path)!a} can be read only once, and {reason}; save it to a file"
    )


def read_some(file: Any, size: int) -> bytes:
    """Return up to `size` bytes of a binary file; empty only at the end.

    Raises
    ------
    BlockingIOError
        If the file is a non-blocking pipe without bytes now. Its ``read`` returns None, which a
        loop would take for the end.
    """
    data: bytes | None = file.read(size)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "the stream has no bytes now", stream_name(file))
    return data


class Summed:
    """A binary file that computes the size and CRC32C of its bytes while they are read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = self._crc = 0
        self._in_order = True

    def read(self, size: int = _PIECE) -> bytes:
        """Read up to `size` bytes, and add them to the totals."""
        data = read_some(self._file, size)
        self._size += len(data)
        self._crc = _core.crc32c(data, self._crc)
        return data

    def seek(self, position: int) -> None:
        """Change the position; the totals then require another pass."""
        self._in_order = False
        self._file.seek(position)

    def totals(self) -> tuple[int, int]:
        """Return size and CRC32C of all bytes, after reading the remaining bytes."""
        if not self._in_order:
            self._file.seek(0)
            self._size, self._crc, self._in_order = 0, 0, True
        while self.read():
            pass
        return self._size, self._crc


def is_regular(path: str | bytes) -> bool:
    """Return whether a path is a regular file, which can be read more than once.

    Raises
    ------
    OSError
        If the file does not exist or its status cannot be read.
    """
    return stat.S_ISREG(os.stat(path).st_mode)


def head_of(path: str | bytes) -> bytes:
    """Return the initial bytes of a regular file; empty for files that can be read only once."""
    return regular_head(path) or b""


def regular_head(path: str | bytes) -> bytes | None:
    """Return the initial bytes of a regular file; None for other files."""
    return _core.heads([path])[0]


class Patience:
    """Decides whether to poll a growing file again; stops if it has not grown for too long."""

    def __init__(self, seconds: float | None, closed: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._closed = closed
        self._size = -1
        self._since = 0.0

    def __call__(self, size: int) -> bool:
        now = time.monotonic()
        if size != self._size:
            self._size, self._since = size, now
        left = _POLL_S if self._seconds is None else self._since + self._seconds - now
        if left <= 0 or self._closed():
            return False
        time.sleep(min(left, _POLL_S))
        return True
