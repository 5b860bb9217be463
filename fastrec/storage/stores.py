# SPDX-License-Identifier: Apache-2.0
"""Stores: what obstore, fsspec and pyarrow file systems have in common.

A store does each request once. Retries, the version that is read and the order of ranges are of
:mod:`fastrec.storage.remote`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from .options import StorageOptions

__all__ = ["Location", "Stat", "Store", "StoreError", "hides_something", "locate", "public"]

OBSTORE = {"s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "memory"}
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_USER = re.compile(r"(?<=//)[^/@\s]*@")
_QUERY = re.compile(r"\?[^\s'\"]*")
_STATUS = re.compile(r"status(?: code)?:? (\d{3})")
_PIECE = 1 << 18  # of a body, handed on at once: what a broken connection can lose
_PART = 8 << 20  # of a multipart upload
_SLOWEST = 20  # timeouts that a whole request may take


class Stat(NamedTuple):
    """Size of an object, and what changes when its contents do: None where nothing does."""

    size: int
    version: str | None


class StoreError(Exception):
    """A failed request as an OSError, and whether another attempt may succeed."""

    def __init__(self, error: OSError, again: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again


class Store(Protocol):
    """One attempt at each request; any exception means that it failed."""

    def stat(self, key: str) -> Stat: ...

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        """Buffers with bytes `begin` to `end`, and the object's stat if the answer has it."""

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, int]]:
        """Keys and sizes of the objects in a folder, or everywhere below it."""

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        """Store `size` bytes: all of them become visible, or nothing, if `pieces` raises."""

    def delete(self, key: str) -> None: ...

    def failed(self, error: BaseException, name: str) -> StoreError: ...


class Location(NamedTuple):
    """An object: its store, its key there, and its name in messages, without credentials."""

    store: Store
    key: str
    name: str
    begin: str  # of the names of all objects in the store

    def at(self, key: str) -> Location:
        """Another object of the store."""
        return self._replace(key=key, name=self.begin + key)


def locate(url: str, options: StorageOptions) -> Location:
    """The store and the key of a URL, or of a path in the file system of the options.

    Raises
    ------
    ImportError
        When the library that serves the URL is not installed.
    ValueError
        When the URL or an option is not valid.
    """
    if options.filesystem is not None:
        store, key = _cached("", options, lambda: _wrapped(options.filesystem)), url
        if match := _URL.match(url):
            key = url[match.end() :]
        return Location(store, key, url, url[: len(url) - len(key)])
    scheme, rest = url.split("://", 1)
    if scheme not in OBSTORE:
        return _locate_fsspec(url, scheme, options)
    host, _, key = rest.partition("/")
    root = f"{scheme}://{host}"
    begin = root
    if scheme in ("http", "https"):
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(url)
        key = unquote(parts.path.lstrip("/"))
        begin = _USER.sub("", root.partition("?")[0])
        root += f"?{parts.query}" if parts.query else ""
    store = _cached(root, options, lambda: _open_obstore(root, scheme, options))
    return Location(store, key, f"{begin}/{key}", f"{begin}/")


def _cached(root: str, options: StorageOptions, make: Any) -> Store:
    """Stores have connections, which are shared, but not with a process made by ``fork()``."""
    name = f"{os.getpid()} {root}"
    if name not in options.stores:
        options.stores[name] = make()
    return options.stores[name]  # type: ignore[no-any-return]


def _wrapped(filesystem: Any) -> Store:
    if callable(filesystem):
        filesystem = filesystem()
    module = type(filesystem).__module__.partition(".")[0]
    if module == "obstore":
        return ObstoreStore(filesystem, filesystem, [])
    if module == "pyarrow":
        return ArrowStore(filesystem)
    if hasattr(filesystem, "cat_file"):
        return FsspecStore(filesystem, [])
    raise TypeError(
        "filesystem must be an fsspec or pyarrow file system or an obstore store, "
        f"got {type(filesystem).__name__}"
    )


def _locate_fsspec(url: str, scheme: str, options: StorageOptions) -> Location:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"{scheme}:// URLs require fsspec, and its package for them") from None
    filesystem, key = url_to_fs(url, **options.options)
    store = _cached(f"{scheme}://", options, lambda: FsspecStore(filesystem, options.secrets))
    name = _QUERY.sub("", _USER.sub("", url))
    begin = name[: len(name) - len(key)] if name.endswith(key) else f"{scheme}://"
    return Location(store, key, name, begin)


