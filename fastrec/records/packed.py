# SPDX-License-Identifier: Apache-2.0
"""Open compressed local files for a pass, from the start or from checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import IndexMismatchError
from ..storage.remote import RemoteFile
from . import compression as streams
from .byte_sources import NamedFile, regular_head
from .index import Index
from .inflated import Inflated
from .inflated_dataset import InflatedDataset, InflatedFile
from .paths import index_path

if TYPE_CHECKING:
    from .record_files import RecordFiles

__all__ = ["has_checkpoints", "indexed", "inflate_whole", "kind_of"]


def kind_of(files: RecordFiles, number: int) -> str | None:
    """Return the compression of a regular local file; None for any other file."""
    place = files.places[number]
    head = None if isinstance(place, RemoteFile) else regular_head(place)
    if head is None or files.compression != "auto":
        return None if head is None else files.compression
    return streams.detect(head)


def inflate_whole(
    files: RecordFiles, number: int, place: str | bytes | None = None, kind: str | None = None
) -> Inflated:
    """Open a compressed file to inflate it from its start.

    Parameters
    ----------
    place : path, optional
        Copy of a remote file in the cache. By default, the file is local.
    kind : {"GZIP", "ZLIB", "TAR", "ZSTD"}, optional
        Detected from the first bytes of a local file by default.
    """
    path = files.paths[number]
    if place is None:
        local = files.places[number]
        assert not isinstance(local, RemoteFile)
        place = local
    kind = kind or kind_of(files, number) or "GZIP"
    file = NamedFile(place, path)
    return Inflated(
        file.read,
        kind,
        os.fsdecode(path),
        close=file.close,
        seek=file.seek,
        uses_thread=files.threads > 1,
        **files.limits,
    )


def indexed(files: RecordFiles, number: int) -> InflatedFile | None:
    """Return a compressed file that several threads can inflate from its checkpoints, or None.

    None is returned if checks would be lost: with checkpoints, checksums of the compressed stream
    are not verified, and limits are not applied.
    """
    path, place = files.paths[number], files.places[number]
    if isinstance(place, RemoteFile) or not (files.options["verify"] and files.uses_checkpoints):
        return None
    if isinstance(files.numbered, InflatedDataset):
        inflated = files.numbered.inflated[number]
    elif _looks_beside(files) and os.path.exists(beside := index_path(place)):
        try:
            inflated = InflatedFile(path, place, Index._load(path, place, beside))
        except (OSError, IndexMismatchError):
            return None
    else:
        return None
    return inflated if inflated.is_worth_threads else None


def has_checkpoints(files: RecordFiles) -> bool:
    """Return whether all files are local and compressed, and each has an index next to it."""
    if not (files.options["verify"] and files.uses_checkpoints and _looks_beside(files)):
        return False
    return all(
        not isinstance(place, RemoteFile) and os.path.exists(index_path(place))
        for place in files.places
    )


def _looks_beside(files: RecordFiles) -> bool:
    return files.index is True or files.index == "auto"
