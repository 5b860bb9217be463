# SPDX-License-Identifier: Apache-2.0
"""The coordinator, which stops threads together, and threads that repeat a call until then."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._tf.errors import OutOfRangeError

if TYPE_CHECKING:
    import logging

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def log() -> logging.Logger:
    """Return the logger of threads that feed queues."""
    import logging  # importing logging is slow

    return logging.getLogger("fastrec.compat")


class Coordinator:
    """Tells threads when to stop, and reports their errors to the thread that joins them.

    Only the first request to stop, and its exception, count.

    Parameters
    ----------
    clean_stop_exception_types : tuple of exception types, optional
        Exceptions that stop the threads without being reported; (OutOfRangeError,) by default.
    """

    def __init__(
        self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None
    ) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exc_info_to_raise: ExcInfo | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    @property
    def cause(self) -> BaseException | None:
        """The exception that :meth:`join` will raise, if any."""
        info = self._exc_info_to_raise
        return None if info is None else info[1]

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Ask the threads to stop."""
        with self._lock:
            found = None if ex is None else _exc_info(ex)
            if found is not None and isinstance(found[1], self._clean_stop_exception_types):
                found = None
            if self._joined and found is not None:
                raise found[1].with_traceback(found[2])
            if self._stop_event.is_set():
                return
            if found is not None:
                self._exc_info_to_raise = found
                log().info("Error reported to Coordinator: %s", found[1])
            self._stop_event.set()

    def clear_stop(self) -> None:
        """Reset the request to stop, its reason, and the join."""
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Convert every exception within the context to a request to stop."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())  # type: ignore[arg-type]

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds for a request to stop; return whether there was one."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Make :meth:`join` wait for `thread`, too."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until the threads have ended."""
        with self._lock:
            waited = list(self._registered_threads.union(threads or ()))
        while any(thread.is_alive() for thread in waited) and not self.wait_for_stop(0):
            self._pause(waited)
        _join_by(waited, time.monotonic() + stop_grace_period_secs)
        left = [thread.name for thread in waited if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            info = self._exc_info_to_raise
        if info is not None:
            raise info[1].with_traceback(info[2])
        if left and not ignore_live_threads:
            names = " ".join(left)
            raise RuntimeError(f"Coordinator stopped with threads still running: {names}")
        if left:
            log().info("Coordinator stopped with threads still running: %s", " ".join(left))

    def _pause(self, threads: Sequence[threading.Thread]) -> None:
        """Wait for a thread for a short time; a requested stop ends the wait."""
        for thread in threads:
            if thread.is_alive():
                thread.join(0.01)
                return

    @property
    def joined(self) -> bool:
        """Whether :meth:`join` has finished."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception that was passed to :meth:`request_stop`, if any."""
        with self._lock:
            info = self._exc_info_to_raise
        if info is not None:
            raise info[1].with_traceback(info[2])


def _exc_info(ex: BaseException | ExcInfo) -> ExcInfo:
    if isinstance(ex, tuple):
        return ex
    return type(ex), ex, ex.__traceback__


def _join_by(threads: Sequence[threading.Thread], deadline: float) -> None:
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


class LooperThread(threading.Thread):
    """A daemon thread that calls a function repeatedly until the coordinator requests a stop.

    Parameters
    ----------
    coord : Coordinator
    timer_interval_secs : float or None
        Seconds from one call to the next; None means no pause.
    target : callable, optional
        The function to call; :meth:`run_loop` by default.
    args, kwargs : optional
        Its arguments.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._looped = target
        self._looped_args, self._looped_kwargs = tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Create and start a looper thread."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Call the function until a stop is requested."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    due += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Do nothing; called before the first call."""

    def stop_loop(self) -> None:
        """Do nothing; called after the last call."""

    def run_loop(self) -> None:
        """Call the function once."""
        if self._looped is not None:
            self._looped(*self._looped_args, **self._looped_kwargs)
