# SPDX-License-Identifier: Apache-2.0
"""Give obstore, fsspec and pyarrow file systems one interface.

A store makes each request once. :mod:`fastrec.storage.remote` handles retries, object versions and
the order of ranges.
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
_QUERY = re.compile(r"(?<!<)\?[^\s'\"]*")  # does not match the start of <?xml
_STATUS = re.compile(r"status(?: code)?:? (\d{3})")
_ERROR_BODY = re.compile(r"<\?xml.*|<Error>.*|\{.*", re.DOTALL)
_ERROR_CODE = re.compile(r"<Code>([^<]{1,100})</Code>|\"(?:status|reason)\": *\"([^\"]{1,100})\"")
_ERROR_TEXT = re.compile(r"<Message>([^<]{1,300})|\"message\": *\"([^\"]{1,300})\"")
# URLs of servers that provide credentials.
_METADATA = re.compile(r"//(169\.254\.16\d\.\d+|metadata[^/]*)/")
_CREDENTIALS = (
    "no credentials: set the store's environment variables (AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY for S3), pass credential_provider, or skip_signature=True for a public "
    "bucket"
)
# Settings of the HTTP client that environment variables may hold, for example AWS_ALLOW_HTTP.
_CLIENT = (
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type",
    "http1_only", "http2_keep_alive_interval", "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle", "http2_max_frame_size", "http2_only", "pool_idle_timeout",
    "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes", "proxy_url",
    "randomize_addresses", "read_timeout", "timeout", "user_agent",
)  # fmt: skip
# Prefixes of environment variables; other URLs use AZURE_.
_PREFIXES = {"s3": "AWS_", "s3a": "AWS_", "gs": "GOOGLE_", "http": "", "https": ""}
_PIECE = 1 << 18  # bytes passed on per piece; a broken connection can lose one piece
_PART = 8 << 20  # part size of a multipart upload, in bytes
_SLOWEST = 20  # maximum time of a whole request, in timeouts


class Stat(NamedTuple):
    """Size of an object, and a version that changes with its contents, or None without versions."""

    size: int
    version: str | None


class StoreError(Exception):
    """A failed request as an OSError, and whether another attempt may succeed.

    Attributes
    ----------
    unreachable : bool
        Whether no connection could be made, so that the address may be wrong.
    """

    def __init__(self, error: OSError, again: bool, unreachable: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.unreachable = unreachable


class Store(Protocol):
    """Interface of a store. Each method makes one attempt; any exception means that it failed.

    Attributes
    ----------
    answered : bool
        Whether a request has succeeded before.
    ranged : bool
        Whether the server may support ranges. If False, only :meth:`read_all` works.
    """

    answered: bool
    ranged: bool

    def key_of(self, url: str) -> str:
        """Return the key of an object that a URL names."""

    def path_of(self, key: str) -> str | None:
        """Return the local path of an object that is a local file."""

    def stat(self, key: str) -> Stat: ...

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with bytes `begin` to `end`, and the stat if the response has it."""

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with all bytes of an object, and the stat if the response has it."""

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        """Yield the keys and stats of the objects in a folder, or everywhere below it.

        A version is None unless responses to other requests report the same version.
        """

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        """Store `size` bytes. The object appears complete, or not at all if `pieces` raises."""

    def delete(self, key: str) -> None: ...

    def failed(self, error: BaseException, name: str) -> StoreError: ...


class Location(NamedTuple):
    """An object: its store, its key in the store, and its name in messages, without credentials."""

    store: Store
    key: str
    name: str
    begin: str  # common start of the names of all objects in the store

    def at(self, key: str) -> Location:
        """Return the location of another object in the store."""
        return self._replace(key=key, name=self.begin + key)


def locate(url: str, options: StorageOptions) -> Location:
    """Return the location that a URL, or a path in the file system of the options, names.

    Raises
    ------
    ImportError
        If the library that serves the URL is not installed.
    ValueError
        If the URL or an option is not valid.
    """
    if options.filesystem is not None:
        store = _cached("", options, lambda: _wrapped(options.filesystem))
        key = store.key_of(url) if _URL.match(url) else url
        if url.endswith("/") and not key.endswith("/"):
            key += "/"
        name = public(url)
        return Location(store, key, name, name[: -len(key)] if name.endswith(key) else "")
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
    """Return a store with shared connections; a process made by ``fork()`` gets its own."""
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
        **_client_environment(scheme),
        **({"allow_http": True} if scheme == "http" else {}),
        **({"allow_http": given.pop("allow_http")} if "allow_http" in given else {}),
        **given.pop("client_options", {}),
    }
    if scheme in ("s3", "s3a"):
        _check_credentials(root, given)
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


def _client_environment(scheme: str) -> dict[str, str]:
    """Return the HTTP client settings for a scheme from the environment.

    obstore ignores all of them if at least one is passed.
    """
    prefix = _PREFIXES.get(scheme, "AZURE_")
    found = ((key, os.environ.get(prefix + key.upper())) for key in _CLIENT if prefix)
    return {key: value for key, value in found if value}


def _check_credentials(root: str, given: dict[str, Any]) -> None:
    """Prevent a search for credentials on the network if the environment forbids it.

    Raises
    ------
    PermissionError
    """
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        return
    sources = (
        "AWS_ACCESS_KEY_ID", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_SKIP_SIGNATURE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    )  # fmt: skip
    options = ("access_key_id", "credential_provider", "skip_signature", "config")
    names = {key.lower().removeprefix("aws_") for key in given}
    if not (any(os.environ.get(name) for name in sources) or names & set(options)):
        raise PermissionError(errno.EACCES, _CREDENTIALS, root)


_MEMORY: dict[str, Store] = {}  # in-memory stores of this process


def _shown(error: BaseException, secrets: list[str]) -> str:
    """Return a library's error message as one line, without credentials.

    Only the code and the message are kept from the body of a server's response.
    """
    text = str(error).partition("\n\nDebug source:")[0]
    if _STATUS.search(text) and (body := _ERROR_BODY.search(text)):
        found = (pattern.search(body[0]) for pattern in (_ERROR_CODE, _ERROR_TEXT))
        parts = [next(filter(None, match.groups())) for match in found if match]
        text = text[: body.start()] + (": ".join(parts) or body[0])
    text = " ".join(text.partition("\n")[0].split()) or type(error).__name__
    text = _QUERY.sub("", _USER.sub("", text))
    for secret in secrets:
        text = text.replace(secret, "***")
    return text[:500]


def public(url: str) -> str:
    """Return a name for messages; an HTTP URL loses its user and query."""
    if not url.startswith(("http://", "https://")):
        return url
    return _USER.sub("", url.partition("?")[0])


def hides_something(url: str) -> bool:
    """Return whether messages omit a part of a URL."""
    return bool(_USER.search(url) or _QUERY.search(url))


def _missing(name: str) -> StoreError:
    return StoreError(FileNotFoundError(errno.ENOENT, "no such object", name), False)


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
        self.answered, self.ranged = False, True
        self._library = obstore
        self._reader, self._writer = reader, writer  # only the writer retries
        self._secrets = secrets

    def key_of(self, url: str) -> str:
        if base := getattr(self._reader, "url", None):  # HTTPStore
            return url.removeprefix(str(base)).lstrip("/")
        key = url[_URL.match(url).end() :]  # type: ignore[union-attr]
        host, _, rest = key.partition("/")
        config = getattr(self._reader, "config", {})
        return rest if host in (config.get("bucket"), config.get("container_name")) else key

    def path_of(self, key: str) -> str | None:
        is_local = type(self._reader).__name__ == "LocalStore"
        return os.path.join(self._reader.prefix or "/", key) if is_local else None

    def stat(self, key: str) -> Stat:
        try:
            return _stat_of(self._library.head(self._reader, key))
        except (FileNotFoundError, ValueError):
            raise
        except Exception:
            if type(self._reader).__name__ != "HTTPStore":
                raise
        # Some servers, and URLs that are signed for GET, do not support HEAD.
        found = self._library.get(self._reader, key, options={"range": (0, 1)})
        return _stat_of(found.meta)

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        try:
            found = self._library.get(self._reader, key, options={"range": (begin, end)})
        except Exception as error:
            if type(error).__name__ == "NotSupportedError" or "non-partial" in str(error):
                self.ranged = False
            raise
        if tuple(found.range) != (begin, end):
            raise OSError(errno.EIO, f"asked for bytes {begin} to {end}, got {found.range}")
        return _stat_of(found.meta), found.stream(min_chunk_size=_PIECE)

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        found = self._library.get(self._reader, key)
        return _stat_of(found.meta), found.stream(min_chunk_size=_PIECE)

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        prefix = folder.rstrip("/") or None
        if deep:
            batches: Iterable[Any] = self._library.list(self._reader, prefix)
        else:
            batches = [self._library.list_with_delimiter(self._reader, prefix)["objects"]]
        for batch in batches:
            for meta in batch:
                yield meta["path"], _stat_of(meta)

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
        data = b"".join(pieces) if size <= _PART else None
        if exclusive and (data is None or not self._create(key, data)):
            with contextlib.suppress(FileNotFoundError):
                self._library.head(self._reader, key)
                raise FileExistsError(errno.EEXIST, "the object exists")
        elif exclusive:
            return
        if data is not None:
            self._library.put(self._writer, key, data, use_multipart=False)
        else:
            self._library.put(self._writer, key, pieces, chunk_size=_PART, max_concurrency=8)

    def _create(self, key: str, data: bytes) -> bool:
        """Create an object; return False if the store does not support exclusive creation.

        Plain HTTP servers do not support it, and neither do multipart uploads.
        """
        try:
            self._library.put(self._writer, key, data, mode="create", use_multipart=False)
        except Exception as error:
            is_missing = type(error).__name__ == "NotSupportedError"
            if not is_missing and "not yet implemented" not in str(error):
                raise
            return False
        return True

    def delete(self, key: str) -> None:
        self._library.delete(self._writer, key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        kind, text = type(error).__name__, _shown(error, self._secrets)
        status = _STATUS.search(str(error))
        if "NoSuchBucket" in text or (kind == "GenericError" and status and status[1] == "404"):
            return StoreError(FileNotFoundError(errno.ENOENT, text, name), False)
        if isinstance(error, FileNotFoundError):
            return _missing(name)
        if isinstance(error, FileExistsError) or kind == "AlreadyExistsError":
            return StoreError(FileExistsError(errno.EEXIST, "the object exists", name), False)
        if _METADATA.search(text):
            return StoreError(PermissionError(errno.EACCES, _CREDENTIALS, name), not status)
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
    version, changed = meta["e_tag"] or meta["version"], meta["last_modified"]
    if meta["e_tag"] and not version.endswith('"'):
        version = f'"{version}"'  # Azure's listings omit the quotation marks
    if version is None and changed is not None and changed.timestamp() > 0:
        version = changed.isoformat()
    return Stat(meta["size"], version)


class FsspecStore:
    """A file system of fsspec."""

    def __init__(self, filesystem: Any, secrets: list[str]) -> None:
        self.answered = self.ranged = True  # fsspec's library decides what to retry
        self._fs = filesystem
        self._secrets = secrets

    def key_of(self, url: str) -> str:
        return str(self._fs._strip_protocol(url))

    def path_of(self, key: str) -> str | None:
        return key if "file" in self._fs.protocol else None

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

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        return None, [self._fs.cat_file(key)]

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
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
        refused = error.errno == errno.EINVAL  # s3fs reports an unavailable range this way
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
        self.answered = self.ranged = True
        self._fs = filesystem

    def key_of(self, url: str) -> str:
        return url.partition("://")[2]

    def path_of(self, key: str) -> str | None:
        return key if self._fs.type_name == "local" else None

    def stat(self, key: str) -> Stat:
        info = self._fs.get_file_info(key)
        if not info.is_file:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return Stat(info.size, None if info.mtime_ns is None else str(info.mtime_ns))

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        with self._fs.open_input_file(key) as file:
            return None, [file.read_at(end - begin, begin)]

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        return self.read(key, 0, self.stat(key).size)

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(folder.rstrip("/"), recursive=deep, allow_not_found=True)
        for info in self._fs.get_file_info(selector):
            if info.is_file:
                yield info.path, Stat(info.size, None)

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> None:
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

    def delete(self, key: str) -> None:
        self._fs.delete_file(key)

    def failed(self, error: BaseException, name: str) -> StoreError:
        return _failed(error, name, [])
