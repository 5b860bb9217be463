# SPDX-License-Identifier: Apache-2.0
"""Count, verify and repair whole record files."""

from __future__ import annotations

import contextlib
import filecmp
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..arguments import check_types
from ..errors import CorruptRecordError
from ..storage.locations import locate
from ..storage.options import StorageOptions
from ..storage.urls import local_path
from .compression import Compression
from .content import LINE_ENDS
from .manifest import Manifest, ManifestFile
from .paths import PathLike, is_remote
from .record_files import RecordFiles, Source
from .recovery import OnError, Skipped
from .shard_sets import Shards
from .shard_writer import ShardWriter
from .targets import keep_file

__all__ = ["FileReport", "Repaired", "Verified", "count", "examined", "repair", "verify"]

_BLOCK_RECORDS = 4096  # records that are copied in one call


@dataclass(frozen=True)
class FileReport:
    """The result of :func:`verify` for one file.

    Attributes
    ----------
    path : str
    records, bytes : int
        Number of valid records, and their bytes of data.
    skipped : tuple of Skipped
        The damage, in file order.
    content : str
        Format of a file that is not a TFRecord file, as in :class:`CorruptRecordError`.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> fastrec.verify(path).reports[0].records
    3
    """

    path: str
    records: int
    bytes: int
    skipped: tuple[Skipped, ...] = ()
    content: str = ""


@dataclass(frozen=True)
class Verified:
    """Totals of all files that :func:`verify` checked.

    Attributes
    ----------
    records : int
    bytes : int
        Bytes of data, without framing.
    files : int
    reports : tuple of FileReport
        Results for each file.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> found = fastrec.verify(path)
    >>> found.records, found.bytes, found.files
    (3, 11, 1)
    """

    records: int
    bytes: int
    files: int
    reports: tuple[FileReport, ...] = field(default=(), repr=False)


