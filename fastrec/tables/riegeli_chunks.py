# SPDX-License-Identifier: Apache-2.0
"""Decode and encode the chunks of Riegeli files, each a number of records, often compressed.

A simple chunk holds the sizes of its records and their bytes, in two buffers. A transposed chunk is
described in module `riegeli_transposed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import CorruptRecordError
from ..records import zstd
from ..records.inflate import expanded_zstd

__all__ = [
    "METADATA",
    "PADDING",
    "SIGNATURE",
    "SIMPLE",
    "TRANSPOSED",
    "Compressor",
    "encode_simple",
    "expand",
    "first_simple_record",
    "number",
    "put_number",
    "simple_records",
]

SIGNATURE, METADATA, PADDING, SIMPLE, TRANSPOSED = b"smprt"
"""Types of chunks; records are in the last two."""

_NONE, _BROTLI, _ZSTD, _SNAPPY = b"\0bzs"
Bytes = bytes | memoryview
_PLAIN_HEAD = 9  # bytes before the content of a zstd frame that is not compressed
_SHORT = 32  # bytes that zstd does not compress well enough to be called
_MOST_DIGITS = 10  # bytes of a varint
_REMEDY = "requires cramjam: pip install 'fastrec-io[riegeli]'"


def number(data: Bytes, at: int, what: str) -> tuple[int, int]:
    """Return the varint at a position, and the position after it.

    Raises
    ------
    CorruptRecordError
        If `what`, which the number is, does not end within ten bytes or within the data.
    """
    if at < len(data) and data[at] < 0x80:  # as most numbers
        return data[at], at + 1
    value = 0
    for shift, byte in enumerate(data[at : at + _MOST_DIGITS]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + shift + 1
    raise CorruptRecordError(f"{what} is not a whole number")


def put_number(value: int) -> bytes:
    """Return a number as a varint."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _numbers(data: Bytes, count: int) -> Any:
    """Return `count` varints, which are all data, as 64-bit numbers."""
    digits = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(digits < 0x80) + 1
    if len(ends) != count or (ends[-1] if count else 0) != len(digits):
        raise CorruptRecordError(f"{len(ends)} of {count} sizes of records are in it")
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if count else ends
    sizes = ends - starts
    longest = int(sizes.max(initial=0))
    if longest > _MOST_DIGITS:
        raise CorruptRecordError(f"the size of a record has {longest} bytes")
    values = np.zeros(count, np.uint64)
    for place in range(longest):
        has = sizes > place
        digit = (digits[starts[has] + place] & 0x7F).astype(np.uint64)
        values[has] |= digit << np.uint64(7 * place)
    return values


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError:
        message = f"a chunk compressed with brotli or snappy {_REMEDY}"
        raise ModuleNotFoundError(message, name="cramjam") from None
    return cramjam


def _plain_head(size: int) -> bytes:
    """Return what precedes `size` bytes in a zstd frame of one block that is not compressed."""
    return b"%b\x20%c%b" % (zstd.MAGIC, size, (size << 3 | 1).to_bytes(3, "little"))


def expand(kind: int, data: Bytes, most: int) -> Bytes:
    """Return the content of a compressed buffer of at most `most` bytes.

    `kind` is the compression that the chunk states. A compressed buffer begins with its size.

    Raises
    ------
    CorruptRecordError, LimitExceededError
    ModuleNotFoundError
        If the package for the compression is not installed; the message names it.
    """
    if kind == _NONE:
        if len(data) > most:
            raise CorruptRecordError(f"a buffer has {len(data)} bytes, more than {most}")
        return data
    size, at = number(data, 0, "the size of a buffer")
    if size > most:
        raise CorruptRecordError(f"a buffer states {size} bytes, more than {most}")
    packed = data[at:]
    content: Bytes
    if kind == _ZSTD:
        head = len(packed) - size
        is_plain = head == _PLAIN_HEAD and size <= 0xFF and packed[:head] == _plain_head(size)
        content = packed[head:] if is_plain else expanded_zstd(packed, size)
    elif kind in (_BROTLI, _SNAPPY):
        library = _cramjam()
        way = library.brotli.decompress_into
        if kind == _SNAPPY:
            way = library.snappy.decompress_raw_into
        room = np.empty(size, np.uint8)  # no memory is touched before there is output
        try:
            content = room[: way(packed, room)].data
        except library.DecompressionError as error:
            raise CorruptRecordError(f"a buffer does not decompress: {error}") from None
    else:
        raise CorruptRecordError(f"{bytes([kind])!a} is no known compression")
    if len(content) != size:
        raise CorruptRecordError(f"a buffer states {size} bytes and has {len(content)}")
    return content


def _simple_buffers(data: Bytes, count: int, size: int) -> tuple[Bytes, Bytes]:
    """Return the sizes of the records of a simple chunk, and the bytes of all of them."""
    if not data:
        raise CorruptRecordError("it is empty")
    length, at = number(data, 1, "the size of the sizes")
    if length > len(data) - at:
        raise CorruptRecordError(f"its sizes have {length} bytes, and {len(data) - at} follow")
    sizes = expand(data[0], data[at : at + length], count * _MOST_DIGITS)
    return sizes, expand(data[0], data[at + length :], size)


def first_simple_record(data: Bytes, count: int, size: int) -> bytes:
    """Return the first record of a simple chunk, without making the others."""
    sizes, values = _simple_buffers(data, count, size)
    return bytes(values[: number(sizes, 0, "the size of a record")[0]])


def simple_records(data: Bytes, count: int, size: int) -> list[bytes]:
    """Return the records of a simple chunk, `count` of them with `size` bytes in all."""
    sizes, values = _simple_buffers(data, count, size)
    if count == 1:
        stated, end = number(sizes, 0, "the size of a record")
        if end != len(sizes) or stated != len(values) or stated != size:
            raise CorruptRecordError(f"its record has {len(values)} bytes, and {stated} are stated")
        return [bytes(values)]
    lengths = _numbers(sizes, count)
    # No sum of them overflows: each is at most the size of a file, and so is their number.
    ends = lengths.cumsum().tolist()
    if int(lengths.max(initial=0)) > size or ends[-1] != size or len(values) != size:
        raise CorruptRecordError(
            f"its records have {ends[-1]} bytes, {len(values)} follow, and {size} are stated"
        )
    return [bytes(values[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


class Compressor:
    """Compresses buffers with zstd, or not at all if `level` is None."""

    def __init__(self, level: int | None) -> None:
        self.kind: int = _NONE if level is None else _ZSTD
        self._compress = None if level is None else zstd.library().compressor(level)

    def __call__(self, data: bytes) -> bytes:
        """Return a buffer as a chunk stores it."""
        if self._compress is None:
            return data
        if len(data) <= _SHORT:  # such as the size of one record
            return put_number(len(data)) + _plain_head(len(data)) + data
        return put_number(len(data)) + self._compress(data)


def encode_simple(compress: Compressor, sizes: bytes, values: bytes) -> bytes:
    """Return the data of a simple chunk; `sizes` holds the sizes of its records as varints."""
    packed = compress(sizes)
    head = bytes([compress.kind]) + put_number(len(packed))
    return b"".join((head, packed, compress(values)))
