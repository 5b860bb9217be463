# SPDX-License-Identifier: Apache-2.0
"""GZIP and ZLIB around record files; the work is done by isal, or by zlib where it has no wheel."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

from .errors import CorruptRecordError, LimitExceededError, TruncatedFileError

__all__ = ["compressor", "detect", "inflate", "normalize"]

# zlib's window bits: the gzip container, the zlib container.
_WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}
_CHUNK = 1 << 18


class Compressor(Protocol):
    def compress(self, data: Any, /) -> bytes: ...
    def flush(self) -> bytes: ...


def _inflater(kind: str) -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.decompressobj(_WINDOW_BITS[kind])
    return isal_zlib.decompressobj(_WINDOW_BITS[kind])


def normalize(compression: str | None) -> str | None:
    """``None``, ``"GZIP"`` or ``"ZLIB"``; the empty string is None, case does not matter.

    Raises
    ------
    ValueError
        For anything else.
    """
    if not compression:
        return None
    kind = compression.upper() if isinstance(compression, str) else compression
    if kind not in _WINDOW_BITS:
        raise ValueError(f"compression must be None, 'GZIP' or 'ZLIB', not {compression!r}")
    return kind


def detect(head: bytes) -> str | None:
    """The compression that a file which begins with `head` has.

    A plain file begins with a length: to be taken for a zlib stream it would need a record of a
    length whose two low bytes are a zlib header, and then its checksum would have to be wrong.
    """
    if head[:3] == b"\x1f\x8b\x08":
        return "GZIP"
    zlib_header = (
        len(head) >= 2 and head[0] & 0x8F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    )
    if zlib_header and not _is_frame(head):
        return "ZLIB"
    return None


def _is_frame(head: bytes) -> bool:
    from . import _core

    return len(head) >= 12 and head[8:12] == _core.masked_crc32c(head[:8]).to_bytes(4, "little")


def compressor(kind: str, level: int | None) -> Compressor:
    """A deflate stream in the container that TensorFlow calls `kind`.

    Raises
    ------
    ValueError
        For a level outside of -1..9.
    """
    level = -1 if level is None else level
    if level not in range(-1, 10):
        raise ValueError(f"level must be -1 to 9, not {level!r}")
    return zlib.compressobj(level, zlib.DEFLATED, _WINDOW_BITS[kind], 9)


class inflate:
    """``read(size)`` of what a compressed binary file holds, one or more members.

    Zero bytes after the last member are padding, as they are to gzip(1).

    Raises
    ------
    zlib.error, TruncatedFileError
        From ``read``, on a stream that is damaged or ends early.
    """

    def __init__(
        self, read: Callable[[int], bytes], kind: str, path: object, max_output: int | None = None
    ) -> None:
        self._read = read
        self._kind = kind
        self._path = path
        self._left = max_output
        self._stream: Any = _inflater(kind)
        self._pending = b""
        self._started = False

    def _next_input(self) -> bytes:
        pending, self._pending = self._pending, b""
        return pending or self._read(_CHUNK)

    def _next_member(self) -> bool:
        """Whether another member follows the one that ended."""
        rest: bytes = self._stream.unused_data
        while not (rest := rest.lstrip(b"\0")):
            rest = self._read(_CHUNK)
            if not rest:
                return False
        self._stream = _inflater(self._kind)
        self._started = False
        self._pending = rest
        return True

    def _truncated(self) -> TruncatedFileError:
        error = TruncatedFileError(f"{self._kind} stream in {self._path!a} ends early")
        error.path = str(self._path)
        error.kind = "torn-data"
        return error

    def __call__(self, size: int) -> bytes:
        while True:
            if self._stream.eof and not self._next_member():
                return b""
            chunk = self._next_input()
            if not chunk:
                if not self._started:
                    return b""
                raise self._truncated()
            self._started = True
            try:
                data: bytes = self._stream.decompress(chunk, size)
            except Exception as error:
                raise _damaged(error, self._kind, self._path) from error
            self._pending = getattr(self._stream, "unconsumed_tail", b"")
            if data:
                return self._count(data)

    def _count(self, data: bytes) -> bytes:
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise LimitExceededError(f"{self._path!a} inflates to more than the limit")
        return data


def _damaged(error: Exception, kind: str, path: object) -> Exception:
    damaged = CorruptRecordError(f"damaged {kind} stream in {path!a}: {error}")
    damaged.path = str(path)
    damaged.kind = "compression"
    return damaged
