# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's writer and readers of record files, as ``tf.io`` and ``tf.python_io`` have them."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

import fastrec
from fastrec.errors import CorruptRecordError, FastrecError, LimitExceededError

from . import _errors

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "as_path",
    "compression_of",
    "data_error",
    "tf_record_iterator",
    "tf_record_random_reader",
]

_HEADER = 12
_FRAMING = 16
_BUFFER = 1 << 18
_GZIP_BITS = 16


class TFRecordCompressionType:
    """The compressions of record files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How a record file is compressed; all but the first is zlib's, and None its default."""

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """``""``, ``"ZLIB"`` or ``"GZIP"``, of that, of its number, or of other options.

        Raises
        ------
        ValueError
            For anything else.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if not options:
            return ""
        if isinstance(options, int) and options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if isinstance(options, str) and options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def _compressor(self) -> Any:
        """A zlib stream as these options have it; None when nothing is compressed."""
        kind = self.get_compression_type_string(self.compression_type)
        if not kind:
            return None
        default_bits = zlib.MAX_WBITS + (_GZIP_BITS if kind == "GZIP" else 0)
        return zlib.compressobj(
            _or(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            _or(self.compression_method, zlib.DEFLATED),
            _or(self.window_bits, default_bits),
            _or(self.mem_level, 9),
            _or(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def compression_of(options: Any) -> str | None:
    """What :class:`fastrec.Reader` calls the compression of TensorFlow's options."""
    return TFRecordOptions.get_compression_type_string(options) or None


def as_path(path: Any) -> str:
    """The name of a file, of what a program gives for it.

    Raises
    ------
    TypeError
        With TensorFlow's text, when it is no name.
    """
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.fsdecode(path)
    raise TypeError(f"Expected binary or unicode string, got {path!r}")


def data_error(error: Exception, *, at: int = 0, compressed: bool = False) -> _errors.OpError:
    """What TensorFlow raises for what :class:`fastrec.Reader` raised, with its text.

    Parameters
    ----------
    error : Exception
    at : int
        Where in the file reading began.
    compressed : bool
        Whether the bytes came out of a compressed stream.
    """
    if not isinstance(error, FastrecError):
        return _errors.translated(error)
    kind = getattr(error, "kind", "")
    place = at + (error.offset or 0)
    if isinstance(error, LimitExceededError):
        text = "record size too large"
    elif kind == "compression":
        text = f"inflate() failed with error -3: {error}"
    elif kind.startswith("torn"):
        why = "EOF reached" if compressed else "Read less bytes than requested"
        text = f"truncated record at {place}' failed with {why}"
    elif kind == "data-crc":
        text = f"corrupted record at {place + _HEADER}"
    elif isinstance(error, CorruptRecordError):
        text = f"corrupted record at {place}"
        text += "" if place else " (Is this even a TFRecord file?)"
    else:
        return _errors.translated(error)
    found = _errors.translated(error, text)
    found.offset = place  # type: ignore[attr-defined]
    return found


class _Plain:
    """A file of records, written where it is, as TensorFlow does."""

    def __init__(self, path: str) -> None:
        with open(path, "wb"):
            pass  # truncates, whatever comes later
        self._writer = fastrec.Writer(path, append=True, fsync=False)
        self.write = self._writer.write
        self.flush = self._writer.flush
        self.close = self._writer.close


class _Compressed:
    """A file of records behind a zlib stream; also one that cannot be appended to."""

    def __init__(self, path: str, options: TFRecordOptions) -> None:
        self._stream = options._compressor()
        self._mode = _or(options.flush_mode, zlib.Z_NO_FLUSH)
        self._size = max(_or(options.input_buffer_size, _BUFFER), 1)
        self._waiting = bytearray()
        self._file = open(path, "wb")  # noqa: SIM115

    def write(self, record: bytes) -> None:
        length = len(record).to_bytes(8, "little")
        self._waiting += length
        self._waiting += fastrec.masked_crc32c(length).to_bytes(4, "little")
        self._waiting += record
        self._waiting += fastrec.masked_crc32c(record).to_bytes(4, "little")
        if len(self._waiting) >= self._size:
            self._drain(self._mode)

    def _drain(self, mode: int) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        if self._stream is not None:
            data = self._stream.compress(data)
            if mode != zlib.Z_NO_FLUSH:
                data += self._stream.flush(mode)
        self._file.write(data)

    def flush(self) -> None:
        self._drain(zlib.Z_PARTIAL_FLUSH)
        self._file.flush()

    def close(self) -> None:
        with self._file:
            self._drain(zlib.Z_NO_FLUSH)
            if self._stream is not None:
                self._file.write(self._stream.flush(zlib.Z_FINISH))


