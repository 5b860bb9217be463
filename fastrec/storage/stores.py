# SPDX-License-Identifier: Apache-2.0
"""Define the interface of a store, and hide credentials in the names of its objects.

A store makes each request once. :mod:`fastrec.storage.remote` handles retries, object versions and
the order of ranges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

__all__ = ["Location", "Stat", "Store", "StoreError", "hides_something", "public"]

_USER = re.compile(r"(?<=//)[^/@\s]*@")
_QUERY = re.compile(r"(?<!<)\?[^\s'\"]*")  # does not match the start of <?xml


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

    def stat(self, key: str) -> Stat:
        """Return the size and version of an object."""

    def read(self, key: str, begin: int, end: int) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with bytes `begin` to `end`, and the stat if the response has it."""

    def read_all(self, key: str) -> tuple[Stat | None, Iterable[Any]]:
        """Return buffers with all bytes of an object, and the stat if the response has it."""

    def list(self, folder: str, deep: bool) -> Iterator[tuple[str, Stat]]:
        """Yield the keys and stats of the objects in a folder, or everywhere below it.

        A version is None unless responses to other requests report the same version.
        """

    def put(self, key: str, pieces: Iterator[bytes], size: int, *, exclusive: bool) -> str | None:
        """Store `size` bytes, and return the object's ETag if the response contains it.

        The object appears complete, or not at all if `pieces` raises.
        """

    def delete(self, key: str) -> None:
        """Delete an object."""

    def failed(self, error: BaseException, name: str) -> StoreError:
        """Convert an exception to an OSError about `name`, and decide whether a retry can help."""


class Location(NamedTuple):
    """An object: its store, its key in the store, and its name in messages, without credentials."""

    store: Store
    key: str
    name: str
    begin: str  # common start of the names of all objects in the store

    def at(self, key: str) -> Location:
        """Return the location of another object in the store."""
        return self._replace(key=key, name=self.begin + key)


def public(url: str) -> str:
    """Return a name for messages; an HTTP URL loses its user and query."""
    if not url.startswith(("http://", "https://")):
        return url
    return _USER.sub("", url.partition("?")[0])


def without_credentials(text: str) -> str:
    """Return a text without the users and queries of its URLs."""
    return _QUERY.sub("", _USER.sub("", text))


def hides_something(url: str) -> bool:
    """Return whether messages omit a part of a URL."""
    return bool(_USER.search(url) or _QUERY.search(url))
