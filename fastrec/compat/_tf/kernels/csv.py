# SPDX-License-Identifier: Apache-2.0
"""Lines of comma-separated values, read as TensorFlow reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastrec import Bytes, _core

from ..errors import InvalidArgumentError
from .numbers import NotANumber, digits_of, number_of, numbers_of

__all__ = ["Field", "column_of_texts", "fields_of", "read_lines", "value_of"]


_SPECIAL = re.compile(rb'["\n\r]')  # what makes a line more than text between delimiters
_WORTH = 4  # lines


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
    lines: Bytes,
    fields: Sequence[Field],
    delimiter: bytes,
    quoted: bool,
    missing: bytes,
    columns: Sequence[int] | None,
) -> list[Any]:
    """An array or a Bytes for each of `fields`: of all columns, or of those in `columns`.

    Raises
    ------
    InvalidArgumentError
        For a line with another number of fields, or a field of another type.
    """
    chosen = range(len(fields)) if columns is None else columns
    plain = _plain_columns(lines, delimiter, chosen, len(fields) if columns is None else None)
    if plain is not None:
        try:
            return [_column_of(t, f, missing) for t, f in zip(plain, fields, strict=True)]
        except InvalidArgumentError:
            pass  # one line after the other says what is wrong
    rows: list[list[bytes]] = []
    for row, line in enumerate(lines):
        parts = fields_of(line, delimiter, quoted)
        if columns is not None:
            parts = [parts[c] for c in columns if c < len(parts)]
        if len(parts) != len(fields):
            _check(rows, fields, missing)  # what is wrong before it is said first
            raise _invalid(f"Expect {len(fields)} fields but have {len(parts)} in record {row}")
        rows.append(parts)
    texts = list(zip(*rows, strict=True)) or [()] * len(fields)
    try:
        return [column_of_texts(t, f, missing) for t, f in zip(texts, fields, strict=True)]
    except InvalidArgumentError:
        _check(rows, fields, missing)
        raise


def _plain_columns(
    lines: Bytes, delimiter: bytes, columns: Sequence[int], count: int | None
) -> list[Bytes] | None:
    """The texts of columns; None where lines have more in them than text between delimiters."""
    data = lines.data[lines.offsets[0] : lines.offsets[-1]]
    if len(lines) < _WORTH or _SPECIAL.search(data.data):
        return None
    if not np.diff(lines.offsets).all():
        return None
    cut, offsets, splits = _core.cut_strings(lines.data, lines.offsets, delimiter, False, False)
    widths = np.diff(splits)
    width = int(widths[0])
    if (widths != width).any() or width != (width if count is None else count):
        return None
    if max(columns, default=0) >= width:
        return None
    order = np.add.outer(np.array(columns, np.int64), np.arange(len(lines)) * width)
    texts = Bytes(cut, offsets).take(order.reshape(-1))
    return [texts[at : at + len(lines)] for at in range(0, order.size, len(lines))]


def _column_of(texts: Bytes, field: Field, missing: bytes) -> Any:
    """What the texts of a column spell, without Python objects where that can be."""
    filled = np.diff(texts.offsets) > 0
    if missing:
        return column_of_texts(texts.to_list(), field, missing)
    if field.dtype.hasobject:
        whole = filled.all() or field.default == b""
        return texts if whole else column_of_texts(texts.to_list(), field, missing)
    if filled.all():
        found = digits_of(texts.data, texts.offsets, field.dtype)
        return column_of_texts(texts.to_list(), field, missing) if found is None else found
    if field.default is None:
        raise _invalid("a field is required but missing")
    found = np.full(len(texts), field.default, field.dtype)
    if filled.any():
        found[filled] = _column_of(texts.take(np.flatnonzero(filled)), field, missing)
    return found


def _check(rows: Sequence[Sequence[bytes]], fields: Sequence[Field], missing: bytes) -> None:
    """Say what is wrong with the first of the rows that is."""
    for row, parts in enumerate(rows):
        for number, (part, field) in enumerate(zip(parts, fields, strict=True)):
            value_of(part, field, missing, number, f" {row}")


def column_of_texts(texts: Sequence[bytes], field: Field, missing: bytes) -> np.ndarray[Any, Any]:
    """What the texts of a column spell.

    Raises
    ------
    InvalidArgumentError
        When one of them is wrong; :func:`value_of` says which.
    """
    if all(texts) and (not missing or missing not in texts):
        if field.dtype.hasobject:
            return np.fromiter(texts, object, len(texts))
        if (numbers := numbers_of(list(texts), field.dtype)) is not None:
            return numbers
    values = (value_of(text, field, missing, 0, "") for text in texts)
    return np.fromiter(values, field.dtype, len(texts))


def value_of(part: bytes, field: Field, missing: bytes, number: int, row: str) -> Any:
    """What the text of column `number` spells, of a row that messages name so.

    Raises
    ------
    InvalidArgumentError
        When it is not of the type of the column, or missing.
    """
    if not part or part == missing:
        if field.default is None:
            raise _invalid(f"Field {number} is required but missing in record{row}!")
        return field.default
    if field.dtype.hasobject:
        return part
    try:
        return number_of(part, field.dtype)
    except NotANumber:
        kinds = {"float32": "float", "float64": "double"}
        kind = kinds.get(field.dtype.name, field.dtype.name)
        text = part.decode("utf-8", "replace")
        raise _invalid(f"Field {number} in record{row} is not a valid {kind}: {text}") from None
