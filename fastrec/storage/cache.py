# SPDX-License-Identifier: Apache-2.0
"""Copies of objects on the local disk, which processes share, within a size limit."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import Any

with contextlib.suppress(ImportError):  # on Windows, where StorageOptions refuses a cache
    import fcntl

from .options import StorageOptions
from .remote import RemoteFile, RemoteStream, streams_of

__all__ = ["ObjectCache", "index_place"]

_COPY, _NOTE, _LOCK, _PART = ".object", ".json", ".lock", ".part"
_POLL_S = 0.05
_OLD_S = 3600.0  # of a part that its process left behind


def name_of(file: RemoteFile) -> str | None:
    """A file name for one version of an object; None where versions cannot be told apart."""
    import hashlib

    if file.version is None:
        return None
    return hashlib.sha256(f"{file.name}\0{file.version}\0{file.size}".encode()).hexdigest()[:40]


def index_place(file: RemoteFile, options: StorageOptions) -> str | None:
    """The local path of an object's index, in a folder that is there; None where there is none."""
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
    return os.path.join(folder, f"{name}.frindex")


class _Hold:
    """A lock on one copy: shared by those who use it, exclusive for who makes or deletes it."""

    def __init__(self, path: str) -> None:
        self._number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._number, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self.close()


class ObjectCache:
    """A directory of copies. Each is one version of one object, complete, and checked by its size
    and, when its modification time is not the one that was noted, by its CRC32C.

    A copy in use is not deleted: its lock is held, and given up with the descriptor when a process
    ends. What a process has mapped, it can read even when the copy is deleted.

    Parameters
    ----------
    options : StorageOptions
        Whose ``cache`` is not None.
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
        return None if options.cache is None else cls(options)

    def paths(self, files: list[RemoteFile], *, keep: bool = False) -> Iterator[str]:
        """The path of the copy of each object, in order; missing ones are fetched ahead.

        A copy stays until the next one is asked for, or with `keep` as long as this object.

        Raises
        ------
        OSError
            When an object cannot be fetched or stored.
        """
        missing = [file for file in files if not self._is_there(file)]
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
        """Share the lock of a copy, which is fetched before if it is not there."""
        hold = _Hold(place + _LOCK)
        while True:
            if not hold.take(fcntl.LOCK_SH):  # somebody fetches it
                time.sleep(_POLL_S)
            elif _is_sound(place, file.size):
                return hold
            elif hold.take(fcntl.LOCK_EX):
                if not _is_sound(place, file.size):
                    self._fetch(file, place, stream or file.stream())
            else:  # somebody else would fetch it, too: neither waits with a share in hand
                hold.take(fcntl.LOCK_UN)
                time.sleep(_POLL_S * (1 + os.getpid() % 7))

    def _fetch(self, file: RemoteFile, place: str, stream: RemoteStream) -> None:
        import json

        from .. import _core

        self._make_room(file)
        part = f"{place}.{os.getpid()}{_PART}"
        crc = 0
        try:
            with open(part, "wb") as target:
                while data := stream.read():
                    target.write(data)
                    crc = _core.crc32c(data, crc)
                target.flush()
                os.fsync(target.fileno())
            note = {"url": file.name, "version": file.version, "size": file.size, "crc32c": crc,
                    "mtime_ns": os.stat(part).st_mtime_ns}  # fmt: skip
            with open(part + _NOTE, "w") as text:
                json.dump(note, text)
            os.replace(part + _NOTE, place + _NOTE)
            os.replace(part, place + _COPY)
        except BaseException:
            for left in (part, part + _NOTE):
                with contextlib.suppress(OSError):
                    os.unlink(left)
            raise

    def _make_room(self, file: RemoteFile) -> None:
        """Delete the least recently used copies, until there is room for another."""
        if file.size > self._limit:
            raise OSError(
                errno.ENOSPC, f"the object's {file.size} bytes exceed cache_bytes", file.name
            )
        found = []
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                if entry.name.endswith(_COPY):
                    found.append((status.st_atime_ns, status.st_size, entry.path))
                elif _PART in entry.name and time.time() - status.st_mtime > _OLD_S:
                    os.unlink(entry.path)
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
            if not hold.take(fcntl.LOCK_EX):
                return False
            for suffix in (_COPY, _NOTE):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(place + suffix)
            return True
        finally:
            hold.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}


def _is_sound(place: str, size: int) -> bool:
    """Whether a copy is there, and is what was fetched."""
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
