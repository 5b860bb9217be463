# SPDX-License-Identifier: Apache-2.0
"""The runtime of a session, separate from the session object.

Threads of queue runners refer only to the runtime. A session that the program drops is therefore
closed, and its threads end, even in the middle of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from .._tf.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from ._fetches import fed_array, feeds_of, fetched
from ._graph import Graph
from ._nodes import DEAD, Operation, Tensor
from ._plan import Plan

T = TypeVar("T")


class Runnable(Protocol):
    """An object that can be run: a plan, or a substitute for one."""

    def run(self, step: Step, feeds: Sequence[Any]) -> list[Any]:
        """Return the values of the fetches."""


class Cancellation:
    """The cancellation of a run, with callbacks.

    Attributes
    ----------
    cancelled : bool
        Whether the run is cancelled.
    """

    __slots__ = ("_callbacks", "_lock", "_next", "cancelled")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._next = 0
        self.cancelled: bool = False

    def register(self, callback: Callable[[], object]) -> int:
        """Register a callback for the cancellation; call it immediately if the run is cancelled.

        It is called at most once, from any thread.
        """
        with self._lock:
            self._next += 1
            handle = self._next
            if not self.cancelled:
                self._callbacks[handle] = callback
                return handle
        callback()
        return handle

    def deregister(self, handle: int) -> bool:
        """Remove a callback. Return False if it has been called, or is being called."""
        with self._lock:
            return self._callbacks.pop(handle, None) is not None

    def cancel(self) -> None:
        """Cancel the run."""
        with self._lock:
            self.cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()


class Step:
    """One run of a session, as kernels see it.

    Attributes
    ----------
    session : Runtime
        The runtime.
    cancellation : Cancellation
        The cancellation, for kernels that wait.
    """

    __slots__ = ("cancellation", "session")

    def __init__(self, session: Runtime) -> None:
        self.session: Final = session
        self.cancellation: Final = Cancellation()

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """Return the session's resource under `key`; `make` creates it on first use."""
        return self.session.resource(key, make)


class Runtime:
    """Runs the operations of a graph, and owns their resources.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    closed : bool
        Whether the session is closed.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.closed: bool = False
        self._lock = threading.RLock()
        self._plans: dict[Any, Plan] = {}
        self._resources: dict[Any, Any] = {}
        self._live: set[Cancellation] = set()

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """Return the resource under `key`; `make` creates it on first use."""
        try:
            found: T = self._resources[key]
            return found
        except KeyError:
            with self._lock:
                if key not in self._resources:
                    self._resources[key] = make()
                made: T = self._resources[key]
                return made

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """See :meth:`fastrec.compat.v1.Session.run`."""
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self.graph.last_op_id:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        tensors, values = feeds_of(feed_dict, self.graph) if feed_dict else ([], [])
        flat: list[Tensor | Operation] = []
        rebuild = fetched(fetches, self.graph, flat)
        plan = self._plan(flat, tensors)
        timeout = getattr(options, "timeout_in_ms", 0) or 0
        return rebuild(iter(self.execute(plan, values, timeout / 1000)))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches`, with values for `feed_list` as its arguments.

        Raises
        ------
        CancelledError
            From calling it, if the session is closed.
        """
        flat: list[Tensor | Operation] = []
        rebuild = fetched(fetches, self.graph, flat)
        feeds = [
            tensor
            for key in feed_list or ()
            if isinstance(tensor := self.graph.as_graph_element(key), Tensor)
        ]
        plan = self._plan(flat, feeds)

        def call(*arguments: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(arguments) != len(feeds):
                raise ValueError(f"expected {len(feeds)} arguments, got {len(arguments)}")
            if self.closed:
                raise CancelledError(None, None, "Session has been closed.")
            values = [fed_array(t, value) for t, value in zip(feeds, arguments, strict=True)]
            timeout = getattr(options, "timeout_in_ms", 0) or 0
            return rebuild(iter(self.execute(plan, values, timeout / 1000)))

        return call

    def _plan(self, flat: list[Tensor | Operation], feeds: list[Tensor]) -> Plan:
        key = (tuple(flat), tuple(feeds))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(flat, feeds)
        return plan

    def execute(self, plan: Runnable, feeds: list[Any], timeout: float) -> list[Any]:
        """Run a plan, for at most `timeout` seconds unless that is 0."""
        step = Step(self)
        cancellation = step.cancellation
        with self._lock:
            self._live.add(cancellation)
        timer = None
        late = False

        def expire() -> None:
            nonlocal late
            late = True
            cancellation.cancel()

        try:
            if timeout > 0:
                timer = threading.Timer(timeout, expire)
                timer.daemon = True
                timer.start()
            if self.closed:  # closed during the run
                raise CancelledError(None, None, "Session has been closed.")
            with np.errstate(all="ignore"):
                values = plan.run(step, feeds)
            return [plain(value) for value in values]
        except CancelledError as error:
            if late:
                message = "Timed out waiting for notification"
                raise DeadlineExceededError(None, error.op, message) from error
            raise
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()
            with self._lock:
                self._live.discard(cancellation)

    def close(self) -> None:
        """Cancel the running steps, and release all resources."""
        with self._lock:
            self.closed = True
            live = list(self._live)
        for cancellation in live:
            cancellation.cancel()
        with self._lock:
            self._resources.clear()
            self._plans.clear()


def plain(value: Any) -> Any:
    """Convert a value for the caller of a session: a scalar, or an array that the caller owns."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        if not value.flags.writeable:
            return value.copy()
    elif value is DEAD:
        raise InvalidArgumentError(None, None, "Retval[0] does not have value")
    return value
