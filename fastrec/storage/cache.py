# SPDX-License-Identifier: Apache-2.0
"""Keep copies of objects on the local disk, shared by processes, within a size limit."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

with contextlib.suppress(ImportError):  # missing on Windows, where StorageOptions rejects a cache
    import fcntl

from ..errors import warn_caller
from .options import StorageOptions
from .remote import RemoteFile, traffic
from .sequential import RemoteStream, stream_of, streams_of

__all__ = ["ObjectCache", "index_place"]

_COPY, _NOTE, _LOCK, _UNFINISHED = ".object", ".json", ".lock", ".tmp"
_POLL_S = 0.05  # seconds between two checks for a copy that another process fetches
_STALLED_S = 60.0  # a fetch by another process without progress for this long is abandoned
_OLD_S = 3600.0  # an unfinished copy of this age, in seconds, is deleted
_INDEX_OLD_S = 90 * 86400.0  # an index unused for this many seconds is deleted
_CLEANED: set[str] = set()  # index folders that this process has cleaned


def name_of(file: RemoteFile) -> str | None:
    """Return a file name for one version of an object; None if the version is unknown."""
    import hashlib

    if file.version is None:
        return None
    return hashlib.sha256(f"{file.name}\0{file.version}\0{file.size}".encode()).hexdigest()[:40]


def index_place(file: RemoteFile, options: StorageOptions) -> str | None:
    """Return the local path of an object's index in an existing folder, or None if unavailable."""
    name = name_of(file)
    if name is None:
        return None
    base = options.cache
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        base = os.path.join(home, "fastrec")
    folder = os.path.join(base, "indexes")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None
    if folder not in _CLEANED:
        _CLEANED.add(folder)
        _delete_old(folder, _INDEX_OLD_S)
    place = os.path.join(folder, f"{name}.frindex")
    with contextlib.suppress(OSError):
        os.utime(place, ns=(time.time_ns(), os.stat(place).st_mtime_ns))
    return place


