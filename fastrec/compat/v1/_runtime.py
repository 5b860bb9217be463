# SPDX-License-Identifier: Apache-2.0
"""The runtime of a session, separate from the session object.

Threads of queue runners refer only to the runtime. A session that the program drops is therefore
closed, and its threads end, even in the middle of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from .._tf.arrays import as_typed, strings_of
from .._tf.dtypes import DType, resource, string
from .._tf.errors import CancelledError, DeadlineExceededError, invalid
from ._nodes import DEAD, Operation, Tensor
from ._plan import Plan
from .graph import Graph

Fetched = Callable[[Iterator[Any]], Any]
"""Takes as many values as it needs and gives them in the structure that was asked for."""


def fetched(fetch: Any, graph: Graph, flat: list[Tensor | Operation]) -> Fetched:
    """Add the tensors of `fetch` to `flat`; return a function from their values to the result.

    Raises
    ------
    TypeError
        If `fetch` cannot be fetched.
    ValueError
        If it is not in `graph`.
    """
    if isinstance(fetch, (Tensor, Operation)) or not isinstance(fetch, (list, tuple, Mapping)):
        return _single(fetch, graph, flat)
    if isinstance(fetch, Mapping):
        parts = [fetched(value, graph, flat) for value in fetch.values()]
        keys = list(fetch)
        kind: Any = type(fetch)
        made = dict if kind is dict or not isinstance(fetch, dict) else kind
        return lambda values: made(
            [(key, part(values)) for key, part in zip(keys, parts, strict=True)]
        )
    parts = [fetched(value, graph, flat) for value in fetch]
    if isinstance(fetch, list):
        return lambda values: [part(values) for part in parts]
    if hasattr(fetch, "_fields"):
        named: Any = type(fetch)
        return lambda values: named(*[part(values) for part in parts])
    return lambda values: tuple([part(values) for part in parts])


def _single(fetch: Any, graph: Graph, flat: list[Tensor | Operation]) -> Fetched:
    if hasattr(fetch, "_fetch_parts"):
        parts, rebuild = fetch._fetch_parts()
        inner = fetched(list(parts), graph, flat)
        return lambda values: rebuild(*inner(values))
    if fetch is None:
        raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
    try:
        flat.append(graph.as_graph_element(fetch))
    except TypeError as error:
        raise TypeError(
            f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a '
            f"string or Tensor. ({error})"
        ) from None
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})"
        ) from None
    return next


def feeds_of(feed_dict: Any, graph: Graph) -> tuple[list[Tensor], list[Any]]:
    """Return the fed tensors, and their values as arrays.

    Raises
    ------
    TypeError
        If a key or a value cannot be fed.
    ValueError
        If a value has another shape.
    """
    tensors: list[Tensor] = []
    values: list[Any] = []
    for key, value in dict(feed_dict or {}).items():
        if hasattr(key, "_feed_parts"):
            for tensor, part in key._feed_parts(value):
                tensors.append(tensor)
                values.append(fed_array(tensor, part))
            continue
        try:
            found = graph.as_graph_element(key, allow_operation=False)
        except (KeyError, TypeError, ValueError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        assert isinstance(found, Tensor)
        tensors.append(found)
        values.append(fed_array(found, value))
    return tensors, values


def fed_array(tensor: Tensor, value: Any) -> Any:
    """Convert `value` to an array of the type of `tensor`.

    Raises
    ------
    TypeError
        If `value` is a tensor, or a number that the type cannot represent.
    ValueError
        If `value` has another shape.
    """
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the argument `feed_dict` with key "
            f"{tensor}."
        )
    if tensor.dtype is resource:
        return value
    array = _array_of(value, tensor.dtype)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape "
            f"{tensor.shape}"
        )
    # The caller's array is never modified.
    array = array.view()
    array.flags.writeable = False
    return array


def _array_of(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    if dtype is string:
        return strings_of(value)
    try:
        return as_typed(value, dtype.numpy)
    except OverflowError:
        pass
    raise TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
        f"{dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a larger "
        f"type (e.g. int64)."
    )


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
        raise invalid("Retval[0] does not have value")
    return value
