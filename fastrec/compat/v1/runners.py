# SPDX-License-Identifier: Apache-2.0
"""Queue runners: threads that keep queues filled, and the coordinator that stops them together."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._tf.errors import CancelledError, OpError, OutOfRangeError
from ._nodes import Operation
from ._queueing import Queue
from .graph import GraphKeys, get_default_graph
from .queue_base import QueueBase
from .session import BaseSession, get_default_session

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


_LOOK_UP_SECONDS = 0.05  # seconds between checks whether the session still exists


class QueueRunner:
    """Runs the enqueue operations of a queue repeatedly, each in a separate thread.

    Parameters
    ----------
    queue : QueueBase
        The queue.
    enqueue_ops : list of Operation
        One operation per thread; a repeated operation runs in several threads.
    close_op, cancel_op : Operation, optional
        Operations that close the queue at the end, and immediately.
    queue_closed_exception_types : tuple of exception types, optional
        Exceptions by which an enqueue operation signals the end; (OutOfRangeError,) by default.

    Raises
    ------
    ValueError
        If the queue or the operations are missing.
    TypeError
        If the exception types are not a tuple of classes in ``tf.errors``.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[BaseException], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            raise ValueError("fastrec.compat has no QueueRunnerDef: give queue and enqueue_ops")
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        if queue_closed_exception_types is None:
            queue_closed_exception_types = (OutOfRangeError,)
        types = queue_closed_exception_types
        if not (
            isinstance(types, tuple)
            and types
            and all(isinstance(t, type) and issubclass(t, OpError) for t in types)
        ):
            raise TypeError(
                f"when provided, queue_closed_exception_types must be a tuple of tf.error types, "
                f"but saw: {types}"
            )
        self._queue: QueueBase = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op: Operation = queue.close() if close_op is None else close_op
        if cancel_op is None:
            cancel_op = queue.close(cancel_pending_enqueues=True)
        self._cancel_op: Operation = cancel_op
        self._closed_types = types
        self._lock = threading.Lock()
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[BaseException] = []

    @property
    def queue(self) -> QueueBase:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations, one per thread."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """The operation that closes the queue at the end."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """The operation that closes the queue and cancels pending enqueues."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[BaseException], ...]:
        """The exceptions that signal the end."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Errors of the last start's threads that were not reported to a coordinator."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Return new threads; none while threads of an earlier call for the session run."""
        if isinstance(sess, BaseSession):
            sess = sess.runtime  # the threads must not refer to the session itself
        from . import lowering  # imported here, because every thread would wait for the import

        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            self._thread(
                f"QueueRunnerThread-{self.name}-{op.name}",
                self._run,
                sess,
                op,
                coord,
                lowering.enqueuer,
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            name = f"QueueRunnerThread-{self.name}-close_on_stop"
            threads.append(self._thread(name, self._close_on_stop, weakref.ref(sess), coord))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            _ours[thread] = (weakref.ref(sess), coord)
            if start:
                thread.start()
        return threads

    @staticmethod
    def _thread(name: str, target: Callable[..., None], *arguments: Any) -> threading.Thread:
        return threading.Thread(target=target, args=arguments, name=name)

    def _at_work(self, sess: Any) -> Queue | None:
        """Return the queue's implementation in a session."""
        try:
            found = sess.run(self._queue.queue_ref)
        except Exception:  # the operation raises it itself
            return None
        return found if isinstance(found, Queue) else None

    def _run(
        self, sess: Any, enqueue_op: Any, coord: Coordinator | None, stepper: Callable[..., Any]
    ) -> None:
        queue = self._at_work(sess)
        if queue is not None:
            queue.feeder_comes()
        counted = True
        try:
            step = stepper(sess, enqueue_op)
            while coord is None or not coord.should_stop():
                step()
        except self._closed_types as error:
            _blame(queue, error.__cause__)
            counted = False
            self._end_of_run(sess)
        except Exception as error:
            _blame(queue, error)
            if coord is not None:
                coord.request_stop(error)
            else:
                self._failed(sess, error)
        finally:
            if queue is not None:
                queue.feeder_goes()
            if counted:
                with self._lock:
                    self._runs[sess] -= 1

    def _end_of_run(self, sess: Any) -> None:
        """Handle the end of input: the last thread that detects it closes the queue."""
        with self._lock:
            self._runs[sess] -= 1
            if self._runs[sess]:
                return
            try:
                sess.run(self._close_op)
            except Exception as error:
                log().debug("Ignored exception: %s", error)

    def _failed(self, sess: Any, error: Exception) -> None:
        with self._lock:
            self._exceptions_raised.append(error)
        if isinstance(error, (CancelledError, RuntimeError)) and getattr(sess, "closed", False):
            return  # the expected end
        log().error("Exception in QueueRunner: %s", error)
        raise error

    def _close_on_stop(self, session: weakref.ref[Any], coord: Coordinator) -> None:
        while not coord.wait_for_stop(_LOOK_UP_SECONDS):
            sess = session()
            if sess is None or getattr(sess, "closed", False):
                return
            del sess
        sess = session()
        if sess is None:
            return
        queue = self._at_work(sess)
        _blame(queue, coord.cause)
        try:
            sess.run(self._cancel_op)
        except Exception as error:
            log().debug("Ignored exception: %s", error)


def _blame(queue: Queue | None, cause: BaseException | None) -> None:
    """Record the error that ended a queue, unless it is only a consequence."""
    if queue is None or queue.cause is not None:
        return
    if cause is not None and not isinstance(cause, (CancelledError, RuntimeError)):
        queue.cause = cause


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Make :func:`start_queue_runners` start `qr`, too."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start all the queue runners of a graph."""
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {sess.__class__}")
    runners: Iterable[QueueRunner] = sess.graph.get_collection(collection)
    if not runners:
        log().warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined."
        )
    with sess.graph.as_default():
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]


# At the end of the interpreter, threads that wait forever must not block it.

_EXIT_SECONDS = 2.0
_Owner = tuple["weakref.ref[Any]", Coordinator | None]
_ours: weakref.WeakKeyDictionary[threading.Thread, _Owner] = weakref.WeakKeyDictionary()


def _at_exit() -> None:
    """Close the sessions of threads that still run, after the program's own threads have ended."""
    mine = [thread for thread in list(_ours) if thread.is_alive()]
    if not mine:
        return
    here = threading.current_thread()
    for thread in threading.enumerate():
        if not (thread.daemon or thread is here or thread in _ours):
            thread.join()
    for thread in mine:
        session, coord = _ours[thread]
        if coord is not None and not coord.joined:
            coord.request_stop()
        if (sess := session()) is not None:
            sess.close()
    for thread in mine:
        thread.join(_EXIT_SECONDS)


# Register for the time before the interpreter waits for non-daemon threads, where possible.
getattr(threading, "_register_atexit", atexit.register)(_at_exit)
