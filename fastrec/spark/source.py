# SPDX-License-Identifier: Apache-2.0
"""The Spark data source: options, file discovery and reading."""

from __future__ import annotations

import contextlib
import functools
import gc
import glob
import itertools
import json
import os
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import types
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema

import fastrec

from .. import arrow
from ..parsing.column_parser import Filter
from ..records.paths import expand, is_remote
from ..records.record_files import RecordFiles
from ..records.shard_sets import check_shards, check_shards_option
from ..records.side_files import is_side_file
from ..records.splitting import grouped, spread
from ..storage.remote import RemoteFile
from ..threads.cpus import usable_cpus
from .filters import columns_of, may_match
from .schema import RECORD, inferred, inferred_sequence, parser_of
from .writing import CODECS, NULL, Writer

__all__ = ["TFRecordSource"]

_KINDS = ("Example", "SequenceExample", "ByteArray")
_LEAST_PART_BYTES = 4 << 20  # same value as Spark's openCostInBytes
_MOST_PART_BYTES = 128 << 20  # same value as Spark's maxPartitionBytes
_BATCH = 8192  # rows of an Arrow batch
_SAMPLE = 1000  # records of the sample for an inferred schema


class TFRecordSource(DataSource):  # type: ignore[misc]
    """The data source ``fastrec``; its options are those of spark-tfrecord, and some more.

    ================= ============================================================================
    option            value
    ================= ============================================================================
    path              a directory, file, pattern or URL; ``load([...])`` takes several
    recordType        ``Example`` (default), ``SequenceExample``, ``ByteArray``
    codec             compression of written files: ``gzip``, ``zlib``, ``zstd``, or a class name of
                      Hadoop; the compression of files that are read is detected
    partitionBy       columns, separated by commas, that become directories ``column=value``
    sample            number of records of the sample for an inferred schema, 1000 by default
    partitionBytes    bytes of files that one task reads; by default 128 MiB, or less so that the
                      number of tasks is at least the number of the driver's processors
    exact             ``true``: always split between records, see :func:`fastrec.file_ranges`
    onError           ``raise`` (default), ``skip``, ``tolerate_tail``
    shards            ``complete`` (default), ``any``, as for :class:`fastrec.Reader`
    storageOptions    options for URLs: a JSON object, see :class:`fastrec.StorageOptions`
    pushFilters       ``true``: apply the filters of a query to rows before the other columns are
                      parsed, and to directories by their names. Spark 4.1 or newer then requires
                      that ``spark.sql.python.filterPushdown.enabled`` is ``true``, and otherwise
                      rejects the reader
    ================= ============================================================================

    URLs can be read, by the executors themselves, but not written, because the files of a job could
    not appear together. Credentials must be in the environment of the driver and of the executors.

    Examples
    --------
    >>> spark.dataSource.register(fastrec.spark.TFRecordSource)  # doctest: +SKIP
    >>> frame = spark.read.format("fastrec").load("train-*.tfrecord")  # doctest: +SKIP
    >>> frame.write.format("fastrec").option("codec", "gzip").save("out")  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "fastrec"

    def _option(self, name: str, default: Any = None) -> Any:
        value = self.options.get(name, default)
        return default if value is None else value

    @property
    def _kind(self) -> str:
        kind = self._option("recordType", "Example")
        if kind not in _KINDS:
            raise ValueError(f"recordType must be one of {', '.join(_KINDS)}, got {kind!a}")
        return str(kind)

    def _number(self, name: str) -> int | None:
        text = self._option(name)
        if text is None:
            return None
        if not str(text).isdecimal() or int(text) < 1:
            raise ValueError(f"{name} must be a positive integer, got {text!a}")
        return int(text)

    def schema(self) -> Any:
        """Infer the schema from the first records of the files."""
        files = _found(self._roots(), self._storage(), self._option("shards", "complete"))
        if self._kind == "ByteArray":
            found = types.StructType([types.StructField(RECORD, types.BinaryType())])
        else:
            sample = self._number("sample") or _SAMPLE
            infer = inferred if self._kind == "Example" else inferred_sequence
            on_error = self._option("onError", "raise")
            found = infer([each.path for each in files], sample, on_error)
        for name in dict.fromkeys(itertools.chain.from_iterable(each.values for each in files)):
            values = [each.values.get(name) for each in files]
            whole = all(value is None or _is_number(value) for value in values)
            kind = types.LongType() if whole else types.StringType()
            found = types.StructType([field for field in found if field.name != name])
            found = found.add(name, kind)
        return found

    def _roots(self) -> list[str]:
        given = self._option("path")
        paths = [given] if given is not None else json.loads(self._option("paths", "[]"))
        if not paths:
            raise ValueError("path is missing: load(path) names the files")
        return [_absolute(path) for path in paths]

    def _storage(self) -> fastrec.StorageOptions:
        text = self._option("storageOptions", "{}")
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ValueError(f"storageOptions must be a JSON object, got {text!a}")
        storage = fastrec.StorageOptions(found)
        storage.check_secrets()
        return storage

    def reader(self, schema: Any) -> Any:
        """Return a reader of files into the columns of a schema."""
        options = {"on_error": self._option("onError", "raise")}
        exact = str(self._option("exact", "false")).lower() == "true"
        size = self._number("partitionBytes")
        shards = self._option("shards", "complete")
        pushes = str(self._option("pushFilters", "false")).lower() == "true"
        kind = _FilteringReader if pushes else _Reader
        return kind(
            self._roots(), self._storage(), shards, schema, self._kind, options, exact, size
        )

    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Return a writer of rows into the files of a directory."""
        codec = str(self._option("codec", "")).lower()
        if codec not in CODECS:
            raise ValueError(f"codec must be gzip, zlib or zstd, got {codec!a}")
        named = str(self._option("partitionBy", "")).split(",")
        by = [name.strip() for name in named if name.strip()]
        if odd := [name for name in by if name not in schema.names]:
            raise ValueError(f"partitionBy: {odd[0]!a} is not a column")
        (path,) = self._roots()
        if is_remote(path, None):
            raise ValueError(
                f"path must be a local or mounted one, got {path!a}: files of an object store "
                "cannot be renamed together"
            )
        return Writer(path, schema, self._kind, CODECS[codec], by, overwrite)


