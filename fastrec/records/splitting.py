# SPDX-License-Identifier: Apache-2.0
"""Split record files into byte ranges, as units of work for several processes."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from .. import _core
from ..arguments import check_fields, check_int, check_path, check_types, shown
from ..errors import IndexMismatchError
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import Pause, RemoteFile
from ..storage.sequential import stream_of
from ..storage.urls import local_path
from . import compression as streams
from .byte_sources import head_of, is_regular
from .compression import Compression
from .framing import HEAD_SIZE
from .index import Index
from .paths import expand, is_path
from .shard_sets import Shards

__all__ = ["FileRange", "file_ranges", "grouped", "open_range", "ranges_of", "spread"]

_STEP = 1 << 18  # bytes per read while an object is searched
_SPREAD = 16  # ranges that represent a source


@dataclass(frozen=True)
class FileRange:
    """Bytes of a record file that hold whole records; made by :func:`file_ranges`.

    A range is accepted as a source wherever files are: ``Reader(file_range)``, ``Batcher([range,
    range], ...)``. It can only be read in sequence. It can be pickled, also with a file system if
    the file system can be pickled. A range of an object keeps the version of the object and the
    ``storage_options``, and cannot be pickled if the options may contain credentials.

    Attributes
    ----------
    path : path
    begin : int
        File position of the first record.
    end : int or None
        File position at which the last record ends; None for a whole file, which may be compressed.
    filesystem : object, optional
        A file system with ``open_input_file(path)``, as in pyarrow, or ``open(path)``, as in
        fsspec. None means a local file.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "letters.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"a", b"b", b"c"])
    >>> list(fastrec.Reader(FileRange(path, 17, 51)))
    [b'b', b'c']
    """

    path: Any
    begin: int = 0
    end: int | None = None
    filesystem: Any = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_path("path", self.path)
        object.__setattr__(self, "path", local_path(self.path))
        if self.begin < 0 or (self.end is None and self.begin):
            raise ValueError(f"begin must be at least 0 and requires end, got {self.begin}")
        if self.end is not None and self.end <= self.begin:
            raise ValueError(f"end must be greater than begin, {self.begin}, got {self.end}")

    def __str__(self) -> str:
        name = os.fsdecode(self.path)
        return name if self.end is None else f"{name} [{self.begin}:{self.end}]"


def ranges_of(source: Any) -> list[FileRange] | None:
    """Return the ranges that a source consists of; None for other sources."""
    if isinstance(source, FileRange):
        return [source]
    if isinstance(source, (list, tuple)) and any(isinstance(each, FileRange) for each in source):
        if odd := [each for each in source if not isinstance(each, FileRange)]:
            raise TypeError(f"source must be of ranges or of paths, got both: {odd[0]!r}")
        return list(source)
    return None


class OwnedFile:
    """A file in a file system, closed with the last object that reads from it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read: Final = file.read
        self.seek: Final = file.seek
        self.tell: Final = file.tell
        self.close: Final = file.close

    def __call__(self, size: int) -> bytes:
        return bytes(self.read(size))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def open_range(part: FileRange) -> tuple[Any, bytes]:
    """Open an object, or a file in a file system, at the start of a range.

    Returns
    -------
    file : object
        Has ``read``, ``seek`` and ``close``, and can be called like ``read``.
    head : bytes
        The first bytes of a whole file; empty for a part.
    """
    if isinstance(part.path, RemoteFile):
        return stream_of(part.path, part.begin, part.end), b""
    opened = getattr(part.filesystem, "open_input_file", None)
    name = os.fsdecode(part.path)
    file = OwnedFile(part.filesystem.open(name, "rb") if opened is None else opened(name))
    head = file.read(HEAD_SIZE) if part.end is None else b""
    file.seek(part.begin)
    return file, head


