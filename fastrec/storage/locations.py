# SPDX-License-Identifier: Apache-2.0
"""Find the store and the key that a URL names, with settings of the environment."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from .adapters import CREDENTIALS, ArrowStore, FsspecStore, ObstoreStore, describe
from .options import StorageOptions
from .stores import Location, Store, public, without_credentials

__all__ = ["locate"]

OBSTORE = {"s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "memory"}
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
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
_SLOWEST = 20  # maximum time of a whole request, in timeouts


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
        begin = public(root)
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
    name = without_credentials(url)
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
        text = describe(error, options.secrets)
        raise ValueError(
            f"storage_options do not open {without_credentials(root)!a}: {text}"
        ) from None
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
        "AWS_ACCESS_KEY_ID", "AWS_CONTAINERCREDENTIALS_FULL_URI",
        "AWS_CONTAINERCREDENTIALS_RELATIVE_URI", "AWS_SKIP_SIGNATURE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    )  # fmt: skip
    options = ("access_key_id", "credential_provider", "skip_signature", "config")
    names = {key.lower().removeprefix("aws_") for key in given}
    if not (any(os.environ.get(name) for name in sources) or names & set(options)):
        raise PermissionError(errno.EACCES, CREDENTIALS, root)


_MEMORY: dict[str, Store] = {}  # in-memory stores of this process
