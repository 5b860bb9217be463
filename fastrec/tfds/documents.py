# SPDX-License-Identifier: Apache-2.0
"""JSON documents of a prepared data set, checked entry by entry."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from ..errors import FastrecError
from ..records.targets import read_file
from ..storage.options import StorageOptions

__all__ = ["Document", "MetadataError", "read_document"]

_MAX_BYTES = 1 << 26
_MAX_DEPTH = 64


class MetadataError(FastrecError, ValueError):
    """A ``dataset_info.json`` or ``features.json`` that cannot be one, or that cannot be read.

    Attributes
    ----------
    path : str
        The file.
    """


class Document:
    """One value of a JSON document, and where it stands.

    Protocol buffers write ``numBytes`` or ``num_bytes`` for a field, and 64-bit integers as
    strings; both forms are read.
    """

    __slots__ = ("path", "value", "where")

    def __init__(self, value: Any, path: str, where: str = "") -> None:
        self.value = value
        self.path = path
        self.where = where

    def error(self, text: str) -> MetadataError:
        """An exception that names the file and the entry."""
        where = f" {self.where}:" if self.where else ""
        error = MetadataError(f"{self.path!a}:{where} {text}")
        error.path = self.path
        return error

    def _must_be(self, what: str) -> MetadataError:
        found = repr(self.value)
        found = found if len(found) <= 60 else found[:57] + "..."
        return self.error(f"must be {what}, got {found.encode('ascii', 'replace').decode()}")

    def get(self, key: str) -> Document | None:
        """The field of that name; None where there is none, or null."""
        if not isinstance(self.value, dict):
            raise self._must_be("an object")
        snake = re.sub("[A-Z]", lambda found: "_" + found[0].lower(), key)
        for name in (key, snake):
            if self.value.get(name) is not None:
                return Document(self.value[name], self.path, f"{self.where}.{name}".lstrip("."))
        return None

    def items(self) -> Iterator[tuple[str, Document]]:
        """Names and values of an object."""
        if not isinstance(self.value, dict):
            raise self._must_be("an object")
        for name, value in self.value.items():
            yield name, Document(value, self.path, f"{self.where}.{name}".lstrip("."))

    def elements(self) -> Iterator[Document]:
        """Values of a list."""
        if not isinstance(self.value, list):
            raise self._must_be("a list")
        for number, value in enumerate(self.value):
            yield Document(value, self.path, f"{self.where}[{number}]")

    def list_of(self, key: str) -> list[Document]:
        """Values of the list of that name; none where there is no list."""
        found = self.get(key)
        return [] if found is None else list(found.elements())

    def text(self, key: str, default: str = "") -> str:
        """The string of that name."""
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found.value, str):
            raise found._must_be("a string")
        return found.value

    def flag(self, key: str) -> bool:
        """The boolean of that name; False where there is none."""
        found = self.get(key)
        if found is None:
            return False
        if not isinstance(found.value, bool):
            raise found._must_be("true or false")
        return found.value

    def integer(self, least: int, most: int = 2**63 - 1) -> int:
        """This value as an integer within bounds."""
        value = self.value
        is_text = isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value)
        if is_text or (isinstance(value, float) and value.is_integer()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._must_be(f"an integer from {least} to {most}")
        return value

    def integer_of(self, key: str, default: int, least: int, most: int = 2**63 - 1) -> int:
        """The integer of that name."""
        found = self.get(key)
        return default if found is None else found.integer(least, most)

    def nested(self) -> Document:
        """The document that this string holds."""
        if not isinstance(self.value, str):
            raise self._must_be("a string")
        return _parse(self.value, self.path, self.where)


def read_document(path: str, storage: StorageOptions | None = None) -> Document:
    """Read a JSON file whose outermost value is an object.

    Raises
    ------
    OSError
        When it cannot be read.
    MetadataError
        When it is no JSON, too large, or nested too deeply.
    """
    data = read_file(path, storage, limit=_MAX_BYTES + 1)
    whole = Document(None, os.fspath(path))
    if len(data) > _MAX_BYTES:
        raise whole.error(f"must be at most {_MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise whole.error(f"must be UTF-8: byte {error.start} is not") from None
    found = _parse(text, whole.path, "")
    if not isinstance(found.value, dict):
        raise found._must_be("an object")
    return found


def _parse(text: str, path: str, where: str) -> Document:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise Document(None, path, where).error(f"must be JSON: {reason}") from None
    if _depth_exceeds(value, _MAX_DEPTH):
        raise Document(None, path, where).error(f"must be nested at most {_MAX_DEPTH} deep")
    return Document(value, path, where)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
