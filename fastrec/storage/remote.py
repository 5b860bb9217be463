# SPDX-License-Identifier: Apache-2.0
"""Read one version of an object, with retries that resume at a byte."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from ..errors import log_info
from ..threads.locks import ProcessLock
from .ahead import Job, run_all
from .locations import locate
from .options import StorageOptions
from .stores import Location, Stat, StoreError, hides_something

__all__ = ["RemoteFile", "find_files", "traffic"]

T = TypeVar("T")


class Traffic:
    """Counts of what this process has asked object stores and caches for."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self.clear()

    def clear(self) -> None:
        """Set all counts to 0."""
        self._counts = dict.fromkeys(
            ("requests", "retries", "fetched_bytes", "cache_hits", "cache_misses"), 0
        )

    def add(self, name: str, count: int = 1) -> None:
        """Add to one of the counts."""
        with self._lock.current():
            self._counts[name] += count

    def counts(self) -> dict[str, int]:
        """Return all counts."""
        with self._lock.current():
            return dict(self._counts)


traffic: Final = Traffic()
if hasattr(os, "register_at_fork"):  # a child has asked for nothing yet
    os.register_at_fork(after_in_child=traffic.clear)
Pause = Callable[[float], None]

_BACKOFF_S = 0.1  # longest pause before the first retry; it doubles with each failure
_LONGEST_BACKOFF_S = 10.0  # longest pause before any retry
_CONNECT_RETRIES = 4  # retries for a server that has never answered, 1.5 seconds in all
_PREFIX = 1 << 16  # bytes that may be read without range requests, from the whole object
_PROGRESS = 1 << 16  # a failed request that returned this many bytes made progress
_PIECE = 1 << 20  # assumed bytes of a piece of a response that is read as a whole


