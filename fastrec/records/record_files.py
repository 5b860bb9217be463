# SPDX-License-Identifier: Apache-2.0
"""The set of files that is read, and how each of them is opened.

Readers, batchers, :func:`fastrec.verify` and manifests hold a :class:`RecordFiles`; only this
module turns a path into a file.
"""

from __future__ import annotations

import errno
import io
import os
import threading
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import IO, Any, Union

from .. import _core
from ..errors import IndexMismatchError, RandomAccessError
from . import compression as streams
from .byte_sources import NamedFile, Patience, Stream, head_of, is_regular
from .index import Index
from .inflate import Inflated
from .paths import PathLike, expand, index_path, is_path
from .recovery import Damage, OnError, Skipped, check_policy
from .splitting import FileRange, open_range, ranges_of

__all__ = ["RecordFiles", "Source"]

Source = Union[PathLike, Iterable[PathLike], IO[bytes], FileRange, Iterable[FileRange]]  # noqa: UP007


class RecordFiles:
    """Record files, or one open file object, and the options that they are read with.

    The parameters are those of :class:`~fastrec.Reader`. An object can be pickled, shared by
    threads, and used after ``fork()``.

    Attributes
    ----------
    paths : list of path
        As they were given; messages name files so.
    places : list of path
        The same, absolute: a relative path keeps its meaning when the directory is changed.
    file : binary file object or None
        Read instead of `paths`, once.
    """

    def __init__(
        self,
        source: Source,
        *,
        compression: str | None = "auto",
        verify: bool = True,
        on_error: OnError = "raise",
        max_bad: int | None = None,
        max_record_bytes: int | None = None,
        max_output_bytes: int | None = None,
        max_ratio: int | None = None,
        index: str | bool | PathLike | Index = "auto",
        follow: bool | float = False,
    ) -> None:
        check_policy(on_error, max_bad)
        self.file: Any = source if hasattr(source, "read") and not is_path(source) else None
        if isinstance(self.file, io.TextIOBase):
            raise TypeError("the file is open in text mode; open it with mode 'rb'")
        self._ranges = ranges_of(source)
        if self._ranges is not None:
            self.paths: list[str | bytes] = [each.path for each in self._ranges]
        else:
            self.paths = [] if self.file is not None else expand(source)  # type: ignore[arg-type]
        if self.file is None and not self.paths:
            raise FileNotFoundError(errno.ENOENT, "no files to read: the list of paths is empty")
        self.places = [os.path.abspath(path) for path in self.paths]
        self._compression = compression if compression == "auto" else streams.normalize(compression)
        self._options: dict[str, Any] = {
            "verify": verify,
            "max_record": _limit("max_record_bytes", max_record_bytes) or 0,
        }
        self._limits: dict[str, Any] = {
            "max_output": _limit("max_output_bytes", max_output_bytes),
            "max_ratio": _limit("max_ratio", max_ratio),
        }
        self._on_error, self._max_bad = on_error, max_bad
        self._index = index
        self._follow = follow
        if follow is not False and self._compression not in ("auto", None):
            raise ValueError("follow requires uncompressed files")
        self._skipped: dict[tuple[str, int], Skipped] = {}
        self._dataset: _core.Dataset | None = None
        self._lock, self._pid = threading.Lock(), os.getpid()
        self.closed = False

    # -- In sequence -----------------------------------------------------------------------------

    def open(
        self, number: int, damage: Damage | None = None, *, views: bool = False
    ) -> _core.RecordReader:
        """Open file `number`; its records come one after the other.

        `damage` is a :meth:`policy`, which the files of one pass share. With `views`, records are
        memoryviews.
        """
        path, place, read = self.paths[number], self.places[number], None
        options = {**self._options, "damage": damage, "views": views, "place": place}
        if self._ranges is not None and (part := self._ranges[number]) != FileRange(path):
            return self._open_range(part, options)
        if self._follow is not False:
            seconds = None if self._follow is True else float(self._follow)
            return _core.RecordReader(path, wait=Patience(seconds, lambda: self.closed), **options)
        kind = self._compression
        if kind == "auto":
            kind = streams.detect(head_of(place))
        if kind is not None:
            file = NamedFile(place, path)
            name = os.fsdecode(path)
            read = Inflated(file.read, kind, name, close=file.close, seek=file.seek, **self._limits)
        return _core.RecordReader(path, read=read, **options)

    def _open_range(self, part: FileRange, options: dict[str, Any]) -> _core.RecordReader:
        """Open a part of a file, or any file of a file system."""
        options |= {"begin": part.begin, "end": part.end or 0}
        if part.filesystem is None:
            return _core.RecordReader(part.path, **options)
        file, head = open_range(part)
        kind, read = self._compression, file.read
        if kind == "auto":
            kind = streams.detect(head)
        if kind is not None and part.end is None:
            name = os.fsdecode(part.path)
            read = Inflated(read, kind, name, close=file.close, seek=file.seek, **self._limits)
        return _core.RecordReader(part.path, read=read, **options)

    def _open_file(self, damage: Damage | None, views: bool) -> _core.RecordReader:
        if self._follow is not False:
            raise ValueError("follow requires paths, got a file object")
        read: Any = Stream(self.file)
        name = getattr(self.file, "name", None)
        path = name if is_path(name) else repr(type(self.file).__name__)
        kind = self._compression
        if kind == "auto":
            kind = streams.detect(read.head)
        if kind is not None:
            read = Inflated(read, kind, path, **self._limits)
        return _core.RecordReader(path, read=read, damage=damage, views=views, **self._options)

    def readers(self, *, views: bool = False) -> Iterator[_core.RecordReader]:
        """Open the files one after the other, for one pass."""
        self._check_open()
        damage = self.policy()
        if self.file is not None:
            return iter([self._open_file(damage, views)])
        return map(partial(self.open, damage=damage, views=views), range(len(self.paths)))

    def policy(self) -> Damage | None:
        """Make what decides about damage in one pass; None raises the first error."""
        if self._on_error == "raise":
            return None
        return Damage(self._on_error, self._max_bad, self._skipped)

    @property
    def skipped(self) -> list[Skipped]:
        """Regions skipped so far, in any pass: each region once, by file and position."""
        order = {os.fsdecode(path): number for number, path in enumerate(self.paths)}
        found = list(self._skipped.values())
        return sorted(found, key=lambda each: (order.get(each.path, 0), each.begin, each.record))

    # -- By number -------------------------------------------------------------------------------

    @property
    def sequential(self) -> bool:
        """Whether there is no random access: compressed files, pipes, a file object."""
        return self.sequential_source() is not None

    def sequential_source(self) -> str | None:
        """Name the first source that has no random access, as messages do; None: all have."""
        if self.file is not None:
            return repr(self.file)
        if self._ranges is not None:
            return f"{str(self._ranges[0])!a}"
        for path, place in zip(self.paths, self.places, strict=True):
            if not is_regular(place) or self.is_compressed(place):
                return f"{os.fsdecode(path)!a}"
        return None

    def is_compressed(self, path: str | bytes) -> bool:
        """Whether a file is compressed, by the `compression` option or its first bytes."""
        if self._compression == "auto":
            return streams.detect(head_of(path)) is not None
        return self._compression is not None

    def dataset(self) -> _core.Dataset:
        """Return the records by number; the first call loads or builds the index.

        Raises
        ------
        RandomAccessError
            When the records can be read in sequence only.
        OSError, CorruptRecordError, TruncatedFileError, IndexMismatchError
        """
        self._check_open()
        if self._pid != os.getpid():  # a thread that held the lock is not in a child of fork()
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            if self._dataset is None:
                self._dataset = self._make_dataset()
            return self._dataset

    def _make_dataset(self) -> _core.Dataset:
        if self._follow is not False:
            raise RandomAccessError("a file that is followed has no random access")
        if (name := self.sequential_source()) is not None:
            raise RandomAccessError(
                f"random access requires uncompressed regular files given by path; {name} can "
                f"only be iterated over"
            )
        if self._on_error != "raise":
            # The numbers must be those of iterating, which reads what it counts.
            damage = self.policy()
            found = [self.open(number, damage).index() for number in range(len(self.paths))]
            return _core.Dataset(self.paths, places=self.places, indexes=found, **self._options)
        indexes = self._indexes()
        try:
            return _core.Dataset(self.paths, places=self.places, indexes=indexes, **self._options)
        except IndexMismatchError as error:
            if self._index != "auto":
                raise
            warnings.warn(str(error), RuntimeWarning, stacklevel=4)
            return _core.Dataset(self.paths, places=self.places, **self._options)

    def _indexes(self) -> list[_core.FileIndex | None]:
        option = self._index
        if option is False:
            return [None] * len(self.paths)
        if option is True:
            return [Index._read(path, index_path(path))._core for path in self.places]
        if isinstance(option, str) and option == "auto":
            return list(map(_index_beside, self.places))
        if len(self.paths) != 1:
            raise ValueError(f"index={option!r} requires a single file, got {len(self.paths)}")
        if not isinstance(option, Index):
            option = Index._read(self.paths[0], option)
        return [option._core]

    # -- Life ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the files. Readers that were opened stay valid."""
        self._dataset = None
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the reader is closed")

    @property
    def description(self) -> str:
        """The source as messages name it."""
        if self.file is not None:
            return repr(self.file)
        return f"{self.paths[0]!a}" if len(self.paths) == 1 else f"{len(self.paths)} files"

    def __getstate__(self) -> dict[str, Any]:
        if self.file is not None:
            raise TypeError("a reader of a file object cannot be pickled; pass the file's path")
        return {**self.__dict__, "_lock": None, "_dataset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._pid = threading.Lock(), os.getpid()


def _index_beside(path: str | bytes) -> _core.FileIndex | None:
    """Load the index beside a file if there is one; a damaged one is not used."""
    try:
        return Index._read(path, index_path(path))._core
    except OSError:
        return None  # most have none
    except IndexMismatchError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=6)
        return None


def _limit(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return value
