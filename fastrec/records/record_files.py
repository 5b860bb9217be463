# SPDX-License-Identifier: Apache-2.0
"""The set of files to read, and how to open each of them.

Readers, batchers, :func:`fastrec.verify` and manifests hold a :class:`RecordFiles`. Only this
module opens files by path. Module `numbering` adds access to records by number.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Union

from .. import _core
from ..arguments import check_int
from ..errors import CorruptRecordError, RandomAccessError, file_and_range
from ..storage.ahead import run_all
from ..storage.cache import ObjectCache, index_place
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..storage.sequential import streams_of
from ..storage.stores import public
from ..threads.cpus import usable_cpus
from ..threads.locks import ProcessLock
from .byte_sources import (
    NamedFile,
    NamedPipe,
    Patience,
    Stream,
    StreamedFiles,
    Summed,
    binary_file,
    regular_head,
    stream_name,
)
from .compression import Codec, Compression, detect, normalize
from .dataset_index import DatasetFiles, DatasetIndex, DatasetNames
from .index import Index
from .inflated import Inflated
from .inflated_ahead import InflatedAhead
from .inflated_dataset import InflatedDataset
from .listed_files import ListedFiles
from .numbering import dataset_of, find_indexes, read_heads
from .packed import has_checkpoints, inflate_whole
from .passes import Pass
from .paths import NO_FILES, PathLike, expand, is_dataset_index
from .recovery import Damage, OnError, Skipped, check_policy
from .remote_dataset import RemoteDataset, for_spawned
from .remote_indexes import FEW, save_index
from .shard_sets import Shards
from .splitting import FileRange, open_range, ranges_of

if TYPE_CHECKING:
    from .manifest import Manifest

__all__ = ["RecordFiles", "Source"]

Source = Union[PathLike, FileRange, Iterable[Union[PathLike, FileRange]], IO[bytes]]  # noqa: UP007


class RecordFiles:
    """Record files, or one open file object, with the options for reading them.

    The parameters are those of :class:`~fastrec.Reader`. An object can be pickled, shared by
    threads, and used after ``fork()``.

    Attributes
    ----------
    paths : list of path
        Paths as passed by the caller, and as used in messages.
    places : list of path or RemoteFile
        The same paths, absolute, so that they stay valid if the working directory changes.
    remote : list of RemoteFile
        The objects among them.
    file : binary file object or None
        Read once instead of `paths`.
    described : DatasetIndex or None
        The source if it is a dataset index, which has the sizes and counts of all files.
    listed : ListedFiles or None
        The files with their entries in the manifest, for comparison.
    options, limits : dict
        Options of the native readers, and limits for inflating.
    compression, on_error, index, storage, cache
        The other options.
    counts_damaged : bool
        Whether records with damaged data are numbered, as the headers of local files alone give
        them. Otherwise, unless `on_error` is "raise", all data is read before records are numbered.
    indexes : dict of FileIndex
        Indexes of remote files, by file number, that a pass found and the cache does not contain.
    begun : weak reference to Pass or None
        The last pass.
    """

    def __init__(
        self,
        source: Source,
        *,
        compression: Compression = "auto",
        verify: bool = True,
        on_error: OnError = "raise",
        max_bad: int | None = None,
        max_record_bytes: int | None = None,
        max_output_bytes: int | None = None,
        max_ratio: int | None = None,
        index: str | bool | PathLike | Index = "auto",
        shards: Shards = "complete",
        follow: bool | float = False,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
        manifest: Manifest | PathLike | None = None,
        counts_damaged: bool = False,
    ) -> None:
        check_policy(on_error, max_bad)
        self.counts_damaged = counts_damaged
        self.storage: Final = StorageOptions.of(storage_options)
        self.file: Any = binary_file(source)
        self.ranges: Final = ranges_of(source)
        self.described: DatasetIndex | None = None
        found: Sequence[str | bytes | RemoteFile] = []
        if self.ranges is not None:
            found = [r.path if r.end is None else os.fspath(r.path) for r in self.ranges]
        elif is_dataset_index(source):
            self.described = DatasetIndex.open(source, storage_options=self.storage)  # type: ignore[arg-type]
            found = self.described.checked_files()
        elif self.file is None:
            named = shards if manifest is None else "any"  # the manifest has the names
            late = self.storage.cache is None
            found = expand(source, self.storage, shards=named, late=late)  # type: ignore[arg-type]
        if self.file is None and not found:
            raise FileNotFoundError(errno.ENOENT, NO_FILES)
        self.paths: Sequence[str | bytes]
        self.places: Sequence[str | bytes | RemoteFile]
        self.remote: Sequence[RemoteFile]
        if isinstance(found, DatasetFiles):  # possibly millions of objects
            self.paths, self.places, self.remote = DatasetNames(found), found, found
        else:
            self.paths = [os.fspath(p) for p in found]
            self.places = [p if isinstance(p, RemoteFile) else os.path.abspath(p) for p in found]
            self.remote = [p for p in self.places if isinstance(p, RemoteFile)]
        if self.ranges is not None and follow is not False:
            raise ValueError("follow and ranges are mutually exclusive")
        if self.remote and follow is not False:
            raise ValueError("follow requires local files")
        self.cache: Final = ObjectCache.of(self.storage) if self.remote else None
        self.compression = compression if compression == "auto" else normalize(compression)
        self.options: dict[str, Any] = {
            "verify": verify,
            "max_record": _limit("max_record_bytes", max_record_bytes) or 0,
        }
        self.limits: dict[str, Any] = {
            "max_output": _limit("max_output_bytes", max_output_bytes),
            "max_ratio": _limit("max_ratio", max_ratio),
            "max_record": self.options["max_record"],
        }
        self.on_error, self._max_bad = on_error, max_bad
        self.index: Final = index
        self._follow = follow
        self._threads: int | None = None
        if follow is not False and self.compression not in ("auto", None):
            raise ValueError("follow requires uncompressed files")
        self.listed: Final = None if manifest is None else self._list(manifest)
        self._skipped: dict[tuple[Any, ...], Skipped] = {}
        self._streamed = StreamedFiles()
        self._dataset: _core.Dataset | RemoteDataset | None = None
        self.indexes: dict[int, _core.FileIndex] = {}
        self.begun: weakref.ref[Pass] | None = None
        self._heads: dict[str, bytes] | None = None
        self._looked: _Look | None = None
        self._lock = ProcessLock()
        self.closed: bool = False

    def _list(self, manifest: Manifest | PathLike) -> ListedFiles:
        """Return the files with their entries in the manifest."""
        for name, given in (
            ("on_error", self.on_error != "raise"),
            ("follow", self.is_followed),
            ("ranges", self.ranges is not None),
        ):
            if given:
                raise ValueError(f"manifest and {name} are mutually exclusive")
        if self.file is not None:
            raise ValueError("manifest requires paths, got a file object")
        return ListedFiles(manifest, self.storage, self.paths, self.places)

    # -- In sequence -----------------------------------------------------------------------------

    def open(
        self,
        number: int,
        damage: Damage | None = None,
        *,
        views: bool = False,
        remote: Iterator[Any] | None = None,
        ahead: InflatedAhead | None = None,
    ) -> _core.RecordReader:
        """Open file `number`; its records are read in order.

        `damage` is the :meth:`policy` of the pass, and `views` requests memoryviews. This call
        takes one of the streams in `remote`; `ahead` contains the compressed files of the pass.
        """
        path, place, read = self.paths[number], self.places[number], None
        options = {**self.options, "damage": damage, "views": views}
        if self.listed is not None:
            self.listed.check_size(number)
            options["listed"] = self.listed.entries[number].records
        if isinstance(place, RemoteFile):
            file = next(self.streams([place]) if remote is None else remote)
            if not isinstance(file, str):
                return self._open_stream(file, path, options, number)
            place = file
        options["place"] = place
        part = None if self.ranges is None else self.ranges[number]
        if part is not None and (part.end is not None or part.filesystem is not None):
            return self._open_range(part, options)
        if self.is_followed:
            seconds = None if self._follow is True else float(self._follow)
            return _core.RecordReader(path, wait=Patience(seconds, lambda: self.closed), **options)
        self._check_unchanged(number, place)
        kind = self.compression
        if kind == "auto":
            head = regular_head(place)
            if head is None:  # a pipe or a device, which can be read only once
                self._streamed.add(number, path)
                return self._open_stream(NamedPipe(place, path), path, {**options, "once": True})
            kind = detect(head)
        if kind is not None:
            if self.threads > 1:
                read = (ahead or InflatedAhead(self, number + 1)).open(number, place, kind)
            else:
                read = inflate_whole(self, number, place, kind)
        return _core.RecordReader(path, read=read, **options)

    def _check_unchanged(self, number: int, place: str | bytes) -> None:
        """Raise if a file has changed since its records were numbered."""
        dataset, stamp = self._dataset, None
        if isinstance(dataset, _core.Dataset):
            stamp = dataset.stamp_of(number)
        elif isinstance(dataset, InflatedDataset):
            stamp = dataset.inflated[number].stamp
        if stamp is None:
            return
        status = os.stat(place)
        if (status.st_size, status.st_mtime_ns) == stamp:
            return
        name = os.fsdecode(self.paths[number])
        error = CorruptRecordError(
            f"{name!a} was replaced or written to since its records were numbered; a new reader "
            "reads it as it is now"
        )
        error.path, error.kind = name, "changed"
        raise error

    @property
    def threads(self) -> int:
        """Number of inflating threads; with 1, the reader itself inflates."""
        return self._threads or usable_cpus()

    @threads.setter
    def threads(self, count: int) -> None:
        self._threads = count

    @property
    def uses_checkpoints(self) -> bool:
        """Whether an index next to a compressed file may replace inflating it from start to end."""
        is_limited = self.limits["max_output"] or self.limits["max_ratio"]
        return self.on_error == "raise" and not is_limited

    @cached_property
    def has_checkpoints(self) -> bool:
        """Whether each compressed file has a usable index next to it."""
        return has_checkpoints(self)

    @property
    def numbered(self) -> _core.Dataset | RemoteDataset | None:
        """The records by number, or None if they have not been requested yet."""
        return self._dataset

    def _open_range(self, part: FileRange, options: dict[str, Any]) -> _core.RecordReader:
        """Open a part of a file or an object, or any file in a file system."""
        options |= {"begin": part.begin, "end": part.end or 0}
        if part.filesystem is None and not isinstance(part.path, RemoteFile):
            return _core.RecordReader(part.path, **options)
        file, head = open_range(part)
        kind, read = self._detect(head), file.read if isinstance(part.path, RemoteFile) else file
        if kind is not None and part.end is None:
            name = os.fsdecode(part.path)
            read = Inflated(read, kind, name, close=file.close, seek=file.seek, **self.limits)
        return _core.RecordReader(os.fspath(part.path), read=read, **options)

    def streams(self, files: Sequence[RemoteFile]) -> Iterator[Any]:
        """Yield a stream of each remote file, or the path of its copy in the cache."""
        if self.cache is not None:
            return self.cache.paths([*files])
        return streams_of(files, self.storage)

    def _open_file(self, damage: Damage | None, views: bool) -> _core.RecordReader:
        if self.is_followed:
            raise ValueError("follow requires paths, got a file object")
        options = {**self.options, "damage": damage, "views": views}
        return self._open_stream(self.file, stream_name(self.file), options)

    def _open_stream(
        self, file: Any, path: Any, options: dict[str, Any], number: int | None = None
    ) -> _core.RecordReader:
        """Open a stream of the remote file `number`, or of a file object."""
        read: Any = Stream(file)
        if file is self.file:
            self._streamed.add(0, path, read.head)
        kind = detect(read.head) if self.compression == "auto" else self.compression
        if kind is not None:
            seek = None if number is None else file.seek
            read = Inflated(read, kind, os.fsdecode(path), seek=seek, **self.limits)
        elif number is not None and not self._has_index(number):
            options["indexed"] = partial(self._take_index, number)
        return _core.RecordReader(path, read=read, **options)

    def _has_index(self, number: int) -> bool:
        """Return whether the record offsets of a remote file are already stored."""
        if self._dataset is not None or number in self.indexes:
            return True
        place = index_place(self.places[number], self.storage)  # type: ignore[arg-type]
        return self.on_error == "raise" and place is not None and os.path.exists(place)

    def _take_index(self, number: int, index: _core.FileIndex) -> None:
        """Keep the record offsets of a remote file that a pass has found."""
        file = self.places[number]
        assert isinstance(file, RemoteFile)
        if self.on_error == "raise" and save_index(file, index, self.storage):
            return
        if index.size == file.size:
            self.indexes[number] = index

    def readers(
        self, damage: Damage | None = None, *, views: bool = False
    ) -> Iterator[_core.RecordReader]:
        """Open the files one by one for a pass, with `damage` or a new :meth:`policy`."""
        self._check_open()
        damage = damage or self.policy()
        if self.file is not None:
            return iter([self._open_file(damage, views)])
        run = Pass(self, damage, views)
        self.begun = weakref.ref(run)
        return run

    def summed_readers(self) -> Iterator[tuple[_core.RecordReader, Callable[[], tuple[int, int]]]]:
        """Open the files in order, each with a function that returns its size and CRC32C.

        The function is called after the records were read. Remote files are read once.
        """
        self._check_open()
        run = Pass(self, self.policy(), views=False, summed=True)
        for number, reader in enumerate(run):
            yield reader, run.totals() or partial(self._totals, number)

    def _totals(self, number: int) -> tuple[int, int]:
        with contextlib.closing(self.raw(number)) as file:
            return Summed(file).totals()

    def policy(self) -> Damage | None:
        """Return an object that handles damage in one pass; None raises the first error."""
        if self.on_error == "raise":
            return None
        return Damage(self.on_error, self._max_bad, self._skipped)

    def place(self, number: int) -> str | FileRange:
        """Return the name of file `number`, or the range if it is a part of a file."""
        if self.file is not None:
            return os.fsdecode(stream_name(self.file))
        if self.ranges is not None and self.ranges[number].end is not None:
            return self.ranges[number]
        return os.fsdecode(self.paths[number])

    @property
    def skipped(self) -> list[Skipped]:
        """Regions skipped so far in any pass, each once, in the order of the files."""
        order: dict[Any, int] = {}
        for number in range(len(self.paths)):
            order.setdefault(file_and_range(self.place(number)), number)

        def place(each: Skipped) -> tuple[int, int, float]:
            begin = each.begin if each.begin >= 0 else math.inf
            return order.get((each.path, each.file_range), 0), each.record, begin

        return sorted(self._skipped.values(), key=place)

    # -- By number -------------------------------------------------------------------------------

    @property
    def sequential(self) -> bool:
        """Whether to read in file order: for compressed files, pipes and a file object."""
        return self.sequential_source() is not None or self.are_packed

    def sequential_source(self) -> str | None:
        """Return the name of the first source without random access, for messages, or None."""
        if self.file is not None:
            return repr(self.file)
        if self.ranges is not None:
            return f"{str(self.ranges[0])!a}"
        look = self._look()
        name = look.irregular
        if name is None and look.packed and (look.packed < len(self.paths) or not self.is_local):
            name = look.first_packed
        return None if name is None else f"{os.fsdecode(name)!a}"

    def _look(self) -> _Look:
        """Return a summary of the files from their first bytes."""
        if self._looked is None and self.opens_late:
            self._looked = _Look(None, 0, None)
        if self._looked is None and self.described is not None and self.compression == "auto":
            packed = self.described.packed.tolist()
            self._looked = _Look(None, len(packed), self.paths[packed[0]] if packed else None)
        if self._looked is None:
            irregular = first_packed = None
            packed = 0
            heads = self._remote_heads()
            local = iter(_core.heads([p for p in self.places if not isinstance(p, RemoteFile)]))
            for path, place in zip(self.paths, self.places, strict=True):
                found = heads[place.name] if isinstance(place, RemoteFile) else next(local)
                if found is None:
                    irregular = irregular or path
                elif self._detect(found) is not None:
                    first_packed = first_packed or path
                    packed += 1
            self._looked = _Look(irregular, packed, first_packed)
        return self._looked

    @cached_property
    def opens_late(self) -> bool:
        """Whether a file is opened only when one of its records is requested.

        All files are assumed to have the compression of the first nonempty file.
        """
        if self.listed is None or self.remote or not (self.index is False or self.index == "auto"):
            return False
        for path, file in zip(self.places, self.listed.entries, strict=True):
            if file.size:
                assert not isinstance(path, RemoteFile)
                return self._detect(regular_head(path) or b"") is None
        return True

    @property
    def are_packed(self) -> bool:
        """Whether some of the files are compressed."""
        return self._look().packed > 0

    @property
    def is_followed(self) -> bool:
        """Whether to wait for records that are not written yet."""
        return self._follow is not False

    def compression_of(self, path: str | bytes) -> Codec | None:
        """Return the compression of a file, from the `compression` option or its first bytes."""
        if self.compression != "auto":
            return self.compression
        if self.described is not None:
            return self.described.kind_of(self.paths.index(path))
        heads = self._remote_heads()
        name = public(os.fsdecode(path))
        return detect(heads[name] if name in heads else regular_head(path) or b"")

    def _detect(self, head: bytes) -> Codec | None:
        """Return the compression of a file whose first bytes are `head`."""
        return detect(head) if self.compression == "auto" else self.compression

    def _remote_heads(self) -> dict[str, bytes]:
        """Return the first bytes of the remote files, by name."""
        is_unknown = self._heads is None and self.compression == "auto"
        if is_unknown and len(self.remote) > FEW and self.has_index_beside:
            is_unknown = self._heads is None
        if is_unknown:
            self._heads = read_heads(self.remote)
        return self._heads or {file.name: b"" for file in self.remote}

    @property
    def remote_size(self) -> int:
        """Total size of all remote files, in bytes."""
        if self.described is not None and self.described.is_remote:
            return int(self.described.sizes.sum())
        if late := [file for file in self.remote if not file.is_open]:
            if self.on_error == "raise" and self.cache is None:
                return self.dataset().size  # the index of an object also contains its size
            run_all(file.identify for file in late)
        return sum(file.size for file in self.remote)

    @property
    def is_local(self) -> bool:
        """Whether records by number are read from local files, including copies of objects."""
        return not self.remote or self.cache is not None

    @property
    def is_indexed(self) -> bool:
        """Whether random access works without a pass over remote files."""
        if self.is_local or self._dataset is not None or self.described is not None:
            return True
        places = [index_place(file, self.storage) for file in self.remote]
        return all(place is not None and os.path.exists(place) for place in places)

    @cached_property
    def has_index_beside(self) -> bool:
        """Whether the store has an index of the first remote file, and so probably of all."""
        return self.described is not None or find_indexes(self)

    @property
    def counts_late(self) -> bool:
        """Whether many objects, each with an index next to it, are counted when needed."""
        others = self.described or self.cache or self.index != "auto" or self.on_error != "raise"
        if len(self.remote) <= FEW or others:
            return False
        return not self.is_indexed and self.has_index_beside

    def dataset(self) -> _core.Dataset | RemoteDataset:
        """Return the records by number; the first call loads or builds the index.

        Raises
        ------
        RandomAccessError
            If the records can only be read in sequence.
        OSError, CorruptRecordError, TruncatedFileError, IndexMismatchError
        """
        self._check_open()
        with self._lock.current():
            if self._dataset is None:
                dataset = dataset_of(self)
                if self.listed is not None and not self.opens_late:
                    self.listed.check_counts(dataset.file_counts())
                self._dataset = dataset
            return self._dataset

    def check_length(self) -> None:
        """Raise if ``len()`` would inflate files although only a length hint is needed.

        ``list(reader)`` begins a pass, then requests the length as a hint and accepts a TypeError,
        and only then requests records.

        Raises
        ------
        RandomAccessError
        """
        run = None if self.begun is None or self._dataset is not None else self.begun()
        if run is None or run.started or self.ranges is not None:
            return
        if self.are_packed:
            raise RandomAccessError(
                "len() of compressed files inflates them: ask for it before iter()"
            )

    def raw(self, number: int) -> Any:
        """Return the raw bytes of a file as a stream from its start."""
        place = self.places[number]
        if isinstance(place, RemoteFile):
            place = next(self.streams([place]))
        return place if hasattr(place, "read") else NamedFile(place, self.paths[number])

    # -- Life ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the files. Open readers stay valid."""
        self._dataset = None
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the reader is closed")

    @property
    def description(self) -> str:
        """Name of the source, for messages."""
        if self.file is not None:
            return repr(self.file)
        return f"{self.paths[0]!a}" if len(self.paths) == 1 else f"{len(self.paths)} files"

    def __getstate__(self) -> dict[str, Any]:
        if self.file is not None:
            raise TypeError("a reader of a file object cannot be pickled; pass the file's path")
        unshared: dict[str, Any] = {"_lock": ProcessLock(), "indexes": {}, "begun": None}
        return {**self.__dict__, **unshared, "_dataset": for_spawned(self._dataset)}


class _Look(NamedTuple):
    """Summary of the files: the first irregular file; number and first of the compressed ones."""

    irregular: str | bytes | None
    packed: int
    first_packed: str | bytes | None


def _limit(name: str, value: int | None) -> int | None:
    return None if value is None else check_int(name, value, 1, 2**63 - 1)
