# SPDX-License-Identifier: Apache-2.0
"""Convert between TFRecord files and other files of records, whose bytes stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from .bagz import BagzReader, BagzWriter
from .conversion import Conversion, Done
from .riegeli import ArrayRecordWriter, RiegeliReader, RiegeliWriter

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
    "array_record": Container(
        "an array_record file", partial(RiegeliReader, has_index=True), ArrayRecordWriter
    ),
    "riegeli": Container("a Riegeli file", partial(RiegeliReader, has_index=False), RiegeliWriter),
}
"""Formats of records by name; the ends of their names are in module `formats`."""


def write_container(kind: str, job: Conversion) -> Done:
    """Write the records of record files to another format; return their number and the paths."""
    phrase = CONTAINERS[kind].phrase
    _check_features(phrase, job)
    if job.compression is not None:
        raise ValueError(f"compression is part of {phrase}; leave it out")
    job.check_suffix(phrase)
    files = job.new_files()
    make = CONTAINERS[kind].writer
    writer: Any = None
    done = 0
    try:
        writer = make(files.add(), job.level)
        in_file = 0
        for block in job.reader().blocks(_BLOCK):
            for record in block:
                if in_file == job.shard_records:
                    writer.close()
                    writer, in_file = make(files.add(), job.level), 0
                writer.write(record)
                in_file += 1
            done += len(block)
            job.report(done)
        writer.close()
        files.close()
    except BaseException:
        if writer is not None:
            writer.abort()
        files.abort()
        raise
    return done, files.paths


def read_container(kind: str, job: Conversion) -> Done:
    """Write the records of another format to record files; return their number and the paths."""
    make, phrase = CONTAINERS[kind].reader, CONTAINERS[kind].phrase
    _check_features(phrase, job)
    job.check_sources(phrase)
    # Each reader may hold open files, so they are not kept.
    total = sum(make(os.fsdecode(path)).count for path in job.paths)
    with job.record_writer() as sink:
        for path in job.paths:
            for records in _blocks(iter(make(os.fsdecode(path)))):
                sink.write_many(records)
                job.report(sink.count, total)
        if sink.count != total:
            raise AssertionError(f"{sink.count} of {total} records were written")
    return sink.count, list(sink.paths)


def _check_features(phrase: str, job: Conversion) -> None:
    if job.features is not None:
        raise ValueError(f"features and {phrase} are mutually exclusive: records stay as they are")


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
