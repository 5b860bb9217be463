# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a source, on their way through TensorFlow to the user.

TensorFlow turns an exception of Python code into an OpError with its text. That text contains the
number of the exception, and where TensorFlow raises the OpError the exception is raised instead.
"""

from __future__ import annotations

import itertools
import re
import threading
from types import TracebackType
from typing import Any

import tensorflow as tf

from ..errors import FastrecError

__all__ = ["failed", "original_errors"]

_KEPT = 16  # exceptions, each of which keeps the frames of its traceback

_lock = threading.Lock()
_numbers = itertools.count(1)
_failures: dict[int, BaseException] = {}
_NUMBER = re.compile(r"\[exception (\d+) of a fastrec source\]")


class SourceError(Exception):
    """The exception that TensorFlow receives in place of that of a source."""


def failed(error: BaseException) -> SourceError:
    """Return what to raise within TensorFlow for the exception of a source."""
    error = _of_user(error)
    with _lock:
        number = next(_numbers)
        _failures[number] = error
        for old in list(_failures)[:-_KEPT]:
            del _failures[old]
    return SourceError(f"{type(error).__name__}: {error} [exception {number} of a fastrec source]")


def _of_user(error: BaseException) -> BaseException:
    """Return the exception of a user's function that fastrec.compat has turned into an OpError."""
    cause = error.__cause__
    is_compat = type(error).__module__.startswith("fastrec.compat.")
    is_of_user = is_compat and not isinstance(error, (FastrecError, OSError))
    return cause if is_of_user and isinstance(cause, Exception) else error


def _original(message: str) -> BaseException | None:
    """Return the exception that the message of an OpError names, once."""
    match = _NUMBER.search(message) if _failures else None
    return None if match is None else _failures.pop(int(match[1]), None)


class original_errors:
    """Raise the exception of a source instead of the TensorFlow error that it became.

    Iterators, functions and ``fit`` raise the exception itself. For ``Session.run`` of TensorFlow 1
    enter this context.

    Examples
    --------
    >>> with original_errors():  # doctest: +SKIP
    ...     session.run(iterator.get_next())
    """

    def __enter__(self) -> original_errors:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        original = _original(error.message) if isinstance(error, tf.errors.OpError) else None
        if original is not None:
            raise original from None


def _install() -> None:
    """Have TensorFlow's eager execution raise the exceptions of sources.

    It makes OpErrors in two private places: one for operations, one for functions. Without them, as
    in a future release, `original_errors` does the same.
    """
    try:
        from tensorflow.python.eager import core
        from tensorflow.python.eager.polymorphic_function import atomic_function

        of_function = atomic_function.InterpolateRuntimeError
        translate, leave = core._status_to_exception, of_function.__exit__
    except (ImportError, AttributeError):
        return

    def status_to_exception(status: Any) -> BaseException:
        error: BaseException = translate(status)
        return _original(str(error)) or error

    def leave_function(self: Any, kind: Any, error: Any, traceback: Any) -> Any:
        original_errors().__exit__(kind, error, traceback)
        return leave(self, kind, error, traceback)

    core._status_to_exception = status_to_exception
    of_function.__exit__ = leave_function


_install()
