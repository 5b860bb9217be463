# SPDX-License-Identifier: Apache-2.0
"""Convert between TFRecord files and other files of records, whose bytes stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..encoding.writer import Writer
from ..records.object_rules import check_outputs
from ..records.paths import is_remote
from ..records.reader import Reader
from ..storage.options import StorageOptions
from .array_records import ArrayRecordReader, ArrayRecordWriter
from .bagz import BagzReader, BagzWriter
from .new_files import NewFiles

__all__ = ["CONTAINERS", "Container", "read_container", "write_container"]

_BLOCK = 1024  # records that are passed on together
_BLOCK_BYTES = 4 << 20  # bytes of records that are passed on together, approximately


class Container(NamedTuple):
    """How to read and write a format of records.

    Attributes
    ----------
    phrase : str
        Name of the format, for messages.
    reader : callable
        ``reader(path)`` has the number of records, `count`, and yields the records.
    writer : callable
        ``writer(file, level)`` writes records to a file of the sink.
    """

    phrase: str
    reader: Callable[[str], Any]
    writer: Callable[[Any, int | None], Any]


def _bagz(phrase: str, *, is_compressed: bool) -> Container:
    reader, writer = (
        partial(each, is_compressed=is_compressed) for each in (BagzReader, BagzWriter)
    )
    return Container(phrase, reader, writer)


CONTAINERS: dict[str, Container] = {
    "bag": _bagz("a bag file", is_compressed=False),
    "bagz": _bagz("a bagz file", is_compressed=True),
    "array_record": Container("an array_record file", ArrayRecordReader, ArrayRecordWriter),
}
"""Formats of records by name; the ends of their names are in module `formats`."""


def write_container(
    kind: str,
    paths: Sequence[Any],
    target: Any,
    *,
    level: int | None,
    shard_records: int | None,
    overwrite: bool,
    storage: StorageOptions,
    progress: Callable[[int, int | None], object] | None,
    on_error: Any,
) -> tuple[int, list[str]]:
    """Write the records of record files to another format; return their number and the paths."""
    rules: dict[str, Any] = {"overwrite": overwrite, "storage_options": storage, "inputs": paths}
    files = NewFiles(target, sharded=shard_records is not None, **rules)
    make = CONTAINERS[kind].writer
    reader = Reader(paths, on_error=on_error, storage_options=storage, shards="any")
    writer: Any = None
    done = 0
    try:
        writer = make(files.add(), level)
        in_file = 0
        for block in reader.blocks(_BLOCK):
            for record in block:
                if in_file == shard_records:
                    writer.close()
                    writer, in_file = make(files.add(), level), 0
                writer.write(record)
                in_file += 1
            done += len(block)
            if progress is not None:
                progress(done, None)
        writer.close()
        files.close()
    except BaseException:
        if writer is not None:
            writer.abort()
        files.abort()
        raise
    return done, files.paths


def read_container(
    kind: str,
    paths: Sequence[Any],
    target: Any,
    *,
    storage: StorageOptions,
    progress: Callable[[int, int | None], object] | None,
    on_error: Any,
    **options: Any,
) -> tuple[int, list[str]]:
    """Write the records of another format to record files; return their number and the paths."""
    if remote := [path for path in paths if is_remote(path, storage)]:
        raise ValueError(
            f"{CONTAINERS[kind].phrase} must be a local file, got {os.fsdecode(remote[0])!a}"
        )
    if on_error not in ("raise", "tolerate_tail"):
        raise ValueError(f"on_error='skip' requires TFRecord, got {CONTAINERS[kind].phrase}")
    rules = {"overwrite": options["overwrite"], "storage": storage, "inputs": paths}
    check_outputs(target, options["shard_records"] is not None, records=True, **rules)
    make = CONTAINERS[kind].reader
    # Each reader may hold open files, so they are not kept.
    total = sum(make(os.fsdecode(path)).count for path in paths)
    with Writer(target, storage_options=storage, **options) as sink:
        for path in paths:
            for records in _blocks(iter(make(os.fsdecode(path)))):
                sink.write_many(records)
                if progress is not None:
                    progress(sink.count, total)
        if sink.count != total:
            raise AssertionError(f"{sink.count} of {total} records were written")
    return sink.count, list(sink.paths)


def _blocks(records: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of records that are small enough for memory."""
    held: list[bytes] = []
    size = 0
    for record in records:
        held.append(record)
        size += len(record)
        if len(held) == _BLOCK or size >= _BLOCK_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held
