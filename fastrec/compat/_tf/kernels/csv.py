# SPDX-License-Identifier: Apache-2.0
"""Parse numbers and lines of comma-separated values from text as TensorFlow does."""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastrec import Bytes, _tensor

from ..errors import InvalidArgumentError, invalid

_WHOLE = re.compile(rb"\s*([+-]?)(\d+)\s*\Z")
_MOST_DIGITS = 20  # in an integer
_REAL = re.compile(
    rb"\s*([+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan))\s*\Z",
    re.IGNORECASE,
)
_NAN = re.compile(rb"\s*([+-]?nan)\(\w*\)\s*\Z", re.IGNORECASE)
_HEX = re.compile(
    rb"\s*([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?\s*\Z",
    re.IGNORECASE,
)


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


class NotANumber(ValueError):
    """The text is not a number, or not a number of the type."""


def numbers_of(texts: Bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the numbers that texts spell, as a vector of type `dtype`.

    Raises
    ------
    NotANumber
        If a text is not a number of the type. The first such text determines the error.
    """
    numbers, left = _tensor.read_numbers(texts.data, texts.offsets, dtype)
    for place in left.tolist():
        begin, end = texts.offsets[place : place + 2]
        numbers[place] = number_of(texts.data[begin:end].tobytes(), dtype)
    return numbers


def number_of(text: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the number that `text` spells, of type `dtype`.

    Raises
    ------
    NotANumber
        If the text is not a number of the type.
    """
    if dtype.kind in "iu":
        found = _WHOLE.match(text)
        least, most = _limits(dtype)
        if not found or (found[1] == b"-" and not least):
            raise NotANumber(text)
        digits = found[2].lstrip(b"0") or b"0"
        if len(digits) > _MOST_DIGITS or not least <= (number := int(found[1] + digits)) <= most:
            raise NotANumber(text)
        return dtype.type(number)
    if found := _REAL.match(text):
        digits = found[1].decode()
        return _rounded(float(digits), lambda: decimal.Decimal(digits), dtype)
    if found := _NAN.match(text):
        return dtype.type(float(found[1]))
    if found := _HEX.match(text):
        return _of_hex(found, dtype)
    raise NotANumber(text)


def _rounded(known: float, exact: Callable[[], Any], dtype: np.dtype[Any]) -> Any:
    """Round an exact number to a type; `known` is the nearest float64 to the exact number."""
    if dtype.itemsize == 8 or not math.isfinite(known):
        return dtype.type(known)
    with np.errstate(over="ignore", under="ignore"):
        number = dtype.type(known)
        higher = known > _edge(number)
        other = np.nextafter(number, dtype.type(math.inf if higher else -math.inf))
    if known != (_edge(number) + _edge(other)) / 2:
        return number
    more = exact()  # at the midpoint, the digits that `known` lost decide
    return other if more != known and (more > known) == higher else number


def _edge(number: Any) -> float:
    return float(number) if np.isfinite(number) else math.copysign(2.0**128, number)


def _of_hex(found: re.Match[bytes], dtype: np.dtype[Any]) -> Any:
    sign, whole, part, power = found.groups(b"")

    def exact() -> Fraction:
        size = Fraction(2) ** (int(power or 0) - 4 * len(part)) * int(whole + part, 16)
        return -size if sign == b"-" else size

    try:
        known = float.fromhex(found[0].decode())
    except OverflowError:
        known = -math.inf if sign == b"-" else math.inf
    return _rounded(known, exact, dtype)


_SPECIAL = re.compile(rb'["\n\r]')  # such lines need the full parser
_ENDS = b'"\n\r'


class Field(NamedTuple):
    """The type of a column, and the default for empty fields; None if a value is required."""

    dtype: np.dtype[Any]
    default: Any


def fields_of(line: bytes, delimiter: bytes, quoted: bool) -> list[bytes]:
    """Return the fields of one line.

    Raises
    ------
    InvalidArgumentError
        If quotes are unbalanced or misplaced.
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
                raise invalid("Unquoted fields cannot have quotes/CRLFs inside")
            at = stop + 1
        fields.append(field)
    return fields


def _quoted(line: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    parts = []
    while True:
        stop = line.find(b'"', at)
        if stop < 0:
            raise invalid("Quoted field has to end with quote followed by delim or end")
        parts.append(line[at:stop])
        after = line[stop + 1 : stop + 2]
        if after == b'"':
            parts.append(b'"')
            at = stop + 2
        elif after in (b"", delimiter):
            return b"".join(parts), stop + 2
        else:
            raise invalid("Quote inside a string has to be escaped by another quote")


def read_lines(
    lines: Bytes,
    fields: Sequence[Field],
    delimiter: bytes,
    quoted: bool,
    missing: bytes,
    columns: Sequence[int] | None,
) -> list[Any]:
    """Return an array or a Bytes for each of `fields`, from all columns or from `columns`.

    Raises
    ------
    InvalidArgumentError
        If a line has a different number of fields, or a field has a different type.
    """
    chosen = range(len(fields)) if columns is None else columns
    count = len(fields) if columns is None else None
    plain = _plain_texts(lines, delimiter, quoted, chosen, count)
    if plain is not None:
        found, width = plain
        try:
            return [
                column_of(found, n, width, f, missing) for n, f in zip(chosen, fields, strict=True)
            ]
        except InvalidArgumentError:
            pass  # parsing line by line finds the error
    rows: list[list[bytes]] = []
    for row, line in enumerate(lines):
        parts = fields_of(line, delimiter, quoted)
        if columns is not None:
            parts = [parts[c] for c in columns if c < len(parts)]
        if len(parts) != len(fields):
            _check(rows, fields, missing)  # an error in an earlier row takes precedence
            raise invalid(f"Expect {len(fields)} fields but have {len(parts)} in record {row}")
        rows.append(parts)
    texts = list(zip(*rows, strict=True)) or [()] * len(fields)
    try:
        return [column_of_texts(t, f, missing) for t, f in zip(texts, fields, strict=True)]
    except InvalidArgumentError:
        _check(rows, fields, missing)
        raise


def _plain_texts(
    lines: Bytes, delimiter: bytes, quoted: bool, columns: Sequence[int], count: int | None
) -> tuple[Bytes, int] | None:
    """Return the fields of all lines in one sequence, and the number of fields in each line.

    Return None if lines need the full parser, or if their number of columns differs.
    """
    if not len(lines) or delimiter in _ENDS:
        return None
    data, places = lines.data, lines.offsets
    cut, offsets, splits, used = _tensor.cut_csv(data, places, delimiter[0], quoted, True)
    if len(splits) <= len(lines) or used < places[-1] - places[0]:
        return None
    width = int(splits[1])
    if (np.diff(splits) != width).any() or max(columns, default=0) >= width:
        return None
    if count is not None and width != count:
        return None
    return Bytes(cut, offsets), width


def column_of(texts: Bytes, first: int, step: int, field: Field, missing: bytes) -> Any:
    """Return the values of every `step`-th text, starting with text `first`.

    Raises
    ------
    InvalidArgumentError
        If a text is invalid; :func:`value_of` creates the message.
    """
    if field.dtype.hasobject:
        found = Bytes(*_tensor.every_string(texts.data, texts.offsets, first, step))
        return found if not missing and field.default == b"" else _filled(found, field, missing)
    numbers, left = _tensor.read_numbers(texts.data, texts.offsets, field.dtype, first, step)
    if missing and (spelled := _number_or_none(missing, field.dtype)) is not None:
        same = np.isnan(numbers) if spelled != spelled else numbers == spelled
        same[left] = False
        places = _equal_to(missing, texts, first, step, np.flatnonzero(same))
        if places.size:
            numbers[places] = value_of(missing, field, missing, 0, "")
    if not left.size:
        return numbers
    begins, ends = (texts.offsets[first + n :: step][left] for n in range(2))
    nothing = begins == ends
    if nothing.any():
        numbers[left[nothing]] = value_of(b"", field, missing, 0, "")
    for n in np.flatnonzero(~nothing).tolist():
        text = texts.data[begins[n] : ends[n]].tobytes()
        numbers[left[n]] = value_of(text, field, missing, 0, "")
    return numbers


def _filled(texts: Bytes, field: Field, missing: bytes) -> Bytes:
    """Replace missing texts by the default."""
    sizes = np.diff(texts.offsets)
    left = np.flatnonzero((sizes == 0) | (sizes == len(missing)))
    left = left[[not text or text == missing for text in texts.take(left)]]
    if not left.size:
        return texts
    default = value_of(b"", field, missing, 0, "")
    order = np.arange(len(texts))
    order[left] = len(texts)
    whole = Bytes(
        np.append(texts.data, np.frombuffer(default, np.uint8)), np.append(texts.offsets, 0)
    )
    whole.offsets[-1] = len(whole.data)
    return whole.take(order)


def _equal_to(text: bytes, texts: Bytes, first: int, step: int, places: Any) -> Any:
    """Return the entries of `places` whose text equals `text`.

    Entry n refers to text number `first` + n * `step`.
    """
    begins, ends = (texts.offsets[first + n :: step][places] for n in range(2))
    fitting = ends - begins == len(text)
    letters = texts.data[begins[fitting, np.newaxis] + np.arange(len(text))]
    return places[fitting][(letters == np.frombuffer(text, np.uint8)).all(1)]


def _number_or_none(text: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the number that a text spells, or None."""
    try:
        return dtype.type(number_of(text, dtype))
    except NotANumber:
        return None


def _check(rows: Sequence[Sequence[bytes]], fields: Sequence[Field], missing: bytes) -> None:
    """Raise the error of the first invalid row, if there is one."""
    for row, parts in enumerate(rows):
        for number, (part, field) in enumerate(zip(parts, fields, strict=True)):
            value_of(part, field, missing, number, f" {row}")


def column_of_texts(texts: Sequence[bytes], field: Field, missing: bytes) -> Any:
    """Return the values of the texts of a column.

    Raises
    ------
    InvalidArgumentError
        If a text is invalid; :func:`value_of` creates the message.
    """
    return column_of(Bytes.from_list(texts), 0, 1, field, missing)


def value_of(part: bytes, field: Field, missing: bytes, number: int, row: str) -> Any:
    """Return the value of a text in column `number`; `row` identifies the row in messages.

    Raises
    ------
    InvalidArgumentError
        If the text does not have the type of the column, or if a required value is missing.
    """
    if not part or part == missing:
        if field.default is None:
            raise invalid(f"Field {number} is required but missing in record{row}!")
        return field.default
    if field.dtype.hasobject:
        return part
    try:
        return number_of(part, field.dtype)
    except NotANumber:
        kinds = {"float32": "float", "float64": "double"}
        kind = kinds.get(field.dtype.name, field.dtype.name)
        text = part.decode("utf-8", "replace")
        raise invalid(f"Field {number} in record{row} is not a valid {kind}: {text}") from None
