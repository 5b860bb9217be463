# SPDX-License-Identifier: Apache-2.0
"""Write tables: Parquet, Arrow IPC, CSV and JSON lines, and directories of Lance."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from .arrow_files import lance_module, naming_lance
from .conversion import Conversion, Done
from .formats import TEXTUAL
from .new_files import new_folder

__all__ = ["TableWriter", "write_lance"]

_GROUP_BYTES = 32 << 20  # bytes of a row group, which is in memory until it is written
_SLICE_ROWS = 1024  # rows that are Python objects at a time


class _NewFile(io.RawIOBase):
    """A new file as a stream."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self.file = file
        self.discards = False
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if not self.discards:
            self.file.write_frames(data, 0)
        self._size += size
        return size

    def tell(self) -> int:
        return self._size


class _Parquet:
    """Collects batches until they fill a row group."""

    def __init__(self, sink: Any, schema: Any, options: dict[str, Any], rows: int) -> None:
        self._file = pyarrow.parquet.ParquetWriter(sink, schema, **options)
        self._most, self._schema = rows, schema
        self._held: list[Any] = []
        self._rows = self._bytes = 0

    def write_batch(self, batch: Any) -> None:
        while batch.num_rows:
            part = batch.slice(0, self._most - self._rows)
            batch = batch.slice(part.num_rows)
            self._held.append(part)
            self._rows += part.num_rows
            self._bytes += part.nbytes
            if self._rows == self._most or self._bytes >= _GROUP_BYTES:
                self._write()

    def _write(self) -> None:
        held = pa.Table.from_batches(self._held, self._schema)
        self._file.write_table(held, row_group_size=self._most)
        self._held, self._rows, self._bytes = [], 0, 0

    def close(self) -> None:
        if self._held:
            self._write()
        self._file.close()


class _JsonLines:
    def __init__(self, sink: Any, schema: Any) -> None:
        self._sink = sink

    def write_batch(self, batch: Any) -> None:
        for begin in range(0, batch.num_rows, _SLICE_ROWS):
            rows = batch.slice(begin, _SLICE_ROWS).to_pylist()
            self._sink.write("".join(map(_line, rows)).encode())

    def close(self) -> None:
        pass


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=_base64) + "\n"
    except ValueError:  # JSON has no NaN or infinity, so names are written, as in protobuf
        row = {name: _spelled(value) for name, value in row.items()}
        return json.dumps(row, ensure_ascii=False, default=_base64) + "\n"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class TableWriter:
    """Writes record batches to one or more files, which appear together or not at all.

    Parameters
    ----------
    job : Conversion
        The target and its options.
    kind : str
        The format.
    schema : pyarrow.Schema
    """

    def __init__(self, job: Conversion, kind: str, schema: Any) -> None:
        self._files = job.new_files()
        self._schema, self._most = schema, job.shard_records
        self._open = _opener(kind, job.compression, job.level, job.row_group_size)
        self._sink: Any = None
        self._writer: Any = None
        self._in_file = 0
        self.rows: int = 0
        self._next()

    @property
    def paths(self) -> list[str]:
        """Paths of the files, once they are published."""
        return self._files.paths

    def _next(self) -> None:
        self._writer = None
        self._in_file = 0
        try:
            self._sink = _NewFile(self._files.add())
            self._writer, self._end = self._open(self._sink, self._schema)
        except BaseException:
            self.abort()
            raise

    def write(self, batch: Any) -> None:
        """Write a record batch with the writer's schema."""
        while batch.num_rows:
            if self._in_file == self._most:
                self._finish()
                self._next()
            left = batch.num_rows if self._most is None else self._most - self._in_file
            part = batch.slice(0, left)
            self._writer.write_batch(part)
            self._in_file += part.num_rows
            self.rows += part.num_rows
            batch = batch.slice(part.num_rows)

    def _finish(self) -> None:
        self._writer.close()
        self._end()

    def close(self) -> None:
        """Publish the files."""
        self._finish()
        self._files.close()

    def abort(self) -> None:
        """Discard all files."""
        if self._writer is not None:
            self._sink.discards = True
            with contextlib.suppress(Exception):  # errors about incomplete files
                self._writer.close()
        self._files.abort()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is not None:
            self.abort()
            return
        try:
            self.close()
        except BaseException:
            self.abort()
            raise


