# SPDX-License-Identifier: Apache-2.0
"""Read CSV, and find types of columns that lose no digit of any value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .arrow_files import Part, same_columns

__all__ = ["csv", "keeps_digits"]

_BLOCK = 4 << 20  # bytes of text that are parsed in one call
_EXACT = 1 << 24  # every integer up to here is a float32
_INTEGER = r"^(0|-?[1-9]\d{0,18})$"  # integers that are printed unchanged
_FLOAT = (
    r"^[+-]?((0|[1-9]\d{0,17})(\.\d*)?|[1-9]\d*\.\d*|\.\d+)([eE][+-]?\d+)?$"
    r"|^-?([nN]a[nN]|inf|Infinity)$"
)
_KINDS = (
    ("^(true|false)$", pa.bool_()),
    (_INTEGER, pa.int64()),
    (_FLOAT, pa.float64()),
)


def csv(
    paths: Sequence[str], columns: list[str] | None, types: Mapping[str, Any]
) -> Iterator[Part]:
    """Yield the record batches of files of CSV; `types` has the known types of columns."""
    known = {**_types(paths, columns), **types}
    for path, row, batch in _batches(paths, columns, known):
        yield Part(path, row, batch, None)


def _types(paths: Sequence[str], columns: list[str] | None) -> dict[str, Any]:
    """Return the column types: bool, integer or float if lossless for all values, else text.

    Fractions are rounded to float32, but integers among them must keep their digits.
    """
    names = pyarrow.csv.ConvertOptions(include_columns=columns)
    with _open(paths[0], names) as file:
        found = file.schema.names
    left = {name: set(range(len(_KINDS))) for name in found}
    for _, _, batch in _batches(paths, columns, dict.fromkeys(found, pa.string())):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for number in tuple(left[name]):
                if not _all_are(column, *_KINDS[number]):
                    left[name].discard(number)
    empty = set(range(len(_KINDS)))
    return {
        name: pa.string() if not kinds or kinds == empty else _KINDS[min(kinds)][1]
        for name, kinds in left.items()
    }


def _all_are(column: Any, pattern: str, kind: Any) -> bool:
    """Return whether all values match the pattern and fit into the type."""
    if not pc.all(pc.match_substring_regex(column, pattern), min_count=0).as_py():
        return False
    try:
        values = column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return kind != pa.float64() or _are_float32(column, values.to_numpy(zero_copy_only=False))


def _are_float32(texts: Any, values: Any) -> bool:
    """Return whether float32 has the range for all values, and the digits for all integers."""
    with np.errstate(over="ignore"):
        beyond = np.isinf(values.astype(np.float32))
    named = pc.match_substring_regex(texts, "inf|Infinity").fill_null(False)
    if (beyond & ~named.to_numpy(zero_copy_only=False)).any():
        return False
    integers = pc.match_substring_regex(texts, r"^[+-]?\d+$").fill_null(False)
    large = integers.to_numpy(zero_copy_only=False) & (abs(values) > _EXACT)
    return all(keeps_digits(int(texts[int(place)].as_py())) for place in np.flatnonzero(large))


def keeps_digits(value: int) -> bool:
    """Return whether float32 stores an integer so that printing it restores its digits.

    Examples
    --------
    >>> keeps_digits(123456790), keeps_digits(123456789)
    (True, False)
    """
    return abs(value) <= _EXACT or int(float(str(np.float32(value)))) == value


def _batches(
    paths: Sequence[str], columns: list[str] | None, types: Mapping[str, Any]
) -> Iterator[tuple[str, int, Any]]:
    convert = pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=columns,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["true"],
        false_values=["false"],
    )
    first = None
    for path in paths:
        with _open(path, convert) as file:
            first = same_columns(path, file.schema.names, first)
            done = 0
            try:
                for batch in file:
                    yield path, done, batch
                    done += batch.num_rows
            except pa.ArrowInvalid as error:
                raise ValueError(f"{path!a}: after row {done}: {error}") from error


def _open(path: str, convert: Any) -> Any:
    try:
        return pyarrow.csv.open_csv(
            pa.input_stream(path, compression="detect"),
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True,
                # In a single column, an empty line is a null.
                ignore_empty_lines=_columns_of(path) != 1,
            ),
            convert_options=convert,
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path!a}: {error}") from error


def _columns_of(path: str) -> int:
    """Return the number of columns that the first line names; 0 for an empty file."""
    with pa.input_stream(path, compression="detect") as file:
        line, quoted, count = file.read(_BLOCK), False, 0
    for byte in line.lstrip(b"\r\n"):
        if byte == 0x22:
            quoted = not quoted
        elif not quoted and byte in b"\r\n":
            break
        count += byte == 0x2C and not quoted
    return count + 1 if line else 0
