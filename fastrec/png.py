# SPDX-License-Identifier: Apache-2.0
"""PNGs into arrays and back, several times as fast as by way of Pillow where pictures are small.

isal inflates, or zlib where isal has no wheel; the filters of lines are undone natively.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import FastrecError
from .inflating import library

__all__ = ["decode", "encode"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_PIXELS = 1 << 27
_CHANNELS_OF = {0: 1, 2: 3, 4: 2, 6: 4}  # by type of colour
_COLOUR_OF = {channels: colour for colour, channels in _CHANNELS_OF.items()}


class _Unsuited(Exception):
    """Not a PNG of the plain kind, or not a sound one."""


def decode(data: bytes) -> NDArray[Any] | None:
    """The samples of a PNG as they are stored.

    Returns
    -------
    ndarray of uint8 or uint16, shape (height, width, channels)
        None for PNGs with palettes, a transparent colour, less than 8 bits a sample or interlaced
        lines, and for anything that is not a whole and sound PNG.
    """
    try:
        return _decoded(memoryview(data))
    except (_Unsuited, FastrecError, struct.error):
        return None


def _decoded(data: memoryview) -> NDArray[Any]:
    chunks = _chunks(data)
    kind, header = next(chunks, (b"", data[:0]))
    if kind != b"IHDR" or len(header) != 13:
        raise _Unsuited
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", header)
    if depth not in (8, 16) or colour not in _CHANNELS_OF or any(rest):
        raise _Unsuited
    if not (0 < width <= _MAX_PIXELS and 0 < height <= _MAX_PIXELS // width):
        raise _Unsuited
    pixel = _CHANNELS_OF[colour] * depth // 8
    lines = _inflated(chunks, height * (1 + width * pixel))
    samples = _core.png_unfilter(lines, height, width * pixel, pixel)
    if depth == 16:
        samples = samples.view(">u2").astype(np.uint16)
    return samples.reshape(height, width, -1)


def _chunks(data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Kind and content of each, up to the end that a PNG has to have."""
    if data[:8] != _SIGNATURE:
        raise _Unsuited
    at, kind = 8, b""
    while kind != b"IEND":
        size, kind = struct.unpack_from(">I4s", data, at)
        if size > len(data) - at - 12:
            raise _Unsuited
        end = at + 8 + size
        if struct.unpack_from(">I", data, end)[0] != zlib.crc32(data[at + 4 : end]):
            raise _Unsuited
        yield kind, data[at + 8 : end]
        at = end + 4


def _inflated(chunks: Iterator[tuple[bytes, memoryview]], size: int) -> bytes:
    """`size` bytes, which are all that the chunks of data hold."""
    stream = library().decompressobj()
    data = b"".join(content for kind, content in chunks if _holds_data(kind))
    try:
        found: bytes = stream.decompress(data, size + 1)
    except Exception as error:  # each library has its own
        raise _Unsuited from error
    if len(found) != size or not stream.eof:
        raise _Unsuited
    return found


def _holds_data(kind: bytes) -> bool:
    """Whether a chunk is of pixels, and not one that can be left out."""
    if kind == b"tRNS" or (kind[:1].isupper() and kind not in (b"IDAT", b"IEND", b"PLTE")):
        raise _Unsuited
    return kind == b"IDAT"


def encode(pixels: NDArray[Any], level: int = -1) -> bytes:
    """A PNG of some pixels.

    Parameters
    ----------
    pixels : ndarray of uint8 or uint16, shape (height, width, channels)
        With 1 to 4 channels: grey, grey and alpha, RGB, RGB and alpha.
    level : int
        Of zlib's compression, 0 to 9; -1 for its own choice.

    Raises
    ------
    ValueError
        For an array of another shape or type.
    """
    if pixels.ndim != 3 or pixels.dtype not in (np.uint8, np.uint16) or not pixels.size:
        raise ValueError(f"a picture cannot be {pixels.dtype} of shape {pixels.shape}")
    height, width, channels = pixels.shape
    if channels not in _COLOUR_OF:
        raise ValueError(f"a PNG has 1 to 4 channels, not {channels}")
    size = pixels.dtype.itemsize
    lines = np.zeros((1 + height, width * channels * size), np.uint8)
    samples = pixels if size == 1 else pixels.astype(">u2")
    lines[1:] = np.ascontiguousarray(samples).view(np.uint8).reshape(height, -1)
    filtered = _core.png_filter(lines, channels * size)
    stream = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS, 8, zlib.Z_FILTERED)
    header = struct.pack(">IIBBBBB", width, height, 8 * size, _COLOUR_OF[channels], 0, 0, 0)
    data = stream.compress(filtered.data) + stream.flush()
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return _SIGNATURE + b"".join(chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(content, zlib.crc32(kind))
    return b"%b%b%b%b" % (struct.pack(">I", len(content)), kind, content, struct.pack(">I", check))
