# SPDX-License-Identifier: Apache-2.0
"""Runtime of a session, without its owner.

Threads of queue runners know this part of a session only. So a session that its program drops
is closed, and its threads end, although they were in the middle of running something.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from .._tf.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from ._fetches import fed_array, feeds_of, fetched
from ._graph import Graph
from ._nodes import DEAD, Operation, Tensor
from ._plan import Plan

__all__ = ["Cancellation", "Runtime", "Step", "plain"]

T = TypeVar("T")


class Runnable(Protocol):
    """Object that can be run: a plan, or a substitute for one."""

    def run(self, step: Step, feeds: Sequence[Any]) -> list[Any]:
        """Values for the fetches."""


class Cancellation:
    """Whether a run has been called off, and who wants to be told.

    Attributes
    ----------
    cancelled : bool
        Whether it has been.
    """

    __slots__ = ("_callbacks", "_lock", "_next", "cancelled")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._next = 0
        self.cancelled = False

    def register(self, callback: Callable[[], object]) -> int:
        """Have `callback` called when the run is called off; at once, if it has been.

        It is called once at most, from any thread.
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
        """Take a callback back. False when it has been called, or is being called."""
        with self._lock:
            return self._callbacks.pop(handle, None) is not None

    def cancel(self) -> None:
        """Call the run off."""
        with self._lock:
            self.cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()


class Step:
    """One run of a session, as the kernels see it.

    Attributes
    ----------
    session : Runtime
        What runs it.
    cancellation : Cancellation
        For kernels that wait.
    """

    __slots__ = ("cancellation", "session")

    def __init__(self, session: Runtime) -> None:
        self.session = session
        self.cancellation = Cancellation()

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """Resource of the session under `key`; made by `make` the first time."""
        return self.session.resource(key, make)


class Runtime:
    """Runs the operations of a graph, and keeps what they keep.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    closed : bool
        Whether it has been closed.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.closed = False
        self._lock = threading.RLock()
        self._plans: dict[Any, Plan] = {}
        self._resources: dict[Any, Any] = {}
        self._live: set[Cancellation] = set()

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """Resource under `key`; made by `make` the first time."""
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
        """A function that runs `fetches`, with values for `feed_list` as its arguments.

        Raises
        ------
        CancelledError
            From calling it, when the session has been closed.
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
        """Run a plan, at most `timeout` seconds where that is not 0."""
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
            if self.closed:  # in between
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
    """Value as the caller of a session gets it: a scalar, or an array that the caller owns."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        if not value.flags.writeable:
            return value.copy()
    elif value is DEAD:
        raise InvalidArgumentError(None, None, "Retval[0] does not have value")
    return value
