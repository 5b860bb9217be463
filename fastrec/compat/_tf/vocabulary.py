# SPDX-License-Identifier: Apache-2.0
"""Tables that do not change: keys and values, and the lines of files that have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import as_dtype
from .kernels.fingerprint import fingerprint64
from .ops import Array
from .tensor import as_array

__all__ = ["LINE_NUMBER", "WHOLE_LINE", "column_of", "lines_of", "numbered", "values_of"]

WHOLE_LINE, LINE_NUMBER = -2, -1


def lines_of(path: str, vocab_size: int | None) -> list[bytes]:
    """The first lines of a file."""
    with open(path, "rb") as file:
        return file.read().splitlines()[:vocab_size]


def column_of(lines: list[bytes], index: int, dtype: Any, delimiter: str = "\t") -> Array:
    """One of the columns of lines: the whole of each, its number, or a field."""
    kind = as_dtype(dtype)
    if index == LINE_NUMBER:
        return np.arange(len(lines), dtype=kind.numpy)
    found = (
        lines if index == WHOLE_LINE else [line.split(delimiter.encode())[index] for line in lines]
    )
    if kind.name != "string":
        return np.array(found).astype(kind.numpy)
    texts = np.empty(len(found), object)
    texts[:] = found
    return texts


def values_of(table: dict[Any, Any], keys: Any, default: Any, dtype: np.dtype[Any]) -> Array:
    """The value of each key; `default` for what is no key."""
    array = as_array(keys)
    out = np.empty(array.size, dtype)
    flat = [array[()]] if not array.ndim else array.reshape(-1).tolist()
    out[:] = [table.get(key, default) for key in flat]
    return out.reshape(array.shape)


def numbered(table: dict[Any, Any], keys: Any, buckets: int) -> Array:
    """The number of each word; others share numbers by their fingerprints."""
    texts = as_array(keys)
    numbers = values_of(table, texts, -1, np.dtype(np.int64))
    flat, words = numbers.reshape(-1), texts.reshape(-1).tolist()
    for place in np.flatnonzero(flat < 0).tolist():
        word = words[place]
        text = word if isinstance(word, bytes) else str(word).encode()
        flat[place] = len(table) + fingerprint64(text) % buckets
    return numbers
