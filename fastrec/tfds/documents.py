# SPDX-License-Identifier: Apache-2.0
"""Checked access to the JSON documents of a prepared dataset."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from ..errors import FastrecError, one_line
from ..records.targets import read_file
from ..storage.options import StorageOptions

__all__ = ["Document", "MetadataError", "read_document"]

_MAX_BYTES = 1 << 26  # bytes of a JSON document
_MAX_DEPTH = 64  # nesting of a JSON document


class MetadataError(FastrecError, ValueError):
    """A ``dataset_info.json`` or ``features.json`` that is invalid or cannot be read.

    Attributes
    ----------
    path : str
        The file.
    """


class Document:
    """One value of a JSON document, with its path in the document.

    Protocol buffers write ``numBytes`` or ``num_bytes`` for a field, and 64-bit integers as
    strings; both forms are accepted.
    """

    __slots__ = ("path", "value", "where")

    def __init__(self, value: Any, path: str, where: str = "") -> None:
        self.value: Final = value
        self.path: str = path
        self.where: str = where

    def error(self, text: str) -> MetadataError:
        """Return an exception that names the file and the entry."""
        where = f" {self.where}:" if self.where else ""
        error = MetadataError(f"{self.path!a}:{where} {text}")
        error.path = self.path
        return error

    def _must_be(self, what: str) -> MetadataError:
        found = repr(self.value)
        found = found if len(found) <= 60 else found[:57] + "..."
        return self.error(f"must be {what}, got {found.encode('ascii', 'replace').decode()}")

    def get(self, key: str) -> Document | None:
        """Return the field with this name, or None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self._must_be("an object")
        snake = re.sub("[A-Z]", lambda found: "_" + found[0].lower(), key)
        for name in (key, snake):
            if self.value.get(name) is not None:
                return Document(self.value[name], self.path, f"{self.where}.{name}".lstrip("."))
        return None

    def items(self) -> Iterator[tuple[str, Document]]:
        """Yield the names and values of an object."""
        if not isinstance(self.value, dict):
            raise self._must_be("an object")
        for name, value in self.value.items():
            yield name, Document(value, self.path, f"{self.where}.{name}".lstrip("."))

    def elements(self) -> Iterator[Document]:
        """Yield the values of a list."""
        if not isinstance(self.value, list):
            raise self._must_be("a list")
        for number, value in enumerate(self.value):
            yield Document(value, self.path, f"{self.where}[{number}]")

    def list_of(self, key: str) -> list[Document]:
        """Return the values of the list with this name; empty if it is absent."""
        found = self.get(key)
        return [] if found is None else list(found.elements())

    def text(self, key: str, default: str = "") -> str:
        """Return the string with this name."""
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found.value, str):
            raise found._must_be("a string")
        return found.value

    def flag(self, key: str) -> bool:
        """Return the boolean with this name; False if it is absent."""
        found = self.get(key)
        if found is None:
            return False
        if not isinstance(found.value, bool):
            raise found._must_be("true or false")
        return found.value

    def integer(self, least: int, most: int = 2**63 - 1) -> int:
        """Return this value as an integer, after checking its bounds."""
        value = self.value
        is_text = isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value)
        if is_text or (isinstance(value, float) and value.is_integer()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._must_be(f"an integer from {least} to {most}")
        return value

    def integer_of(self, key: str, default: int, least: int, most: int = 2**63 - 1) -> int:
        """Return the integer with this name."""
        found = self.get(key)
        return default if found is None else found.integer(least, most)

    def nested(self) -> Document:
        """Return the JSON document that this string contains."""
        if not isinstance(self.value, str):
            raise self._must_be("a string")
        return _parse(self.value, self.path, self.where)


def read_document(path: str, storage: StorageOptions | None = None) -> Document:
    """Read a JSON file whose outermost value is an object.

    Raises
    ------
    OSError
        If the file cannot be read.
    MetadataError
        If the file is not JSON, too large, or nested too deeply.
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
        raise Document(None, path, where).error(f"must be JSON: {one_line(error)}") from None
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