def _open_obstore(root: str, scheme: str, options: StorageOptions) -> Store:
    from datetime import timedelta

    try:
        from obstore.store import HTTPStore, MemoryStore, from_url
    except ImportError:
        raise ImportError(
            f"{scheme}:// URLs require obstore: pip install 'fastrec-io[remote]'"
        ) from None
    if scheme == "memory":
        memory = MemoryStore()
        return _MEMORY.setdefault(root, ObstoreStore(memory, memory, []))
    given = dict(options.options)
    client = {
        "connect_timeout": timedelta(seconds=options.timeout),
        "read_timeout": timedelta(seconds=options.timeout),
        "timeout": timedelta(seconds=options.timeout * _SLOWEST),
        "allow_http": given.pop("allow_http", scheme == "http"),
        **given.pop("client_options", {}),
    }
    once = {"max_retries": 0}
    writing = given.pop("retry_config", None)
    make = HTTPStore.from_url if scheme in ("http", "https") else from_url
    try:
        reader = make(root, client_options=client, retry_config=once, **given)
        writer = make(root, client_options=client, retry_config=writing, **given)
    except Exception as error:
        text = _shown(error, options.secrets)
        raise ValueError(f"storage_options do not open {_USER.sub('', root)!a}: {text}") from None
    return ObstoreStore(reader, writer, options.secrets)


_MEMORY: dict[str, Store] = {}  # of this process


def _shown(error: BaseException, secrets: list[str]) -> str:
    """The first line of what a library says, without credentials."""
    text = str(error).partition("\n")[0] or type(error).__name__
    text = _QUERY.sub("", _USER.sub("", text))
    for secret in secrets:
        text = text.replace(secret, "***")
    return text[:500]


def public(url: str) -> str:
    """A name as messages have it: of a URL of HTTP without user and query."""
    if not url.startswith(("http://", "https://")):
        return url
    return _USER.sub("", url.partition("?")[0])


def hides_something(url: str) -> bool:
    """Whether a URL has a part that messages leave out."""
    return bool(_USER.search(url) or _QUERY.search(url))


def _missing(name: str) -> StoreError:
    return StoreError(FileNotFoundError(errno.ENOENT, "no such object", name), False)


_PROCESS: list[int] = []  # that obstore's threads are in


