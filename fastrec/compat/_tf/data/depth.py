# SPDX-License-Identifier: Apache-2.0
"""Long chains of datasets, whose stages call each other more deeply than the stack allows.

Such a call runs on a thread with a larger stack, and the caller waits for its result. Programs that
add a step for each of thousands of files need that; all others never notice it.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_USUAL = 40  # chain length that fits on the usual stack, wherever in it the program itself is
_FRAMES = 16  # maximum Python calls per step
_STACK = 1 << 16  # maximum stack bytes per step
_MOST_STACK = 1 << 30

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

_lock = threading.Lock()
_running = 0  # calls that need the raised limit
_limit_before = 0
_here = threading.local()


def call_with_room(depth: int, function: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """Call a function with enough stack for a chain of `depth` steps."""
    if depth <= _USUAL or depth <= getattr(_here, "depth", 0):
        return function(*arguments, **options)
    context = contextvars.copy_context()
    result: list[_T] = []
    errors: list[BaseException] = []

    def work() -> None:
        _here.depth = depth
        try:
            result.append(context.run(function, *arguments, **options))
        except BaseException as error:
            errors.append(error)

    _raise_limit(depth)
    try:
        thread = _start(work, min(_MOST_STACK, (depth + 256) * _STACK))
        thread.join()
    finally:
        _restore_limit()
    if not errors:
        return result[0]
    try:
        raise errors[0]
    finally:
        errors.clear()


def _start(work: Callable[[], None], stack: int) -> threading.Thread:
    with _lock:
        before = threading.stack_size(stack)
        try:
            thread = threading.Thread(target=work, name="fastrec-deep", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _raise_limit(depth: int) -> None:
    global _running, _limit_before
    with _lock:
        if not _running:
            _limit_before = sys.getrecursionlimit()
        _running += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _limit_before + depth * _FRAMES))


def _restore_limit() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running:
            sys.setrecursionlimit(_limit_before)


def _depth_of(arguments: Iterable[Any]) -> int:
    """Return the length of the longest chain among arguments and lists of these."""
    deepest = 0
    for each in arguments:
        stage = getattr(each, "_node", None)
        if stage is not None:
            deepest = max(deepest, stage.depth)
        elif isinstance(each, (list, tuple)):
            deepest = max(deepest, _depth_of(each))
    return deepest


def _method_with_room(method: _F) -> _F:
    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        depth = _depth_of(arguments)
        if depth <= _USUAL:
            return method(*arguments, **options)
        return call_with_room(depth, method, *arguments, **options)

    return call  # type: ignore[return-value]


def with_room(kind: type[_T]) -> type[_T]:
    """Wrap the public methods of a dataset class so that long chains do not overflow the stack."""
    special = ("__iter__", "__len__", "__repr__")
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in special:
            continue
        if isinstance(member, property):
            setattr(kind, name, property(_method_with_room(member.fget), doc=member.__doc__))  # type: ignore[type-var]
        elif isinstance(member, staticmethod):
            setattr(kind, name, staticmethod(_method_with_room(member.__func__)))
        elif callable(member):
            setattr(kind, name, _method_with_room(member))
    return kind
