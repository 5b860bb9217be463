# SPDX-License-Identifier: Apache-2.0
"""Read JSON lines as mappings that can be encoded, and check that the kinds of values agree."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import one_line
from .csv_files import keeps_digits

__all__ = ["json_rows"]

_BLOCK = 4 << 20  # bytes that are read at once
_LONGEST_LINE = 1 << 28  # bytes of a line, which bounds memory

# Floats that JSON cannot write as numbers, by the names that protobuf gives them.
_NAMES_OF_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DTYPES: dict[type, Any] = {int: np.int64, float: np.float32, str: np.bytes_}


class _Kinds:
    """Checks that the values of each name have the same kind in all lines."""

    def __init__(
        self, paths: Sequence[str], floats: set[str], names: set[str] | None, text: str
    ) -> None:
        self._kinds: dict[str, type] = dict.fromkeys(floats, float)
        self._floats = floats
        self._paths, self._names, self._text = paths, names, text
        self._ahead: dict[str, tuple[bool, type | None]] | None = None

    def row(self, row: Any) -> dict[str, Any]:
        """Return the values of a row after checking their kinds."""
        if not isinstance(row, dict):
            raise ValueError(f"must be an object, got {type(row).__name__}")
        return {
            name: self._value(name, value)
            for name, value in row.items()
            if self._names is None or name in self._names
        }

    def _value(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            return self._item(name, value)
        if not value:
            return self._empty(name)
        if any(isinstance(item, list) for item in value):
            return [self._frame(name, item) for item in value]
        return [self._item(name, item) for item in value]

    def _frame(self, name: str, frame: Any) -> list[Any]:
        """Return the values of a frame of a feature list."""
        if not isinstance(frame, list):
            raise ValueError(f"feature {name!a}: a list and {frame!a} are in one list")
        return [self._item(name, item) for item in frame] if frame else self._empty(name, True)

    def _empty(self, name: str, is_frame: bool = False) -> Any:
        """Return an empty list with the type that the name has in all lines.

        It is a list, for a writer that knows the type, or for a feature list without frames.
        """
        if self._names is not None:
            return []
        if self._ahead is None:
            self._ahead = _kinds_ahead(self._paths)
        has_frames, kind = self._ahead.get(name, (False, None))
        if has_frames and (kind is None or not is_frame):
            return []  # a frame without values, whose kind is unknown, or an empty list of frames
        if kind is None:
            raise ValueError(
                f"feature {name!a} has no value in any line, so the type of an empty list is "
                "unknown; describe its type by features, or name the other features"
            )
        return np.zeros(0, _DTYPES[kind])

    def _item(self, name: str, value: Any) -> Any:
        kind = int if isinstance(value, bool) else type(value)
        if kind not in (int, float, str):
            words: dict[Any, str] = {dict: "an object", list: "a list of lists of lists"}
            word = words.get(kind, "null in a list")
            raise ValueError(f"feature {name!a}: {word} cannot be stored")
        if name not in self._kinds and value in _NAMES_OF_FLOATS:
            raise ValueError(
                f"feature {name!a} begins with {value!r}, which is a float or text; features gives "
                "its type"
            )
        known = self._kinds.setdefault(name, kind)
        if known is float and kind is int:
            if name not in self._floats and not (abs(value) < 2**127 and keeps_digits(value)):
                raise ValueError(
                    f"feature {name!a} is a float before, and float32 does not hold "
                    f"{str(value)[:40]}; "
                    "features gives its type"
                )
            return float(value)
        # The decoder returns an infinity for 1e999, too, but another object than for the name.
        if (
            kind is float
            and math.isinf(value)
            and not any(value is each for each in _NAMES_OF_FLOATS.values())
        ):
            raise ValueError(f"feature {name!a}: a number is beyond float32; write Infinity")
        if known is float and value in _NAMES_OF_FLOATS:
            return _NAMES_OF_FLOATS[value]
        if known is not kind:
            raise ValueError(
                f"feature {name!a} is {_spell(kind)} here and {_spell(known)} before; features "
                f"gives its type"
            )
        if kind is not str:
            return value
        return value.encode() if self._text != "base64" else _decoded(name, value)


def _spell(kind: type) -> str:
    return {int: "an integer", float: "a float", str: "text"}[kind]


def _decoded(name: str, value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"feature {name!a}: {value[:40]!a} is not base64") from None


def _kinds_ahead(paths: Sequence[str]) -> dict[str, tuple[bool, type | None]]:
    """Return whether each name has lists of lists, and the kind of its first value."""
    found: dict[str, tuple[bool, type | None]] = {}
    for path in paths:
        with pa.input_stream(path, compression="detect") as file:
            for line in _lines(path, file):
                try:
                    row = _loads(line) if line else {}
                except (ValueError, RecursionError):
                    continue  # the pass over the rows reports the line
                for name, value in row.items() if isinstance(row, dict) else ():
                    has_frames, kind = found.get(name, (False, None))
                    values = value if isinstance(value, list) else [value]
                    if any(isinstance(each, list) for each in values):
                        has_frames = True
                        values = [each for frame in values if isinstance(frame, list)
                                  for each in frame]  # fmt: skip
                    if kind is None:
                        kinds = (int if isinstance(each, bool) else type(each) for each in values)
                        kind = next((each for each in kinds if each in _DTYPES), None)
                    found[name] = has_frames, kind
    return found


def json_rows(
    paths: Sequence[str], floats: set[str], names: set[str] | None, encoding: str
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Read the objects of JSON lines as mappings that can be encoded.

    Parameters
    ----------
    paths : list of str
    floats : set of str
        Names whose numbers are floats.
    names : set of str, optional
        Names to read, whose types the writer knows. Without them, an empty list is an array with
        the type that the name has in all lines.
    encoding : {"text", "base64"}
        Encoding of strings.

    Yields
    ------
    path, line, row
        Lines are counted from 1.
    """
    kinds = _Kinds(paths, floats, names, encoding)
    for path in paths:
        with pa.input_stream(path, compression="detect") as file:
            for number, line in enumerate(_lines(path, file), 1):
                try:
                    row = kinds.row(_loads(line)) if line else None
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"{path!a}: line {number}: {one_line(error)}") from None
                if row is not None:
                    yield path, number, row


def _loads(line: bytes) -> Any:
    return json.loads(line, parse_constant=_NAMES_OF_FLOATS.get, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; raise if it has a name twice, as only the last would be kept."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise ValueError(f"name {name!a} occurs twice in an object")
            names.add(name)
    return values


def _lines(path: str, file: Any) -> Iterator[bytes]:
    rest = b""
    while block := file.read(_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from map(bytes.strip, lines)
        if len(rest) > _LONGEST_LINE:
            raise ValueError(f"{path!a}: a line must be at most {_LONGEST_LINE} bytes long")
    yield rest.strip()
