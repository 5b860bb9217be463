# SPDX-License-Identifier: Apache-2.0
"""Write rows to record files in a directory; the files appear together or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

import fastrec

from .. import _core
from ..records.compression import Codec
from ..records.shard_writer import ShardWriter
from ..records.targets import write_file
from .schema import RECORD, is_array, parser_of

__all__ = ["CODECS", "NULL", "Writer"]

NULL = "__HIVE_DEFAULT_PARTITION__"
_OPEN_FILES = 64  # partitions that are written side by side
_OLD = "old-"
CODECS: dict[str, Codec | None] = {
    "": None,
    "none": None,
    "gzip": "GZIP",
    "org.apache.hadoop.io.compress.gzipcodec": "GZIP",
    "zlib": "ZLIB",
    "deflate": "ZLIB",
    "org.apache.hadoop.io.compress.defaultcodec": "ZLIB",
    "org.apache.hadoop.io.compress.deflatecodec": "ZLIB",
    "zstd": "ZSTD",
    "org.apache.hadoop.io.compress.zstandardcodec": "ZSTD",
}


@dataclass
class _Written(WriterCommitMessage):  # type: ignore[misc]
    """The files of one task: their temporary paths and their final names."""

    files: list[tuple[str, str]]


class Writer(DataSourceArrowWriter):  # type: ignore[misc]
    """A writer whose tasks write next to the data; the driver renames or removes the files."""

    def __init__(
        self,
        path: str,
        schema: Any,
        kind: str,
        codec: Codec | None,
        by: list[str],
        overwrite: bool,
    ) -> None:
        self._path, self._kind, self._codec = path, kind, codec
        self._by, self._overwrite = by, overwrite
        self._job = uuid.uuid4().hex
        self._folder = os.path.join(path, f"_temporary-{self._job}")
        kept = types.StructType([each for each in schema if each.name not in by])
        if not len(kept):
            raise ValueError("partitionBy must leave a column to write")
        parser_of(kept, kind)  # raises if a column cannot be written
        # Created only here, so that no task creates it again after an abort.
        os.makedirs(self._folder)
        self._lists = [
            each.name
            for each in kept
            if is_array(each.dataType) and is_array(each.dataType.elementType)
        ]

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write the rows of one task."""
        task = uuid.uuid4().hex
        files: list[tuple[str, str]] = []
        writers: dict[str, ShardWriter] = {}
        try:
            for batch in iterator:
                for folder, rows in self._by_folder(batch):
                    if folder not in writers:
                        if len(writers) == _OPEN_FILES:
                            writers.pop(next(iter(writers))).close()
                        writers[folder] = self._open(folder, task, files)
                    self._write_rows(writers[folder], rows)
            for writer in writers.values():
                writer.close()
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise
        return _Written(files)

    def _open(self, folder: str, task: str, files: list[tuple[str, str]]) -> ShardWriter:
        place = os.path.join(self._folder, f"{task}-{len(files)}")
        suffix = {None: "", "GZIP": ".gz", "ZLIB": ".deflate", "ZSTD": ".zst"}[self._codec]
        name = f"part-{task}-{len(files):05d}.tfrecord{suffix}"
        files.append((place, os.path.join(folder, name)))
        return ShardWriter(place, compression=self._codec)

    def _by_folder(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """Yield rows grouped by the directory that the columns of `partitionBy` name."""
        if not self._by:
            yield "", batch
            return
        keys = list(zip(*(batch[name].to_pylist() for name in self._by), strict=True))
        places: dict[Any, list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        rest = batch.select([name for name in batch.schema.names if name not in self._by])
        for key, rows in places.items():
            pairs = zip(self._by, key, strict=True)
            yield os.path.join(*(f"{_quoted(n)}={_quoted(v)}" for n, v in pairs)), rest.take(rows)

    def _write_rows(self, writer: ShardWriter, batch: Any) -> None:
        if self._kind == "SequenceExample":
            for row in batch.to_pylist():
                present = {name: value for name, value in row.items() if value is not None}
                lists = {name: present.pop(name) for name in self._lists if name in present}
                writer.write(fastrec.encode_sequence_example(present, lists))
        elif self._kind == "ByteArray":
            for number, record in enumerate(batch.column(0).to_pylist()):
                if record is None:
                    raise ValueError(f"row {number}: {RECORD} is null")
                writer.write(record)
        elif batch.num_rows:
            arrays = map(_storable, batch.columns)
            columns = dict(zip(batch.schema.names, arrays, strict=True))
            writer.write_many(fastrec.encode_examples(columns, threads=1))

    def commit(self, messages: list[Any]) -> None:
        """Rename the files of all tasks to their final names; restore everything if that fails."""
        placed: list[str] = []
        try:
            if self._overwrite:  # existing files are kept until the new files are in place
                for name in [name for name in os.listdir(self._path) if name[0] not in "._"]:
                    kept = os.path.join(self._folder, _OLD + name)
                    _core.move(os.path.join(self._path, name), kept, False)
            for message in messages:
                for place, name in message.files if message is not None else ():
                    target = os.path.join(self._path, name)
                    placed.append(target)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    _core.move(place, target, False)
            write_file(os.path.join(self._path, "_SUCCESS"), b"", overwrite=True)
        except BaseException:
            for target in placed:
                with contextlib.suppress(OSError):
                    os.unlink(target)
                with contextlib.suppress(OSError):  # other files in the directory are kept
                    os.removedirs(os.path.dirname(target))
            self._restore()
            raise
        shutil.rmtree(self._folder, ignore_errors=True)

    def abort(self, messages: list[Any]) -> None:
        """Remove the written files."""
        self._restore()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _restore(self) -> None:
        """Give replaced files their original names again."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._folder):
                if name.startswith(_OLD):
                    old = os.path.join(self._path, name.removeprefix(_OLD))
                    _core.move(os.path.join(self._folder, name), old, False)


def _quoted(value: Any) -> str:
    if value is None:
        return NULL
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return urllib.parse.quote(text, safe=" !$&'()+,;@") or NULL


def _storable(array: Any) -> Any:
    if pa.types.is_decimal(array.type):
        return array.cast(pa.float64())
    if pa.types.is_list(array.type) and pa.types.is_decimal(array.type.value_type):
        return array.cast(pa.list_(pa.float64()))
    return array
