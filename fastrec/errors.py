# SPDX-License-Identifier: Apache-2.0
"""Exceptions, with the location of the error.

Data errors have file, record and offset as attributes and in their message, which is one line of
ASCII text. Errors of the operating system are plain :class:`OSError` with ``errno`` and
``filename``.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "CorruptRecordError",
    "ExampleParseError",
    "FastrecError",
    "IndexMismatchError",
    "LimitExceededError",
    "MissingRecordsError",
    "RandomAccessError",
    "TruncatedFileError",
    "call_out",
    "detached",
    "file_and_range",
    "log_info",
    "one_line",
    "printable",
    "reworded",
    "warn_caller",
    "with_remedy",
]

_Result = TypeVar("_Result")
_NOT_USERS = {__name__.partition(".")[0], "torch", "grain"}  # their loaders call our datasets

_Error = TypeVar("_Error", bound="FastrecError")


def call_out(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function of the caller; convert its StopIteration to a RuntimeError (PEP 479).

    Otherwise, an iterator that calls the function would appear to have ended.
    """
    try:
        return function(*arguments)
    except StopIteration as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise RuntimeError(f"{name} raised StopIteration") from error


def reworded(error: Exception, message: str) -> Exception:
    """Return an error of the same class with another message.

    The classes of Unicode errors require more than a message; such an error becomes a ValueError.
    """
    return ValueError(message) if isinstance(error, UnicodeError) else type(error)(message)


def with_remedy(error: _Error, remedy: str) -> _Error:
    """Return the same error of fastrec with another remedy in its message."""
    return type(error)(**{**error.__dict__, "hint": remedy})


def detached(error: _Error) -> _Error:
    """Return an error without its traceback and the errors before it, which keep data in memory."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def warn_caller(message: str) -> None:
    """Issue a RuntimeWarning at the line of the user's code that led to the call."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _NOT_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)


def log_info(message: str, *arguments: Any) -> None:
    """Write a message to the logger ``fastrec`` if the variable FASTREC_LOG requests it.

    Without a handler, the logger writes to standard error.
    """
    name = os.environ.get("FASTREC_LOG")
    if not name:
        return
    import logging

    if name.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError(f"FASTREC_LOG must be debug, info, warning or error, got {name!a}")
    logger = logging.getLogger("fastrec")
    logger.setLevel(name.upper())
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s fastrec %(levelname)s: %(message)s"))
        logger.addHandler(handler)
    logger.info(message, *arguments)


class FastrecError(Exception):
    """Base class of fastrec's own errors.

    Attributes
    ----------
    path : str or None
        The file, as passed by the caller; None without a file.
    record : int or None
        Number of the record, from 0, within its file (or within the records that were passed). If
        `file_range` is not None, the first record of the range has the number 0.
    file_range : tuple of int, or None
        Begin and end, in bytes, of the :class:`FileRange` that was read; None for a whole file.
    offset : int or None
        File position, in bytes, of the record's header (after decompression).
    feature : str or None
        Name of the feature, printable; None if the error does not concern a feature.
    cause : str
        Description of the error, without the location and the hint.
    hint : str
        A hint how to fix the error; empty without one.

    Examples
    --------
    >>> import io, fastrec
    >>> try:
    ...     fastrec.Reader(io.BytesIO(b"no record"))[0]
    ... except fastrec.FastrecError as error:
    ...     print(type(error).__name__)
    RandomAccessError
    """

    path: str | None = None
    record: int | None = None
    file_range: tuple[int, int] | None = None
    offset: int | None = None
    feature: str | None = None
    cause: str = ""
    hint: str = ""

    def __init__(
        self, headline: str = "", *, cause: str = "", hint: str = "", **coordinates: Any
    ) -> None:
        """Compose the message: the headline with cause and location, and the hint."""
        super().__init__(f"{headline}; {hint}" if hint else headline)
        self.headline = headline
        self.cause = cause or headline
        self.hint = hint
        self.__dict__.update(coordinates)

    @property
    def problem(self) -> str:
        """Description of the error and its feature, without the location and the hint."""
        return self.cause if self.feature is None else f"feature '{self.feature}': {self.cause}"


class CorruptRecordError(FastrecError, ValueError):
    """A record is damaged: a length or a checksum is wrong.

    Attributes
    ----------
    kind : str
        ``"length-crc"``, ``"data-crc"``, ``"torn-header"``, ``"torn-data"``, ``"torn-footer"``,
        ``"too-large"``, ``"zero-fill"``, ``"shrunk"``, ``"changed"``, ``"compression"`` for damage
        of the compressed stream around the records, or ``"cut"`` for a range of
        :func:`fastrec.file_ranges` that does not end at the end of a record.
    length : int or None
        Length of the record in its header, in bytes, if the header was readable.
    stored_crc, computed_crc : int or None
        The CRC32C stored in the file, and the CRC32C of the data, both unmasked, if they differ.
    content : str
        Format of a file that is not a TFRecord file, such as ``"Parquet"``, or the change that was
        made to a whole TFRecord file; empty for other damage.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> with open(path, "r+b") as file:
    ...     _ = file.seek(19 + 12), file.write(b"T")  # in the second record
    >>> try:
    ...     list(fastrec.Reader(path))
    ... except fastrec.CorruptRecordError as error:
    ...     print(error.kind, error.record, error.offset, error.length)
    data-crc 1 19 3
    """

    kind: str = ""
    length: int | None = None
    stored_crc: int | None = None
    computed_crc: int | None = None
    content: str = ""