def file_ranges(
    source: Any,
    size: int = 64 << 20,
    *,
    exact: bool = False,
    compression: Compression = "auto",
    filesystem: Any = None,
    shards: Shards = "complete",
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> list[FileRange]:
    """Split record files into byte ranges, each record in exactly one of them.

    Only a small part of each file is read: near each boundary, the first valid record is searched
    for. If a record contains a stored record file, the search may find a record inside it. This is
    detected when the ranges are read: a range that does not end exactly at the start of the next
    range raises a :class:`CorruptRecordError` of kind ``"cut"``. If all ranges are read without an
    error, they yield exactly the records of the file. Record numbers in errors are counted from the
    start of the range.

    Parameters
    ----------
    source : path, URL, glob pattern, list of these
    size : int
        Approximate size of a range, in bytes. A range is larger if a record is larger, and smaller
        if this makes the ranges of a file similar in size.
    exact : bool
        Whether to read the headers of all records, so that boundaries are always between records.
        This is not necessary if a file has an index next to it. With `exact`, files in `filesystem`
        and objects are not split.
    compression : {"auto", None, "GZIP", "ZLIB", "TAR", "ZSTD"}
        As for :class:`Reader`. Compressed files are not split.
    filesystem : object, optional
        A file system of pyarrow or fsspec. `source` is then a path or a list of paths in it, and
        the files are split.
    shards : {"complete", "any"}
        As for :class:`Reader`.
    storage_options : StorageOptions or mapping, optional
        Options for access to objects by URL.

    Returns
    -------
    list of FileRange
        Ranges in the order of the files; an empty file has no range.

    Raises
    ------
    OSError, MissingRecordsError
    CorruptRecordError, TruncatedFileError
        If a file is damaged, with `exact`.

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
    check_types(file_ranges, locals())
    check_int("size", size, 1, 2**62)
    opens = ("open", "open_input_file")
    if filesystem is not None and not any(hasattr(filesystem, name) for name in opens):
        raise TypeError(f"filesystem must be of pyarrow or fsspec, got {shown(filesystem)}")
    kind = compression if compression == "auto" else streams.normalize(compression)
    if filesystem is None:
        paths: Sequence[Any] = expand(source, StorageOptions.of(storage_options), shards=shards)
    else:
        paths = [source] if is_path(source) else list(source)
    wholes = [FileRange(path, filesystem=filesystem) for path in paths]
    split = partial(_split, size=size, exact=exact, kind=kind)
    # Objects are split concurrently, to overlap requests.
    if any(isinstance(path, RemoteFile) for path in paths):
        found = run_all(partial(split, whole) for whole in wholes)
    else:
        found = list(map(split, wholes))
    return list(itertools.chain.from_iterable(found))


def _split(
    whole: FileRange, pause: Pause = time.sleep, *, size: int, exact: bool, kind: str | None
) -> list[FileRange]:
    """Return the ranges of a file."""
    length, cuttable = _measure(whole, kind, pause)
    if not length:
        return []
    local = whole.filesystem is None and not isinstance(whole.path, RemoteFile)
    if not cuttable or (exact and not local):
        return [whole]
    ends = [0, *_cuts(whole, length, size, exact, pause), length]
    return [
        FileRange(whole.path, a, b, whole.filesystem) for a, b in itertools.pairwise(ends) if a < b
    ]


def grouped(
    parts: Sequence[FileRange], sizes: Sequence[int], size: int
) -> Iterator[list[FileRange]]:
    """Group consecutive ranges into as few groups of about `size` bytes as possible."""
    total = max(sum(sizes), 1)
    count = -(-total // size)
    groups: list[list[FileRange]] = [[] for _ in range(count)]
    begin = 0
    for part, length in zip(parts, sizes, strict=True):
        # The midpoint of a range selects its group, so groups differ by less than one range.
        groups[min((2 * begin + length) * count // (2 * total), count - 1)].append(part)
        begin += length
    return filter(None, groups)


def spread(parts: Sequence[FileRange]) -> Sequence[FileRange]:
    """Return a few ranges from all parts of a source."""
    count = min(len(parts), _SPREAD)
    return [parts[number * len(parts) // count] for number in range(count)]


def _measure(whole: FileRange, kind: str | None, pause: Pause) -> tuple[int, bool]:
    """Return the size of a file, at least 1 if unknown, and whether it can be split."""
    if isinstance(whole.path, RemoteFile):
        length = whole.path.size
        head = bytes(whole.path.read(0, min(length, HEAD_SIZE), pause))
    elif whole.filesystem is None:
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


def _cuts(whole: FileRange, length: int, size: int, exact: bool, pause: Pause) -> Iterator[int]:
    """Yield the boundaries between the ranges of a plain file."""
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
            # All searches in a file share one budget, which limits the cost of a file with false
            # headers.
            found, credit = _reader(whole, position, pause).find(credit)
            last = length if found is None else found
        if last < length:
            yield last


def _offsets(whole: FileRange, exact: bool) -> Any:
    """Return the record offsets from an index; None if boundaries must be searched for."""
    if whole.filesystem is not None or isinstance(whole.path, RemoteFile):
        return None
    try:
        return Index.load(whole.path).offsets
    except (OSError, IndexMismatchError):
        return Index.build(whole.path).offsets if exact else None


def _reader(whole: FileRange, begin: int, pause: Pause) -> _core.RecordReader:
    if isinstance(whole.path, RemoteFile):
        read = _steps(whole.path, begin, pause)
        return _core.RecordReader(whole.path.name, read=read, begin=begin)
    if whole.filesystem is None:
        place = os.path.abspath(whole.path)
        return _core.RecordReader(whole.path, place=place, begin=begin)
    file, _ = open_range(whole)
    file.seek(begin)
    return _core.RecordReader(whole.path, read=file, begin=begin)


def _steps(file: RemoteFile, position: int, pause: Pause) -> Callable[[int], bytes]:
    """Return a function that reads an object in small steps without read-ahead."""

    def read(size: int) -> bytes:
        nonlocal position
        end = min(position + min(size, _STEP), file.size)
        data = bytes(file.read(position, end, pause))
        position = end
        return data

    return read
