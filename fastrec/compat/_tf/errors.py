# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's errors, and classes that are errors of both TensorFlow and fastrec."""

from __future__ import annotations

import contextlib
import errno as _errno
from collections.abc import Iterator
from typing import Any

from fastrec.errors import CorruptRecordError, ExampleParseError, FastrecError, TruncatedFileError

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """Error of an operation that failed while it ran.

    Parameters
    ----------
    node_def, op : object or None
        The operation that failed, if any.
    message : str
        A description of the failure.
    error_code : int, optional
        One of the numbers of this module; each class has a different one.
    """

    code: int = UNKNOWN
    _within = False

    def __init__(self, node_def: Any, op: Any, message: str, *code: int) -> None:
        Exception.__init__(self, node_def, op, message)
        self._node_def, self._op, self._message = node_def, op, message
        if code:
            self.code = code[0]

    @property
    def message(self) -> str:
        """The text of the error."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The same object as `op`, because operations have only one representation."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """The number of the class of errors."""
        return self.code

    def at(self, op: Any) -> OpError:
        """Return this error after adding `op`, whose name then appears in the message.

        The first operation that is added is kept.
        """
        if self._op is None:
            self._node_def = self._op = op
            self._message = f"{self._message}\n\t [[{{{{node {op.name}}}}}]]"
            origin = getattr(op, "origin", None)
            if origin is not None:
                self._message += f"\n\t made at {origin[0]}:{origin[1]}"
        return self

    def within(self, context: str) -> OpError:
        """Return this error with `context` at the start of its message; the first one is kept."""
        if not self._within:
            self._within, self._message = True, context + self._message
        return self

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, None, self._message)


class CancelledError(OpError):
    """The operation was cancelled."""

    code = CANCELLED


class UnknownError(OpError):
    """An error that no other class describes."""

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation received an invalid argument."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The operation exceeded its time limit."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file or another requested object does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """The object to be created already exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The operation is not permitted."""

    code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    code = UNAUTHENTICATED


class ResourceExhaustedError(OpError):
    """Memory, space or another resource is exhausted."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The operation requires another one first, such as initialising a variable."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The operation was aborted."""

    code = ABORTED


class OutOfRangeError(OpError):
    """The end was reached: of a file, or of a closed and empty queue."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """The operation does not exist, or not for these types."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """An internal invariant is violated."""

    code = INTERNAL


class UnavailableError(OpError):
    """The resource is temporarily unavailable."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Data is damaged."""

    code = DATA_LOSS


class CorruptDataLossError(DataLossError, CorruptRecordError):
    """A damaged record; an error of both libraries."""


class TruncatedDataLossError(DataLossError, TruncatedFileError):
    """A truncated record; an error of both libraries."""


class ParseInvalidArgumentError(InvalidArgumentError, ExampleParseError):
    """An Example that does not match the features; an error of both libraries."""


class MissingFileError(NotFoundError, FileNotFoundError):
    """A missing file; also Python's error."""


class DeniedFileError(PermissionDeniedError, PermissionError):
    """A file that may not be opened; also Python's error."""


class ExistingFileError(AlreadyExistsError, FileExistsError):
    """A file that already exists; also Python's error."""


class FilePreconditionError(FailedPreconditionError, OSError):
    """A file or directory in the wrong state; also Python's error."""


class FileUnknownError(UnknownError, OSError):
    """Any other error of a file; also Python's error."""


_BY_CODE = {
    kind.code: kind
    for kind in OpError.__subclasses__()
}  # fmt: skip
_BY_ERRNO: dict[int, type[OpError]] = {
    _errno.ENOENT: MissingFileError,
    _errno.EACCES: DeniedFileError,
    _errno.EPERM: DeniedFileError,
    _errno.EEXIST: ExistingFileError,
    _errno.EISDIR: FilePreconditionError,
    _errno.ENOTDIR: FilePreconditionError,
    _errno.ENOTEMPTY: FilePreconditionError,
    _errno.EBADF: FilePreconditionError,
}
_COORDINATES = (
    "path", "record", "offset", "feature", "cause", "hint", "headline", "kind", "length",
    "stored_crc", "computed_crc",
)  # fmt: skip


def invalid(message: str) -> InvalidArgumentError:
    """Return the error of an operation for an invalid value."""
    return InvalidArgumentError(None, None, message)


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class with a number."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return the number of an error class."""
    return cls.code


def translated(error: Exception, message: str | None = None) -> OpError:
    """Return the TensorFlow error that corresponds to an error of fastrec or the operating system.

    Where possible the result is an instance of both classes, with the coordinates of the original.
    Raise it ``from`` the original.

    Parameters
    ----------
    error : Exception
        The original error.
    message : str, optional
        TensorFlow's message; the message of `error` by default.
    """
    if isinstance(error, OpError):
        return error
    if isinstance(error, OSError):
        return _of_the_system(error, message)
    if isinstance(error, TruncatedFileError):
        kind: type[OpError] = TruncatedDataLossError
    elif isinstance(error, CorruptRecordError):
        kind = CorruptDataLossError
    elif isinstance(error, ExampleParseError):
        kind = ParseInvalidArgumentError
    elif isinstance(error, FastrecError):
        kind = DataLossError
    else:
        kind = InvalidArgumentError if isinstance(error, ValueError) else UnknownError
    result = kind(None, None, str(error) if message is None else message)
    for name in _COORDINATES:
        if hasattr(error, name):
            setattr(result, name, getattr(error, name))
    return result


def _of_the_system(error: OSError, message: str | None) -> OpError:
    kind = _BY_ERRNO.get(error.errno or 0, FileUnknownError)
    if message is None:
        message = f"{error.filename}; {error.strerror}" if error.filename else str(error)
    result: Any = kind(None, None, message)
    result.errno, result.strerror, result.filename = error.errno, error.strerror, error.filename
    found: OpError = result
    return found


@contextlib.contextmanager
def of_python() -> Iterator[None]:
    """Convert exceptions of a user's function to TensorFlow's errors within the context.

    Errors of fastrec and of the operating system are passed on unchanged.
    """
    try:
        yield
    except (OpError, FastrecError, OSError):
        raise
    except (TypeError, ValueError) as error:
        raise invalid(f"{type(error).__name__}: {error}") from error
    except StopIteration as error:  # a StopIteration would end the iteration silently
        raise OutOfRangeError(None, None, f"StopIteration: {error}") from error
    except NotImplementedError as error:
        raise UnimplementedError(None, None, f"{type(error).__name__}: {error}") from error
    except Exception as error:
        raise UnknownError(None, None, f"{type(error).__name__}: {error}") from error
