# SPDX-License-Identifier: Apache-2.0
"""Convert Arrow arrays to columns through Arrow's C data interface, without pyarrow.

The interface passes bare pointers, and the producer is responsible for the sizes. The checks here
concern what a valid array may contain, such as nulls and types that no list of an Example stores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes, Ragged
from .to_column import Nullable

__all__ = ["import_arrow"]

_NUMBERS = {
    "c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32,
    "l": np.int64, "L": np.uint64, "e": np.float16, "f": np.float32, "g": np.float64,
}  # fmt: skip
_STRINGS = {"z": np.int32, "u": np.int32, "Z": np.int64, "U": np.int64}
_VIEWS = ("vz", "vu")
_VIEW = np.dtype([("size", "i4"), ("prefix", "S4"), ("buffer", "i4"), ("offset", "i4")])
_INLINE = 12  # bytes that a view stores inline
_LISTS = {"+l": np.int32, "+L": np.int64}


def import_arrow(key: Any, value: Any) -> Any:
    """Return an ndarray, a Bytes, a Ragged, or one of these with nulls, over Arrow's memory.

    Raises
    ------
    TypeError
        If no list of an Example stores the type.
    """
    if hasattr(value, "__arrow_c_array__"):
        return _top(key, _core.arrow_array(value))
    chunks = [_top(key, part) for part in _core.arrow_stream(value)]
    return _joined(chunks) if chunks else np.zeros(0, np.int64)


def _top(key: Any, part: _core.ArrowPart) -> Any:
    present = _present(part)
    words = part.dictionary()
    if words is None:
        column = _column(key, part)
    else:
        column, present = _looked_up(key, part, words, present)
    return column if present is None else Nullable(column, present)


def _present(part: _core.ArrowPart) -> NDArray[np.uint8] | None:
    """Return one byte per row, 0 for a null; None if there are no nulls."""
    if part.format == "n":
        return np.zeros(part.length, np.uint8)
    if part.nulls == 0:
        return None
    bits = _bits(part, 0)
    return None if bits is None or bits.all() else bits


def _bits(part: _core.ArrowPart, number: int) -> NDArray[np.uint8] | None:
    end = part.offset + part.length
    block = part.buffer(number, (end + 7) // 8)
    if block is None:
        return None
    bits = np.unpackbits(np.frombuffer(block, np.uint8), count=end, bitorder="little")
    return bits[part.offset :]


def _column(key: Any, part: _core.ArrowPart) -> Any:
    kind = part.format
    if (words := part.dictionary()) is not None:
        column, present = _looked_up(key, part, words, None)
        if present is not None:
            raise _refuse(key, "a list with nulls inside; fill them first")
        return column
    if kind == "n":
        return np.zeros(part.length, np.int64)
    if kind in _NUMBERS:
        return _numbers(part, np.dtype(_NUMBERS[kind]))
    if kind == "b":
        bits = _bits(part, 1)
        return np.zeros(0, np.bool_) if bits is None else bits.astype(np.bool_)
    if kind in _STRINGS:
        offsets = _offsets(part, _STRINGS[kind])
        block = part.buffer(2, int(offsets[-1]))
        data = np.zeros(0, np.uint8) if block is None else np.frombuffer(block, np.uint8)
        return Bytes(data, offsets)
    if kind in _VIEWS:
        return _viewed(key, part)
    if kind in _LISTS:
        offsets = _offsets(part, _LISTS[kind])
        return Ragged(_values(key, part, offsets), offsets)
    if kind.startswith("+w:"):
        return _fixed_lists(key, part, int(kind[3:]))
    if kind.startswith("w:"):
        size = int(kind[2:])
        offsets = np.arange(part.offset, part.offset + part.length + 1, dtype=np.int64) * size
        block = part.buffer(1, int(offsets[-1]))
        data = np.zeros(0, np.uint8) if block is None else np.frombuffer(block, np.uint8)
        return Bytes(data, offsets)
    if kind.startswith("t"):
        raise _refuse(key, f"of times (format {kind!a}); cast it to int64, which settles the unit")
    raise _refuse(key, f"of Arrow format {kind!a}; cast it to integers, floats, binary or lists")


def _looked_up(
    key: Any, part: _core.ArrowPart, words: _core.ArrowPart, present: NDArray[np.uint8] | None
) -> tuple[Any, NDArray[np.uint8] | None]:
    """Return the dictionary's values for the indices, and which rows are present."""
    if words.dictionary() is not None or words.format in _LISTS:
        raise _refuse(key, "a dictionary of lists or of dictionaries; decode it first")
    numbers = _numbers(part, np.dtype(_NUMBERS[part.format]))
    meant = numbers if present is None else numbers[present == 1]
    if meant.size and not 0 <= int(meant.min()) <= int(meant.max()) < words.length:
        raise _refuse(key, "numbers beyond its dictionary")
    values, known = _column(key, words), _present(words)
    if isinstance(values, Bytes) and len(values.shape) > 1:
        raise _refuse(key, "a dictionary of lists or of dictionaries; decode it first")
    if not words.length:  # an empty dictionary means that no row has a value
        if isinstance(values, Bytes):
            return Bytes(values.data, np.zeros(part.length + 1, np.int64)), present
        return np.zeros((part.length, *values.shape[1:]), values.dtype), present
    if present is not None:
        numbers = np.where(present, numbers, 0)
    if known is not None:
        present = known[numbers] if present is None else known[numbers] & present
    taken = values.take(numbers.astype(np.int64)) if isinstance(values, Bytes) else values[numbers]
    return taken, present


