# SPDX-License-Identifier: Apache-2.0
"""Sessions: where operations run, and where what they keep lives."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from .._errors import CancelledError, DeadlineExceededError
from ._fetches import fed_array, feeds_of, fetched
from ._graph import Graph
from ._nodes import Operation, Tensor, operators
from ._plan import Plan
from .graph import get_default_graph

__all__ = [
    "Cancellation",
    "ConfigProto",
    "GPUOptions",
    "InteractiveSession",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Step",
    "get_default_session",
]

T = TypeVar("T")


class Options:
    """Settings of something that is not here. Kept and given back; any name will do."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Options())


class ConfigProto(Options):
    """Settings of a session's devices: there are none to set."""


class GPUOptions(Options):
    """Settings of devices that are not here."""


class RunMetadata(Options):
    """What a run would say of itself: nothing."""


class RunOptions:
    """Settings of one run.

    Parameters
    ----------
    timeout_in_ms : int
        How long it may take, in milliseconds; 0 for as long as it likes.
    """

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3

    def __init__(self, timeout_in_ms: int = 0, **others: Any) -> None:
        self.timeout_in_ms = timeout_in_ms
        self.__dict__.update(others)


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
    session : Session
        The session.
    cancellation : Cancellation
        For kernels that wait.
    """

    __slots__ = ("cancellation", "session")

    def __init__(self, session: BaseSession) -> None:
        self.session = session
        self.cancellation = Cancellation()

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """What the session keeps under `key`; made by `make` the first time."""
        return self.session.resource(key, make)


class _Here(threading.local):
    def __init__(self) -> None:
        self.sessions: list[BaseSession] = []


_here = _Here()


class BaseSession:
    """What both kinds of session do.

    Parameters
    ----------
    target : str
        Must be empty: there is nothing to connect to.
    graph : Graph, optional
        The graph whose operations it runs; the default one otherwise.
    config : ConfigProto, optional
        Not looked at.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if target:
            raise ValueError("fastrec.compat runs graphs in this process only: target must be ''")
        self._graph = graph or get_default_graph()
        self._closed = False
        self._lock = threading.RLock()
        self._plans: dict[Any, Plan] = {}
        self._resources: dict[Any, Any] = {}
        self._live: set[Cancellation] = set()
        #: Queue runners' threads that were started for this session.
        self.runner_threads = 0

    @property
    def graph(self) -> Graph:
        """The graph whose operations it runs."""
        return self._graph

    @property
    def graph_def(self) -> Graph:
        """The graph: there is no other form of it."""
        return self._graph

    @property
    def sess_str(self) -> str:
        """The empty string."""
        return ""

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._closed

    def resource(self, key: Operation | str, make: Callable[[], T]) -> T:
        """What is kept here under `key`; made by `make` the first time."""
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
        """Run what `fetches` depends on and give its values.

        Parameters
        ----------
        fetches : Tensor, Operation, str, or a structure of them
            What is wanted: lists, tuples, named tuples and dicts, within each other. An operation
            gives None, a string tensor ``bytes`` or an object array of them.
        feed_dict : dict, optional
            Values that tensors have in this run.
        options : RunOptions, optional
            Its ``timeout_in_ms`` is looked at.

        Raises
        ------
        RuntimeError
            When the session is closed, or the graph empty.
        OpError
            What goes wrong in an operation.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.last_op_id:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        tensors, values = feeds_of(feed_dict, self._graph) if feed_dict else ([], [])
        flat: list[Tensor | Operation] = []
        rebuild = fetched(fetches, self._graph, flat)
        plan = self._plan(flat, tensors)
        timeout = getattr(options, "timeout_in_ms", 0) or 0
        return rebuild(iter(self._execute(plan, values, timeout / 1000)))

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
        rebuild = fetched(fetches, self._graph, flat)
        feeds = [
            tensor
            for key in feed_list or ()
            if isinstance(tensor := self._graph.as_graph_element(key), Tensor)
        ]
        plan = self._plan(flat, feeds)

        def call(*arguments: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(arguments) != len(feeds):
                raise ValueError(f"expected {len(feeds)} arguments, got {len(arguments)}")
            if self._closed:
                raise CancelledError(None, None, "Session has been closed.")
            values = [fed_array(t, value) for t, value in zip(feeds, arguments, strict=True)]
            timeout = getattr(options, "timeout_in_ms", 0) or 0
            return rebuild(iter(self._execute(plan, values, timeout / 1000)))

        return call

    def _plan(self, flat: list[Tensor | Operation], feeds: list[Tensor]) -> Plan:
        key = (tuple(flat), tuple(feeds))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(flat, feeds)
        return plan

    def _execute(self, plan: Plan, feeds: list[Any], timeout: float) -> list[Any]:
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
            if self._closed:  # in between
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
        """Call off what is running, and let go of everything that is kept here."""
        with self._lock:
            self._closed = True
            live = list(self._live)
        for cancellation in live:
            cancellation.cancel()
        with self._lock:
            self._resources.clear()
            self._plans.clear()

    @contextlib.contextmanager
    def as_default(self) -> Iterator[BaseSession]:
        """Make it the session of :meth:`Tensor.eval` and :meth:`Operation.run`."""
        _here.sessions.append(self)
        try:
            yield self
        finally:
            _here.sessions.remove(self)


def plain(value: Any) -> Any:
    """What the caller of a session gets for `value`: a scalar, or an array of his own."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        if not value.flags.writeable:
            return value.copy()
    return value


class Session(BaseSession):
    """Runs the operations of a graph. Leaving a ``with`` block closes it."""

    _entered: contextlib.ExitStack | None = None

    def __enter__(self) -> Session:
        stack = contextlib.ExitStack()
        stack.enter_context(self._graph.as_default())
        stack.enter_context(self.as_default())
        self._entered = stack
        return self

    def __exit__(self, *raised: object) -> None:
        if self._entered is not None:
            self._entered.close()
            self._entered = None
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Nothing: sessions share nothing."""


class InteractiveSession(BaseSession):
    """A session that is the default one from when it is made until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._defaults = contextlib.ExitStack()
        if graph is not None:
            self._defaults.enter_context(graph.as_default())
        self._defaults.enter_context(self.as_default())

    def close(self) -> None:
        """Call off what is running, and be the default no longer."""
        super().close()
        self._defaults.close()


def get_default_session() -> BaseSession | None:
    """The session of :meth:`Tensor.eval` and :meth:`Operation.run`, or None."""
    return _here.sessions[-1] if _here.sessions else None


def _chosen(what: str, session: BaseSession | None, graph: Graph) -> BaseSession:
    chosen = session or get_default_session()
    if chosen is None:
        whole = {
            "eval": "Cannot evaluate tensor using `eval()`",
            "run": "Cannot execute operation using `run()`",
        }[what]
        raise ValueError(
            f"{whole}: No default session is registered. Use `with sess.as_default()` or pass an "
            f"explicit session to `{what}(session=sess)`"
        )
    if chosen.graph is not graph:
        raise ValueError(
            "Cannot use the default session to evaluate tensor: the tensor's graph is different "
            "from the session's graph. Pass an explicit session to `eval(session=sess)`."
            if what == "eval"
            else "Cannot use the default session to execute operation: the operation's graph is "
            "different from the session's graph. Pass an explicit session to run(session=sess)."
        )
    return chosen


operators["session"] = _chosen
