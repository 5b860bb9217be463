# SPDX-License-Identifier: Apache-2.0
"""Queue runners: threads that keep queues filled."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._tf.errors import CancelledError, OpError, OutOfRangeError
from ._nodes import Operation
from ._queueing import Queue
from .coordinator import Coordinator, log
from .graph import GraphKeys, get_default_graph
from .queue_base import QueueBase
from .session import BaseSession, get_default_session

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
