# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's writer of record files, for ``tf.io`` and ``tf.python_io``."""

from __future__ import annotations

import threading
import zlib
from typing import Any

import fastrec
from fastrec.records.targets import open_in_place

from . import errors as _errors
from .record_options import TFRecordOptions, as_path, compression_of, or_default

__all__ = ["TFRecordWriter"]

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
