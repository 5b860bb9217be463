# SPDX-License-Identifier: Apache-2.0
"""Detect the container of records, and choose the libraries that compress and decompress.

:mod:`fastrec.records.inflated` decompresses.
"""

from __future__ import annotations

import functools
import os
import zlib
from typing import Any, Literal, Protocol, get_args

from .. import _core
from ..arguments import shown
from .framing import HEADER_SIZE
from .zstd import MAGIC, FrameCompressor, is_skippable

__all__ = [
    "CODECS",
    "WRITABLE",
    "Codec",
    "Compression",
    "Damaged",
    "Short",
    "compression_of_name",
    "compressor",
    "detect",
    "inflater_library",
    "needs_more",
    "normalize",
]

Codec = Literal["GZIP", "ZLIB", "TAR", "ZSTD"]
# TensorFlow writes the names in capitals, and "" for no compression.
Compression = (
    Literal["GZIP", "ZLIB", "TAR", "ZSTD", "gzip", "zlib", "tar", "zstd", "auto", ""] | None
)

CODECS: tuple[Codec, ...] = get_args(Codec)  # numbered as in FORMAT.md
WRITABLE: tuple[Codec, ...] = ("GZIP", "ZLIB", "ZSTD")

# Compression of a new file by the end of its name.
_BY_SUFFIX: dict[str, Codec] = {".gz": "GZIP", ".zst": "ZSTD"}

# Window bits of zlib, for the gzip and the zlib container.
_WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}

_STREAM, _TRAILER = zlib.compress(b"hello world " * 100)[2:-4], b"tail"  # a raw deflate stream


class Damaged(Exception):
    """The data is not valid, for the stated reason."""


class Short(Exception):
    """The data ends too early."""


class Compressor(Protocol):
    """A streaming compressor with the methods of zlib's."""

    def compress(self, data: Any, /) -> bytes:
        """Compress more data, and return the output that is ready."""

    def flush(self) -> bytes:
        """End the stream, and return the rest of the output."""


def normalize(compression: str | None) -> Codec | None:
    """Return the name of a compression in capitals; None for an empty name or None.

    Raises
    ------
    ValueError
        For any other value.
    """
    if not compression:
        return None
    kind = compression.upper() if isinstance(compression, str) else compression
    if kind not in CODECS:
        raise ValueError(
            f"compression must be None, {', '.join(map(repr, CODECS[:-1]))} or {CODECS[-1]!r}, "
            f"got {shown(compression)}"
        )
    return kind


def detect(head: bytes) -> Codec | None:
    """Detect the compression of a file from its first bytes.

    An uncompressed file begins with a record length and its checksum, so that a length whose bytes
    are the header of a compressed file is not mistaken for one.
    """
    if _is_frame(head):
        return None
    if head[:3] == b"\x1f\x8b\x08":
        return "GZIP"
    if head[:4] == MAGIC or is_skippable(head):
        return "ZSTD"
    if len(head) >= 2 and head[0] & 0x8F == 8 and int.from_bytes(head[:2], "big") % 31 == 0:
        return "ZLIB"
    return "TAR" if _core.is_tar(head) else None


def needs_more(head: bytes) -> bool:
    """Return whether the first 12 bytes of a file are too few to detect its compression."""
    return len(head) == HEADER_SIZE and detect(head) is None and not _is_frame(head)


def _is_frame(head: bytes) -> bool:
    crc = _core.masked_crc32c(head[:8]).to_bytes(4, "little")
    return len(head) >= HEADER_SIZE and head[8:HEADER_SIZE] == crc


def compression_of_name(name: str) -> Codec | None:
    """Return the compression that a file's name implies by its end.

    Examples
    --------
    >>> compression_of_name("train.tfrecord.zst")
    'ZSTD'
    """
    return _BY_SUFFIX.get(os.path.splitext(name.lower())[1])


def compressor(kind: str, level: int | None) -> Compressor:
    """Return a compressor with the container that TensorFlow calls `kind`, or for zstd.

    Raises
    ------
    ValueError
        If the level is out of range: -1 to 9, and for zstd -131072 to 22.
    ModuleNotFoundError
        If no library for zstd is installed.
    """
    if kind == "ZSTD":
        return FrameCompressor(level)
    level = -1 if level is None else level
    if level not in range(-1, 10):
        raise ValueError(f"level must be -1 to 9, got {level!r}")
    return zlib.compressobj(level, zlib.DEFLATED, _WINDOW_BITS[kind], 9)


@functools.cache
def inflater_library() -> Any:
    """Return the module for inflating: isal's, which is several times faster, or else zlib."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    # Before 1.9, isal lost up to 7 bytes after a deflate stream: the start of its trailer.
    inflater = isal_zlib.decompressobj(-15)
    inflater.decompress(_STREAM + _TRAILER)
    return isal_zlib if inflater.unused_data == _TRAILER else zlib
