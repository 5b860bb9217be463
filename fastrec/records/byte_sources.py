# SPDX-License-Identifier: Apache-2.0
"""Sources of bytes that are not mapped files: first bytes, streams, files that grow."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from .file_magic import HEADER_SIZE

__all__ = ["NamedFile", "Patience", "Stream", "head_of", "naming"]

_POLL_S = 0.05


@contextlib.contextmanager
def naming(path: Any) -> Iterator[None]:
    """Name the file in errors of the system that do not, such as those of ``read(2)``."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fsdecode(path)
        raise


class NamedFile:
    """A file open for reading without a buffer, whose errors name it as `path`."""

    def __init__(self, place: str | bytes, path: Any) -> None:
        self._path = path
        self._file = open(place, "rb", buffering=0)  # noqa: SIM115
        self.close = self._file.close

    def read(self, size: int) -> bytes:
        with naming(self._path):
            return self._file.read(size)

    def seek(self, position: int) -> int:
        with naming(self._path):
            return self._file.seek(position)


class Stream:
    """A binary file object whose first bytes were looked at."""

    def __init__(self, file: Any) -> None:
        self._read = file.read
        self.head = b""
        while len(self.head) < HEADER_SIZE and (more := file.read(HEADER_SIZE - len(self.head))):
            self.head += more

    def __call__(self, size: int) -> bytes:
        if self.head:
            head, self.head = self.head, b""
            return head
        return self._read(size)  # type: ignore[no-any-return]


def head_of(path: str | bytes) -> bytes:
    """Read the first bytes of a regular file; others can be read only once and give none."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return b""
    with naming(path), open(path, "rb", buffering=0) as file:
        return file.read(HEADER_SIZE)


class Patience:
    """Decides whether to poll a growing file again: until nothing was appended for too long."""

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
