# SPDX-License-Identifier: Apache-2.0
"""Compress and decompress the chunks of Riegeli files.

A simple chunk holds the sizes of its records and their bytes, in two buffers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
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
_REMEDY = "pip install 'fastrec-io[riegeli]'"


def put_number(value: int) -> bytes:
    """Return a number as a varint."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"a chunk compressed with brotli or snappy requires {name}: {_REMEDY}"
        raise ModuleNotFoundError(message, name=name) from None


def _plain_head(size: int) -> bytes:
    """Return what precedes `size` bytes in a zstd frame of one block that is not compressed."""
    return b"%b\x20%c%b" % (zstd.MAGIC, size, (size << 3 | 1).to_bytes(3, "little"))


def _from_zstd(packed: memoryview, size: int) -> bytes:
    library = zstd.library()
    try:
        return library.decompress(packed, size or 1)
    except library.error as error:
        raise _damaged(error) from None


def _from_brotli(packed: memoryview, size: int) -> bytes:
    brotli = _package("brotli")
    made = brotli.Decompressor()
    try:
        content: bytes = made.process(packed, output_buffer_limit=size or 1)
    except brotli.error as error:
        raise _damaged(error) from None
    if not made.is_finished():
        raise _damaged(f"its end is not after {size} bytes")
    return content


def _from_snappy(packed: memoryview, size: int) -> memoryview:
    cramjam = _package("cramjam")
    room = np.empty(size, np.uint8)  # no memory is touched before there is output
    try:
        return room[: cramjam.snappy.decompress_raw_into(packed, room)].data
    except cramjam.DecompressionError as error:
        raise _damaged(error) from None


def _damaged(error: object) -> CorruptRecordError:
    return CorruptRecordError(f"a buffer does not decompress: {error}")


_WAYS: dict[int, Callable[[memoryview, int], bytes | memoryview]] = {
    _ZSTD: _from_zstd,
    _BROTLI: _from_brotli,
    _SNAPPY: _from_snappy,
}


def expand(kind: int, packed: memoryview, size: int) -> bytes | memoryview:
    """Return the `size` bytes of content of a compressed buffer; fewer if it is damaged.

    `kind` is the compression that the chunk states.

    Raises
    ------
    CorruptRecordError
    ModuleNotFoundError
        If the package for the compression is not installed; the message names it.
    """
    way = _WAYS.get(kind)
    if way is None:
        raise CorruptRecordError(f"{bytes([kind])!a} is no known compression")
    return way(packed, size)


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
