# SPDX-License-Identifier: Apache-2.0
"""Sessions, in which operations run and which own their resources."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ._nodes import operators
from ._runtime import Runtime
from .graph import Graph, get_default_graph


class Options:
    """Settings without effect. Any name can be set and read."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Options())


class ConfigProto(Options):
    """Settings of a session's devices, without effect."""


class GPUOptions(Options):
    """Settings of GPUs, without effect."""


class RunMetadata(Options):
    """Metadata of a run; always empty."""


class RunOptions:
    """Settings of one run.

    Parameters
    ----------
    timeout_in_ms : int
        The time limit in milliseconds; 0 means unlimited.
    """

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3

    def __init__(self, timeout_in_ms: int = 0, **others: Any) -> None:
        self.timeout_in_ms = timeout_in_ms
        self.__dict__.update(others)


class _Here(threading.local):
    def __init__(self) -> None:
        self.sessions: list[BaseSession] = []


_here = _Here()


class BaseSession:
    """The common base of both kinds of session.

    Parameters
    ----------
    target : str
        Must be empty, because remote sessions are not supported.
    graph : Graph, optional
        The graph whose operations it runs; the default graph if None.
    config : ConfigProto, optional
        Ignored.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if target:
            raise ValueError("fastrec.compat runs graphs in this process only: target must be ''")
        self.runtime: Final = Runtime(graph or get_default_graph())
        weakref.finalize(self, self.runtime.close)

    @property
    def graph(self) -> Graph:
        """The graph whose operations it runs."""
        return self.runtime.graph

    @property
    def graph_def(self) -> Graph:
        """The graph, because it has only one representation."""
        return self.runtime.graph

    @property
    def sess_str(self) -> str:
        """The empty string."""
        return ""

    @property
    def closed(self) -> bool:
        """Whether the session is closed."""
        return self.runtime.closed

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run the operations that `fetches` depends on, and return its values."""
        return self.runtime.run(fetches, feed_dict, options, run_metadata)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches`, with values for `feed_list` as its arguments."""
        call = self.runtime.make_callable(fetches, feed_list, accept_options)
        call.__dict__["session"] = self  # keeps the session open while the function exists
        return call

    def close(self) -> None:
        """Cancel the running steps, and release all resources."""
        self.runtime.close()

    @contextlib.contextmanager
    def as_default(self) -> Iterator[BaseSession]:
        """Make this the default session, which :meth:`Tensor.eval` uses, within the context."""
        _here.sessions.append(self)
        try:
            yield self
        finally:
            _here.sessions.remove(self)


class Session(BaseSession):
    """Runs the operations of a graph. The end of a ``with`` block closes it."""

    _entered: contextlib.ExitStack | None = None

    def __enter__(self) -> Session:
        stack = contextlib.ExitStack()
        stack.enter_context(self.runtime.graph.as_default())
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
        """Do nothing, because sessions share nothing."""


class InteractiveSession(BaseSession):
    """A session that is the default session from its creation until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._defaults = contextlib.ExitStack()
        if graph is not None:
            self._defaults.enter_context(graph.as_default())
        self._defaults.enter_context(self.as_default())

    def close(self) -> None:
        """Cancel the running steps, and stop being the default session."""
        super().close()
        self._defaults.close()


def get_default_session() -> BaseSession | None:
    """Return the session of :meth:`Tensor.eval` and :meth:`Operation.run`, or None."""
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
