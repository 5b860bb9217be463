# SPDX-License-Identifier: Apache-2.0
"""GZIP and ZLIB streams, inflated by a thread of their own, ahead of whoever reads records.

isal does the work, or zlib where isal has no wheel. Containers are taken apart here, so that what a
stream holds up to the place where it is damaged is delivered before the error.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import CorruptRecordError, FastrecError, LimitExceededError, TruncatedFileError

__all__ = ["Inflated"]

_PIECE = 1 << 20  # of input, to inflate at once: after each, other threads may be in the way
_CRUMB = 1 << 16  # the same, where it may have to be gone through byte by byte
_OUTPUT = 1 << 20  # most output of a call, and what is handed over at once
_AHEAD = 4  # chunks of output that wait
_SMALL = 1 << 18  # output that is not worth a thread
_RATIO_FROM = 1 << 20  # output below which no ratio is too high

_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16


@functools.cache
def _library() -> Any:
    """isal's module in the place of zlib, where there is isal."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


class _Damaged(Exception):
    pass


class _Short(Exception):
    pass


class _Input:
    """Compressed bytes, some at a time, with a way to give some back."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._rest = b""
        self.taken = 0

    def some(self) -> bytes:
        rest, self._rest = self._rest, b""
        rest = rest or self._read(_PIECE)
        if rest is None:
            raise BlockingIOError(11, "the stream has no bytes now")
        self.taken += len(rest)
        return rest

    def give_back(self, rest: bytes) -> None:
        self.taken -= len(rest)
        self._rest = rest + self._rest

    def up_to(self, size: int) -> bytes:
        pieces = b""
        while len(pieces) < size and (piece := self.some()):
            pieces += piece
        self.give_back(pieces[size:])
        return pieces[:size]

    def exactly(self, size: int) -> bytes:
        found = self.up_to(size)
        if len(found) < size:
            raise _Short
        return found

    def past_zero(self) -> None:
        """Up to and with the next zero byte."""
        while True:
            piece = self.some()
            if not piece:
                raise _Short
            if (at := piece.find(b"\0")) >= 0:
                self.give_back(piece[at + 1 :])
                return

    def past_padding(self) -> None:
        """Up to the next byte that is not zero."""
        while piece := self.some():
            if rest := piece.lstrip(b"\0"):
                self.give_back(rest)
                return


def _gzip_header(source: _Input) -> bool:
    """Whether another member begins here."""
    magic = source.up_to(2)
    if not magic:
        return False
    if magic != b"\x1f\x8b":
        raise _Damaged(f"not a GZIP member: it begins with {magic!r}")
    method, flags = source.exactly(8)[:2]
    if method != 8:
        raise _Damaged(f"unknown compression method {method}")
    if flags & _FEXTRA:
        source.exactly(int.from_bytes(source.exactly(2), "little"))
    if flags & _FNAME:
        source.past_zero()
    if flags & _FCOMMENT:
        source.past_zero()
    if flags & _FHCRC:
        source.exactly(2)
    return True


def _zlib_header(source: _Input) -> bool:
    head = source.up_to(2)
    if not head:
        return False
    if len(head) < 2:
        raise _Short
    if head[0] & 0x8F != 8 or int.from_bytes(head, "big") % 31:
        raise _Damaged(f"not a zlib stream: it begins with {head!r}")
    if head[1] & 0x20:
        raise _Damaged("it needs a preset dictionary")
    return True


def _one_by_one(inflater: Any, piece: bytes) -> bytes:
    """What comes out before the damage in `piece`: asked for more at once, zlib drops it all."""
    found = bytearray()
    with contextlib.suppress(zlib.error):
        for byte in piece:
            data = inflater.decompress(bytes((byte,)), 1)
            while data:
                found += data
                data = inflater.decompress(inflater.unconsumed_tail, 1)
    return bytes(found)


def _up_to_the_damage(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """What a damaged deflate stream holds before its damage, to the byte, by zlib."""
    inflater = zlib.decompressobj(-15)
    while piece := read(_CRUMB):
        while piece:
            before = inflater.copy()
            try:
                yield inflater.decompress(piece, _OUTPUT)
            except zlib.error:
                yield _one_by_one(before, piece)
                return
            piece = inflater.unconsumed_tail


class _Stream:
    """The plain bytes of what a compressed file holds, one member or more."""

    def __init__(
        self, read: Callable[[int], bytes], kind: str, seek: Callable[[int], object] | None
    ) -> None:
        self.source = _Input(read)
        self._read, self._seek = read, seek
        self.output = 0
        self._gzip = kind == "GZIP"
        self._library = _library()

    def __iter__(self) -> Iterator[bytes]:
        begins = _gzip_header if self._gzip else _zlib_header
        while begins(self.source):
            yield from self._member()
            self.source.past_padding()

    def _member(self) -> Iterator[bytes]:
        inflater = self._library.decompressobj(-15)
        begin = self.source.taken
        sum_up = self._library.crc32 if self._gzip else self._library.adler32
        check = sum_up(b"")
        size = 0
        piece = b""
        while not inflater.eof:
            piece = piece or self.source.some()
            if not piece:
                raise _Short
            try:
                data: bytes = inflater.decompress(piece, _OUTPUT)
            except Exception as error:
                yield from self._rescued(begin, size)
                raise _Damaged(str(error)) from error
            piece = inflater.unconsumed_tail
            check = sum_up(data, check)
            size += len(data)
            self.output += len(data)
            if data:
                yield data
        self.source.give_back(inflater.unused_data)
        self._check_trailer(check, size)

    def _rescued(self, begin: int, size: int) -> Iterator[bytes]:
        """What the call that failed had inflated by then, where the member can be read again."""
        if self._seek is None:
            return
        self._seek(begin)
        for data in _up_to_the_damage(self._read):
            if len(data) > size:
                self.output += len(data) - size
                yield data[size:]
            size -= min(size, len(data))

    def _check_trailer(self, check: int, size: int) -> None:
        if self._gzip:
            trailer = self.source.exactly(8)
            if int.from_bytes(trailer[:4], "little") != check:
                raise _Damaged("CRC check failed")
            if int.from_bytes(trailer[4:], "little") != size % 2**32:
                raise _Damaged("incorrect length of data produced")
        elif int.from_bytes(self.source.exactly(4), "big") != check:
            raise _Damaged("Adler-32 check failed")


class _Channel:
    """What the inflating thread and the reading one share: it keeps neither alive."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.chunks: deque[bytes] = deque()
        self.error: BaseException | None = None
        self.ended = self.stopped = False

    def put(self, chunk: bytes) -> bool:
        """Waits for room; whether anybody still reads."""
        with self.changed:
            while len(self.chunks) >= _AHEAD and not self.stopped:
                self.changed.wait()
            self.chunks.append(chunk)
            self.changed.notify_all()
            return not self.stopped

    def end(self, error: BaseException | None) -> None:
        with self.changed:
            self.error, self.ended = error, True
            self.changed.notify_all()

    def get(self) -> bytes:
        """The next chunk; nothing at the end."""
        with self.changed:
            while not self.chunks and not self.ended:
                self.changed.wait()
            if self.chunks:
                chunk = self.chunks.popleft()
                self.changed.notify_all()
                return chunk
            if self.error is not None:
                raise self.error
            return b""

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def _pump(chunks: Iterator[bytes], channel: _Channel, close: Callable[[], None]) -> None:
    error: BaseException | None = None
    try:
        for chunk in chunks:
            if not channel.put(chunk):
                break
    except BaseException as raised:
        error = raised
    finally:
        close()
        channel.end(error)