def _absolute(path: str) -> str:
    """Return an absolute path for a path or ``file:`` URL; return other URLs unchanged."""
    parts = urllib.parse.urlparse(path)
    if parts.scheme == "file":
        path = urllib.parse.unquote(parts.path)
    return path if is_remote(path, None) else os.path.abspath(path)


# -- Files -----------------------------------------------------------------------------------------


class _File(NamedTuple):
    """A file, and the column values that the names of its directories give for its rows."""

    path: str | RemoteFile
    size: int
    values: dict[str, str | None]


def _found(roots: Sequence[str], storage: fastrec.StorageOptions, shards: Any) -> list[_File]:
    """Return the files below directories in a stable order; skip names that begin with _ or a dot.

    Raises
    ------
    MissingRecordsError
        If shards are missing or mixed, see :mod:`fastrec.records.shard_sets`.
    """
    files: list[_File] = []
    check_shards_option(shards)
    for root in roots:
        if is_remote(root, None):
            files += _found_objects(root, storage)
        elif os.path.isdir(root):
            files += _found_below(root)
        else:
            named = map(os.fsdecode, expand(root, shards="any"))
            files += [_File(path, os.stat(path).st_size, {}) for path in named]
    if not files:
        raise FileNotFoundError(2, "no record files", roots[0])
    if shards == "complete":
        check_shards([each.path for each in files], roots)
    return files


def _found_below(root: str) -> Iterator[_File]:
    for folder, folders, names in os.walk(root, onerror=_raise):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        values = _values_of(os.path.relpath(folder, root))
        for path in (os.path.join(folder, name) for name in sorted(names) if _is_data(name)):
            yield _File(path, os.stat(path).st_size, values)


def _found_objects(root: str, storage: fastrec.StorageOptions) -> Iterator[_File]:
    """Yield the objects that a URL or a pattern names, or all objects below a folder."""
    listed: Sequence[Any] = []
    is_folder = not root.startswith(("http://", "https://")) and not glob.has_magic(root)
    if is_folder:
        with contextlib.suppress(FileNotFoundError):
            listed = expand(f"{root.rstrip('/')}/**/*", storage, shards="any")
    found: Sequence[Any] = listed or expand(root, storage, shards="any")
    for file in found:
        inside = file.name.removeprefix(f"{root.rstrip('/')}/") if listed else ""
        *folders, name = inside.split("/")
        if not listed or (_is_data(name) and not any(each.startswith("_") for each in folders)):
            yield _File(file, file.size, _values_of("/".join(folders)))


def _is_data(name: str) -> bool:
    return name[0] not in "._" and not is_side_file(name)


def _raise(error: OSError) -> None:
    raise error