def _viewed(key: Any, part: _core.ArrowPart) -> Bytes:
    """Return strings that are stored inline in their views or in one of several buffers."""
    views = np.zeros(0, _VIEW)
    block = part.buffer(1, (part.offset + part.length) * _VIEW.itemsize) if part.length else None
    if block is not None:
        views = np.frombuffer(block, _VIEW)[part.offset :]
    present = _present(part)
    lengths = views["size"].astype(np.int64)
    if present is not None:
        lengths[present == 0] = 0  # the content of a null is undefined
    bodies = _bodies(part)
    sizes = np.array([len(body) for body in bodies], np.int64)
    far = lengths > _INLINE
    which, offsets = views["buffer"][far], views["offset"][far].astype(np.int64)
    inside = (lengths >= 0).all() and ((which >= 0) & (which < len(bodies)) & (offsets >= 0)).all()
    if not inside or (offsets > sizes[which] - lengths[far]).any():
        raise _refuse(key, "of strings outside its buffers")
    pool = [views.view(np.uint8), *bodies]
    begins = np.arange(part.length) * _VIEW.itemsize + 4
    begins[far] = (views.nbytes + np.cumsum(sizes) - sizes)[which] + offsets
    return _ranges(np.concatenate(pool), begins, lengths)


def _bodies(part: _core.ArrowPart) -> list[NDArray[np.uint8]]:
    """Return the buffers that views refer to. The last one contains their sizes."""
    block = part.buffer(part.buffers - 1, 8 * (part.buffers - 3)) if part.buffers > 3 else None
    if block is None:
        return []
    bodies = [part.buffer(2 + i, size) for i, size in enumerate(np.frombuffer(block, "i8"))]
    return [np.frombuffer(b"" if body is None else body, np.uint8) for body in bodies]


def _ranges(pool: NDArray[np.uint8], begins: Any, lengths: Any) -> Bytes:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    where = np.repeat(begins - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    return Bytes(pool[where], offsets)


def _refuse(key: Any, what: str) -> TypeError:
    return TypeError(f"feature {key!a}: the Arrow array is {what}")


def _numbers(part: _core.ArrowPart, dtype: np.dtype[Any]) -> NDArray[Any]:
    block = part.buffer(1, (part.offset + part.length) * dtype.itemsize)
    if block is None:
        return np.zeros(part.length, dtype)
    return np.frombuffer(block, dtype)[part.offset :]


def _offsets(part: _core.ArrowPart, dtype: Any) -> NDArray[np.int64]:
    end = part.offset + part.length + 1
    block = part.buffer(1, end * np.dtype(dtype).itemsize) if part.length else None
    if block is None:
        return np.zeros(part.length + 1, np.int64)
    return np.frombuffer(block, dtype)[part.offset :].astype(np.int64, copy=False)


def _values(key: Any, part: _core.ArrowPart, offsets: NDArray[np.int64]) -> Any:
    """Return the elements of the lists between `offsets`, which must not be null."""
    child = part.child()
    if child is None:
        raise _refuse(key, "a list without values")
    if (there := _present(child)) is not None:
        nulls = np.concatenate([[0], np.cumsum(there == 0)])[offsets]
        present = _present(part)
        if (np.diff(nulls) if present is None else np.diff(nulls) * present).any():
            raise _refuse(key, "a list with nulls inside; fill them first")
    return _column(key, child)


def _fixed_lists(key: Any, part: _core.ArrowPart, count: int) -> Any:
    offsets = np.arange(part.offset, part.offset + part.length + 1, dtype=np.int64) * count
    values, begin, end = _values(key, part, offsets), int(offsets[0]), int(offsets[-1])
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values[begin:end].reshape(part.length, count)
    if isinstance(values, Bytes):
        return Bytes(values.data, values.offsets[begin : end + 1], (part.length, count))
    raise _refuse(key, "of lists of lists; store the inner lengths as a feature of their own")


def _joined(chunks: list[Any]) -> Any:
    if len(chunks) == 1:
        return chunks[0]
    if any(isinstance(chunk, Nullable) for chunk in chunks):
        columns = [c.column if isinstance(c, Nullable) else c for c in chunks]
        present = [
            c.present if isinstance(c, Nullable) else np.ones(len(c), np.uint8) for c in chunks
        ]
        return Nullable(_joined(columns), np.concatenate(present))
    if isinstance(chunks[0], Bytes):
        return _joined_bytes(chunks)
    if isinstance(chunks[0], Ragged):
        flat = [c.values[c.row_splits[0] : c.row_splits[-1]] for c in chunks]
        splits = np.zeros(sum(map(len, chunks)) + 1, np.int64)
        np.cumsum(np.concatenate([np.diff(c.row_splits) for c in chunks]), out=splits[1:])
        return Ragged(_joined(flat), splits)
    return np.concatenate(chunks)


def _joined_bytes(chunks: list[Bytes]) -> Bytes:
    data = np.concatenate([c.data[c.offsets[0] : c.offsets[-1]] for c in chunks])
    offsets = np.zeros(sum(len(c.offsets) - 1 for c in chunks) + 1, np.int64)
    np.cumsum(np.concatenate([np.diff(c.offsets) for c in chunks]), out=offsets[1:])
    return Bytes(data, offsets, (sum(map(len, chunks)), *chunks[0].shape[1:]))
