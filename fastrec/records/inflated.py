# SPDX-License-Identifier: Apache-2.0
"""Inflate a compressed file on its own thread, ahead of the reader."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ..threads.locks import Waker, check_process
from .inflate import inflate
from .stream_input import SMALL

__all__ = ["Inflated"]

_AHEAD = 4  # maximum number of chunks of output in the queue
_WAIT_S = 1.0  # seconds between checks whether the other thread still exists


class _Channel:
    """State shared by the inflating and the reading thread; it holds no reference to either."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # guards what follows
        self.has_space = threading.Condition(self.lock)  # only the inflating thread waits for it
        self.reader = Waker()
        self.chunks: deque[bytes] = deque()
        self.error: BaseException | None = None
        self.ended = self.stopped = False
        self.thread: threading.Thread | None = None

    def put(self, chunk: bytes) -> bool:
        """Add a chunk when the queue has space; return whether the reader still exists."""
        with self.lock:
            while len(self.chunks) >= _AHEAD and not self.stopped:
                self.has_space.wait(_WAIT_S)  # Ctrl-C may prevent a call of notify()
            self.chunks.append(chunk)
            self.reader.wake()
            return not self.stopped

    def end(self, error: BaseException | None) -> None:
        with self.lock:
            self.error, self.ended = error, True
            self.reader.wake()

    def get(self) -> bytes:
        """Return the next chunk; empty at the end."""
        while True:
            with self.lock:
                if self.chunks:
                    chunk = self.chunks.popleft()
                    self.has_space.notify()
                    return chunk
                if self.error is not None:
                    raise self.error
                if self.ended:
                    return b""
            if not self.reader.wait(_WAIT_S) and not self._is_pumped():
                raise RuntimeError("the decompressing thread ended without a result")

    def _is_pumped(self) -> bool:
        return self.ended or (self.thread is not None and self.thread.is_alive())

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            self.has_space.notify()


def _pump(chunks: Iterator[bytes], channel: _Channel, close: Callable[[], None]) -> None:
    error: BaseException | None = None
    try:
        for chunk in chunks:
            if not channel.put(chunk):
                break
    except BaseException as raised:
        error = raised
    finally:
        try:
            close()
        finally:
            channel.end(error)


def _nothing() -> None:
    pass


class Inflated:
    """A stream ``read(size)`` over the inflated content of a file with one or more members.

    Zeros after a member are padding. Any other data there is damage, as for CPython's gzip module.

    Parameters
    ----------
    read : callable
        ``read(size)`` returns compressed bytes.
    kind : {"GZIP", "ZLIB", "TAR", "ZSTD"}
    path : object
        Name of the file, for messages.
    close : callable, optional
        Called after the last read. It must not raise.
    uses_thread : bool
        Whether a thread inflates ahead of the reader, unless the file is small.
    **options
        Options of :func:`~fastrec.records.inflate.inflate`.

    Attributes
    ----------
    kind : {"GZIP", "ZLIB", "TAR", "ZSTD"}

    Raises
    ------
    CorruptRecordError, TruncatedFileError, LimitExceededError
        By ``read``, after all output before the damage was read.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        kind: str,
        path: object,
        *,
        close: Callable[[], None] = _nothing,
        uses_thread: bool = True,
        **options: Any,
    ) -> None:
        self.kind = kind
        self._close = close
        self._channel: _Channel | None = None
        self._uses_thread = uses_thread
        self._pid = os.getpid()
        try:
            self._chunks = inflate(read, kind, path, **options)
        except ModuleNotFoundError:
            close()
            raise

    def __call__(self, size: int) -> bytes:
        check_process(self._pid, "the iterator")
        channel = self._channel = self._channel or _Channel()
        if channel.thread is not None:
            return channel.get()
        if channel.chunks:  # inflated before the file was opened for reading
            return channel.chunks.popleft()
        # The first chunk is inflated without a thread, so a small file needs no thread.
        first = self._first()
        if first and self._uses_thread and not channel.ended:
            channel.thread = threading.Thread(
                target=_pump,
                args=(self._chunks, channel, self._close),
                name="fastrec-inflate",
                daemon=True,
            )
            try:
                channel.thread.start()
            except RuntimeError:  # the system allows no more threads: inflate without one
                channel.thread = None
                self._uses_thread = False
        return first or channel.get()

    def begin(self, size: int, pause: Callable[[float], None]) -> None:
        """Inflate about `size` bytes before they are read; ``pause(0)`` may raise to stop."""
        channel = self._channel = _Channel()
        while not channel.ended and size > 0:
            pause(0)
            chunk = self._first()
            size -= len(chunk)
            if chunk:
                channel.chunks.append(chunk)

    def _first(self) -> bytes:
        """Inflate and return the next chunk on this thread; empty at the end."""
        channel = self._channel
        assert channel is not None
        chunks: list[bytes] = []
        try:
            while not channel.ended and sum(map(len, chunks)) < SMALL:
                chunks.append(next(self._chunks))
        except BaseException as raised:
            channel.error = None if isinstance(raised, StopIteration) else raised
            channel.ended = True
            self._close()
        return b"".join(chunks)

    def __del__(self) -> None:
        if self._channel is None or self._channel.thread is None:
            self._close()
        elif self._pid == os.getpid():
            self._channel.stop()  # the thread closes the file