_TEXT_COMPRESSIONS = ("gzip", "zstd", "bz2", "brotli", "lz4")
_COMPRESSIONS = {
    "parquet": ("snappy", "gzip", "brotli", "lz4", "zstd"),
    "arrow": ("lz4", "zstd"),
    "csv": _TEXT_COMPRESSIONS,
    "jsonl": _TEXT_COMPRESSIONS,
}
_Opened = tuple[Any, Callable[[], object]]


def _opener(
    kind: str, compression: str | None, level: int | None, rows: int
) -> Callable[[_NewFile, Any], _Opened]:
    """Return a function that opens a writer of batches, and a function that then ends the file."""
    name = None if compression in (None, "none") else str(compression).lower()
    known = _COMPRESSIONS[kind]
    if name is not None and name not in known:
        choices = ", ".join(map(repr, known))
        raise ValueError(f"compression must be one of {choices} for {kind}, got {compression!a}")
    if level is not None and name is None:
        raise ValueError("level requires compression")
    if level is not None and kind not in TEXTUAL:
        _check_level(name, level)

    def parquet(file: _NewFile, schema: Any) -> _Opened:
        options = {} if compression is None else {"compression": str(compression).lower()}
        if level is not None:
            options["compression_level"] = level  # type: ignore[assignment]
        return _Parquet(pa.PythonFile(file, "w"), schema, options, rows), _nothing

    def ipc(file: _NewFile, schema: Any) -> _Opened:
        codec = None if name is None else pa.Codec(name, level)
        options = pa.ipc.IpcWriteOptions(compression=codec)
        return pa.ipc.new_file(pa.PythonFile(file, "w"), schema, options=options), _nothing

    def text(file: _NewFile, schema: Any) -> _Opened:
        sink: Any = pa.PythonFile(file, "w")
        if name is not None:
            if level is not None:
                raise ValueError(f"level and {kind} are mutually exclusive")
            sink = pa.CompressedOutputStream(sink, name)
        make = pyarrow.csv.CSVWriter if kind == "csv" else _JsonLines
        return make(sink, schema), sink.close

    return {"parquet": parquet, "arrow": ipc, "csv": text, "jsonl": text}[kind]


def _check_level(compression: Any, level: int) -> None:
    if not pa.Codec.supports_compression_level(compression):
        raise ValueError(f"compression {compression!a} has no levels")
    least = pa.Codec.minimum_compression_level(compression)
    most = pa.Codec.maximum_compression_level(compression)
    if not least <= level <= most:
        raise ValueError(f"level must be {least} to {most} for {compression}, got {level}")


def _nothing() -> None:
    pass


# -- Lance -----------------------------------------------------------------------------------------


def write_lance(job: Conversion, schema: Any, batches: Iterator[Any]) -> Done:
    """Write record batches to a new directory of Lance; return the number of rows and its path."""
    job.refuse_compression("compression is part of Lance; leave compression and level out")
    module = lance_module()
    rows, failures = 0, []

    def counted() -> Iterator[Any]:
        nonlocal rows
        try:
            for batch in batches:
                rows += batch.num_rows
                yield batch
        except BaseException as error:
            failures.append(error)
            raise

    options = {} if job.shard_records is None else {"max_rows_per_file": job.shard_records}
    with new_folder(job.target, job.storage) as folder:
        try:
            reader = pa.RecordBatchReader.from_batches(schema, counted())
            written = module.write_dataset(reader, folder, **options)
        except BaseException:
            if failures:  # the package makes a text of errors in its input
                raise failures[0] from None
            raise
        with naming_lance(folder):
            count = written.count_rows()
        if count != rows:
            raise OSError(5, f"{count} of {rows} rows were written", folder)
    return rows, [os.fsdecode(job.target)]
