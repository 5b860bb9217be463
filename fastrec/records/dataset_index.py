# SPDX-License-Identifier: Apache-2.0
"""Dataset indexes: one file that describes all files of a dataset and the offsets of their records.

Opening an index reads the table of files. The sections, each with the record offsets of one file,
are fetched when a record is needed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_types, is_int, shown
from ..errors import IndexMismatchError
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile, find_files
from ..storage.stores import Stat
from ..storage.urls import local_path
from .compression import Codec
from .dataset_building import described_files, open_dataset_writer
from .dataset_sections import Sections
from .dataset_table import KINDS, Table, refused, version_kind
from .index import Index
from .paths import DATASET_SUFFIX, PathLike, beside, is_remote
from .shard_sets import Shards

__all__ = ["DatasetFiles", "DatasetIndex", "DatasetNames"]


class DatasetIndex:
    """The files of a dataset: names, sizes, versions, record counts and record offsets.

    A dataset index is a source like a path: ``Reader("train.frdataset")``,
    ``Batcher("s3://bucket/train.frdataset")`` and the other functions read the files that it
    describes. For a dataset of many objects in a store, a process makes only a few requests before
    its first batch, instead of a few for each object. The names are relative to the folder of the
    index, so the files and the index can be moved together.

    The size of each file is compared with the index, and for objects also the ETag. A file that
    differs raises an error that names it.

    Use :meth:`build` or ``Writer(index="dataset")`` to create an index.

    Attributes
    ----------
    path : str
        Name of the index, for messages.
    sizes, counts : ndarray of uint64, shape (files,)
        Bytes and records of each file.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> folder = tempfile.mkdtemp()
    >>> with fastrec.Writer(os.path.join(folder, "train.tfrecord"), shards=3) as writer:
    ...     writer.write_many([b"a", b"few", b"words", b"more"])
    >>> index = DatasetIndex.build(writer.paths, os.path.join(folder, "train.frdataset"))
    >>> len(index), index.counts.tolist()
    (3, [2, 1, 1])
    >>> fastrec.Reader(os.path.join(folder, "train.frdataset"))[1]
    b'more'
    """

    def __init__(self, path: str, place: str | bytes | RemoteFile, table: Table) -> None:
        self.path: str = path
        self._place, self._table = place, table
        self.sizes: NDArray[Any] = table.sizes
        self.counts: NDArray[Any] = table.counts

    # -- Making ----------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        source: Any,
        path: PathLike,
        *,
        overwrite: bool = False,
        max_record_bytes: int | None = None,
        columns: str | Iterable[str] | None = None,
        shards: Shards = "complete",
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> DatasetIndex:
        """Index files, write the index to `path`, and return it.

        An index next to an object, or in the local cache, is used. An object without an index is
        read from start to end. For local files, only the headers are read.

        Parameters
        ----------
        source : path, URL, glob pattern, directory, or list of these
            As for :class:`Reader`. All files must be in the folder of `path`, or below it.
        path : path or URL
            The new index. Its name ends in ``.frdataset``.
        overwrite : bool, default False
            Whether to replace an existing file, unless it holds records.
        max_record_bytes : int, optional
            Maximum size of a record, in bytes.
        columns : str or iterable of str, optional
            Numbers to store for each record in one file next to the index, as for
            :meth:`Index.build`. Columns next to the record files are used; other files are read.
        shards, storage_options
            As for :class:`Reader`.

        Raises
        ------
        ValueError
            If a file is not below the folder of the index, or `columns` names no column.
        ExampleParseError
            If a column does not have exactly one number per record.
        OSError, CorruptRecordError, TruncatedFileError, LimitExceededError
            If a file cannot be read, or is damaged.
        """
        from .record_files import RecordFiles

        check_types(cls.build, locals())
        path = local_path(path)
        storage = StorageOptions.of(storage_options)
        names = None
        if columns is not None:
            module = import_module("fastrec.parsing.dataset_columns")  # it imports this module
            names = module.column_names(columns)
        if not os.fsdecode(path).endswith(DATASET_SUFFIX):
            raise ValueError(f"path must end in {DATASET_SUFFIX}, got {os.fspath(path)!a:.99}")
        files = RecordFiles(
            source, shards=shards, storage_options=storage, max_record_bytes=max_record_bytes
        )
        if files.file is not None:
            raise ValueError(
                "source must be a path, a glob pattern or a list of these, got a file object"
            )
        described = described_files(files.places, files.options, storage)
        writer = open_dataset_writer(path, files.places, described, storage, overwrite=overwrite)
        writer.close()
        if names is not None:
            module.save_dataset_columns(path, map(str, names), storage)
        return cls.open(path, storage_options=storage)

    # -- Opening ---------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: PathLike,
        *,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> DatasetIndex:
        """Open an index and read its table of files, with at most three requests.

        Raises
        ------
        OSError
            If the index cannot be read.
        IndexMismatchError
            If the file is not a dataset index, or is damaged.
        """
        check_types(cls.open, locals())
        path = local_path(path)
        storage = StorageOptions.of(storage_options)
        place: str | bytes | RemoteFile
        if is_remote(path, storage):
            there = path if isinstance(path, RemoteFile) else None
            place = there or find_files([os.fsdecode(path)], storage)[0]
            name = place.name
        else:
            name, place = os.fsdecode(path), os.path.abspath(os.fspath(path))
        return cls(name, place, Table.read(place))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def records(self) -> int:
        """Number of records in all files."""
        return int(self.counts.sum())

    @property
    def is_remote(self) -> bool:
        """Whether the index and its files are objects in a store."""
        return isinstance(self._place, RemoteFile)

    @property
    def packed(self) -> NDArray[np.intp]:
        """Numbers of the compressed files."""
        return np.flatnonzero(self._table.kinds)

    def kind_of(self, number: int) -> Codec | None:
        """Return the compression of a file."""
        return KINDS[int(self._table.kinds[self._checked(number)])]

    def name_of(self, number: int) -> str:
        """Return the name of a file, relative to the folder of the index."""
        return self._table.name_of(self._checked(number))

    def _checked(self, number: Any) -> int:
        if not is_int(number):
            raise TypeError(f"number must be an int, got {shown(number)}")
        if not 0 <= number < len(self):
            raise IndexError(f"number must be at least 0 and less than {len(self)}, got {number}")
        return int(number)

    @cached_property
    def files(self) -> Sequence[Any]:
        """The files: paths, or objects fixed to the indexed versions."""
        return DatasetFiles(self)

    @cached_property
    def digest(self) -> str:
        """Checksum of the names, sizes, counts and versions."""
        import hashlib  # slow to import and rarely needed

        return hashlib.sha256(self._table.raw).hexdigest()[:32]

    @cached_property
    def _checksum(self) -> int:
        """CRC32C of the names, sizes, counts and versions."""
        return _core.crc32c(self._table.raw)

    def _beside(self, suffix: str) -> str | RemoteFile:
        """Return the file that is named like the index with an added suffix.

        Raises
        ------
        OSError
            FileNotFoundError if it is an object that does not exist.
        """
        place = self._place
        if isinstance(place, RemoteFile):
            return place.beside(suffix)
        return beside(os.fsdecode(place), suffix)

    def file_at(self, number: int) -> str | RemoteFile:
        """Return a file by its number."""
        name = self.name_of(number)
        if isinstance(self._place, RemoteFile):
            return DescribedFile(self, self._place, number, name)
        folder = os.path.dirname(self.path)
        return os.path.join(folder, *name.split("/"))

    def checked_files(self) -> Sequence[Any]:
        """Return the files after comparing the sizes of local ones with the index.

        Raises
        ------
        OSError, IndexMismatchError
        """
        if self.is_remote:
            return self.files
        for path, size in zip(self.files, self.sizes.tolist(), strict=True):
            if (here := os.stat(path).st_size) != size:
                self._refuse(path, f"has {here} bytes, the index says {size}")
        return [*self.files]

    def _refuse(self, name: str, what: str) -> NoReturn:
        """Raise the error about a file that no longer matches the index."""
        error = IndexMismatchError(
            f"{name!a} {what}: the dataset index {self.path!a} is older than the file or damaged; "
            "build it again with fastrec index --dataset"
        )
        error.path = name
        raise error

    def _inflated_index(self, number: int, place: PathLike) -> Index:
        """Return the index of a compressed local file after comparing the file's bytes with it.

        Raises
        ------
        IndexMismatchError
        """
        path = self.file_at(number)
        index = Index._parse(path, bytes(self.sections().bytes_of(number)))
        if index.checkpoints is None or len(index) != self.counts[number]:
            raise refused(self.path, f"its section of {os.fspath(path)!a} is of another file")
        index.checkpoints.compare(place, path)
        return index

    def sections(self) -> Sections:
        """Return the record offsets of each file; sections are fetched when needed."""
        return Sections(self._place, self._table, self.files)

    def __reduce__(self) -> tuple[Any, ...]:
        return DatasetIndex, (self.path, self._place, self._table)

    def __repr__(self) -> str:
        return f"<fastrec.DatasetIndex of {len(self)} files, {self.records} records>"


class DescribedFile(RemoteFile):
    """An object that a dataset index describes, fixed to the indexed version."""

    def __init__(self, index: DatasetIndex, place: RemoteFile, number: int, name: str) -> None:
        url, shown = (_replaced(each, name) for each in (place.url, place.name))
        super().__init__(url, place.options, shown, int(index.sizes[number]))
        self._dataset = index.path
        version = index._table.version_of(number)
        self.version, self._indexed = version, version

    def pin(self, stat: Stat) -> None:
        """Compare the object with the version in the index, if both have the same kind."""
        kind = version_kind(self._indexed)
        if not self._pinned and (kind is None or kind != version_kind(stat.version)):
            self.version = stat.version
            if stat.size == self.size:
                self._pinned = True
                return
        elif not self._pinned:
            self._pinned = True
        super().pin(stat)

    def _changed(self, stat: Stat) -> OSError:
        text = (
            f"the object is not the one that the dataset index {self._dataset!a} describes: it was "
            "replaced, or the index is old; build the index again with fastrec index --dataset"
        )
        return OSError(errno.ESTALE, text, self.name)


def _replaced(url: str, name: str) -> str:
    """Return a URL with its last path component replaced by another name; the query is kept."""
    path, mark, query = url.partition("?") if "://" in url else (url, "", "")
    if path.startswith(("http://", "https://")):
        from urllib.parse import quote

        name = quote(os.fsencode(name))
    return f"{path[: path.rfind('/') + 1]}{name}{mark}{query}"


class DatasetFiles(Sequence[Any]):
    """The files of a dataset index, created on access."""

    def __init__(self, index: DatasetIndex) -> None:
        self._index = index
        self._used: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        number = range(len(self))[number]
        file = self._used.get(number)
        if file is None:
            file = self._used.setdefault(number, self._index.file_at(number))
        return file


class DatasetNames(Sequence[str]):
    """The names of the files of a dataset index, for messages."""

    def __init__(self, files: Sequence[Any]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        return os.fspath(self._files[number])
