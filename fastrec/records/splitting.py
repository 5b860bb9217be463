# SPDX-License-Identifier: Apache-2.0
"""Byte ranges of record files, as units of work for several processes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..errors import IndexMismatchError
from ..storage.remote import RemoteFile
from . import compression as streams
from .byte_sources import head_of, is_regular
from .file_magic import HEADER_SIZE
from .index import Index
from .paths import expand, is_path

__all__ = ["FileRange", "file_ranges", "grouped", "open_range", "ranges_of"]


@dataclass(frozen=True)
class FileRange:
    """Bytes of a record file that hold whole records; made by :func:`file_ranges`.

    A source wherever files are one: ``Reader(file_range)``, ``Batcher([range, range], ...)``. It
    can be read in sequence only. It can be pickled, also with a file system, where that can be.

    Attributes
    ----------
    path : path
    begin : int
        File position of the first record.
    end : int or None
        File position where the last record ends; None for a whole file, which may be compressed.
    filesystem : object, optional
        Has ``open_input_file(path)``, as file systems of pyarrow, or ``open(path)``, as those of
        fsspec. None: the file is a local one.
    """

    path: Any
    begin: int = 0
    end: int | None = None
    filesystem: Any = None

    def __post_init__(self) -> None:
        if not is_path(self.path):
            raise TypeError(f"path must be a path, got {type(self.path).__name__}")
        if self.begin < 0 or (self.end is None and self.begin):
            raise ValueError(f"begin must be at least 0 and requires end, got {self.begin}")
        if self.end is not None and self.end <= self.begin:
            raise ValueError(f"end must be greater than begin, {self.begin}, got {self.end}")

    def __str__(self) -> str:
        name = os.fsdecode(self.path)
        return name if self.end is None else f"{name} [{self.begin}:{self.end}]"


def ranges_of(source: Any) -> list[FileRange] | None:
    """The ranges that a source is; None for another source."""
    if isinstance(source, FileRange):
        return [source]
    if isinstance(source, (list, tuple)) and any(isinstance(each, FileRange) for each in source):
        if odd := [each for each in source if not isinstance(each, FileRange)]:
            raise TypeError(f"source must be of ranges or of paths, got both: {odd[0]!r}")
        return list(source)
    return None


def open_range(part: FileRange) -> tuple[Any, bytes]:
    """Open a file of a file system where its range begins; with its first bytes, if it is whole."""
    opened = getattr(part.filesystem, "open_input_file", None)
    name = os.fsdecode(part.path)
    file = part.filesystem.open(name, "rb") if opened is None else opened(name)
    head = file.read(HEADER_SIZE) if part.end is None else b""
    file.seek(part.begin)
    return file, head


def file_ranges(
    source: Any,
    size: int = 64 << 20,
    *,
    exact: bool = False,
    compression: str | None = "auto",
    filesystem: Any = None,
) -> list[FileRange]:
    """Split record files into byte ranges, each record in exactly one of them.

    Little is read: around each cut, the first sound record is searched for. Such a search may find
    a record of a record file that is stored inside a record. That is detected when the ranges are
    read: each has to end exactly where the next one begins, or reading it raises a
    :class:`CorruptRecordError` of kind ``"cut"``. Where all ranges were read without an error, they
    had the records that reading the file has. Record numbers in errors are counted from the
    beginning of the range.

    Parameters
    ----------
    source : path, glob pattern, list of these
    size : int
        Bytes of a range, about: larger where a record is, smaller so that ranges of a file differ
        little.
    exact : bool
        Read the headers of all records, for cuts that are between records in any case. Not needed
        where a file has an index beside it. Files of `filesystem` are not cut then.
    compression : {"auto", None, "GZIP", "ZLIB"}
        As for :class:`Reader`. Compressed files are not cut.
    filesystem : object, optional
        Of pyarrow or fsspec; then `source` is a path or a list of paths there, which are cut.

    Returns
    -------
    list of FileRange
        In the order of the files; files that are empty have none.

    Raises
    ------
    OSError
    CorruptRecordError, TruncatedFileError
        With `exact`.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"%d" % number for number in range(10)])
    >>> ranges = file_ranges(path, size=100)
    >>> [(each.begin, each.end) for each in ranges]
    [(0, 85), (85, 170)]
    >>> list(fastrec.Reader(ranges[1]))
    [b'5', b'6', b'7', b'8', b'9']
    """
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    kind = compression if compression == "auto" else streams.normalize(compression)
    paths = expand(source) if filesystem is None else [source] if is_path(source) else list(source)
    ranges = []
    if any(isinstance(path, RemoteFile) for path in paths):
        raise ValueError("file_ranges of URLs requires filesystem, of pyarrow or fsspec")
    for path in paths:
        whole = FileRange(path, filesystem=filesystem)
        length, cuttable = _measure(whole, kind)
        if not cuttable or (exact and filesystem is not None):
            ranges += [whole] if length else []
            continue
        ends = [0, *_cuts(whole, length, size, exact), length]
        ranges += [FileRange(path, a, b, filesystem) for a, b in itertools.pairwise(ends) if a < b]
    return ranges


def grouped(
    parts: Iterable[FileRange], sizes: Iterable[int], most: int
) -> Iterator[list[FileRange]]:
    """Ranges that follow each other, as many as have `most` bytes together."""
    group: list[FileRange] = []
    held = 0
    for part, size in zip(parts, sizes, strict=True):
        if group and held + size > most:
            yield group
            group, held = [], 0
        group.append(part)
        held += size
    if group:
        yield group


def _measure(whole: FileRange, kind: str | None) -> tuple[int, bool]:
    """Bytes of a file, 1 at least where that is unknown, and whether it can be cut."""
    if whole.filesystem is None:
        place = os.path.abspath(whole.path)
        if not is_regular(place):
            return 1, False
        length = os.stat(place).st_size
        head = head_of(place) if kind == "auto" else b""
    else:
        file, head = open_range(whole)
        file.seek(0, os.SEEK_END)
        length = file.tell()
        file.close()
    return length, (streams.detect(head) if kind == "auto" else kind) is None


def _cuts(whole: FileRange, length: int, size: int, exact: bool) -> Iterator[int]:
    """Positions where the ranges of a plain file meet."""
    count = -(-length // size)
    offsets = _offsets(whole, exact) if count > 1 else None
    last = credit = 0
    for number in range(1, count):
        position = length * number // count
        if position <= last:
            continue
        if offsets is not None:
            last = int(offsets[np.searchsorted(offsets, position)])
        else:
            # One budget for the searches in a file: a file of false headers costs no more.
            found, credit = _reader(whole, position).find(credit)
            last = length if found is None else found
        if last < length:
            yield last


def _offsets(whole: FileRange, exact: bool) -> Any:
    """Offsets of the records by an index; None where they are searched for."""
    if whole.filesystem is not None:
        return None
    try:
        return Index.load(whole.path).offsets
    except (OSError, IndexMismatchError):
        return Index.build(whole.path).offsets if exact else None


def _reader(whole: FileRange, begin: int) -> _core.RecordReader:
    if whole.filesystem is None:
        place = os.path.abspath(whole.path)
        return _core.RecordReader(whole.path, place=place, begin=begin)
    file, _ = open_range(whole)
    file.seek(begin)
    return _core.RecordReader(whole.path, read=file.read, begin=begin)
