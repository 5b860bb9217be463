# SPDX-License-Identifier: Apache-2.0
"""Compress and decompress the chunks of Riegeli files.

A simple chunk holds the sizes of its records and their bytes, in two buffers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import CorruptRecordError
from ..records import zstd

__all__ = [
    "METADATA",
    "PADDING",
    "SIGNATURE",
    "SIMPLE",
    "TRANSPOSED",
    "Compressor",
    "encode_simple",
    "expand",
    "put_number",
]

SIGNATURE, METADATA, PADDING, SIMPLE, TRANSPOSED = b"smprt"
"""Types of chunks; records are in the last two."""

_NONE, _BROTLI, _ZSTD, _SNAPPY = b"\0bzs"
_PLAIN_HEAD = 9  # bytes before the content of a zstd frame that is not compressed
_SHORT = 32  # bytes that zstd does not compress well enough to be called
_REMEDY = "requires cramjam: pip install 'fastrec-io[riegeli]'"


def put_number(value: int) -> bytes:
    """Return a number as a varint."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


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


def expand(kind: int, packed: memoryview, size: int) -> bytes | memoryview:
    """Return the `size` bytes of content of a compressed buffer; fewer if it is damaged.

    `kind` is the compression that the chunk states.

    Raises
    ------
    CorruptRecordError, LimitExceededError
    ModuleNotFoundError
        If the package for the compression is not installed; the message names it.
    """
    if kind == _ZSTD:
        library = zstd.library()
        try:
            return library.decompress(packed, size)
        except library.error as error:
            raise CorruptRecordError(f"a buffer does not decompress: {error}") from None
    if kind not in (_BROTLI, _SNAPPY):
        raise CorruptRecordError(f"{bytes([kind])!a} is no known compression")
    cramjam = _cramjam()
    way = cramjam.brotli.decompress_into
    if kind == _SNAPPY:
        way = cramjam.snappy.decompress_raw_into
    room = np.empty(size, np.uint8)  # no memory is touched before there is output
    try:
        return room[: way(packed, room)].data
    except cramjam.DecompressionError as error:
        raise CorruptRecordError(f"a buffer does not decompress: {error}") from None


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