def verify(
    source: Source,
    *,
    compression: Compression = "auto",
    on_error: OnError = "raise",
    manifest: PathLike | Manifest | None = None,
    shards: Shards = "complete",
    progress: Callable[[str, int], object] | None = None,
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> Verified:
    """Check every length and every checksum of record files.

    Parameters
    ----------
    source, compression
        As for :class:`Reader`.
    on_error
        ``"skip"`` continues after damage, and lists it in ``reports``.
    manifest : path or Manifest, optional
        Manifest with which the files must agree exactly.
    shards : {"complete", "any"}
        As for :class:`Reader`.
    progress : callable, optional
        Called from time to time with a file's path and the position in its (decompressed) bytes.
    storage_options
        As for :class:`Reader`; also used for `manifest`.

    Raises
    ------
    CorruptRecordError, TruncatedFileError
        At the first damage, unless it is skipped.
    MissingRecordsError
        If a file is missing, or differs from the manifest.
    OSError

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write(b"word")
    >>> verify(path)
    Verified(records=1, bytes=4, files=1)
    """
    check_types(verify, locals())
    storage = StorageOptions.of(storage_options)
    files = RecordFiles(
        source,
        compression=compression,
        on_error=on_error,
        shards=shards if manifest is None else "any",
        storage_options=storage,
    )
    expected = None if manifest is None else Manifest.of(manifest, storage)
    if expected is not None:
        expected.check_names(files.paths)
    reports = []
    for report, entry in examined(files, progress, summed=expected is not None):
        if expected is not None and entry is not None:
            expected.check_file(entry)
        reports.append(report)
    return Verified(
        sum(report.records for report in reports),
        sum(report.bytes for report in reports),
        len(reports),
        tuple(reports),
    )


def examined(
    files: RecordFiles, progress: Callable[[str, int], object] | None = None, *, summed: bool
) -> Iterator[tuple[FileReport, ManifestFile | None]]:
    """Check files in order; with `summed`, also compute each file's manifest entry."""
    readers: Iterator[Any] = (
        files.summed_readers() if summed else ((part, None) for part in files.readers())
    )
    for part, totals in readers:
        path = os.fsdecode(part.path)
        try:
            records, size = part.walk(progress and partial(progress, path))
        except CorruptRecordError as error:
            if files.on_error != "skip" or not error.content:
                raise
            reason = str(error)
            all_of_it = Skipped(path, 0, None, 0, error.kind, reason)
            yield FileReport(path, 0, 0, (all_of_it,), error.content), None
            continue
        entry = ManifestFile.of(path, records, totals()) if totals else None
        lost = tuple(each for each in files.skipped if each.path == path)
        yield FileReport(path, records, size, lost), entry


def count(
    source: Source,
    *,
    compression: Compression = "auto",
    shards: Shards = "complete",
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> int:
    """Count records by reading their headers; data is not verified.

    The parameters are those of :class:`~fastrec.Reader`.

    Raises
    ------
    CorruptRecordError
        If a length is damaged, so that the records after it cannot be found.
    MissingRecordsError
        If shards are missing or mixed.

    Examples
    --------
    >>> import io, fastrec
    >>> fastrec.count(io.BytesIO(b""))
    0
    """
    check_types(count, locals())
    files = RecordFiles(
        source,
        compression=compression,
        verify=False,
        shards=shards,
        storage_options=storage_options,
    )
    if not files.sequential:
        return len(files.dataset())
    return sum(part.walk()[0] for part in files.readers())


@dataclass(frozen=True)
class Repaired:
    """The result of :func:`repair`.

    Attributes
    ----------
    path : str
        Path of the file with the valid records.
    original : str
        Path of the damaged file, which is unchanged.
    records, bytes : int
        Number of saved records, and their bytes of data.
    skipped : tuple of Skipped
        Lost regions, in file order; empty if the file was not damaged.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> os.truncate(path, 50)
    >>> found = fastrec.repair(path)
    >>> os.path.basename(found.path), found.records, found.skipped[0].kind
    ('a.repaired.tfrecord', 2, 'torn-data')
    """

    path: str
    original: str
    records: int
    bytes: int
    skipped: tuple[Skipped, ...]


def repair(
    path: PathLike,
    output: PathLike | None = None,
    *,
    in_place: bool = False,
    overwrite: bool = False,
    compression: Compression = "auto",
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> Repaired:
    """Write the valid records of a damaged file to a new file. The damaged file is kept.

    If a transfer in text mode has changed line ends from LF to CR LF, they are restored.

    For a file without damage, nothing is written, and `path` of the result is the file itself.

    Parameters
    ----------
    path : path or URL
        A single file.
    output : path or URL, optional
        The new file; ``train.repaired.tfrecord`` for ``train.tfrecord`` by default.
    in_place : bool
        Whether to give the new file the name of the damaged file, which is renamed to
        ``train.tfrecord.damaged``. Only for a local file.
    overwrite : bool
        Whether to replace an existing `output`, or with `in_place` an existing ``.damaged`` file.
    compression
        As for :class:`Reader`; also used for the new file.
    storage_options
        As for :class:`Reader`; also used for `output`.

    Raises
    ------
    FileExistsError
        If `output` exists.
    OSError

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"a", b"few", b"words"])
    >>> os.truncate(path, 50)
    >>> repaired = repair(path)
    >>> os.path.basename(repaired.path), repaired.records, repaired.skipped[0].size
    ('words.repaired.tfrecord', 2, 14)
    """
    check_types(repair, locals())
    path = local_path(path)
    name = os.fsdecode(path)
    if in_place and output is not None:
        raise ValueError("in_place and output are mutually exclusive")
    storage = StorageOptions.of(storage_options)
    remote = is_remote(path, storage)
    if in_place and remote:
        shown = locate(name, storage).name
        raise ValueError(f"in_place requires a local file, got {shown!a}; pass output")
    if output is None:
        root, suffix = os.path.splitext(name)
        target = f"{root}.repaired{suffix}"
    else:
        target = os.fsdecode(local_path(output))
    if remote and is_remote(target, storage):
        same = locate(name, storage).name == locate(target, storage).name
    else:
        same = not remote and os.path.exists(target) and os.path.samefile(name, target)
    if same and not in_place:
        raise ValueError(
            "output must not be the damaged file; in_place=True replaces it and keeps a copy"
        )
    try:
        found = verify(path, compression=compression, on_error="skip", storage_options=storage)
        if not found.reports[0].skipped:
            return Repaired(name, name, found.records, found.bytes, ())
    except CorruptRecordError as error:
        if error.content != LINE_ENDS:
            raise
    if in_place:
        return _repair_in_place(name, overwrite, compression)
    return _save(name, target, name, overwrite, compression, storage)


def _save(
    path: str,
    target: str,
    original: str,
    overwrite: bool,
    compression: Compression,
    storage: StorageOptions | None = None,
) -> Repaired:
    files = RecordFiles(path, compression=compression, on_error="skip", storage_options=storage)
    kind = files.compression_of(files.paths[0])

    def copy(source: RecordFiles) -> Repaired:
        size = 0
        with ShardWriter(
            target, compression=kind, overwrite=overwrite, storage_options=storage
        ) as writer:
            for part in source.readers():
                while (block := part.take(_BLOCK_RECORDS)) is not None:
                    writer.write_many(block)
                    size += block.nbytes
        return Repaired(target, original, writer.count, size, tuple(source.skipped))

    try:
        return copy(files)
    except CorruptRecordError as error:
        if error.content != LINE_ENDS or kind is not None:
            raise
    with contextlib.closing(files.raw(0)) as file:
        source: Any = LineEnds(file, path)
        return copy(RecordFiles(source, compression=None, on_error="skip"))


class LineEnds:
    """A reader that converts the CR LF line ends of a file back to LF."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._last = b""  # a CR that may belong to a CR LF
        self.name = name

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` converted bytes; an empty result means the end."""
        while True:
            more: bytes = self._file.read(max(size, 1) if size >= 0 else size)
            data = self._last + more
            self._last = b"\r" if more and data.endswith(b"\r") else b""
            data = data[: len(data) - len(self._last)].replace(b"\r\n", b"\n")
            if data or not more:
                return data


def _repair_in_place(path: str, overwrite: bool, compression: Compression) -> Repaired:
    target = os.path.realpath(path)
    kept = f"{target}.damaged"
    before = os.stat(target)
    if not _is_copy(kept, target):
        keep_file(target, kept, overwrite=overwrite)
    try:
        return _save(target, target, kept, True, compression)
    except BaseException:
        if os.path.samestat(before, os.stat(target)):  # the new file has not replaced it
            os.unlink(kept)
        raise


def _is_copy(kept: str, target: str) -> bool:
    """Return whether a killed repair has already kept a copy of the damaged file."""
    try:
        return os.path.samefile(kept, target) or filecmp.cmp(kept, target, shallow=False)
    except FileNotFoundError:
        return False
