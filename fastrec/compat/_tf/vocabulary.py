# SPDX-License-Identifier: Apache-2.0
"""Immutable lookup tables: keys and values, and the files that contain them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrec import _tensor

from .dtypes import as_dtype
from .ops import Array, invalid
from .tensor import as_array

__all__ = ["TextFileIndex", "column_of", "lines_of", "numbered", "values_of"]


class TextFileIndex:
    """Selects a column of a text file: the whole line, or its number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def lines_of(path: str, vocab_size: int | None) -> list[bytes]:
    """Return the first lines of a file."""
    with open(path, "rb") as file:
        return file.read().splitlines()[:vocab_size]


def column_of(lines: list[bytes], index: int, dtype: Any, delimiter: str = "\t") -> Array:
    """Return one column of lines: the whole line, its number, or a field.

    Raises
    ------
    InvalidArgumentError
        If a line lacks the field, or the field is not a number.
    """
    kind = as_dtype(dtype)
    if index == TextFileIndex.LINE_NUMBER:
        return np.arange(len(lines), dtype=kind.numpy)
    found = lines
    if index != TextFileIndex.WHOLE_LINE:
        found = [_field(number, line, index, delimiter) for number, line in enumerate(lines)]
    if kind.name != "string":
        try:
            return np.array(found).astype(kind.numpy)
        except ValueError as error:
            raise invalid(f"Field {index} is not of type {kind.name}: {error}") from None
    texts = np.empty(len(found), object)
    texts[:] = found
    return texts


def _field(number: int, line: bytes, index: int, delimiter: str) -> bytes:
    fields = line.split(delimiter.encode())
    if index >= len(fields):
        raise invalid(
            f"Invalid number of columns in line {number}: expected {index + 1}, got {len(fields)}"
        )
    return fields[index]


def values_of(table: dict[Any, Any], keys: Any, default: Any, dtype: np.dtype[Any]) -> Array:
    """Return the value of each key; `default` for unknown keys."""
    array = as_array(keys)
    out = np.empty(array.size, dtype)
    flat = [array[()]] if not array.ndim else array.reshape(-1).tolist()
    out[:] = [table.get(key, default) for key in flat]
    return out.reshape(array.shape)


def numbered(table: dict[Any, Any], keys: Any, buckets: int) -> Array:
    """Return the number of each word; unknown words share numbers by their fingerprints."""
    texts = as_array(keys)
    numbers = values_of(table, texts, -1, np.dtype(np.int64))
    flat, words = numbers.reshape(-1), texts.reshape(-1).tolist()
    others = np.flatnonzero(flat < 0)
    if others.size:
        given = [words[place] for place in others.tolist()]
        spelled = [word if isinstance(word, bytes) else str(word).encode() for word in given]
        flat[others] = _tensor.hashes("farm", spelled) % np.uint64(buckets) + np.uint64(len(table))
    return numbers
