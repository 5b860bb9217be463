# SPDX-License-Identifier: Apache-2.0
"""Prefetching: a thread makes elements ahead of time."""

from __future__ import annotations

import contextvars
import queue
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from .pipeline import Node
from .streams import Blocks, Values

__all__ = ["Prefetch"]


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


_END = object()
_POLL_S = 0.1


def _fill(
    stream: Iterator[Any],
    ready: queue.SimpleQueue[Any],
    slots: threading.Semaphore,
    stop: threading.Event,
) -> None:
    """Make elements into free slots until the stream ends."""
    while not stop.is_set():
        if not slots.acquire(timeout=_POLL_S):
            continue
        try:
            ready.put(next(stream))
        except StopIteration:
            ready.put(_END)
            return
        except Exception as error:
            ready.put(_Failure(error))
        except BaseException as error:
            ready.put(_Failure(error))
            ready.put(_END)
            return


class _Ahead:
    """Buffer that a thread fills with the next elements of a stream."""

    def __init__(self, stream: Iterator[Any], size: int) -> None:
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._slots = threading.Semaphore(size)
        self._stop = threading.Event()
        self._ended = False
        arguments = (_fill, stream, self._ready, self._slots, self._stop)
        thread = threading.Thread(  # of the same iteration
            target=contextvars.copy_context().run,
            args=arguments,
            name="fastrec-prefetch",
            daemon=True,
        )
        weakref.finalize(self, self._stop.set)
        thread.start()

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Any:
        item = _END if self._ended else self._get()
        if item is _END:
            self._ended = True
            raise StopIteration
        if isinstance(item, _Failure):
            try:
                raise item.error
            finally:
                del item  # otherwise the error and this frame would keep each other alive
        return item

    def _get(self) -> Any:
        while True:  # wait in slices, so that Ctrl-C is noticed
            try:
                item = self._ready.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            self._slots.release()
            return item


class Prefetch(Node):
    """Node whose elements a thread makes ahead of time."""

    def __init__(self, node: Node, size: int | None) -> None:
        super().__init__(node)
        self._size = 2 if size is None or size < 0 else size

    def values(self, fast: bool = True) -> Values:
        stream = self.inputs[0].stream(fast)
        return _Ahead(stream, self._size) if self._size and fast else stream

    def blocks(self, count: int) -> Blocks | None:
        return self.inputs[0].blocks(count)