def _delete_old(folder: str, age: float) -> None:
    """Delete the files in a folder that have not been used for `age` seconds."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                if time.time() - max(status.st_atime, status.st_mtime) > age:
                    os.unlink(entry.path)


class _Hold:
    """A lock on one copy: shared while it is used, exclusive while it is fetched or deleted."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def is_current(self) -> bool:
        """Return whether the locked file is still at its path; other processes may delete it."""
        try:
            return os.path.samestat(os.fstat(self._number), os.stat(self.path))
        except FileNotFoundError:
            return False

    def take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._number, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlink(self) -> None:
        """Delete the lock file, so that the next lock of the copy is independent of this one."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def close(self, _close: Callable[[int], None] = os.close) -> None:
        if self._number >= 0:  # `os` may be None at interpreter exit
            _close(self._number)
            self._number = -1

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self.close()


class ObjectCache:
    """A directory of complete copies, each of one version of one object.

    A copy is checked by its size, and also by its CRC32C if its modification time differs from the
    recorded one. A copy in use is not deleted, because a process holds its lock; the lock is
    released with the descriptor when the process ends. A process can still read a copy that it has
    mapped after the copy is deleted.

    Parameters
    ----------
    options : StorageOptions
        Options with a ``cache``.
    """

    def __init__(self, options: StorageOptions) -> None:
        assert options.cache is not None
        self._options = options
        self._folder = os.path.join(options.cache, "objects")
        self._limit = options.cache_bytes
        self._kept: dict[str, _Hold] = {}
        os.makedirs(self._folder, mode=0o700, exist_ok=True)

    @classmethod
    def of(cls, options: StorageOptions) -> ObjectCache | None:
        """Return the cache that the options name; None if they name none."""
        return None if options.cache is None else cls(options)

    def paths(self, files: list[RemoteFile], *, keep: bool = False) -> Iterator[str]:
        """Yield the path of the copy of each object, in order; missing copies are fetched ahead.

        A copy is kept until the next path is requested, or with `keep` as long as this object
        exists.

        Raises
        ------
        OSError
            If an object cannot be fetched or stored.
        """
        missing = [file for file in files if not self._is_there(file)]
        traffic.add("cache_misses", len(missing))
        traffic.add("cache_hits", len(files) - len(missing))
        fetched = dict(zip(map(id, missing), streams_of(missing, self._options), strict=True))
        for file in files:
            place = self._place(file)
            hold = self._kept.get(place) or self._hold(file, place, fetched.get(id(file)))
            if keep:
                self._kept[place] = hold
            now = time.time_ns()
            with contextlib.suppress(OSError):
                os.utime(place + _COPY, ns=(now, os.stat(place + _COPY).st_mtime_ns))
            yield place + _COPY

    def _place(self, file: RemoteFile) -> str:
        if file.version is None:
            from .ahead import run_all

            run_all([file.identify])
        name = name_of(file)
        if name is None:
            raise OSError(
                errno.EOPNOTSUPP,
                "the store gives the object no version, by which a cached copy could be checked",
                file.name,
            )
        return os.path.join(self._folder, name)

    def _is_there(self, file: RemoteFile) -> bool:
        return file.version is not None and os.path.exists(self._place(file) + _COPY)

    def _hold(self, file: RemoteFile, place: str, stream: RemoteStream | None) -> _Hold:
        """Return a shared lock on a copy; fetch the copy first if it is missing or damaged."""
        began = time.monotonic()
        while True:
            hold = _Hold(place + _LOCK)
            if hold.take(fcntl.LOCK_SH) and _is_sound(place, file.size) and hold.is_current():
                return hold
            # No process keeps a shared lock while it waits, so one of them gets the exclusive
            # lock.
            hold.take(fcntl.LOCK_UN)
            if hold.take(fcntl.LOCK_EX) and hold.is_current():
                if not _is_sound(place, file.size):
                    try:
                        self._fetch(file, place, stream or stream_of(file))
                    except BaseException:
                        hold.close()  # the error's traceback refers to this lock
                        raise
            elif hold.take(fcntl.LOCK_SH) and hold.is_current():
                # Other processes use a copy that was deleted or damaged after they opened it. The
                # new copy gets a new lock file, so it does not wait for these processes.
                hold.unlink()
            elif time.monotonic() - began > _STALLED_S and not _grows(place):
                warn_caller(
                    f"{file.name!a} is fetched again: another process has fetched nothing of it "
                    f"into {self._folder!a} for {_STALLED_S:.0f} s"
                )
                began = time.monotonic()
                hold.unlink()
            else:
                time.sleep(_POLL_S)
            hold.close()

    def _fetch(self, file: RemoteFile, place: str, stream: RemoteStream) -> None:
        import json

        from .. import _core

        self._make_room(file)
        crc = 0
        copy, note = (_core.RecordWriter(place + suffix) for suffix in (_COPY, _NOTE))
        try:
            while data := stream.read():
                copy.write_frames(data, 0)
                copy.flush()  # shows other processes that the file grows
                crc = _core.crc32c(data, crc)
            copy.finish()
            about = {"url": file.name, "version": file.version, "size": file.size, "crc32c": crc,
                     "mtime_ns": os.stat(os.fsdecode(copy.place or b"")).st_mtime_ns}  # fmt: skip
            note.write_frames(json.dumps(about).encode(), 0)
            note.close()
            copy.close()
        finally:
            for each in (copy, note):
                each.abort()

    def _make_room(self, file: RemoteFile) -> None:
        """Delete the least recently used copies until there is space for another."""
        if file.size > self._limit:
            raise OSError(
                errno.ENOSPC, f"the object's {file.size} bytes exceed cache_bytes", file.name
            )
        found, locks = [], []
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                if entry.name.endswith(_COPY):
                    found.append((status.st_atime_ns, status.st_size, entry.path))
                elif entry.name.endswith(_LOCK):
                    locks.append(entry.path)
                elif entry.name.endswith(_UNFINISHED) and time.time() - status.st_mtime > _OLD_S:
                    os.unlink(entry.path)
        for lock in locks:
            if not os.path.exists(lock.removesuffix(_LOCK) + _COPY):
                self._delete(lock.removesuffix(_LOCK))
        total = sum(size for _, size, _ in found) + file.size
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            if self._delete(path.removesuffix(_COPY)):
                total -= size
        if total > self._limit:
            raise OSError(
                errno.ENOSPC,
                f"the objects in use do not fit into cache_bytes ({self._limit})",
                file.name,
            )

    def _delete(self, place: str) -> bool:
        hold = _Hold(place + _LOCK)
        try:
            if not (hold.take(fcntl.LOCK_EX) and hold.is_current()):
                return False
            for suffix in (_COPY, _NOTE, _LOCK):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(place + suffix)
            return True
        finally:
            hold.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}


def _grows(place: str) -> bool:
    """Return whether a process has written to an unfinished copy within the last minute."""
    folder, name = os.path.split(place)
    for entry in os.scandir(folder):
        if entry.name.startswith(f".{name}{_COPY}.") and entry.name.endswith(_UNFINISHED):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime < _STALLED_S:
                    return True
    return False


def _is_sound(place: str, size: int) -> bool:
    """Return whether a copy exists and is identical to the fetched data."""
    import json

    from .. import _core

    try:
        status = os.stat(place + _COPY)
        with open(place + _NOTE) as text:
            note = json.load(text)
        if status.st_size != size:
            return False
        if status.st_mtime_ns == note["mtime_ns"]:
            return True
        crc = 0
        with open(place + _COPY, "rb") as copy:
            while data := copy.read(1 << 20):
                crc = _core.crc32c(data, crc)
        return bool(crc == note["crc32c"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
