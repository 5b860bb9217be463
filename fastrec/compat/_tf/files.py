# SPDX-License-Identifier: Apache-2.0
"""Files and directories of the local file system, under TensorFlow's names."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

from .errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    invalid,
    translated,
)

T = TypeVar("T")


def path_of(path: Any) -> str:
    """Convert a path (text, bytes or Path) to text, without a leading ``file://``."""
    text = os.fsdecode(path)
    return text[7:] if text.startswith("file://") else text


def _doing(function: Callable[[], T], name: Any = None) -> T:
    """Call a function; add `name` to an OSError that names no file."""
    try:
        return function()
    except OSError as error:
        if error.filename is None and name is not None:
            error.filename = path_of(name)
        raise translated(error) from error


class GFile:
    """A file that is opened by the first read or write.

    Parameters
    ----------
    name : path
        The path of the file.
    mode : str
        ``r``, ``w`` or ``a``, optionally followed by ``+`` and ``b``. Text is UTF-8.

    Raises
    ------
    InvalidArgumentError
        If the mode is invalid.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise invalid("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._reads = plain == "r" or plain.endswith("+")
        self._writes = plain != "r"
        self._text = "b" not in mode
        self._file: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        """The path of the file."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode in which the file is opened."""
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
        """Return the next `n` bytes, or the rest; as text unless the mode contains ``b``."""
        file = self._readable()
        return self._given(_doing(lambda: file.read(n), self._name))

    def readline(self) -> Any:
        """Return the next line, including its line ending."""
        return self._given(self._readable().readline())

    def readlines(self) -> list[Any]:
        """Return the remaining lines."""
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
        """Move to `offset` from the start, from the current position (1), or from the end (2)."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise invalid(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        self._readable().seek(place, whence)

    def tell(self) -> int:
        """Return the position in the file."""
        return self._opened().tell()

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return _doing(lambda: os.stat(path_of(self._name)).st_size)

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return whether the mode allows reading."""
        return self._reads

    def writable(self) -> bool:
        """Return whether the mode allows writing."""
        return self._writes

    def flush(self) -> None:
        """Pass buffered data to the operating system."""
        if self._file is not None:
            _doing(self._file.flush, self._name)

    def close(self) -> None:
        """Write buffered data and close the file."""
        if self._file is None and self._mode.startswith("w"):
            self._opened()  # creates an empty file if nothing was written
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
    """Size in bytes, time of modification in nanoseconds, and whether it is a directory."""

    def __init__(self, found: os.stat_result) -> None:
        import stat as modes

        self.length = found.st_size
        self.mtime_nsec = found.st_mtime_ns
        self.is_directory = modes.S_ISDIR(found.st_mode)


def exists(path: Any) -> bool:
    """Return whether `path` exists."""
    return os.path.exists(path_of(path))


def isdir(path: Any) -> bool:
    """Return whether `path` is a directory."""
    return os.path.isdir(path_of(path))


def stat(path: Any) -> FileStatistics:
    """Return size, time and kind of a file or directory."""
    return FileStatistics(_doing(lambda: os.stat(path_of(path))))


def mkdir(path: Any) -> None:
    """Create a directory unless it exists."""
    with contextlib.suppress(AlreadyExistsError):
        _doing(lambda: os.mkdir(path_of(path)))


def makedirs(path: Any) -> None:
    """Create a directory and its parents.

    Raises
    ------
    FailedPreconditionError
        If one of them exists as a file.
    """
    where = path_of(path)
    try:
        os.makedirs(where, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise FailedPreconditionError(None, None, f"{where} is not a directory") from error
    except OSError as error:
        raise translated(error) from error


def write_file(path: Any, data: bytes) -> None:
    """Write a file, and create its parent directories."""
    if folder := os.path.dirname(path_of(path)):
        makedirs(folder)
    with GFile(path, "wb") as file:
        file.write(data)


def listdir(path: Any) -> list[str]:
    """Return the names in a directory, in arbitrary order.

    Raises
    ------
    NotFoundError
        If the directory does not exist.
    """
    where = path_of(path)
    if not os.path.isdir(where):
        raise NotFoundError(None, None, f"Could not find directory {where}")
    return _doing(lambda: os.listdir(where))


def glob_files(pattern: Any) -> list[str]:
    """Return the paths that match one or more patterns, sorted within each pattern."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for each in patterns for name in sorted(glob.glob(path_of(each)))]


def remove(path: Any) -> None:
    """Delete a file.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    """
    where = path_of(path)
    if os.path.isdir(where) and not os.path.islink(where):
        raise FailedPreconditionError(None, None, f"{where}; Is a directory")
    _doing(lambda: os.remove(where))


def rmtree(path: Any) -> None:
    """Delete a file, or a directory with its contents.

    Raises
    ------
    NotFoundError
        If the path does not exist.
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
        If `dst` exists and `overwrite` is False.
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
        If `dst` exists and `overwrite` is False.
    """
    target = path_of(dst)
    _into(target, overwrite)
    _doing(lambda: os.replace(path_of(src), target))


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each directory below `top`, with the names of its directories and files."""
    yield from os.walk(path_of(top), topdown, onerror)


def join(path: Any, *paths: Any) -> Any:
    """Join the parts of a path."""
    return os.path.join(path, *paths)