class TFRecordWriter:
    """Writes records to a file, which it empties first.

    The file grows as records come, other readers see them after :meth:`flush`, and a program that
    forgets to close it gets what it has written. :class:`fastrec.Writer` publishes a file whole,
    or not at all.

    Parameters
    ----------
    path : str, bytes or path
    options : str, int or TFRecordOptions, optional
        The compression.

    Raises
    ------
    NotFoundError, FailedPreconditionError, PermissionDeniedError
        When the file cannot be opened; each is an :class:`OSError`, too.
    ValueError
        For compression that there is not.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        self._file: _Plain | _Compressed | None = None
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._lock = threading.Lock()
        name = as_path(path)
        try:
            special = os.path.exists(name) and not os.path.isfile(name)
            plain = compression_of(options) is None and not special
            self._file = _Plain(name) if plain else _Compressed(name, options)
        except OSError as error:
            raise _errors.translated(error) from error

    def _opened(self) -> _Plain | _Compressed:
        if self._file is None:
            raise _errors.FailedPreconditionError(None, None, "Writer is closed.")
        return self._file

    def write(self, record: Any) -> None:
        """Write bytes, or text as UTF-8, as one record."""
        if isinstance(record, str):
            record = record.encode()
        elif not isinstance(record, (bytes, bytearray)):
            raise TypeError(f"a record is bytes, not {type(record).__name__}")
        with self._lock:
            file = self._opened()
            self._run(file.write, record)

    def flush(self) -> None:
        """Have everything in the file, for others to read."""
        with self._lock:
            self._run(self._opened().flush)

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                self._run(file.close)

    @staticmethod
    def _run(function: Any, *arguments: Any) -> None:
        try:
            function(*arguments)
        except OSError as error:
            raise _errors.translated(error) from error

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


class RecordIterator:
    """The records of a file, one after the other.

    The end is no more than the end so far: when the file has grown, or what was torn at its end
    has been completed, the next call goes on there.
    """

    def __init__(self, path: str, compression: str | None) -> None:
        self._path, self._compression = path, compression
        self._offset = 0
        self._records: Iterator[bytes] | None = None
        self._file: Any = None
        self._base = 0  # where in the file its records were begun
        self._closed = False
        self._open()

    def _open(self) -> None:
        """Read on from where the last whole record ended."""
        try:
            self._file = open(self._path, "rb")  # noqa: SIM115
        except OSError as error:
            raise _errors.translated(error) from error
        self._base = 0 if self._compression else self._offset
        self._file.seek(self._base)
        self._records = iter(fastrec.Reader(self._file, compression=self._compression))
        if self._compression is not None:
            self._skip()

    def _skip(self) -> None:
        assert self._records is not None
        done = 0
        while done < self._offset:
            done += len(next(self._records)) + _FRAMING

    def __iter__(self) -> RecordIterator:
        return self

    def __next__(self) -> bytes:
        if self._closed:
            raise _errors.FailedPreconditionError(None, None, "Reader is closed.")
        if self._records is None:
            self._open()
        assert self._records is not None
        try:
            record = next(self._records)
        except StopIteration:
            self._let_go()
            raise
        except (FastrecError, OSError) as error:
            self._let_go()
            compressed = self._compression is not None
            raise data_error(error, at=self._base, compressed=compressed) from error
        self._offset += len(record) + _FRAMING
        return record

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._records = None

    def close(self) -> None:
        """Let go of the file."""
        self._let_go()
        self._closed = True

    def reopen(self) -> None:
        """Go on with the file of that name, which may be another one, where reading stopped."""
        self._let_go()
        self._closed = False
        self._open()

    def __del__(self) -> None:
        self._let_go()


def tf_record_iterator(path: Any, options: Any = None) -> RecordIterator:
    """The records of the file at `path`.

    Raises
    ------
    NotFoundError
        At once, when there is no such file.
    DataLossError
        From the iterator, at damage.
    """
    return RecordIterator(as_path(path), compression_of(options))


class tf_record_random_reader:
    """Records of an uncompressed file, by their offset.

    Parameters
    ----------
    path : str, bytes or path
    """

    def __init__(self, path: Any) -> None:
        self._file: Any = None
        try:
            self._file = open(as_path(path), "rb")  # noqa: SIM115
        except OSError as error:
            raise _errors.translated(error) from error

    def read(self, offset: int) -> tuple[bytes, int]:
        """The record at `offset`, and the offset of the next one.

        Raises
        ------
        IndexError
            Past the end.
        DataLossError
            When no record begins there, or it is damaged.
        """
        if self._file is None:
            text = "Random TFRecord Reader is closed."
            raise _errors.FailedPreconditionError(None, None, text)
        size = self._file.seek(0, os.SEEK_END)
        if offset >= size:
            raise IndexError(f"Out of range at reading offset {offset}")
        self._file.seek(offset)
        try:
            records = iter(fastrec.Reader(self._file, max_record_bytes=size, compression=None))
            record = next(records)
        except FastrecError as error:
            raise data_error(error, at=offset) from error
        return record, offset + len(record) + _FRAMING

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
