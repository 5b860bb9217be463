# SPDX-License-Identifier: Apache-2.0
"""The formats of table files, by name and by file name suffix."""

from __future__ import annotations

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
    "FORMATS",
    "KNOWN",
    "READ_AS_RECORDS",
    "RECORD_FORMATS",
    "TEXTUAL",
    "TFRECORD",
    "TableCompression",
    "TableFormat",
    "files_of",
    "format_of",
    "packed",
    "requested",
    "tables_in",
    "target_format_of",
]

TableFormat = Literal[
    "tfrecord", "parquet", "arrow", "csv", "jsonl", "bag", "bagz", "array_record", "npz", "tar"
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
}

RECORD_FORMATS: dict[str, tuple[str, ...]] = {
    "bag": (".bag",),
    "bagz": (".bagz",),
    "array_record": (".array_record", ".arrayrecord"),
    "npz": (".npz",),
    "tar": (".tar",),
}
"""Other formats of records."""

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
    implied: Callable[[PathLike], str] = format_of,
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


def files_of(source: Any, storage: StorageOptions, shards: Shards) -> list[Any]:
    """Return the files that a source names; for a directory of tables, the tables."""
    files: list[Any] = []
    chosen: set[str] = set()
    if isinstance(source, (set, frozenset)):
        source = sorted(source, key=os.fsdecode)  # their order differs from process to process
    for entry in [source] if is_path(source) else source:
        check_path("source", entry)
        each = local_path(entry)
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
    """Return the tables in a directory; empty for other paths."""
    if not os.path.isdir(path):
        return []
    folder = os.fsdecode(path)
    names = [name for name in sorted(os.listdir(folder)) if format_of(name) != TFRECORD]
    return [os.path.join(folder, name) for name in names if name[0] not in "._"]
