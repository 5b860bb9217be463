# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's errors. What one of fastrec's own turns into is an error of both kinds."""

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
        What happened.
    error_code : int, optional
        One of the numbers of this module; each class has its own.
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
        """Text of the error."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The same as `op`: operations have no other form here."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """The number of the class of errors."""
        return self.code

    def at(self, op: Any) -> OpError:
        """This error, now known to come from `op`, whose name the message then gives.

        The first operation that is set is kept.
        """
        if self._op is None:
            self._node_def = self._op = op
            self._message = f"{self._message}\n\t [[{{{{node {op.name}}}}}]]"
            origin = getattr(op, "origin", None)
            if origin is not None:
                self._message += f"\n\t made at {origin[0]}:{origin[1]}"
        return self

    def within(self, context: str) -> OpError:
        """This error, whose message begins with where it was raised; the first is kept."""
        if not self._within:
            self._within, self._message = True, context + self._message
        return self

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, None, self._message)


class CancelledError(OpError):
    """The operation was called off."""

    code = CANCELLED


class UnknownError(OpError):
    """Something that none of the others describes."""

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation got something that it cannot work on."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """It took longer than was allowed."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file or another thing that was asked for is not there."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Raised when the object to be made already exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The operation is not allowed here."""

    code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """Raised when the caller is not authenticated."""

    code = UNAUTHENTICATED


class ResourceExhaustedError(OpError):
    """Memory, space or something else ran out."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """Something else had to be done first, as to initialise a variable."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The operation was aborted."""

    code = ABORTED


class OutOfRangeError(OpError):
    """Past the end: of a file, or of a queue that is closed and empty."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """There is no such operation, or not for these types."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """Something inside is not as it should be."""

    code = INTERNAL


class UnavailableError(OpError):
    """Not to be had at the moment."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Data are damaged."""

    code = DATA_LOSS


class CorruptDataLossError(DataLossError, CorruptRecordError):
    """A damaged record, as both libraries report it."""


class TruncatedDataLossError(DataLossError, TruncatedFileError):
    """A record that ends early, as both libraries report it."""


class ParseInvalidArgumentError(InvalidArgumentError, ExampleParseError):
    """An Example that is not what was asked for, as both libraries report it."""


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file that is not there, also as Python reports it."""


class DeniedFileError(PermissionDeniedError, PermissionError):
    """A file that may not be opened, also as Python reports it."""


class ExistingFileError(AlreadyExistsError, FileExistsError):
    """A file that is there already, also as Python reports it."""


class FilePreconditionError(FailedPreconditionError, OSError):
    """A file or directory that is not in a state for it, also as Python reports it."""


class FileUnknownError(UnknownError, OSError):
    """Any other trouble with a file, also as Python reports it."""


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


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of errors that has a number."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The number of a class of errors."""
    return cls.code


def translated(error: Exception, message: str | None = None) -> OpError:
    """Return the error that TensorFlow raises where fastrec or the operating system raised `error`.

    The result is an error of both kinds where there is a class for both, with the coordinates of
    the original. Raise it ``from`` the original.

    Parameters
    ----------
    error : Exception
        What was raised.
    message : str, optional
        TensorFlow's text for it; the default is the text of `error`.
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
    """While a function of a program runs: what it raises becomes one of these errors.

    Errors of fastrec and of the system stay what they are.
    """
    try:
        yield
    except (OpError, FastrecError, OSError):
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(None, None, f"{type(error).__name__}: {error}") from error
    except StopIteration as error:  # which would end what is gone through
        raise OutOfRangeError(None, None, f"StopIteration: {error}") from error
    except NotImplementedError as error:
        raise UnimplementedError(None, None, f"{type(error).__name__}: {error}") from error
    except Exception as error:
        raise UnknownError(None, None, f"{type(error).__name__}: {error}") from error
