# SPDX-License-Identifier: Apache-2.0
"""Convert between TFRecord files and tables, or other formats of records.

Tables require the extra ``arrow``: ``pip install 'fastrec-io[arrow]'``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from .. import arrow
from ..arguments import check_int, check_types
from ..features.spec import SequenceFeatures
from ..records.paths import PathLike, is_remote
from ..records.recovery import OnError
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from ..storage.urls import local_path
from . import record_formats
from .conversion import Conversion, refuse
from .formats import (
    FORMATS,
    READ_AS_RECORDS,
    RECORD_FORMATS,
    TEXTUAL,
    TFRECORD,
    TableCompression,
    TableFormat,
    files_of,
    packed,
    requested,
    target_format_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Converted", "convert"]


class RecordFileOptions(TypedDict, total=False):
    """Options of a :class:`fastrec.Writer` that only a target of record files has."""

    shards: int | None
    shard_bytes: int | None
    index: bool | Literal["dataset"]
    fsync: bool
    verify_after_write: bool
    shapes: Mapping[str, str] | None


Progress = Callable[[int, "int | None"], object]


class Converted(NamedTuple):
    """Result of :func:`convert`.

    Attributes
    ----------
    records : int
        Number of records or rows.
    paths : list of str
        Paths of the files that were written.
        A directory of Lance, MDS or LitData is one path.
    text, images : list of str
        Columns of bytes that became text, and images, in a table that has both kinds.

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
    text: list[str]
    images: list[str]