class RemoteFile:
    """One version of one object, fixed by the first response about the object.

    As a path, it is its name. It can be pickled, and used after ``fork()``.

    Attributes
    ----------
    name : str
        URL without credentials, for messages.
    size : int
        Size in bytes. If it is unknown, reading this attribute requests it.
    is_open : bool
        Whether the size is known.
    version : str or None
        ETag, or another value that changes with the contents. None if the store provides no
        version, or if a listing without versions named the object and nothing has been read yet.
    """

    def __init__(self, url: str, options: StorageOptions, name: str, size: int | None) -> None:
        self._url, self._options = url, options
        self.name = name
        self._size = size
        self._indexed_size: int | None = None  # the size in the index next to the object
        self.version: str | None = None
        self._pinned = False
        self.silent = False  # whether the store's responses omit the version

    @classmethod
    def open(cls, url: str, options: StorageOptions, pause: Pause = time.sleep) -> RemoteFile:
        """Open an object in its store.

        Raises
        ------
        OSError
            FileNotFoundError if the object does not exist.
        """
        location = locate(url, options)
        stat = retried(options.retries, location, lambda: location.store.stat(location.key), pause)
        file = cls(url, options, location.name, stat.size)
        file.pin(stat)
        return file

    @property
    def size(self) -> int:
        if self._size is None:
            run_all([self.identify])
        assert self._size is not None
        return self._size

    @property
    def is_open(self) -> bool:
        return self._size is not None

    def expect(self, size: int) -> None:
        """Take the size of an object that is not open yet from the index next to it.

        The first response about the object is compared with this size.
        """
        if self._size is None:
            self._size = self._indexed_size = size

    @property
    def location(self) -> Location:
        return locate(self._url, self._options)

    @property
    def url(self) -> str:
        """URL with credentials, or path in the file system of the options."""
        return self._url

    @property
    def options(self) -> StorageOptions:
        return self._options

    def pin(self, stat: Stat) -> None:
        """Fix the version at the first response, and compare later responses with it.

        Raises
        ------
        OSError
            ``ESTALE`` if the object has another version now.
        """
        if self._size is None:
            self._size = stat.size
        if self._pinned or stat.size != self._size:
            if (stat.size, stat.version) != (self._size, self.version):
                raise self._changed(stat)
            return
        self.version, self._pinned = stat.version, True

    def identify(self, pause: Pause = time.sleep) -> None:
        """Request the version if nothing was read yet; raise an exception if it has changed."""
        location = self.location
        self.pin(
            retried(
                self._options.retries, location, lambda: location.store.stat(location.key), pause
            )
        )

    def read(self, begin: int, end: int, pause: Pause = time.sleep) -> memoryview:
        """Return the bytes from `begin` to `end`, with retries.

        Raises
        ------
        OSError
            If the object has changed or no longer exists, or if all attempts failed.
        """
        if begin >= end:
            return memoryview(b"")
        location = self.location
        into = memoryview(bytearray(end - begin))
        done = 0

        def attempt() -> int:
            nonlocal done
            stat, pieces = _ask(location, begin + done, end)
            if stat is None:
                self.silent = True
            if stat is not None or not self._pinned:
                self.pin(stat or location.store.stat(location.key))
            for piece in pieces:
                size = len(piece)
                if size > len(into) - done:
                    raise OSError(errno.EIO, "the server sent more than it was asked for")
                into[done : done + size] = memoryview(piece).cast("B")
                done += size
            if done < len(into):
                raise OSError(errno.EIO, f"the server sent {done} bytes of {len(into)}")
            return done

        try:
            retried(self._options.retries, location, attempt, pause, lambda: done)
        except OSError as error:
            if error.errno == errno.EIO:  # a shorter version may not contain the range
                stat = None
                with contextlib.suppress(Exception):
                    stat = location.store.stat(location.key)
                if stat is not None:
                    self.pin(stat)
            raise
        traffic.add("fetched_bytes", done)
        return into

    def head(self, size: int, pause: Pause = time.sleep) -> bytes:
        """Return the first bytes, at most `size`; one request also returns an unknown size."""
        if self._size is not None:
            return bytes(self.read(0, min(self._size, size), pause))
        location = self.location

        def attempt() -> bytes:
            try:
                stat, pieces = _ask(location, 0, size)
            except Exception:
                stat, pieces = location.store.stat(location.key), ()
                if stat.size:  # an empty object contains no range
                    raise
            self.pin(stat or location.store.stat(location.key))
            data = b"".join(pieces)
            if len(data) != min(size, self.size):
                raise OSError(errno.EIO, f"the server sent {len(data)} bytes of {size}")
            return data

        data = retried(self._options.retries, location, attempt, pause)
        traffic.add("fetched_bytes", len(data))
        return data

    def body(self, begin: int) -> Iterator[Job]:
        """Yield jobs that return the bytes from `begin` on, to be run one after the other.

        One request returns the whole object, and the bytes before `begin` are dropped. If the
        connection breaks, another request is made.
        """
        location = self.location
        pieces: Iterator[memoryview] | None = None
        done = begin

        def attempt() -> memoryview:
            nonlocal pieces
            try:
                if pieces is None:
                    traffic.add("requests")
                    stat, whole = location.store.read_all(location.key)
                    self.pin(stat or location.store.stat(location.key))
                    pieces = _cut(whole, done, self.size)
                data = next(pieces, None)
                if data is None:
                    raise OSError(errno.EIO, f"the server sent {done} bytes of {self.size}")
            except BaseException:
                pieces = None
                raise
            return data

        def run(pause: Pause) -> memoryview:
            nonlocal done
            data = retried(self._options.retries, location, attempt, pause, lambda: done - begin)
            done += len(data)
            traffic.add("fetched_bytes", len(data))
            return data

        while done < self.size:
            yield Job(run, _PIECE)

    def _changed(self, stat: Stat) -> OSError:
        text = "the object has changed since it was opened"
        if not self._pinned and self._indexed_size is not None:
            text = (
                f"the object has {stat.size} bytes, and the index next to it describes one of "
                f"{self._indexed_size}: the object was replaced; build the index again with "
                "fastrec index"
            )
        return OSError(errno.ESTALE, text, self.name)

    def beside(self, suffix: str, pause: Pause = time.sleep) -> RemoteFile:
        """Open the object whose name is this object's name plus a suffix."""
        return RemoteFile.open(self._url_beside(suffix), self._options, pause)

    def read_beside(self, suffix: str, limit: int, pause: Pause = time.sleep) -> bytes:
        """Return the contents of the object named with an added suffix, fetched by one request.

        Raises
        ------
        OSError
            If the object does not exist; ``EFBIG`` if it is larger than `limit` bytes.
        """
        location = locate(self._url_beside(suffix), self._options)

        def attempt() -> bytes:
            traffic.add("requests")
            stat, pieces = location.store.read_all(location.key)
            data = bytearray()
            for piece in pieces:
                data += memoryview(piece).cast("B")
                if len(data) > limit:
                    text = f"the object has more than {limit} bytes"
                    raise OSError(errno.EFBIG, text, location.name)
            if stat is not None and len(data) != stat.size:
                raise OSError(errno.EIO, f"the server sent {len(data)} bytes of {stat.size}")
            return bytes(data)

        return retried(self._options.retries, location, attempt, pause)

    def _url_beside(self, suffix: str) -> str:
        path, mark, query = self._url.partition("?") if "://" in self._url else (self._url, "", "")
        return f"{path}{suffix}{mark}{query}"

    def check_secrets(self) -> None:
        """Raise an exception if the URL must not be pickled."""
        if self._url.startswith(("http://", "https://")) and hides_something(self._url):
            raise TypeError(f"a URL with credentials cannot be pickled: that of {self.name!a}")

    def __getstate__(self) -> dict[str, Any]:
        self.check_secrets()
        return self.__dict__

    def __fspath__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        size = "unknown size" if self._size is None else f"{self._size} bytes"
        return f"<fastrec.storage.RemoteFile {self.name!a}, {size}>"


