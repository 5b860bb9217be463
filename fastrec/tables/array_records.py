# SPDX-License-Identifier: Apache-2.0
"""Read and write array_record files through the package array_record, which uses Riegeli.

The package writes to a path, so files are made in the directory for temporary files, and copied.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

from ..errors import CorruptRecordError
from ..records.byte_sources import NamedFile
from ..records.content import file_content
from ..records.zstd import checked_level

__all__ = ["ArrayRecordReader", "ArrayRecordWriter"]

_PIECE = 1 << 20  # bytes that are copied at once
_EXAMINED = 1 << 14  # bytes that are read to name another format
_READING = "max_parallelism:0"  # threads would only read further ahead
_GROUP = 1  # records that are compressed together, and read together by number


def _module() -> Any:
    try:
        from array_record.python import array_record_module
    except ImportError:
        message = "array_record requires a package: pip install 'fastrec-io[array-record]'"
        raise ModuleNotFoundError(message, name="array_record") from None
    return array_record_module


class ArrayRecordReader:
    """The records of an array_record file, in order.

    Attributes
    ----------
    count : int
        Number of records.

    Raises
    ------
    OSError
    CorruptRecordError
    ModuleNotFoundError
    """

    def __init__(self, path: str) -> None:
        with NamedFile(path) as file:
            self._head = file.read(_EXAMINED)
        self._path = path
        self._reader = _module().ArrayRecordReader(path, _READING)
        self.count: int = self._reader.num_records()
        if not self._reader.ok():
            raise self._damaged("its end has no index of records", None)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the records."""
        for number in range(self.count):
            try:
                record = self._reader.read()
            except Exception as error:
                raise self._damaged(str(error), number) from None
            if not self._reader.ok():
                raise self._damaged("its checksum is wrong", number)
            yield record
        self._reader.close()

    def _damaged(self, text: str, record: int | None) -> CorruptRecordError:
        content = file_content(self._head)
        if content.name not in ("Riegeli", "data of an unknown format"):
            text += f"; it looks like {content}"
        place = "" if record is None else f"record {record}: "
        error = CorruptRecordError(
            f"{self._path!a} is not a whole array_record file: {place}{text}"
        )
        error.path, error.record = self._path, record
        return error


class ArrayRecordWriter:
    """Writes records to a file of the sink.

    Parameters
    ----------
    file
        A writer of :class:`~fastrec.tables.new_files.NewFiles`.
    level : int, optional
        Level of zstd; 3 by default.
    """

    def __init__(self, file: Any, level: int | None) -> None:
        module, options = _module(), f"group_size:{_GROUP},zstd:{checked_level(level)}"
        self._file, self._count = file, 0
        self._folder = tempfile.TemporaryDirectory(prefix="fastrec-")
        self._place = os.path.join(self._folder.name, "new.array_record")
        self._writer = self._calling(lambda: module.ArrayRecordWriter(self._place, options))

    def write(self, record: Any) -> None:
        """Write one record."""
        data = bytes(record)
        self._calling(lambda: self._writer.write(data))
        self._count += 1

    def _calling(self, call: Any) -> Any:
        try:
            return call()
        except RuntimeError as error:  # what the package makes of an error of the system
            raise OSError(5, str(error), self._place) from None

    def close(self) -> None:
        """Copy the file into the sink, after its records were counted."""
        self._calling(self._writer.close)
        count = ArrayRecordReader(self._place).count
        if count != self._count:
            raise OSError(5, f"{count} of {self._count} records were written", self._place)
        with NamedFile(self._place) as file:
            while data := file.read(_PIECE):
                self._file.write_frames(data, 0)
        self.abort()

    def abort(self) -> None:
        """Remove the temporary file."""
        self._folder.cleanup()