class ObstoreStore:
    """A store of obstore.

    Its threads are those of one process: in a child made by ``fork()`` it would wait for ever, and
    take events of the sockets away from its parent.
    """

    def __init__(self, reader: Any, writer: Any, secrets: list[str]) -> None:
        import obstore

        if _PROCESS and _PROCESS[0] != os.getpid():
            raise RuntimeError(
                "a child made by fork() cannot use object stores that its parent has used; start "
                "processes with 'spawn' or 'forkserver'"
            )
        _PROCESS[:] = [os.getpid()]
        self._library = obstore
        self._reader, self._writer = reader, writer  # the second one retries
        self._secrets = secrets

    def stat(self, key: str) -> Stat:
        try:
            return _stat_of(self._library.head(self._reader, key))
        except (FileNotFoundError, ValueError):
            raise
        except Exception:
            if type(self._reader).__name__ != "HTTPStore":
                raise
        # Servers, and URLs that are signed for GET, may know no HEAD.
        found = self._library.get(self._reader, key, options={"range": (0, 1)})
        return _stat_of(found.meta)

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        found = self._library.get(self._reader, key, options={"range": (begin, end)})
        if tuple(found.range) != (begin, end):
            raise OSError(errno.EIO, f"asked for bytes {begin} to {end}, got {found.range}")
        return _stat_of(found.meta), found.stream(min_chunk_size=_PIECE)

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, int]]:
        prefix = folder.rstrip("/") or None
        if deep:
            batches: Iterable[Any] = self._library.list(self._reader, prefix)
        else:
            batches = [self._library.list_with_delimiter(self._reader, prefix)["objects"]]
        for batch in batches:
            for meta in batch:
                yield meta["path"], meta["size"]

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        if size <= _PART:
            mode = "create" if exclusive else "overwrite"
            self._library.put(self._writer, key, b"".join(pieces), mode=mode, use_multipart=False)
            return
        if exclusive:  # a multipart upload has no condition
            with contextlib.suppress(FileNotFoundError):
                self._library.head(self._reader, key)
                raise FileExistsError(errno.EEXIST, "the object exists")
        self._library.put(self._writer, key, pieces, chunk_size=_PART, max_concurrency=8)

    def delete(self, key: str) -> None:
        self._library.delete(self._writer, key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        kind, text = type(error).__name__, _shown(error, self._secrets)
        if isinstance(error, FileNotFoundError):
            return _missing(name)
        if isinstance(error, FileExistsError) or kind == "AlreadyExistsError":
            return StoreError(FileExistsError(errno.EEXIST, "the object exists", name), False)
        if kind in ("PermissionDeniedError", "UnauthenticatedError"):
            return StoreError(PermissionError(errno.EACCES, text, name), False)
        if kind == "NotSupportedError" and "Range request" in text:
            text = (
                "the server does not send parts of files, which reading by URL requires; "
                "fastrec.Reader(urllib.request.urlopen(url)) reads the file in sequence"
            )
        if kind in ("NotSupportedError", "InvalidPathError", "UnknownConfigurationKeyError"):
            return StoreError(OSError(errno.EOPNOTSUPP, text, name), False)
        if "timed out" in str(error) or "TimedOut" in str(error):
            return StoreError(TimeoutError(errno.ETIMEDOUT, text, name), True)
        status = _STATUS.search(str(error))
        again = status is None or status[1] in ("408", "429") or status[1][0] == "5"
        return StoreError(OSError(errno.EIO, text, name), again)


def _stat_of(meta: Any) -> Stat:
    version, changed = meta["e_tag"] or meta["version"], meta["last_modified"]
    if version is None and changed is not None and changed.timestamp() > 0:
        version = changed.isoformat()
    return Stat(meta["size"], version)


class FsspecStore:
    """A file system of fsspec."""

    def __init__(self, filesystem: Any, secrets: list[str]) -> None:
        self._fs = filesystem
        self._secrets = secrets

    def stat(self, key: str) -> Stat:
        self._fs.invalidate_cache(self._fs._parent(key))
        info = self._fs.info(key)
        if info["type"] == "directory":
            raise FileNotFoundError(errno.ENOENT, "a directory")
        if info.get("size") is None:
            raise ValueError("the server does not say how long it is")
        names = ("ETag", "etag", "md5", "md5Hash", "generation", "mtime", "LastModified",
                 "last_modified", "created")  # fmt: skip
        version = next((info[name] for name in names if info.get(name)), None)
        return Stat(info["size"], None if version is None else str(version))

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        return None, [self._fs.cat_file(key, start=begin, end=end)]

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, int]]:
        self._fs.invalidate_cache()
        try:
            if deep:
                found = self._fs.find(folder, detail=True).values()
            else:
                found = self._fs.ls(folder, detail=True)
        except FileNotFoundError:
            return
        for info in found:
            if info["type"] == "file":
                name: str = info["name"]
                if name.startswith(f"/{folder}"):  # memory:// puts a slash before every name
                    name = name[1:]
                yield name, info["size"]

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        if exclusive and self._fs.exists(key):
            raise FileExistsError(errno.EEXIST, "the object exists")
        target = self._fs.open(key, "wb", autocommit=False)
        try:
            for piece in pieces:
                target.write(piece)
            target.close()
            target.commit()
        except BaseException:
            target.discard()
            raise
        self._fs.invalidate_cache(self._fs._parent(key))

    def delete(self, key: str) -> None:
        self._fs.rm_file(key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        return _failed(error, name, self._secrets)


def _failed(error: BaseException, name: str, secrets: list[str]) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return _missing(name)
    text = _shown(error, secrets)
    final = (PermissionError, FileExistsError, IsADirectoryError)
    if isinstance(error, OSError):
        refused = error.errno == errno.EINVAL  # a range that is not there, in s3fs
        number = errno.EIO if refused else error.errno or errno.EIO
        kind = type(error) if isinstance(error, final) else OSError
        text = _shown(OSError(error.strerror or text), secrets)
        return StoreError(kind(number, text, name), not (refused or isinstance(error, final)))
    again = not isinstance(error, (ValueError, TypeError, NotImplementedError, AttributeError))
    number = errno.EIO if again else errno.EOPNOTSUPP
    return StoreError(OSError(number, f"{type(error).__name__}: {text}", name), again)


class ArrowStore:
    """A file system of ``pyarrow.fs``."""

    def __init__(self, filesystem: Any) -> None:
        self._fs = filesystem

    def stat(self, key: str) -> Stat:
        info = self._fs.get_file_info(key)
        if not info.is_file:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return Stat(info.size, None if info.mtime_ns is None else str(info.mtime_ns))

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        with self._fs.open_input_file(key) as file:
            return None, [file.read_at(end - begin, begin)]

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, int]]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(folder.rstrip("/"), recursive=deep, allow_not_found=True)
        for info in self._fs.get_file_info(selector):
            if info.is_file:
                yield info.path, info.size

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        if exclusive and self._fs.get_file_info(key).is_file:
            raise FileExistsError(errno.EEXIST, "the object exists")
        hidden = f"{key}.{os.urandom(8).hex()}.part"  # closing a stream publishes what it has
        try:
            with self._fs.open_output_stream(hidden) as target:
                for piece in pieces:
                    target.write(piece)
            self._fs.move(hidden, key)
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.delete_file(hidden)
            raise

    def delete(self, key: str) -> None:
        self._fs.delete_file(key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        return _failed(error, name, [])
