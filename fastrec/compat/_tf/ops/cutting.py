# SPDX-License-Identifier: Apache-2.0
"""Split strings, and insert values into them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import _tensor

from ..columns import flat_values
from ..dtypes import string
from ..errors import invalid
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op

SPACE = b" \t\n\v\f\r"
_WORTH = 16  # the minimum number of strings for native code


class Cut(NamedTuple):
    """How strings are split.

    Attributes
    ----------
    any_of : bool
        Whether each character of the separator splits, rather than the separator as a whole.
    skip_empty : bool
        Whether empty parts are dropped.
    most : int
        The maximum number of splits; unlimited if negative.
    """

    any_of: bool = False
    skip_empty: bool = False
    most: int = -1

    def one(self, text: bytes, sep: bytes) -> list[bytes]:
        """Return the parts of one string, as TensorFlow splits it."""
        if not self.any_of:
            return _at_whole(text, sep, self.most)
        if not sep:
            return [text[i : i + 1] for i in range(len(text))]
        found = _any_of(sep).split(text) if text else []
        return [part for part in found if part] if self.skip_empty else found

    def many(self, texts: Any, sep: bytes) -> tuple[Any, Array]:
        """Return the parts of all strings of an array or a Bytes, and the row splits."""
        marks = sep if self.any_of or len(sep) == 1 else b"" if sep else SPACE
        few = not isinstance(texts, fastrec.Bytes) and texts.size < _WORTH
        if few or not marks or self.most >= 0:
            return in_rows([self.one(text, sep) for text in as_array(texts).reshape(-1).tolist()])
        if not isinstance(texts, fastrec.Bytes):
            texts = fastrec.Bytes.from_list(texts.reshape(-1).tolist())
        how = marks, self.skip_empty or not sep, self.any_of
        data, offsets, splits = _tensor.cut_strings(texts.data, texts.offsets, *how)
        return fastrec.Bytes(data, offsets), splits


@functools.lru_cache
def _any_of(marks: bytes) -> re.Pattern[bytes]:
    return re.compile(b"[" + re.escape(marks) + b"]")


def _at_whole(text: bytes, sep: bytes, most: int) -> list[bytes]:
    """Split at a separator; after `most` splits, the rest is one more part, even if it is empty."""
    if most == 0:
        return [text]
    if sep:
        return text.split(sep, most)
    found = text.lstrip(SPACE).split(None, most)
    return [*found, b""] if len(found) == most else found


def in_rows(rows: Sequence[Sequence[bytes]]) -> tuple[Array, Array]:
    """Return the parts of all strings and the row splits."""
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [part for row in rows for part in row]
    return flat, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def _split(values: Any, mark: Array, *, cut: Cut) -> Any:
    if len(values.shape) != 1:
        raise invalid(f"input must be a vector, got shape: {in_messages(values.shape)}")
    if mark.ndim:
        raise invalid(f"delimiter must be a scalar, got shape: {in_messages(mark.shape)}")
    return cut.many(values, mark.item())


def _split_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    count = specs[0].shape.num_elements()
    return [
        TensorSpec([None], string),
        TensorSpec([None if count is None else count + 1], "int64"),
    ]


def _vectors(column: Any) -> tuple[Any, Array] | None:
    """Return the strings of a column of vectors and the row splits, or None for other columns."""
    if isinstance(column, fastrec.Ragged):
        return flat_values(column), column.row_splits - column.row_splits[0]
    if not isinstance(column, (np.ndarray, fastrec.Bytes)) or len(column.shape) != 2:
        return None
    count, width = column.shape
    splits = np.arange(count + 1) * width
    if isinstance(column, np.ndarray):
        return column.reshape(-1), splits
    return fastrec.Bytes(column.data, column.offsets), splits


def _split_block(_: int, values: Block, mark: Block, *, cut: Cut) -> Any:
    found = None if mark.many or not values.many else _vectors(values.value)
    if found is None or not isinstance(found[0], (np.ndarray, fastrec.Bytes)):
        return None
    texts, outer = found
    flat, splits = cut.many(texts, as_array(mark.value).item())
    return fastrec.Ragged(flat, splits[outer]), _own(splits, outer)


def _own(splits: Array, outer: Array) -> Any:
    """Return the row splits of each element, relative to its first row."""
    lengths = np.diff(outer) + 1
    if (lengths == lengths[0]).all():
        rows = splits[outer[:-1, np.newaxis] + np.arange(lengths[0])]
        return rows - rows[:, :1]
    bounds = outer + np.arange(len(outer))
    where = np.arange(bounds[-1]) - np.repeat(np.arange(len(lengths)), lengths)
    return fastrec.Ragged(splits[where] - np.repeat(splits[outer[:-1]], lengths), bounds)


# Returns the parts of several strings in one sequence, and the row splits.
SPLIT = Op("StringSplit", _split, _split_spec, _split_block)


def _parts_of_one(text: Any, *, sep: bytes, cut: Cut) -> Array:
    found: Array = in_rows([cut.one(as_array(text).item(), sep)])[0]
    return found


def _parts_of_each(_: int, texts: Block, *, sep: bytes, cut: Cut) -> Any:
    column = texts.value
    if not texts.many or not isinstance(column, (np.ndarray, fastrec.Bytes)):
        return None
    return fastrec.Ragged(*cut.many(column, sep))


# Returns the parts of one string.
SPLIT_ONE = Op(
    "StringSplitV2", _parts_of_one, lambda *_, **__: [TensorSpec([None], string)], _parts_of_each
)

# The formats for a number, by its size in bytes. The second one is exact, and is used if the first
# one has too few digits to restore the number.
_DIGITS = {4: ("%.6g", "%.9g"), 8: ("%.15g", "%.17g")}
_ESCAPES = {ord(a): f"\\{b}".encode() for a, b in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)}


def escaped(text: bytes) -> bytes:
    """Escape a string as TensorFlow displays it, without quotes."""
    found = [
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte < 0x20 or byte == 0x7F else bytes([byte]))
        for byte in text
    ]
    return b"".join(found)


def _printer(array: Array) -> Callable[[Any], bytes]:
    """Return a function that formats an element."""
    kind = array.dtype.kind
    if kind == "O":
        return lambda value: b'"%s"' % escaped(value)
    if kind in "iub":
        return lambda value: b"%d" % value
    if kind == "c":
        return lambda _: b"?"
    # Shorter floats are converted to float32.
    number = np.float64 if array.dtype == np.float64 else np.float32
    short, long = _DIGITS[number().itemsize]

    def text(value: Any) -> bytes:
        exact = number(value)
        found = short % exact
        return (found if number(found) == exact or exact != exact else long % exact).encode()

    return text


def _summary(array: Array, most: int) -> bytes:
    """Format an array; at most `most` elements at each end of an axis are shown."""
    limit = array.size if most < 0 else min(most, array.size)
    text, rank = _printer(array), array.ndim
    if not rank:
        return text(array[()]) if limit else b"..."

    def shown(part: Array, depth: int) -> bytes:
        if depth == rank:
            return text(part[()] if isinstance(part, np.ndarray) else part)
        count = len(part)
        places = [*range(min(limit, count)), *range(max(limit, count - limit), count)]
        items = [shown(part[place], depth + 1) for place in places]
        if count > 2 * limit:
            items.insert(limit, b"...")
            if not limit:
                items.insert(0, b"")
        space = b" " if depth == rank - 1 else b"\n" * (rank - depth - 1) + b" " * (depth + 1)
        return b"[%s]" % space.join(items)

    return shown(array, 0)


def _formatted(*values: Any, template: bytes, placeholder: bytes, summarize: int) -> Array:
    first, *others = template.split(placeholder)
    texts = [_summary(as_array(value), summarize) for value in values]
    parts = [part for pair in zip(texts, others, strict=True) for part in pair]
    return np.array(b"".join([first, *parts]), object)


FORMAT = Op("StringFormat", _formatted, lambda *_, **__: [TensorSpec([], "string")])
