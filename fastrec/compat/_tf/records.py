# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's readers of record files, for ``tf.io`` and ``tf.python_io``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import fastrec
from fastrec.errors import FastrecError

from . import errors as _errors
from .record_errors import data_error
from .record_options import TFRecordCompressionType, TFRecordOptions, as_path, compression_of
from .record_writer import TFRecordWriter

if TYPE_CHECKING:
    from fastrec.records.compression import Codec

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "as_path",
    "compression_of",
    "tf_record_iterator",
    "tf_record_random_reader",
]

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
