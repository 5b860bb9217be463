# SPDX-License-Identifier: Apache-2.0
"""Files and directories by TensorFlow's names, on the local file system."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

from .errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    translated,
)

__all__ = [
    "FileStatistics",
    "GFile",
    "copy",
    "exists",
    "glob_files",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
    "write_file",
]

T = TypeVar("T")


def path_of(path: Any) -> str:
    """`path`, which may be bytes or a Path, as text; without a leading ``file://``."""
    text = os.fsdecode(path)
    return text[7:] if text.startswith("file://") else text


def _doing(function: Callable[[], T], name: Any = None) -> T:
    """Call a function; an OSError without a file gets `name`."""
    try:
        return function()
    except OSError as error:
        if error.filename is None and name is not None:
            error.filename = path_of(name)
        raise translated(error) from error


class GFile:
    """A file, opened when it is first read from or written to.

    Parameters
    ----------
    name : path
        Where it is.
    mode : str
        ``r``, ``w`` or ``a``, with ``+`` and ``b`` behind it. Text is UTF-8.

    Raises
    ------
    InvalidArgumentError
        For another mode.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self._reads = plain == "r" or plain.endswith("+")
        self._writes = plain != "r"
        self._text = "b" not in mode
        self._file: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        """Path of the file."""
        return self._name

    @property
    def mode(self) -> str:
        """Mode in which the file is opened."""
        return self._mode

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            mode = self._mode.replace("b", "") + "b"
            self._file = _doing(lambda: open(path_of(self._name), mode))  # noqa: SIM115
        return self._file

    def _readable(self) -> IO[bytes]:
        if not self._reads:
            raise PermissionDeniedError(None, None, "File isn't open for reading")
        return self._opened()

    def _given(self, data: bytes) -> Any:
        return data.decode() if self._text else data

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that are left; as text unless the mode has a ``b``."""
        file = self._readable()
        return self._given(_doing(lambda: file.read(n), self._name))

    def readline(self) -> Any:
        """The next line, with what ends it."""
        return self._given(self._readable().readline())

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: Any) -> None:
        """Write bytes, or text as UTF-8."""
        if not self._writes:
            raise PermissionDeniedError(None, None, "File isn't open for writing")
        data = file_content.encode() if isinstance(file_content, str) else file_content
        file = self._opened()
        _doing(lambda: file.write(data), self._name)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go on at `offset`, which counts from the beginning, from here (1) or from the end (2)."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        self._readable().seek(place, whence)

    def tell(self) -> int:
        """Return the position in the file."""
        return self._opened().tell()

    def size(self) -> int:
        """Bytes in the file."""
        return _doing(lambda: os.stat(path_of(self._name)).st_size)

    def seekable(self) -> bool:
        """True."""
        return True

    def readable(self) -> bool:
        """Whether it can be read from."""
        return self._reads

    def writable(self) -> bool:
        """Whether it can be written to."""
        return self._writes

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self._file is not None:
            _doing(self._file.flush, self._name)

    def close(self) -> None:
        """Write what is left, and close it."""
        if self._file is None and self._mode.startswith("w"):
            self._opened()  # which makes an empty file
        if self._file is not None:
            file, self._file = self._file, None
            _doing(file.close, self._name)

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._file is not None:
                self.close()


class FileStatistics:
    """Size, time of change in nanoseconds, and whether it is a directory."""

    def __init__(self, found: os.stat_result) -> None:
        import stat as modes

        self.length = found.st_size
        self.mtime_nsec = found.st_mtime_ns
        self.is_directory = modes.S_ISDIR(found.st_mode)


def exists(path: Any) -> bool:
    """Whether there is anything at `path`."""
    return os.path.exists(path_of(path))


def isdir(path: Any) -> bool:
    """Whether there is a directory at `path`."""
    return os.path.isdir(path_of(path))


def stat(path: Any) -> FileStatistics:
    """Size, time and kind of what is at `path`."""
    return FileStatistics(_doing(lambda: os.stat(path_of(path))))


def mkdir(path: Any) -> None:
    """Make a directory; nothing, when it is there."""
    with contextlib.suppress(AlreadyExistsError):
        _doing(lambda: os.mkdir(path_of(path)))


def makedirs(path: Any) -> None:
    """Make a directory and those that it is in.

    Raises
    ------
    FailedPreconditionError
        When one of them exists as a file.
    """
    where = path_of(path)
    try:
        os.makedirs(where, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise FailedPreconditionError(None, None, f"{where} is not a directory") from error
    except OSError as error:
        raise translated(error) from error


def write_file(path: Any, data: bytes) -> None:
    """Write a file, and make the directories that it is in."""
    if folder := os.path.dirname(path_of(path)):
        makedirs(folder)
    with GFile(path, "wb") as file:
        file.write(data)


def listdir(path: Any) -> list[str]:
    """The names in a directory, in no order.

    Raises
    ------
    NotFoundError
        When there is none.
    """
    where = path_of(path)
    if not os.path.isdir(where):
        raise NotFoundError(None, None, f"Could not find directory {where}")
    return _doing(lambda: os.listdir(where))


def glob_files(pattern: Any) -> list[str]:
    """Paths that match a pattern, or any of several, sorted for each pattern."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for each in patterns for name in sorted(glob.glob(path_of(each)))]


def remove(path: Any) -> None:
    """Delete a file.

    Raises
    ------
    NotFoundError
        When there is none.
    """
    where = path_of(path)
    if os.path.isdir(where) and not os.path.islink(where):
        raise FailedPreconditionError(None, None, f"{where}; Is a directory")
    _doing(lambda: os.remove(where))


def rmtree(path: Any) -> None:
    """Delete a directory, or a file, and everything below it.

    Raises
    ------
    NotFoundError
        When there is none.
    """
    where = path_of(path)
    if not os.path.lexists(where):
        raise NotFoundError(None, None, f"{where} not found")
    plain = not os.path.isdir(where) or os.path.islink(where)
    import shutil

    _doing(lambda: os.remove(where) if plain else shutil.rmtree(where))


def _into(target: str, overwrite: bool) -> None:
    if os.path.exists(target) and not overwrite:
        raise AlreadyExistsError(None, None, "file already exists")


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises
    ------
    AlreadyExistsError
        When there is one at `dst`, unless it may be overwritten.
    """
    target = path_of(dst)
    _into(target, overwrite)
    import shutil

    _doing(lambda: shutil.copyfile(path_of(src), target))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or directory.

    Raises
    ------
    AlreadyExistsError
        When there is one at `dst`, unless it may be overwritten.
    """
    target = path_of(dst)
    _into(target, overwrite)
    _doing(lambda: os.replace(path_of(src), target))


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top`, with the names of the directories and files in it."""
    yield from os.walk(path_of(top), topdown, onerror)