def convert(
    source: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    source_format: TableFormat | None = None,
    target_format: TableFormat | None = None,
    features: Mapping[str, Any] | SequenceFeatures | Sequence[str] | None = None,
    raw: bool = False,
    text: bool | Sequence[str] | None = None,
    images: bool | Sequence[str] | None = None,
    tensors: bool = False,
    base64: bool = False,
    schema: Any = None,
    key: str | None = None,
    extensions: Mapping[str, str] | None = None,
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
    **options: Unpack[RecordFileOptions],
) -> Converted:
    """Convert record files into tables or other formats, or these into record files.

    Either the source or the target is TFRecord. To rewrite record files as record files, use
    :func:`fastrec.reshard`. The target appears complete or not at all, and memory is bounded.

    Parameters
    ----------
    source : path, glob pattern, directory, list of these
        Files to read. Record files may also be named by URLs.
    target : path or URL
    source_format, target_format : str, optional
        ``"tfrecord"``, ``"parquet"``, ``"arrow"``, ``"csv"``, ``"jsonl"``, ``"lance"``, ``"bag"``,
        ``"bagz"``, ``"array_record"``, ``"riegeli"``, ``"npz"``, ``"tar"``, ``"mds"`` or
        ``"litdata"``. Detected from the end of the name by default: ``.parquet``, ``.pq``,
        ``.arrow``, ``.feather``, ``.ipc``, ``.csv``, ``.jsonl``, ``.ndjson``, ``.lance``, ``.bag``,
        ``.bagz``, ``.array_record``, ``.arrayrecord``, ``.riegeli``, ``.npz``, ``.tar``, ``.mds``,
        ``.litdata``. All other names are TFRecord. The records of bag, bagz, array_record and
        Riegeli files are bytes, and stay as they are. A source that is a tar archive, or a
        directory of Lance, MDS or LitData, is detected by its content.
    features : mapping of str to feature, SequenceFeatures, or list of str, optional
        The columns. For record files, as for :func:`fastrec.arrow.table`. By default, or with a
        list of names, :func:`fastrec.infer_features` infers all or the named features in a first
        pass over all records, and arrays are kept as their encoded bytes. For tables, `features`
        selects the columns to read and the features to write them as.
    raw : bool
        Whether to store whole records in one binary column, ``record``, byte for byte. Not
        supported for CSV. In JSON lines, records are base64.
    text : bool or list of str, optional
        Columns of bytes that become text in Parquet and Arrow: True for all, or a list of names. A
        value that is not UTF-8 is an error. By default, a column becomes text if all its values are
        UTF-8 without control characters, which a pass over the records finds out; it ends as soon
        as no column is left. In CSV and JSON lines, all columns of bytes are text.
    images : bool or list of str, optional
        Columns of bytes that become images of Hugging Face ``datasets`` in Parquet: structs of the
        fields ``bytes`` and ``path``. True for all, or a list of names; by default, the columns
        whose first values are all encoded images.
    tensors : bool, default False
        Whether arrays of fixed shape become ``arrow.fixed_shape_tensor`` in Parquet and Arrow,
        which not all readers know. By default they become flat lists of fixed size.
    base64 : bool
        Whether columns of bytes are base64 in CSV and JSON lines.
    schema : pyarrow.Schema, optional
        New types for the columns of a table. A cast that would lose a value is an error.
    key : str, optional
        For a tar archive as the target: the feature whose string or integer is the key of each
        sample, which names its files. By default the number of the record, or ``__key__`` for
        records that were read from an archive.
    extensions : mapping of str to str, optional
        For a tar archive as the target: extensions of the files of some features. By default the
        name of the feature and the type of its values: ``cls`` for one integer, ``npy`` for
        numbers, ``mp`` (MessagePack) for lists of bytes, and ``jpg``, ``png``, ``npy``, ``json``,
        ``txt``, ``bin`` or that of another medium for one value of bytes.
    compression : str, optional
        Compression of the target. TFRecord: ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"`` or ``"none"``; by
        default GZIP for a name that ends in ``.gz``, and ZSTD for ``.zst``. Parquet: ``"snappy"``
        (the default), ``"zstd"``, ``"gzip"`` or ``"none"``. Arrow: ``"lz4"`` or ``"zstd"``. CSV and
        JSON lines: ``"gzip"`` or ``"zstd"``, by default from a name such as ``.csv.gz`` or
        ``.csv.zst``. The compression of a source is detected.
    level : int, optional
        Level of the compression.
    row_group_size : int
        Maximum number of rows in a row group of Parquet. A row group also ends at 32 MiB.
    shard_records : int, optional
        Number of rows per file. The target then consists of several files, named as for
        :class:`fastrec.Writer`.
    overwrite : bool, default False
        Whether to replace an existing target. A source or a directory is never replaced, and a
        table never replaces a record file.
    threads : int, optional
        Number of threads that parse and encode.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        Policy for damaged records, as for :class:`fastrec.Reader`.
    progress : callable, optional
        Called as ``progress(records, total)`` after each batch; `total` is None if unknown.
    storage_options : StorageOptions or mapping, optional
        Options for URLs, as for :class:`fastrec.Reader`.
    source_shards : {"complete", "any"}
        The option `shards` of :class:`fastrec.Reader`, for the source.
    **options
        Options of :class:`fastrec.Writer` if the target is TFRecord: ``shards``, ``index``, ...

    Returns
    -------
    Converted
        The number of records, the paths of the files, and the columns that became text or images.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
    TypeError, ValueError
        If a format or an Example cannot store a column, with the name of the column or the line of
        the source.

    Examples
    --------
    >>> import os, tempfile, fastrec, pyarrow.parquet
    >>> folder = tempfile.mkdtemp()
    >>> source, target = os.path.join(folder, "a.tfrecord"), os.path.join(folder, "a.parquet")
    >>> with fastrec.Writer(source) as writer:
    ...     writer.write({"word": "one", "count": [1]})
    ...     writer.write({"word": "two", "count": [2]})
    >>> done = convert(source, target)
    >>> done.records, done.text
    (2, ['word'])
    >>> pyarrow.parquet.read_table(target).to_pylist()
    [{'count': 1, 'word': 'one'}, {'count': 2, 'word': 'two'}]
    """
    check_types(convert, locals())
    if threads is not None:
        check_int("threads", threads, 1, 256)
    check_int("row_group_size", row_group_size, 1, 2**40)
    if shard_records is not None:
        check_int("shard_records", shard_records, 1, 2**62)
    storage, target = StorageOptions.of(storage_options), local_path(target)
    paths = files_of(source, storage, source_shards, source_format)
    origin, goal = (
        requested("source_format", source_format, paths),
        requested("target_format", target_format, [target], target_format_of),
    )
    if goal in (TFRECORD, "tar") and record_formats.are_archives(origin, paths, storage):
        origin = "tar"
    elif origin in READ_AS_RECORDS and goal not in RECORD_FORMATS:
        origin = TFRECORD
    if options and goal != TFRECORD:
        raise TypeError(f"{next(iter(options))} requires a target that is TFRecord")
    if goal != "tar":
        refuse("a target that is a tar archive", key=key, extensions=extensions)
    job = Conversion(
        paths,
        target,
        features=features,
        key=key,
        extensions=extensions,
        compression=compression,
        level=level,
        row_group_size=row_group_size,
        shard_records=shard_records,
        overwrite=overwrite,
        on_error=on_error,
        progress=progress,
        storage=storage,
        options=options,
    )
    if between := record_formats.between(origin, goal):
        tabular = {"raw": raw, "text": text, "images": images, "tensors": tensors}
        refuse("a table", **tabular, base64=base64, schema=schema)
        return Converted(*between(job), [], [])
    try:
        from . import bytes_columns, columns
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        message = "fastrec.convert requires pyarrow for tables: pip install 'fastrec-io[arrow]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    if (origin == TFRECORD) == (goal == TFRECORD):
        raise ValueError(_same_side(paths, target, origin, goal))
    if raw and (features is not None or "csv" in (origin, goal)):
        raise ValueError("raw, features and CSV are mutually exclusive")
    if goal == TFRECORD:
        if remote := [path for path in paths if is_remote(path, storage)]:
            raise ValueError(f"tables must be local files, got {os.fsdecode(remote[0])!a}")
        if schema is not None or text or images or tensors:
            raise ValueError("schema, text, images and tensors require a target that is a table")
        tables = columns.Tables(paths, origin, features, raw=raw, base64=base64)
        return Converted(*columns.write_records(job, tables, threads), [], [])
    if base64 and goal not in TEXTUAL:
        raise ValueError("base64 requires CSV or JSON lines")
    if images and goal != "parquet":
        raise ValueError("images require Parquet")
    if tensors and goal in TEXTUAL:
        raise ValueError("tensors require Parquet or Arrow")
    job = replace(job, compression=packed(target, goal, compression))
    source_options = {"on_error": on_error, "storage_options": storage, "shards": "any"}
    found, total = columns.columns_of(paths, features, raw, **source_options)
    reading: dict[str, Any] = {"tensors": tensors, "threads": threads, **source_options}
    table = arrow.table(paths, found, **reading)
    if schema is None and not raw and goal not in TEXTUAL:
        # Damage is reported when the records are converted.
        quiet = reading | {"on_error": bytes_columns.quietly(on_error)}
        if text is None:
            text = bytes_columns.text_columns(paths, found, quiet)
        if images is None and goal == "parquet":
            images = bytes_columns.image_columns(arrow.table(paths, found, **quiet))
    types = columns.Types(
        table,
        goal,
        text=text or (),
        images=images or (),
        base64=base64 or raw,
        schema=schema,
    )

    unseen = table._parser.unseen()
    count, written = columns.write_table(job, table, types, total, unseen)
    if isinstance(features, (Mapping, SequenceFeatures)):
        unseen.warn()
    return Converted(count, written, types.text, types.images)


def _same_side(paths: Sequence[Any], target: PathLike, origin: str, goal: str) -> str:
    """Return the error message for a conversion between two tables, or between two record files."""
    names = f"{os.fsdecode(paths[0])!a} and {os.fsdecode(target)!a}" if paths else repr(target)
    if origin != TFRECORD:
        return (
            f"source or target must be a record file, got two tables: {names} ({origin} and "
            f"{goal}); convert to records first"
        )
    suffixes, others = (
        ", ".join(suffix for each in formats.values() for suffix in each)
        for formats in (FORMATS, RECORD_FORMATS)
    )
    return (
        f"source or target must be a table ({suffixes}) or other records ({others}), got {names}; "
        "source_format and target_format name the format of other names, and fastrec.reshard "
        "rewrites record files"
    )