def _ask(location: Location, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
    """Request a range; read a short prefix from the whole object if the server ignores ranges."""
    store = location.store
    traffic.add("requests")
    if store.ranged:
        try:
            return store.read(location.key, begin, end)
        except Exception:
            if store.ranged:
                raise
    if end > _PREFIX:
        raise OSError(
            errno.EOPNOTSUPP,
            "the server does not support range requests, so that its objects can only be read "
            "from start to end; StorageOptions(cache=...) allows any order",
            location.name,
        )
    stat, pieces = store.read_all(location.key)
    return stat, _cut(pieces, begin, end)


def _cut(pieces: Iterable[Any], begin: int, end: int) -> Iterator[memoryview]:
    """Yield the bytes from `begin` to `end` of buffers, and take no further buffers."""
    at = 0
    for piece in pieces:
        data = memoryview(piece).cast("B")
        part = data[max(begin - at, 0) : end - at]
        at += len(data)
        if part:
            yield part
        if at >= end:
            return


def retried(
    retries: int,
    location: Location,
    attempt: Callable[[], T],
    pause: Pause,
    progress: Callable[[], int] = lambda: 0,
) -> T:
    """Return the result of the first successful `attempt`, or raise OSError.

    All retries of requests are made here.
    """
    failures, reached = 0, 0
    while True:
        try:
            result = attempt()
            location.store.answered = True
            return result
        except OSError as error:
            if error.errno in (errno.ESTALE, errno.EOPNOTSUPP, errno.EFBIG):
                raise
            failure = location.store.failed(error, location.name)
        except Exception as error:
            failure = location.store.failed(error, location.name)
        if progress() >= reached + _PROGRESS:
            failures, reached = 0, progress()
        failures += 1
        if not failure.again:
            raise failure.error from None
        if failures > retries or (
            failure.unreachable and not location.store.answered and failures > _CONNECT_RETRIES
        ):
            raise _given_up(failure, failures) from None
        import random

        traffic.add("retries")
        log_info("attempt %d failed and is repeated: %s", failures, failure.error)
        longest = min(_BACKOFF_S * 2.0 ** (failures - 1), _LONGEST_BACKOFF_S)
        pause(longest * random.uniform(0.5, 1.0))


def _given_up(failure: StoreError, attempts: int) -> OSError:
    error = failure.error
    if attempts == 1:
        return error
    text = f"{error.strerror} (after {attempts} attempts)"
    return type(error)(error.errno, text, error.filename)


def find_files(urls: Iterable[str], options: StorageOptions) -> list[RemoteFile]:
    """Open objects concurrently and return them in order.

    Raises
    ------
    OSError
        For the first object that cannot be opened.
    """
    return run_all(
        lambda pause, url=url: RemoteFile.open(url, options, pause)  # type: ignore[misc]
        for url in urls
    )
