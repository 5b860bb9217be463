# SPDX-License-Identifier: Apache-2.0
"""Read Parquet, Arrow IPC, and directories of Lance as record batches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from ..errors import CorruptRecordError, one_line

__all__ = ["Part", "ipc", "lance", "lance_module", "naming_lance", "parquet", "same_columns"]

_ROWS = 8192  # rows of a batch at most
_BATCH_BYTES = 8 << 20  # bytes of a batch, approximately
_BUFFER = 1 << 20  # bytes of Parquet's read buffer
_LANCE_ROWS = 1 << 16  # rows of a scan of Lance at most


class Part(NamedTuple):
    """A record batch of a file.

    Attributes
    ----------
    path : str
    row : int
        Number of the batch's first row in the file.
    batch : pyarrow.RecordBatch
    total : int or None
        Number of rows in all files, if known.
    """

    path: str
    row: int
    batch: Any
    total: int | None


def parquet(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    """Yield the record batches of Parquet files, of a limited size."""
    total = sum(pyarrow.parquet.read_metadata(path).num_rows for path in paths)
    first = None
    for path in paths:
        with pyarrow.parquet.ParquetFile(path, buffer_size=_BUFFER) as file:
            first = same_columns(path, file.schema_arrow, first)
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            size = sum(group.total_byte_size for group in groups)
            rows = max(1, min(_ROWS, _BATCH_BYTES * file.metadata.num_rows // max(size, 1)))
            done = 0
            for number in range(file.num_row_groups):
                for batch in file.iter_batches(rows, row_groups=[number], columns=columns):
                    yield Part(path, done, batch, total)
                    done += batch.num_rows
                # Without this call, the pool keeps the memory of row groups for a while.
                pa.default_memory_pool().release_unused()


def ipc(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    """Yield the record batches of files of Arrow IPC, of a limited size."""
    first = None
    for path in paths:
        with pa.OSFile(path) as opened, pa.ipc.open_file(opened) as file:
            first = same_columns(path, file.schema, first)
            done = 0
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                batch = batch if columns is None else batch.select(columns)
                rows = max(1, min(_ROWS, _BATCH_BYTES * batch.num_rows // max(batch.nbytes, 1)))
                for begin in range(0, batch.num_rows, rows):
                    yield Part(path, done + begin, batch.slice(begin, rows), None)
                done += batch.num_rows


def same_columns(path: str, found: Any, first: Any) -> Any:
    """Raise unless a file has the same columns as the first file."""
    if first is not None and found != first:
        raise ValueError(f"{path!a} has other columns than the files before it")
    return found if first is None else first


def lance_module() -> Any:
    """Return the module of the package pylance.

    Raises
    ------
    ModuleNotFoundError
        With the remedy.
    """
    try:
        import lance
    except ImportError:
        message = "Lance requires a package: pip install 'fastrec-io[lance]'"
        raise ModuleNotFoundError(message, name="lance") from None
    return lance


@contextlib.contextmanager
def naming_lance(path: str) -> Iterator[None]:
    """Turn errors of the package, whose types vary, into an error that names the directory."""
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of Rust, and no Exception
        if not is_panic and not isinstance(error, (OSError, ValueError, RuntimeError)):
            raise
        text = f"{path!a} is not a whole Lance dataset: {one_line(error)}"
        damaged = CorruptRecordError(text)
        damaged.path = path
        raise damaged from None


def lance(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    """Yield the record batches of directories of Lance, of a limited size."""
    module, counts = lance_module(), []
    for path in paths:
        with naming_lance(path):
            counts.append(module.dataset(path).count_rows())
    first = None
    for path, count in zip(paths, counts, strict=True):
        done = 0
        with naming_lance(path):
            dataset = module.dataset(path)
            schema = dataset.schema
        first = same_columns(path, schema, first)
        if columns is not None:
            _check_names(path, columns, schema.names)
        # One scan of the whole reads ahead on many threads, whose heaps fragment and grow with it.
        rows = max(1, min(_LANCE_ROWS, _BATCH_BYTES * count // max(_size_of(path), 1)))
        for begin in range(0, count, rows):
            with naming_lance(path):
                table = dataset.to_table(columns, offset=begin, limit=rows)
            for batch in table.to_batches(max_chunksize=_ROWS):
                yield Part(path, done, batch, sum(counts))
                done += batch.num_rows
        if done != count:
            error = CorruptRecordError(f"{path!a} has {done} rows, and states {count}")
            error.path = path
            raise error


def _check_names(path: str, columns: list[str], names: list[str]) -> None:
    if odd := [name for name in columns if name not in names]:
        raise ValueError(f"features: {odd[0]!a} is not a column of {path!a}")


def _size_of(folder: str) -> int:
    """Return the number of bytes of all files in a directory."""
    return sum(
        os.path.getsize(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    )
