# SPDX-License-Identifier: Apache-2.0
"""Define the options for URLs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..arguments import check_int, check_types, shown
from .urls import local_path

__all__ = ["StorageOptions"]

# Store options that are not secrets. Only these may be pickled.
_HARMLESS = frozenset(
    {
        "account_name", "allow_http", "anon", "azure_storage_account_name", "bucket",
        "checksum_algorithm", "container_name", "default_region", "endpoint", "endpoint_url",
        "imdsv1_fallback", "project", "region", "request_payer", "requester_pays",
        "skip_signature", "s3_express", "use_emulator", "virtual_hosted_style_request",
    }
)  # fmt: skip
_MIB = 1 << 20
_DAY = 86400


class StorageOptions:
    """Options for access to objects by URL: the store, read-ahead and the cache.

    Every ``storage_options`` parameter also accepts a mapping, which is equivalent to
    ``StorageOptions(options=mapping)``. Prefer to leave credentials to the store's own library: it
    finds them in the environment, in its configuration files or through the machine's role.
    Credentials never appear in a message, a state or a pickle.

    Parameters
    ----------
    options : mapping, optional
        Options of the store. For URLs that obstore serves: keyword arguments of
        ``obstore.store.from_url``, such as ``region``, ``endpoint``, ``skip_signature``, and
        ``allow_http``, which permits an endpoint without TLS. For other URLs: options of the
        fsspec file system.
    filesystem : optional
        An fsspec or pyarrow file system, or an obstore store; all paths then refer to it. A
        function that creates one is also accepted, and also works in other processes.
    cache : path, optional
        Directory for copies of the objects that are read. Processes may share it. With a cache,
        objects support the same access as local files, and are not fetched again when read again.
    cache_bytes : int
        Size limit of `cache`, in bytes. The least recently used copies are deleted.
    window_bytes : int
        Number of bytes to fetch ahead of the consumer, for each pass over the objects.
    retries : int
        Number of further attempts for a request that returns no new data. The pauses between
        attempts increase; they add up to 20 seconds by default.
    timeout : float
        Seconds without data from a server after which a request is tried again.

    Examples
    --------
    >>> StorageOptions({"region": "eu-central-1", "secret_access_key": "x"}, cache="/tmp/objects")
    StorageOptions(options=['region', 'secret_access_key'], cache='/tmp/objects')
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        filesystem: Any = None,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int = 100 << 30,
        window_bytes: int = 64 * _MIB,
        retries: int = 8,
        timeout: float = 30.0,
    ) -> None:
        check_types(StorageOptions.__init__, locals())
        check_int("window_bytes", window_bytes, _MIB, 2**62)
        check_int("cache_bytes", cache_bytes, 0, 2**62)
        check_int("retries", retries, 0, 2**16)
        if not 0 < timeout <= _DAY:
            raise ValueError(f"timeout must be above 0 and at most {_DAY} seconds, got {timeout}")
        if cache is not None and os.name == "nt":
            raise NotImplementedError("cache requires locks of files that Windows does not have")
        self.options: dict[str, Any] = dict(options or {})
        self.filesystem = filesystem
        self.cache: str | None = (
            None if cache is None else os.path.abspath(os.fsdecode(local_path(cache)))
        )
        self.cache_bytes = cache_bytes
        self.window_bytes = window_bytes
        self.retries = retries
        self.timeout = timeout
        self.stores: dict[str, Any] = {}  # by process and URL root, the part before the key

    @classmethod
    def of(cls, value: StorageOptions | Mapping[str, Any] | None) -> StorageOptions:
        """Convert the value of a ``storage_options`` parameter to options."""
        if value is None or isinstance(value, Mapping):
            return cls(value)
        if not isinstance(value, StorageOptions):
            raise TypeError(
                f"storage_options must be StorageOptions or a mapping, got {shown(value)}"
            )
        return value

    @property
    def secrets(self) -> list[str]:
        """Option values that must not be shown."""
        hidden = (value for key, value in self.options.items() if not _is_harmless(key))
        return [value for value in hidden if isinstance(value, str) and len(value) > 3]

    def check_secrets(self) -> None:
        """Raise an exception if the options must not be pickled."""
        if hidden := sorted(key for key in self.options if not _is_harmless(key)):
            raise TypeError(
                f"storage_options with {', '.join(map(repr, hidden))} cannot be pickled: they may "
                "be credentials; leave these to the environment of each process"
            )
        if self.filesystem is not None and not callable(self.filesystem):
            raise TypeError(
                "storage_options with a file system cannot be pickled, for it may hold "
                "credentials; pass a function that makes it"
            )

    def __getstate__(self) -> dict[str, Any]:
        self.check_secrets()
        return {**self.__dict__, "stores": {}}

    def __repr__(self) -> str:
        shown = []
        if self.options:
            shown.append(f"options={sorted(self.options)}")
        if self.filesystem is not None:
            shown.append(f"filesystem={type(self.filesystem).__name__}")
        if self.cache is not None:
            shown.append(f"cache={self.cache!r}")
        return f"StorageOptions({', '.join(shown)})"


def _is_harmless(key: str) -> bool:
    return key.lower().removeprefix("aws_").removeprefix("google_") in _HARMLESS