def _values_of(folder: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in folder.split("/"):
        name, equals, value = part.partition("=")
        if equals:
            found[urllib.parse.unquote(name)] = (
                None if value == NULL else urllib.parse.unquote(value)
            )
    return found


def _is_number(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and -(2**63) <= int(value) < 2**63


# -- Reading ---------------------------------------------------------------------------------------


class _Part(InputPartition):  # type: ignore[misc]
    """The byte ranges that one task reads, and a sample of the ranges of all tasks."""

    def __init__(
        self,
        ranges: list[fastrec.FileRange],
        values: dict[str, str | None],
        sample: Sequence[fastrec.FileRange],
    ) -> None:
        super().__init__(None)
        self.ranges, self.values, self.sample = ranges, values, sample


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(
        self,
        roots: list[str],
        storage: fastrec.StorageOptions,
        shards: Any,
        schema: Any,
        kind: str,
        options: dict[str, Any],
        exact: bool,
        size: int | None,
    ) -> None:
        self._roots, self._storage, self._shards = roots, storage, shards
        self._schema, self._kind = schema, kind
        self._options, self._exact, self._size = options, exact, size
        self._filters: list[Any] = []

    def partitions(self) -> Sequence[Any]:
        """Return byte ranges of files; small files of one directory are combined."""
        files = _found(self._roots, self._storage, self._shards)
        files = [each for each in files if self._may_match(each.values)]
        size = self._size or _part_size(sum(each.size for each in files))
        groups: list[tuple[dict[str, str | None], list[fastrec.FileRange]]] = []
        for values, group in itertools.groupby(files, lambda each: each.values):
            paths = [each.path for each in group]
            groups.append(
                (values, fastrec.file_ranges(paths, size, exact=self._exact, shards="any"))
            )
        sample = spread([each for _, ranges in groups for each in ranges])
        parts = [
            _Part(some, values, sample)
            for values, ranges in groups
            for some in grouped(ranges, list(map(_size, ranges)), size)
        ]
        return parts or [_Part([], {}, [])]

    def read(self, partition: Any) -> Iterator[Any]:
        """Yield the record batches of one task."""
        _freeze()
        values = partition.values
        wanted = to_arrow_schema(self._schema, timezone="UTC")
        kept = types.StructType([each for each in self._schema if each.name not in values])
        if not len(kept):
            kept = types.StructType([types.StructField(RECORD, types.BinaryType())])
            parser = parser_of(kept, "ByteArray")
        else:
            parser = parser_of(kept, self._kind)
        where = self._where(kept)
        for part in partition.ranges:
            files = RecordFiles(part, **self._options)
            others = (RecordFiles(each, **self._options) for each in partition.sample)
            for _, columns in parser.read(files, _BATCH, where, others=others):
                yield _batch(columns, values, wanted)

    def _may_match(self, values: Mapping[str, str | None]) -> bool:
        """Return whether files in these directories can have rows that match the filters."""
        fields = [each for each in columns_of(self._filters, self._schema) if each.name in values]
        if not fields:
            return True
        row = _batch(None, values, to_arrow_schema(types.StructType(fields), timezone="UTC"))
        return bool(may_match(self._filters, row)[0])

    def _where(self, kept: Any) -> Filter | None:
        """Return a filter of the records that may match, or None."""
        fields = columns_of(self._filters, kept)
        if not len(fields) or self._kind == "ByteArray":
            return None
        wanted = to_arrow_schema(fields, timezone="UTC")

        def select(columns: Mapping[str, Any]) -> NDArray[np.int64]:
            return np.flatnonzero(may_match(self._filters, _batch(columns, {}, wanted)))

        return Filter(parser_of(fields, self._kind), select)


class _FilteringReader(_Reader):
    """A reader with ``pushFilters``; depending on its configuration, Spark calls or rejects it."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:
        """Store the filters, and return all of them so that Spark applies them as well."""
        self._filters = list(filters)
        yield from filters


@functools.cache
def _freeze() -> None:
    """Exclude imported objects from garbage collection.

    A worker of Spark collects garbage after each task, before it takes the next one. With pandas
    and pyarrow, which Spark imports, this takes as long as reading some MB of records.
    """
    gc.freeze()


def _part_size(total: int) -> int:
    """Return the bytes per task, for at least one task per processor of the driver.

    The workers may have the same number of processors.
    """
    return min(max(-(-total // usable_cpus()), _LEAST_PART_BYTES), _MOST_PART_BYTES)


def _size(part: fastrec.FileRange) -> int:
    if part.end is not None:
        return part.end - part.begin
    return part.path.size if isinstance(part.path, RemoteFile) else os.stat(part.path).st_size


def _batch(columns: Mapping[str, Any] | None, values: Mapping[str, Any], wanted: Any) -> Any:
    """Return a record batch with exactly these types; without `columns`, one row of `values`."""
    given = None if columns is None else pa.record_batch(arrow.batch(columns, tensors=False))
    count = 1 if given is None else given.num_rows
    arrays = []
    for field in wanted:
        if field.name in values:
            value = values[field.name]
            if value is not None and pa.types.is_integer(field.type):
                value = int(value)
            array = pa.array([value] * count, field.type)
        else:
            array = given[field.name]  # type: ignore[index,unused-ignore]
        try:
            arrays.append(_cast(array, field.type))
        except (ValueError, NotImplementedError) as error:
            raise ValueError(f"column {field.name!a}: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _cast(array: Any, kind: Any) -> Any:
    if pa.types.is_boolean(kind) or not pa.types.is_decimal(kind):
        return array.cast(kind)
    return array.cast(pa.float64()).cast(kind, safe=False)  # this cast rounds to the scale
