# SPDX-License-Identifier: Apache-2.0
"""Give obstore, fsspec and pyarrow file systems the interface of a store."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from datetime import timezone
from typing import Any

from .stores import Stat, StoreError, without_credentials

__all__ = ["CREDENTIALS", "ArrowStore", "FsspecStore", "ObstoreStore", "describe"]

_STATUS = re.compile(r"status(?: code)?:? (\d{3})")
_ERROR_BODY = re.compile(r"<\?xml.*|<Error>.*|\{.*", re.DOTALL)
_ERROR_CODE = re.compile(r"<Code>([^<]{1,100})</Code>|\"(?:status|reason)\": *\"([^\"]{1,100})\"")
_ERROR_TEXT = re.compile(r"<Message>([^<]{1,300})|\"message\": *\"([^\"]{1,300})\"")
# URLs of servers that provide credentials.
_METADATA = re.compile(r"//(169\.254\.16\d\.\d+|metadata[^/]*)/")
CREDENTIALS = (
    "no credentials: set the store's environment variables (AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY for S3), pass credential_provider, or skip_signature=True for a public "
    "bucket"
)
_PIECE = 1 << 18  # bytes passed on per piece; a broken connection can lose one piece
_PART = 8 << 20  # part size of a multipart upload, in bytes


def describe(error: BaseException, secrets: list[str]) -> str:
    """Return a library's error message as one line, without credentials.

    Only the code and the message are kept from the body of a server's response.
    """
    text = str(error).partition("\n\nDebug source:")[0]
    if _STATUS.search(text) and (body := _ERROR_BODY.search(text)):
        found = (pattern.search(body[0]) for pattern in (_ERROR_CODE, _ERROR_TEXT))
        parts = [next(filter(None, match.groups())) for match in found if match]
        text = text[: body.start()] + (": ".join(parts) or body[0])
    text = " ".join(text.partition("\n")[0].split()) or type(error).__name__
    text = without_credentials(text)
    for secret in secrets:
        text = text.replace(secret, "***")
    return text[:500]


_PROCESS: list[int] = []  # the process that obstore's threads belong to


class ObstoreStore:
    """A store that obstore serves.

    obstore's threads belong to one process. In a child made by ``fork()``, obstore would wait
    forever, and would take socket events away from the parent.
    """

    def __init__(self, reader: Any, writer: Any, secrets: list[str]) -> None:
        import obstore

        if _PROCESS and _PROCESS[0] != os.getpid():
            raise RuntimeError(
                "a child made by fork() cannot use object stores that its parent has used; start "
                "processes with 'spawn' or 'forkserver'"
            )
        _PROCESS[:] = [os.getpid()]
        self.answered: bool = False
        self.ranged: bool = True
        self._library = obstore
        self._reader, self._writer = reader, writer  # only the writer retries
        self._secrets = secrets

    def key_of(self, url: str) -> str:
        """Return the key of an object that a URL names."""
        if base := getattr(self._reader, "url", None):  # HTTPStore
            return url.removeprefix(str(base)).lstrip("/")
        host, _, rest = url.partition("://")[2].partition("/")
        config = getattr(self._reader, "config", {})
        is_own = host in (config.get("bucket"), config.get("container_name"))
        return rest if is_own else url.partition("://")[2]

    def path_of(self, key: str) -> str | None:
        """Return the local path of an object that is a local file."""
        is_local = type(self._reader).__name__ == "LocalStore"
        return os.path.join(self._reader.prefix or "/", key) if is_local else None

    def stat(self, key: str) -> Stat:
        """Return the size and version of an object."""
        is_http = type(self._reader).__name__ == "HTTPStore"
        try:
            found = _stat_of(self._library.head(self._reader, key))
            if found.size or not is_http:
                return found
            # Some servers answer HEAD as if every object were empty. The body is not read here.
            return _stat_of(self._library.get(self._reader, key).meta)
        except (FileNotFoundError, ValueError):
            raise
        except Exception:
            if not is_http:
                raise
        # Some servers, and URLs that are signed for GET, do not support HEAD.
        found = self._library.get(self._reader, key, options={"range": (0, 1)})
        return _stat_of(found.meta)

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with bytes `begin` to `end`, fewer at the end, and the stat."""
        try:
            found = self._library.get(self._reader, key, options={"range": (begin, end)})
        except Exception as error:
            if type(error).__name__ == "NotSupportedError" or "non-partial" in str(error):
                self.ranged = False
            raise
        if tuple(found.range) != (begin, min(end, found.meta["size"])):
            raise OSError(errno.EIO, f"asked for bytes {begin} to {end}, got {found.range}")
        return _stat_of(found.meta), found.stream(min_chunk_size=_PIECE)

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with all bytes of an object, and its stat."""
        found = self._library.get(self._reader, key)
        return _stat_of(found.meta), found.stream(min_chunk_size=_PIECE)

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        """Yield the keys and stats of the objects in a folder, or everywhere below it."""
        prefix = folder.rstrip("/") or None
        if deep:
            batches: Iterable[Any] = self._library.list(self._reader, prefix)
        else:
            batches = [self._library.list_with_delimiter(self._reader, prefix)["objects"]]
        for batch in batches:
            for meta in batch:
                yield meta["path"], _stat_of(meta)

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> str | None:
        """Store an object: in one request if it is small, otherwise as a multipart upload."""
        data = b"".join(pieces) if size <= _PART else None
        result = self._create(key, data) if exclusive and data is not None else None
        if result is not None:
            return _etag_of(result)
        if exclusive:
            with contextlib.suppress(FileNotFoundError):
                self._library.head(self._reader, key)
                raise FileExistsError(errno.EEXIST, "the object exists")
        if data is not None:
            result = self._library.put(self._writer, key, data, use_multipart=False)
        else:
            options = {"chunk_size": _PART, "max_concurrency": 8}
            result = self._library.put(self._writer, key, pieces, **options)
        return _etag_of(result)

    def _create(self, key: str, data: bytes) -> Any:
        """Create an object; return None if the store does not support exclusive creation.

        Plain HTTP servers do not support it, and neither do multipart uploads.
        """
        try:
            return self._library.put(self._writer, key, data, mode="create", use_multipart=False)
        except Exception as error:
            is_missing = type(error).__name__ == "NotSupportedError"
            if not is_missing and "not yet implemented" not in str(error):
                raise
            return None

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._library.delete(self._writer, key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        """Convert an exception of obstore to an OSError, and decide whether a retry can help."""
        kind, text = type(error).__name__, describe(error, self._secrets)
        status = _STATUS.search(str(error))
        if "NoSuchBucket" in text or (kind == "GenericError" and status and status[1] == "404"):
            return StoreError(FileNotFoundError(errno.ENOENT, text, name), False)
        if isinstance(error, FileNotFoundError):
            return _missing(name)
        if isinstance(error, FileExistsError) or kind == "AlreadyExistsError":
            return StoreError(FileExistsError(errno.EEXIST, "the object exists", name), False)
        if _METADATA.search(text):
            return StoreError(PermissionError(errno.EACCES, CREDENTIALS, name), not status)
        refused = status and status[1] in ("401", "403")
        if refused or kind in ("PermissionDeniedError", "UnauthenticatedError"):
            return StoreError(PermissionError(errno.EACCES, text, name), False)
        if kind in ("NotSupportedError", "InvalidPathError", "UnknownConfigurationKeyError"):
            return StoreError(OSError(errno.EOPNOTSUPP, text, name), False)
        if "timed out" in str(error) or "TimedOut" in str(error):
            return StoreError(TimeoutError(errno.ETIMEDOUT, text, name), True)
        if "kind: Builder" in str(error):
            if "BadScheme" in str(error):
                text += "; an endpoint of http:// requires allow_http=True or AWS_ALLOW_HTTP=true"
            return StoreError(OSError(errno.EINVAL, text, name), False)
        again = status is None or status[1] in ("408", "429") or status[1][0] == "5"
        unreachable = "kind: Connect" in str(error)
        return StoreError(OSError(errno.EIO, text, name), again, unreachable)


def _stat_of(meta: Any) -> Stat:
    version, changed = _etag_of(meta) or meta["version"], meta["last_modified"]
    if version is None and changed is not None and changed.timestamp() > 0:
        # Listings contain fractions of a second, and the header Last-Modified does not.
        version = changed.astimezone(timezone.utc).replace(microsecond=0).isoformat()
    return Stat(meta["size"], version)


def _etag_of(meta: Any) -> str | None:
    etag: str | None = meta["e_tag"] or None
    # Azure's listings omit the quotation marks.
    return etag if etag is None or etag.endswith('"') else f'"{etag}"'


class FsspecStore:
    """A file system of fsspec."""

    def __init__(self, filesystem: Any, secrets: list[str]) -> None:
        self.answered = self.ranged = True  # fsspec's library decides what to retry
        self._fs = filesystem
        self._secrets = secrets

    def key_of(self, url: str) -> str:
        """Return the key of an object that a URL names."""
        return str(self._fs._strip_protocol(url))

    def path_of(self, key: str) -> str | None:
        """Return the local path of an object that is a local file."""
        return key if "file" in self._fs.protocol else None

    def stat(self, key: str) -> Stat:
        """Return the size and version of an object."""
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
        """Return a buffer with bytes `begin` to `end`."""
        return None, [self._fs.cat_file(key, start=begin, end=end)]

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        """Return a buffer with all bytes of an object."""
        return None, [self._fs.cat_file(key)]

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        """Yield the keys and sizes of the objects in a folder, or everywhere below it."""
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
                if name.startswith(f"/{folder}"):  # memory:// adds a slash before every name
                    name = name[1:]
                yield name, Stat(info["size"], None)

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> str | None:
        """Store an object in a transaction, which is discarded if `pieces` raises."""
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
        return None

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._fs.rm_file(key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        """Convert an exception to an OSError, and decide whether a retry can help."""
        return _failed(error, name, self._secrets)


def _missing(name: str) -> StoreError:
    return StoreError(FileNotFoundError(errno.ENOENT, "no such object", name), False)


def _failed(error: BaseException, name: str, secrets: list[str]) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return _missing(name)
    text = describe(error, secrets)
    final = (PermissionError, FileExistsError, IsADirectoryError)
    if isinstance(error, OSError):
        refused = error.errno == errno.EINVAL  # s3fs reports an unavailable range this way
        number = errno.EIO if refused else error.errno or errno.EIO
        kind = type(error) if isinstance(error, final) else OSError
        text = describe(OSError(error.strerror or text), secrets)
        return StoreError(kind(number, text, name), not (refused or isinstance(error, final)))
    again = not isinstance(error, (ValueError, TypeError, NotImplementedError, AttributeError))
    number = errno.EIO if again else errno.EOPNOTSUPP
    return StoreError(OSError(number, f"{type(error).__name__}: {text}", name), again)


class ArrowStore:
    """A file system of ``pyarrow.fs``."""

    def __init__(self, filesystem: Any) -> None:
        self.answered = self.ranged = True
        self._fs = filesystem

    def key_of(self, url: str) -> str:
        """Return the key of an object that a URL names."""
        return url.partition("://")[2]

    def path_of(self, key: str) -> str | None:
        """Return the local path of an object that is a local file."""
        return key if self._fs.type_name == "local" else None

    def stat(self, key: str) -> Stat:
        """Return the size of an object, with its modification time as its version."""
        info = self._fs.get_file_info(key)
        if not info.is_file:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return Stat(info.size, None if info.mtime_ns is None else str(info.mtime_ns))

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        """Return a buffer with bytes `begin` to `end`."""
        with self._fs.open_input_file(key) as file:
            return None, [file.read_at(end - begin, begin)]

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        """Return a buffer with all bytes of an object."""
        return self.read(key, 0, self.stat(key).size)

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        """Yield the keys and sizes of the objects in a folder, or everywhere below it."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(folder.rstrip("/"), recursive=deep, allow_not_found=True)
        for info in self._fs.get_file_info(selector):
            if info.is_file:
                yield info.path, Stat(info.size, None)

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> str | None:
        """Write a ``.part`` object, and rename it when it is complete."""
        if exclusive and self._fs.get_file_info(key).is_file:
            raise FileExistsError(errno.EEXIST, "the object exists")
        hidden = f"{key}.{os.urandom(8).hex()}.part"  # closing a stream publishes its data
        try:
            with self._fs.open_output_stream(hidden) as target:
                for piece in pieces:
                    target.write(piece)
            self._fs.move(hidden, key)
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.delete_file(hidden)
            raise
        return None

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._fs.delete_file(key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        """Convert an exception to an OSError, and decide whether a retry can help."""
        return _failed(error, name, [])
