# SPDX-License-Identifier: Apache-2.0
"""The formats of table files, by name and by file name suffix."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..arguments import check_path
from ..records.paths import NO_FILES, PACKED_SUFFIXES, PathLike, is_path, is_remote, resolve
from ..records.shard_sets import Shards, check_shards, check_shards_option
from ..storage.options import StorageOptions
from ..storage.urls import local_path

__all__ = [
    "FOLDERS",
    "FORMATS",
    "INDEX",
    "KNOWN",
    "MOST_INDEX",
    "READ_AS_RECORDS",
    "RECORD_FORMATS",
    "TEXTUAL",
    "TFRECORD",
    "TableCompression",
    "TableFormat",
    "files_of",
    "folder_format",
    "format_of",
    "packed",
    "requested",
    "source_format_of",
    "tables_in",
    "target_format_of",
]

TableFormat = Literal[
    "tfrecord",
    "parquet",
    "arrow",
    "csv",
    "jsonl",
    "lance",
    "bag",
    "bagz",
    "array_record",
    "riegeli",
    "npz",
    "tar",
    "mds",
    "litdata",
]
"""Formats of files, by name."""

TableCompression = Literal[
    "GZIP", "ZLIB", "ZSTD", "none", "snappy", "zstd", "gzip", "lz4", "brotli", "bz2"
]
"""Compressions of tables, of which each format has some, and of TFRecord files."""

TFRECORD = "tfrecord"
TEXTUAL = ("csv", "jsonl")
"""Formats that have no bytes but text."""

FORMATS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson"),
    "lance": (".lance",),
}

RECORD_FORMATS: dict[str, tuple[str, ...]] = {
    "bag": (".bag",),
    "bagz": (".bagz",),
    "array_record": (".array_record", ".arrayrecord"),
    "riegeli": (".riegeli",),
    "npz": (".npz",),
    "tar": (".tar",),
    "mds": (".mds",),
    "litdata": (".litdata",),
}
"""Other formats of records."""

FOLDERS = ("lance", "mds", "litdata")
"""Formats that are a directory, which a name or its content tells."""

INDEX = "index.json"
"""The file of an MDS or a LitData directory that lists its shards."""

MOST_INDEX = 1 << 26
"""Most bytes of such a file, which bounds memory."""

READ_AS_RECORDS = ("tar",)
"""Formats whose files every reader reads as records, by their content."""

KNOWN = (TFRECORD, *FORMATS, *RECORD_FORMATS)
_BY_SUFFIX = {
    suffix: name for name, suffixes in (FORMATS | RECORD_FORMATS).items() for suffix in suffixes
}


def format_of(path: PathLike) -> str:
    """Return the format that the name of a source implies; TFRecord for all other names."""
    name = target_format_of(path)
    return TFRECORD if name in READ_AS_RECORDS else name


def source_format_of(path: PathLike) -> str:
    """Return the format of a source: by content for a directory, else by name."""
    return folder_format(path) or format_of(path)


def folder_format(path: PathLike) -> str | None:
    """Return the format of a directory that is one dataset; None for other paths."""
    if not os.path.isdir(path):
        return None
    folder = os.fsdecode(path)
    if os.path.isdir(os.path.join(folder, "_versions")):
        return "lance"
    named = format_of(folder.rstrip("/"))
    data = b""
    index = os.path.join(folder, INDEX)
    if os.path.isfile(index):  # a pipe would block
        with contextlib.suppress(OSError), open(index, "rb") as file:
            data = file.read(MOST_INDEX)
    for key, kind in ((b'"shards"', "mds"), (b'"chunks"', "litdata")):
        if key in data:
            return kind
    return named if named in FOLDERS else None


def target_format_of(path: PathLike) -> str:
    """Return the format that the name of a target implies; TFRecord for all other names."""
    name = os.fsdecode(path).lower()
    for suffix in PACKED_SUFFIXES:
        name = name.removesuffix(suffix)
    return _BY_SUFFIX.get(os.path.splitext(name)[1], TFRECORD)


def packed(path: PathLike, kind: str, compression: str | None) -> str | None:
    """Return the requested compression, or the compression that a file's name implies.

    Raises
    ------
    ValueError
        If the two differ, or if the format has internal compression.
    """
    name = os.fsdecode(path)
    named = PACKED_SUFFIXES.get(os.path.splitext(name.lower())[1])
    if named is None:
        return compression
    if kind not in TEXTUAL:
        raise ValueError(f"{name!a}: {kind} is compressed inside, not as {named}")
    if compression is not None and compression.lower() != named:
        raise ValueError(f"{name!a} must be compressed as {named}, got {compression!r}")
    return named


def requested(
    option: str,
    name: str | None,
    paths: Sequence[PathLike],
    implied: Callable[[PathLike], str] = source_format_of,
) -> str:
    """Return the format that an option names, or the common format of all `paths`.

    `implied` returns the format that a name implies.

    Raises
    ------
    ValueError
        If the format does not exist, or if the paths have several formats.
    """
    found = {implied(path) for path in paths} if name is None else {name}
    if len(found) != 1 or not found <= set(KNOWN):
        got = " and ".join(map(ascii, sorted(found)))
        raise ValueError(f"{option} must be one of {', '.join(map(repr, KNOWN))}, got {got}")
    return found.pop()


def files_of(
    source: Any, storage: StorageOptions, shards: Shards, kind: str | None = None
) -> list[Any]:
    """Return the files that a source names; for a directory of tables, the tables.

    `kind` is the format of the source, if it was named.
    """
    files: list[Any] = []
    chosen: set[str] = set()
    if isinstance(source, (set, frozenset)):
        source = sorted(source, key=os.fsdecode)  # their order differs from process to process
    for entry in [source] if is_path(source) else source:
        check_path("source", entry)
        each = local_path(entry)
        if kind in FOLDERS:
            files.append(os.fsdecode(each))
            continue
        if tables := [] if is_remote(each, storage) else tables_in(each):
            files += tables
            continue
        found, exact = resolve(each, storage)
        files += [os.fsdecode(path) if isinstance(path, bytes) else path for path in found]
        chosen |= exact
    check_shards_option(shards)
    if shards == "complete":
        check_shards(files, chosen)
    if not files:
        raise FileNotFoundError(errno.ENOENT, NO_FILES)
    return files


def tables_in(path: PathLike) -> list[str]:
    """Return the tables in a directory, or itself if it is one table; empty for other paths."""
    if not os.path.isdir(path):
        return []
    folder = os.fsdecode(path)
    if folder_format(folder):
        return [folder]
    names = [name for name in sorted(os.listdir(folder)) if format_of(name) != TFRECORD]
    return [os.path.join(folder, name) for name in names if name[0] not in "._"]
