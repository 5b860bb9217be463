# SPDX-License-Identifier: Apache-2.0
"""Read and write record files, with TensorFlow's options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, cast

if TYPE_CHECKING:
    from fastrec.records.compression import Codec
import threading
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import fastrec
from fastrec.errors import FastrecError
from fastrec.records.targets import open_in_place

from . import errors as _errors
from .record_errors import data_error

if TYPE_CHECKING:
    from fastrec.records.compression import Codec

_GZIP_BITS = 16


class TFRecordCompressionType:
    """The compressions of record files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Compression of a record file. All options but the first are zlib's; None is its default."""

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
        """Return ``""``, ``"ZLIB"`` or ``"GZIP"`` for a type, its number, or other options.

        Raises
        ------
        ValueError
            If `options` is anything else.
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
        """Return a zlib stream with these options; None if nothing is compressed."""
        kind = self.get_compression_type_string(self.compression_type)
        if not kind:
            return None
        import zlib

        default_bits = zlib.MAX_WBITS + (_GZIP_BITS if kind == "GZIP" else 0)
        return zlib.compressobj(
            or_default(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            or_default(self.compression_method, zlib.DEFLATED),
            or_default(self.window_bits, default_bits),
            or_default(self.mem_level, 9),
            or_default(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )


def or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def compression_of(options: Any) -> Codec | None:
    """Return the compression of TensorFlow's options as :class:`fastrec.Reader` names it."""
    return cast("Codec | None", TFRecordOptions.get_compression_type_string(options) or None)


def as_path(path: Any) -> str:
    """Return the name of a file as text.

    Raises
    ------
    TypeError
        If `path` is not a name, with TensorFlow's message.
    """
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.fsdecode(path)
    raise TypeError(f"Expected binary or unicode string, got {path!r}")


_BUFFER = 1 << 18


class _Compressed:
    """Compresses records with zlib and passes them to a writer."""

    def __init__(self, writer: Any, options: TFRecordOptions) -> None:
        self._stream = options._compressor()
        self._mode = or_default(options.flush_mode, zlib.Z_NO_FLUSH)
        self._size = max(or_default(options.input_buffer_size, _BUFFER), 1)
        self._waiting = bytearray()
        self._writer = writer

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
        data = self._stream.compress(data)
        if mode != zlib.Z_NO_FLUSH:
            data += self._stream.flush(mode)
        self._writer.write_frames(data, 0)

    def flush(self) -> None:
        self._drain(zlib.Z_PARTIAL_FLUSH)
        self._writer.flush()

    def close(self) -> None:
        self._drain(zlib.Z_NO_FLUSH)
        self._writer.write_frames(self._stream.flush(zlib.Z_FINISH), 0)
        self._writer.close()


class TFRecordWriter:
    """Writes records to a file, which is emptied first.

    The file grows with each record, other readers see records after :meth:`flush`, and a program
    that does not close the file still keeps its records. In contrast, :class:`fastrec.Writer`
    publishes a file whole or not at all.

    Parameters
    ----------
    path : str, bytes or path
    options : str, int or TFRecordOptions, optional
        The compression.

    Raises
    ------
    NotFoundError, FailedPreconditionError, PermissionDeniedError
        If the file cannot be opened. Each of these is also an :class:`OSError`.
    ValueError
        If the compression is unknown.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        self._file: Any = None
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._lock = threading.Lock()
        name = as_path(path)
        try:
            writer = open_in_place(name)
            self._file = _Compressed(writer, options) if compression_of(options) else writer
        except OSError as error:
            raise _errors.translated(error) from error

    def _opened(self) -> Any:
        if self._file is None:
            raise _errors.FailedPreconditionError(None, None, "Writer is closed.")
        return self._file

    def write(self, record: Any) -> None:
        """Write bytes, or text as UTF-8, as one record."""
        if type(record) is not bytes:
            if isinstance(record, str):
                record = record.encode()
            elif not isinstance(record, (bytes, bytearray)):
                raise TypeError(f"a record is bytes, not {type(record).__name__}")
        with self._lock:
            try:
                (self._file or self._opened()).write(record)
            except OSError as error:
                raise _errors.translated(error) from error

    def flush(self) -> None:
        """Write all buffered data to the file, so that other programs can read it."""
        with self._lock:
            self._run(self._opened().flush)

    def close(self) -> None:
        """Close the file. Closing it twice is allowed."""
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


_FRAMING = 16


class RecordIterator:
    """Iterates over the records of a file.

    The end is only the current end: if the file grows, or its incomplete last record is completed,
    the next call continues there.
    """

    def __init__(self, path: str, compression: Codec | None) -> None:
        self._path, self._compression = path, compression
        self._offset = 0
        self._records: Iterator[bytes] | None = None
        self._file: Any = None
        self._base = 0  # file offset at which the current reader began
        self._closed = False
        self._open()

    def _open(self) -> None:
        """Open the file at the end of the last complete record."""
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
        """Release the file."""
        self._let_go()
        self._closed = True

    def reopen(self) -> None:
        """Open the path again, which may be another file, and continue at the same offset."""
        self._let_go()
        self._closed = False
        self._open()

    def __del__(self) -> None:
        self._let_go()


def tf_record_iterator(path: Any, options: Any = None) -> RecordIterator:
    """Return an iterator over the records of the file at `path`.

    Raises
    ------
    NotFoundError
        Immediately, if the file does not exist.
    DataLossError
        During iteration, if the file is damaged.
    """
    return RecordIterator(as_path(path), compression_of(options))


class tf_record_random_reader:
    """Access to the records of an uncompressed file by their offsets.

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
        """Return the record at `offset`, and the offset of the next record.

        Raises
        ------
        IndexError
            If `offset` is at or after the end.
        DataLossError
            If no record begins at `offset`, or the record is damaged.
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
        """Release the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
