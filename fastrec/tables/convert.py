# SPDX-License-Identifier: Apache-2.0
"""Conversion between record files and tables: Parquet, Arrow IPC, CSV and JSON lines.

Requires the extra ``arrow``: ``pip install 'fastrec-io[arrow]'``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import arrow
from ..arguments import check_int, check_types
from ..features.spec import SequenceFeatures
from ..records.paths import PathLike, is_remote
from ..records.recovery import OnError
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from ..storage.urls import local_path
from .formats import FORMATS, TEXTUAL, TFRECORD, TableCompression, files_of, packed, requested

__all__ = ["Converted", "convert"]

Progress = Callable[[int, "int | None"], object]


class Converted(NamedTuple):
    """Result of :func:`convert`.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write({"x": 1})
    >>> done = fastrec.convert(path, path.replace(".tfrecord", ".jsonl"))
    >>> done.records, os.path.basename(done.paths[0])
    (1, 'a.jsonl')
    """

    records: int
    paths: list[str]


def convert(
    source: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    features: Mapping[str, Any] | SequenceFeatures | Sequence[str] | None = None,
    raw: bool = False,
    text: bool | Sequence[str] = False,
    base64: bool = False,
    schema: Any = None,
    compression: TableCompression | None = None,
    level: int | None = None,
    row_group_size: int = 1 << 17,
    shard_records: int | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    on_error: OnError = "raise",
    progress: Progress | None = None,
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
    source_shards: Shards = "complete",
    **options: Any,
) -> Converted:
    """Convert record files into tables, or tables into record files, in bounded memory.

    One of the two is TFRecord; :func:`fastrec.reshard` rewrites record files as record files. The
    target appears whole or not at all.

    Parameters
    ----------
    source : path, glob pattern, directory, list of these
        Record files may also be named by URLs.
    target : path or URL
    source_format, target_format : {"tfrecord", "parquet", "arrow", "csv", "jsonl"}, optional
        By default as the name ends: ``.parquet``, ``.pq``, ``.arrow``, ``.feather``, ``.ipc``,
        ``.csv``, ``.jsonl``, ``.ndjson``; any other is TFRecord.
    features : mapping of str to feature, SequenceFeatures, or list of str, optional
        The columns. Of record files, as for :func:`fastrec.arrow.table`; by default all, or those
        of a list, as :func:`fastrec.infer_features` finds them in a first pass over all records,
        with arrays kept as the bytes that they are. Of tables, which columns are read, and what
        they are written as.
    raw : bool
        Whole records in one binary column, ``record``, which keeps them byte for byte. Not for CSV;
        in JSON lines they are base64.
    text : bool or list of str
        Which columns of bytes become text in Parquet and Arrow: all, or those named. A value that
        is not UTF-8 is an error. CSV and JSON lines have text only.
    base64 : bool
        In CSV and JSON lines, columns of bytes are base64.
    schema : pyarrow.Schema, optional
        Types that columns of a table are cast to, where no value is lost by that.
    compression : str, optional
        Of TFRecord ``"GZIP"``, ``"ZLIB"`` or ``"none"``, by default GZIP for a name that ends in
        ``.gz``; of Parquet ``"snappy"`` (the default), ``"zstd"``,
        ``"gzip"``, ``"none"``; of Arrow ``"lz4"``, ``"zstd"``; of CSV and JSON lines ``"gzip"``,
        ``"zstd"``, by default as ``.csv.gz`` and ``.csv.zst`` tell. That of a source is detected.
    level : int, optional
        Of the compression.
    row_group_size : int
        Most rows of a row group of Parquet; it has fewer where they have 32 MiB.
    shard_records : int, optional
        Rows of a file; then the target is several, named as those of :class:`fastrec.Writer`.
    overwrite : bool, default False
        Replace an existing target, but no source, and no record file by a table.
    threads : int, optional
        Which parse and encode.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        Policy for damaged records, as for :class:`fastrec.Reader`.
    progress : callable, optional
        ``progress(records, total)`` after each batch; the total is None where it is not known.
    storage_options : StorageOptions or mapping, optional
        Of URLs, as for :class:`fastrec.Reader`.
    source_shards : {"complete", "any"}
        The option `shards` of :class:`fastrec.Reader`, for the source.
    **options
        Of :class:`fastrec.Writer`, where the target is TFRecord: ``shards``, ``index``, ...

    Returns
    -------
    Converted
        Number of records, and paths of the files.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
    TypeError, ValueError
        Naming the column that a format or an Example cannot hold, or the line of the source.

    Examples
    --------
    >>> import os, tempfile, fastrec, pyarrow.parquet
    >>> folder = tempfile.mkdtemp()
    >>> source, target = os.path.join(folder, "a.tfrecord"), os.path.join(folder, "a.parquet")
    >>> with fastrec.Writer(source) as writer:
    ...     writer.write({"word": "one", "count": [1]})
    ...     writer.write({"word": "two", "count": [2]})
    >>> convert(source, target, text=["word"]).records
    2
    >>> pyarrow.parquet.read_table(target).to_pylist()
    [{'count': 1, 'word': 'one'}, {'count': 2, 'word': 'two'}]
    """
    check_types(convert, locals())
    if threads is not None:
        check_int("threads", threads, 1, 256)
    check_int("row_group_size", row_group_size, 1, 2**40)
    if shard_records is not None:
        check_int("shard_records", shard_records, 1, 2**62)
    try:
        from . import columns
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        message = "fastrec.convert requires pyarrow: pip install 'fastrec-io[arrow]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    storage, target = StorageOptions.of(storage_options), local_path(target)
    paths = files_of(source, storage, source_shards)
    origin, goal = (
        requested("source_format", source_format, paths),
        requested("target_format", target_format, [target]),
    )
    if (origin == TFRECORD) == (goal == TFRECORD):
        raise ValueError(_same_side(paths, target, origin, goal))
    if raw and (features is not None or "csv" in (origin, goal)):
        raise ValueError("raw, features and CSV are mutually exclusive")
    writing: dict[str, Any] = {"compression": compression, "level": level, "overwrite": overwrite}
    writing |= {"shard_records": shard_records, "storage_options": storage}
    if goal == TFRECORD:
        if remote := [path for path in paths if is_remote(path, storage)]:
            raise ValueError(f"tables must be local files, got {os.fsdecode(remote[0])!a}")
        if schema is not None or text:
            raise ValueError("schema and text require a target that is a table")
        tables = columns.Tables(paths, origin, features, raw=raw, base64=base64)
        if compression in (None, "none"):
            writing["compression"] = None if compression else "auto"
        count, written = columns.write_records(
            tables, target, paths, progress, threads=threads, **writing, **options
        )
        return Converted(count, written)
    if base64 and goal not in TEXTUAL:
        raise ValueError("base64 requires CSV or JSON lines")
    if options:
        raise TypeError(f"{next(iter(options))} requires a target that is TFRecord")
    writing["inputs"] = paths
    writing["row_group_size"] = row_group_size
    writing["compression"] = packed(target, goal, compression)
    options = {"on_error": on_error, "storage_options": storage, "shards": "any"}
    found, total = columns.columns_of(paths, features, raw, **options)
    reading = {"tensors": goal not in TEXTUAL, "threads": threads, **options}

    def table(files: list[Any]) -> arrow.Table:
        return arrow.table(files, found, **reading)

    types = columns.Types(table(paths), goal, text, base64 or raw, schema)

    def advance(done: int) -> None:
        if progress is not None:
            progress(done, total)

    count, written = columns.write_table(table, paths, types, target, writing, advance)
    return Converted(count, written)


def _same_side(paths: Sequence[Any], target: PathLike, origin: str, goal: str) -> str:
    """Return why a conversion between two tables, or between two record files, is refused."""
    names = f"{os.fsdecode(paths[0])!a} and {os.fsdecode(target)!a}" if paths else repr(target)
    if origin != TFRECORD:
        return (
            f"source or target must be a record file, got two tables: {names} ({origin} and "
            f"{goal}); convert to records first"
        )
    suffixes = ", ".join(suffix for each in FORMATS.values() for suffix in each)
    return (
        f"source or target must be a table ({suffixes}), got {names}; source_format and "
        "target_format name the format of other names, and fastrec.reshard rewrites record files"
    )
