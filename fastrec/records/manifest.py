# SPDX-License-Identifier: Apache-2.0
"""Manifests: names, sizes, counts and checksums of a set of files, for detecting missing files."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arguments import check_int, check_path, check_types, shown
from ..errors import FastrecError, LimitExceededError, MissingRecordsError
from ..storage.options import StorageOptions
from .compression import Compression
from .paths import PathLike
from .shard_sets import Shards, missing_text
from .targets import read_file, write_file

if TYPE_CHECKING:
    from .record_files import Source

__all__ = ["Manifest", "ManifestFile"]

_FORMAT = "fastrec manifest"
_VERSION = 1
_CRC32C = re.compile("[0-9a-f]{8}")
_LONGEST = 1 << 27  # maximum bytes of a manifest, enough for about a million files
_END = 1 << 63  # exclusive bound of sizes and counts


class ManifestFile(NamedTuple):
    """One file: its name without folders, number of records, size in bytes and CRC32C.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> [file] = fastrec.Manifest.build(path)
    >>> file.name, file.records, file.size
    ('a.tfrecord', 3, 59)
    """

    name: str
    records: int
    size: int
    crc32c: int

    @classmethod
    def of(cls, path: str | bytes, records: int, totals: tuple[int, int]) -> ManifestFile:
        """Return the entry of a file; `totals` are the size and the CRC32C of its bytes."""
        check_types(ManifestFile.of, locals())
        check_path("path", path)
        check_int("records", records, 0, _END - 1)
        for number, end in zip(totals, (_END, 1 << 32), strict=True):
            check_int("totals", number, 0, end - 1)
        return cls(os.path.basename(os.fsdecode(path)), records, *totals)


class Manifest(Sequence[ManifestFile]):
    """The files of a dataset, with their sizes, counts and checksums.

    Checksums of records cannot detect a file that was truncated between two records, a missing
    shard, or a shard that exists twice under two names. :func:`verify` detects these with a
    manifest.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> folder = tempfile.mkdtemp()
    >>> with fastrec.Writer(os.path.join(folder, "train.tfrecord"), shards=3) as writer:
    ...     writer.write_many([b"a", b"few", b"words"])
    >>> manifest = Manifest.build(writer.paths)
    >>> manifest.save(os.path.join(folder, "train.json"))
    >>> os.unlink(writer.paths[1])
    >>> fastrec.verify(folder, manifest=os.path.join(folder, "train.json"))
    Traceback (most recent call last):
    fastrec.errors.MissingRecordsError: 'train-00001-of-00003.tfrecord' is missing
    """

    def __init__(self, files: Iterable[ManifestFile]) -> None:
        check_types(Manifest.__init__, locals())
        self._files = tuple(files)
        self._by_name = {each.name: each for each in self._files}
        if len(self._by_name) != len(self._files):
            [(name, count)] = Counter(each.name for each in self._files).most_common(1)
            raise ValueError(f"a manifest has {name!a} {count} times")

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: Any) -> Any:
        return self._files[index]

    @property
    def names(self) -> list[str]:
        """Names of the files."""
        return list(self._by_name)

    @property
    def records(self) -> int:
        """Number of records in all files."""
        return sum(each.records for each in self._files)

    @classmethod
    def build(
        cls,
        source: Source,
        *,
        compression: Compression = "auto",
        shards: Shards = "complete",
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Build the manifest of files, and verify all checksums in them.

        The parameters are those of :class:`Reader`.

        Raises
        ------
        CorruptRecordError, TruncatedFileError, MissingRecordsError, OSError
        """
        check_types(Manifest.build, locals())
        if hasattr(source, "read"):
            raise TypeError(f"source must be files with names, got {shown(source)}; save it first")
        from .record_files import RecordFiles

        files = RecordFiles(
            source, compression=compression, shards=shards, storage_options=storage_options
        )
        return cls(
            ManifestFile.of(path, part.walk()[0], totals())
            for path, (part, totals) in zip(files.paths, files.summed_readers(), strict=True)
        )

    def save(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> None:
        """Write the manifest as JSON; the file appears complete or not at all.

        `overwrite` replaces an existing file, unless it holds records.

        Raises
        ------
        FileExistsError
        """
        check_types(Manifest.save, locals())
        files = [{**each._asdict(), "crc32c": f"{each.crc32c:08x}"} for each in self._files]
        text = json.dumps({"format": _FORMAT, "version": _VERSION, "files": files}, indent=1)
        write_file(path, text.encode() + b"\n", storage_options, overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: PathLike,
        *,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Load a manifest that :meth:`save` wrote.

        Raises
        ------
        FastrecError
            If the file is not a manifest.
        LimitExceededError
            If the file is larger than a manifest of a million files.
        OSError
        """
        check_types(Manifest.load, locals())
        text = read_file(path, storage_options, limit=_LONGEST + 1)
        if len(text) > _LONGEST:
            name = os.fsdecode(path)
            too_long = LimitExceededError(
                f"{name!a} is longer than {_LONGEST} bytes, not a manifest"
            )
            too_long.path = name
            raise too_long
        try:
            found = json.loads(text.decode("utf-8"))
            if found["format"] != _FORMAT or found["version"] != _VERSION:
                raise ValueError(f"its format is {found['format']!a}, version {found['version']!a}")
            return cls(_checked(each) for each in found["files"])
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            error = FastrecError(f"{os.fsdecode(path)!a} is not a manifest: {problem!a:.200}")
            error.path = os.fsdecode(path)
            raise error from None

    @classmethod
    def of(
        cls, manifest: Manifest | PathLike, storage_options: StorageOptions | None = None
    ) -> Manifest:
        """Return a manifest unchanged, or load it from a path."""
        if isinstance(manifest, Manifest):
            return manifest
        check_path("manifest", manifest)
        return cls.load(manifest, storage_options=storage_options)

    def _entries(self, paths: Iterable[str | bytes]) -> list[ManifestFile]:
        """Return the entry of each file; raise unless the manifest lists exactly these files."""
        names = [os.path.basename(os.fsdecode(path)) for path in paths]
        try:
            found = [self._by_name[name] for name in names]
        except KeyError:
            found = []
        if len(found) != len(self._files) or len(set(names)) != len(names):
            self.check_names(names)
        return found

    def check_names(self, paths: Iterable[str | bytes]) -> None:
        """Raise unless the manifest lists exactly these files, by name."""
        check_types(Manifest.check_names, locals())
        names = Counter(os.path.basename(os.fsdecode(path)) for path in paths)
        if missing := [each.name for each in self._files if each.name not in names]:
            raise _error(missing[0], missing_text(missing, len(missing)))
        for name, count in names.items():
            self.entry(name)
            if count > 1:
                raise _error(name, f"{name!a} is listed {count} times")

    def check_file(self, here: ManifestFile) -> None:
        """Raise unless a file agrees with the manifest."""
        check_types(Manifest.check_file, locals())
        self.check_records(here.name, here.records)
        if here != self.entry(here.name):
            raise _error(here.name, f"{here.name!a} differs from the manifest in its contents")

    def check_records(self, path: PathLike, records: int) -> None:
        """Raise unless the entry of a file has this number of records."""
        check_int("records", records, 0, _END - 1)
        there = self.entry(path)
        if records != there.records:
            text = f"{there.name!a} has {records} records, the manifest says {there.records}"
            raise _error(there.name, text)

    def check_size(self, path: PathLike, size: int) -> None:
        """Raise unless the entry of a file has this number of bytes."""
        check_int("size", size, 0, _END - 1)
        there = self.entry(path)
        if size != there.size:
            text = f"{there.name!a} has {size} bytes, the manifest says {there.size}"
            raise _error(there.name, text)

    def entry(self, path: PathLike) -> ManifestFile:
        """Return the entry of a file, found by name."""
        check_path("path", path)
        name = os.path.basename(os.fsdecode(path))
        if name not in self._by_name:
            raise _error(name, f"{name!a} is not in the manifest")
        return self._by_name[name]


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < _END


def _checked(file: dict[str, Any]) -> ManifestFile:
    name, records, size, crc32c = file["name"], file["records"], file["size"], file["crc32c"]
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!a:.100} is not the name of a file")
    if not (_is_size(records) and _is_size(size)):
        raise ValueError(f"{name!a:.100} has {records!a:.50} records of {size!a:.50} bytes")
    if not (isinstance(crc32c, str) and _CRC32C.fullmatch(crc32c)):
        raise ValueError(f"{name!a:.100} has the crc32c {crc32c!a:.50}")
    return ManifestFile(name, records, size, int(crc32c, 16))


def _error(path: str, message: str) -> MissingRecordsError:
    error = MissingRecordsError(message)
    error.path = path
    return error
