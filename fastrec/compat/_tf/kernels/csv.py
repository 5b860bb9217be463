# SPDX-License-Identifier: Apache-2.0
"""Lines of comma-separated values, read as TensorFlow reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgumentError
from .numbers import NotANumber, number_of

__all__ = ["Field", "fields_of", "read_lines"]


_SPECIAL = re.compile(rb'["\n\r]')  # what makes a line more than text between delimiters


class Field(NamedTuple):
    """The type of a column, and what stands for an empty field; None where none may be empty."""

    dtype: np.dtype[Any]
    default: Any


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def fields_of(line: bytes, delimiter: bytes, quoted: bool) -> list[bytes]:
    """The fields of one line.

    Raises
    ------
    InvalidArgumentError
        For quotes that do not go together.
    """
    fields: list[bytes] = []
    at, end = 0, len(line)
    if not line:
        return fields
    if not _SPECIAL.search(line):
        return line.split(delimiter)
    while at <= end:
        if at < end and line[at] in b"\n\r":
            at += 1
            continue
        if quoted and line[at : at + 1] == b'"':
            field, at = _quoted(line, at + 1, delimiter)
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            field = line[at:stop]
            if quoted and (b'"' in field or b"\n" in field or b"\r" in field):
                raise _invalid("Unquoted fields cannot have quotes/CRLFs inside")
            at = stop + 1
        fields.append(field)
    return fields


def _quoted(line: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    parts = []
    while True:
        stop = line.find(b'"', at)
        if stop < 0:
            raise _invalid("Quoted field has to end with quote followed by delim or end")
        parts.append(line[at:stop])
        after = line[stop + 1 : stop + 2]
        if after == b'"':
            parts.append(b'"')
            at = stop + 2
        elif after in (b"", delimiter):
            return b"".join(parts), stop + 2
        else:
            raise _invalid("Quote inside a string has to be escaped by another quote")


def read_lines(
    lines: Sequence[bytes],
    fields: Sequence[Field],
    delimiter: bytes,
    quoted: bool,
    missing: bytes,
    columns: Sequence[int] | None,
) -> list[np.ndarray[Any, Any]]:
    """One array for each of `fields`, which are all columns or those numbered in `columns`.

    Raises
    ------
    InvalidArgumentError
        For a line with another number of fields, or a field of another type.
    """
    rows: list[list[Any]] = []
    for row, line in enumerate(lines):
        parts = fields_of(line, delimiter, quoted)
        if columns is not None:
            parts = [parts[c] for c in columns if c < len(parts)]
        if len(parts) != len(fields):
            raise _invalid(f"Expect {len(fields)} fields but have {len(parts)} in record {row}")
        pairs = enumerate(zip(parts, fields, strict=True))
        rows.append([_value(part, field, missing, i, row) for i, (part, field) in pairs])
    found = [np.empty(len(lines), dtype=field.dtype) for field in fields]
    for column, values in zip(found, zip(*rows, strict=True), strict=False):
        column[:] = values
    return found


def _value(part: bytes, field: Field, missing: bytes, i: int, row: int) -> Any:
    if not part or part == missing:
        if field.default is None:
            raise _invalid(f"Field {i} is required but missing in record {row}!")
        return field.default
    if field.dtype.hasobject:
        return part
    try:
        return number_of(part, field.dtype)
    except NotANumber:
        kinds = {"float32": "float", "float64": "double"}
        kind = kinds.get(field.dtype.name, field.dtype.name)
        text = part.decode("utf-8", "replace")
        raise _invalid(f"Field {i} in record {row} is not a valid {kind}: {text}") from None