class TruncatedFileError(CorruptRecordError, EOFError):
    """The bytes end inside a record.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> os.truncate(path, 30)
    >>> try:
    ...     list(fastrec.Reader(path))
    ... except fastrec.TruncatedFileError as error:
    ...     print(error.kind, error.record, error.offset)
    torn-header 1 19
    """


class LimitExceededError(FastrecError, ValueError):
    """A record or a stream exceeds its size limit.

    Attributes
    ----------
    kind : str
        ``"too-large"``.
    length : int or None
        The size that exceeds the limit, in bytes.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> try:
    ...     list(fastrec.Reader(path, max_record_bytes=4))
    ... except fastrec.LimitExceededError as error:
    ...     print(error.kind, error.record, error.length)
    too-large 2 5
    """

    kind: str = "too-large"
    length: int | None = None


class IndexMismatchError(FastrecError, ValueError):
    """An index is damaged or does not match its file; build it again.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> index = fastrec.Index.build(path).save()
    >>> with fastrec.Writer(path, overwrite=True) as writer:
    ...     writer.write(b"another file")
    >>> try:
    ...     fastrec.Index.load(path)
    ... except fastrec.IndexMismatchError as error:
    ...     print(error.path == path)
    True
    """


class MissingRecordsError(FastrecError):
    """Files differ from the manifest, or a set of shards is incomplete or mixed.

    A file is missing or different, or files hold the same records twice: shards of two generations
    of a set, or a file next to its repaired copy.

    Attributes
    ----------
    path : str
        The first file that is missing, different or surplus.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> folder = tempfile.mkdtemp()
    >>> with fastrec.Writer(os.path.join(folder, "a.tfrecord"), shards=2) as writer:
    ...     writer.write_many([b"one", b"two"])
    >>> os.remove(os.path.join(folder, "a-00001-of-00002.tfrecord"))
    >>> try:
    ...     fastrec.verify(os.path.join(folder, "a-*"))
    ... except fastrec.MissingRecordsError as error:
    ...     print(os.path.basename(error.path))
    a-00001-of-00002.tfrecord
    """


class RandomAccessError(FastrecError, TypeError):
    """The source can only be read in sequence.

    Also a :class:`TypeError`, because ``list()`` then continues without ``len()``.

    Examples
    --------
    >>> import io, fastrec
    >>> try:
    ...     len(fastrec.Reader(io.BytesIO()))
    ... except fastrec.RandomAccessError:
    ...     print("a stream has no length")
    a stream has no length
    """


class ExampleParseError(FastrecError, ValueError):
    """A record is not the ``tf.train.Example`` that the features describe.

    Attributes
    ----------
    kind : str
        ``"malformed"`` if the record is not an Example, ``"schema"`` if a feature is missing or has
        the wrong kind, size or range, ``"image"`` or ``"media"`` if an image, a sound or a video
        cannot be decoded.
    frame : int or None
        Number of the element in a feature list, from 0.

    Examples
    --------
    >>> import fastrec
    >>> try:
    ...     fastrec.parse_example([b"no message"], {"x": fastrec.FixedLenFeature((), "int64")})
    ... except fastrec.ExampleParseError as error:
    ...     print(error.kind, error.record)
    malformed 0
    """

    kind: str = ""
    frame: int | None = None

    def __init__(self, cause: str = "", **fields: Any) -> None:
        super().__init__(cause)
        self.__dict__.update(fields)
        self._format()

    @property
    def problem(self) -> str:
        frame = "" if self.frame is None else f"frame {self.frame}: "
        return frame + super().problem

    def _format(self) -> None:
        place = "" if self.record is None else f"record {self.record}: "
        if self.record is not None and self.path is not None:
            part = "" if self.file_range is None else " [{}:{}]".format(*self.file_range)
            place = f"record {self.record} in {self.path!a}{part}: "
        self.headline: str = place + self.problem
        self.args: tuple[Any, ...] = (
            f"{self.headline}; {self.hint}" if self.hint else self.headline,
        )

    def in_record(
        self,
        record: int,
        path: Any = None,
        offset: int | None = None,
    ) -> ExampleParseError:
        """Return an error with the same problem in another record.

        Code that parses some records of a file knows only their numbers in that selection; its
        caller knows the file, or the :class:`FileRange`.
        """
        name, file_range = file_and_range(path)
        place = {"path": name, "record": record, "offset": offset, "file_range": file_range}
        return ExampleParseError(**{**self.__dict__, **place})

    def in_feature(self, name: str | bytes) -> ExampleParseError:
        """Return an error with the same cause in the feature with this name."""
        return ExampleParseError(**{**self.__dict__, "feature": printable(name)})


def file_and_range(path: Any) -> tuple[str | None, tuple[int, int] | None]:
    """Return the name of a file or of a range's file, and the two positions of a range, or None."""
    end = getattr(path, "end", None)
    name = None if path is None else os.fsdecode(path if end is None else path.path)
    return name, None if end is None else (path.begin, end)


def one_line(error: BaseException) -> str:
    """Return the text of another library's error as one line of ASCII."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.encode("ascii", "backslashreplace").decode()


def printable(name: str | bytes) -> str:
    """Return the name of a feature in printable ASCII, with quotes escaped."""
    text = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
    return ascii(text)[1:-1]
