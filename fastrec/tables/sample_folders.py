# SPDX-License-Identifier: Apache-2.0
"""Convert between record files and directories with shards of samples: MDS and LitData."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import FastrecError
from ..parsing.parse import parse_example
from .conversion import Conversion, Done, refuse
from .litdata import LitDataFolder, LitDataWriter
from .mds import MdsFolder, MdsWriter
from .new_files import new_folder
from .sample_values import contents_of, field_of

__all__ = ["SAMPLE_FOLDERS", "read_folders", "write_folder"]

_BLOCK = 1024  # records that are converted together


class _Kind(NamedTuple):
    """A format of directories: its name in messages, and how to read and write it.

    Attributes
    ----------
    phrase : str
    reader : callable
        ``reader(folder)`` has the `shards`, and writes their samples to a writer of records.
    writer : callable
        ``writer(folder, fields, most)`` writes columns to shards of `most` samples.
    """

    phrase: str
    reader: Callable[[str], Any]
    writer: Callable[..., Any]


SAMPLE_FOLDERS: dict[str, _Kind] = {
    "mds": _Kind("an MDS directory", MdsFolder, MdsWriter),
    "litdata": _Kind("a LitData directory", LitDataFolder, LitDataWriter),
}
"""Formats of directories by name."""


def read_folders(kind: str, job: Conversion) -> Done:
    """Write the samples of directories to record files; return their number and the paths."""
    phrase = SAMPLE_FOLDERS[kind].phrase
    refuse(f"a source that is not {phrase}", features=job.features)
    job.check_sources(phrase)
    folders = [SAMPLE_FOLDERS[kind].reader(os.fsdecode(path)) for path in job.paths]
    total = sum(shard.samples for folder in folders for shard in folder.shards)
    done = 0
    with job.record_writer() as sink:
        for folder in folders:
            for shard in folder.shards:
                try:
                    for _ in folder.write(sink, shard):
                        job.report(sink.count, total)
                except (TypeError, ValueError, OverflowError) as error:
                    if isinstance(error, FastrecError):
                        raise
                    place = f"{shard.path!a}: sample {sink.count - done} or later"
                    raise ValueError(f"{place}: {error}") from error
                done += shard.samples
                if sink.count != done:
                    raise AssertionError(f"{sink.count} of {done} samples were written")
    return sink.count, list(sink.paths)


def write_folder(kind: str, job: Conversion) -> Done:
    """Write record files to a new directory; return the number of records and its path."""
    phrase = SAMPLE_FOLDERS[kind].phrase
    job.refuse_compression(f"compression and level are not supported for {phrase}")
    job.check_suffix(phrase)
    with new_folder(job.target, job.storage) as folder:
        features, media = contents_of(job, phrase)
        done, writer = 0, None
        try:
            for block in job.reader().blocks(_BLOCK):
                if not features:
                    raise ValueError(f"the records have no features, which {phrase} requires")
                columns = parse_example(block, features)
                if writer is None:
                    fields = [
                        field_of(name, column, media.get(name, "bin"), phrase)
                        for name, column in columns.items()
                    ]
                    writer = SAMPLE_FOLDERS[kind].writer(folder, fields, job.shard_records)
                writer.write(columns)
                done += len(block)
                job.report(done)
            if writer is None:
                raise ValueError(
                    f"the files have no records, and {phrase} without samples has no columns; name "
                    "other files"
                )
            written = writer.close()
        finally:
            if writer is not None:
                writer.abort()
        if written != done:
            raise OSError(errno.EIO, f"{written} of {done} records were written", folder)
    return done, [os.fsdecode(job.target)]