def _nothing() -> None:
    pass


class Inflated:
    """``read(size)`` of what a compressed file holds, one member or more.

    Zeros after a member are padding; anything else there is damage, as it is to CPython's gzip.

    Parameters
    ----------
    read : callable
        ``read(size)`` of the compressed bytes.
    kind : {"GZIP", "ZLIB"}
    path : object
        For messages.
    close : callable, optional
        Called when no more will be read.
    seek : callable, optional
        ``seek(position)`` of the compressed bytes. With it, damage costs nothing of what comes
        before it; without, up to a megabyte.
    max_output, max_ratio : int, optional
        Bytes of output, and times the input, beyond which the stream is refused.

    Raises
    ------
    CorruptRecordError, TruncatedFileError, LimitExceededError
        From ``read``, after everything before the damage was read.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        kind: str,
        path: object,
        *,
        close: Callable[[], None] = _nothing,
        seek: Callable[[int], object] | None = None,
        max_output: int | None = None,
        max_ratio: int | None = None,
    ) -> None:
        stream = _Stream(read, kind, seek)
        self._chunks = _guarded(stream, kind, str(path), max_output, max_ratio)
        self._close = close
        self._channel: _Channel | None = None
        self._pid = os.getpid()

    def __call__(self, size: int) -> bytes:
        if self._pid != os.getpid():
            raise ValueError("a compressed file is read only in the process that began to read it")
        if self._channel is not None:
            return self._channel.get()
        self._channel = _Channel()
        # The first chunk comes without a thread: a small file needs none.
        first = self._first()
        if first and not self._channel.ended:
            threading.Thread(
                target=_pump,
                args=(self._chunks, self._channel, self._close),
                name="fastrec-inflate",
                daemon=True,
            ).start()
        return first or self._channel.get()

    def _first(self) -> bytes:
        """The first chunk. When it is short and the last one, the channel has ended, too."""
        channel = self._channel
        assert channel is not None
        chunks: list[bytes] = []
        try:
            while sum(map(len, chunks)) < _SMALL:
                chunks.append(next(self._chunks))
        except BaseException as raised:
            channel.error = None if isinstance(raised, StopIteration) else raised
            channel.ended = True
            self._close()
        return b"".join(chunks)

    def __del__(self) -> None:
        if self._channel is None:
            self._close()
        elif self._pid == os.getpid():
            self._channel.stop()  # and the thread closes


def _guarded(
    stream: _Stream, kind: str, path: str, max_output: int | None, max_ratio: int | None
) -> Iterator[bytes]:
    """The chunks of `stream`, within limits; what goes wrong with the coordinates it has."""
    try:
        for chunk in stream:
            if max_output is not None and stream.output > max_output:
                raise LimitExceededError(
                    f"{path!a} inflates to more than {max_output} bytes; raise max_output_bytes"
                )
            ratio = stream.output // max(stream.source.taken, 1)
            if max_ratio is not None and stream.output > _RATIO_FROM and ratio > max_ratio:
                raise LimitExceededError(
                    f"{path!a} inflates to more than {max_ratio} times its size; raise max_ratio"
                )
            yield chunk
    except _Damaged as error:
        raise _located(
            CorruptRecordError(f"damaged {kind} stream in {path!a}: {error}"), path, "compression"
        ) from None
    except _Short:
        raise _located(
            TruncatedFileError(f"truncated {kind} stream in {path!a}"), path, "torn-data"
        ) from None
    except LimitExceededError as error:
        raise _located(error, path, "too-large") from None


def _located(error: FastrecError, path: str, kind: str) -> FastrecError:
    error.path = path
    error.kind = kind  # type: ignore[attr-defined]
    return error
