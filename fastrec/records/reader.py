# SPDX-License-Identifier: Apache-2.0
"""Reading record files."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import IO, Any, Union

import numpy as np
import numpy.typing as npt

from .. import _core
from ..columns import Bytes
from ..errors import IndexMismatchError, RandomAccessError
from . import compression
from .byte_sources import Patience, Stream, head_of
from .index import Index
from .inflate import Inflated
from .paths import PathLike, expand, index_path, is_path
from .recovery import Damage, OnError, Skipped, check_policy

__all__ = ["Reader", "Source"]

Source = Union[PathLike, Iterable[PathLike], IO[bytes]]  # noqa: UP007


class Reader(_core.Indexed, Sequence[bytes]):
    """The records of one file or of many, as a sequence of ``bytes``.

    Iterating streams through the files and needs no index. The first use of ``len()`` or of an
    index finds where every record begins, by going from header to header.

    A reader can be pickled, shared by threads, and used after ``fork()``. Each ``iter()`` is a pass
    of its own.

    Parameters
    ----------
    source : path, glob pattern, directory, list of these, or binary file object
        A file object is read from where it stands, once, and stays the caller's to close.
    compression : {"auto", None, "GZIP", "ZLIB"}
        ``"auto"`` looks at each file's first bytes. Records of compressed files come one after
        the other only: no ``len()``, no index.
    verify : bool, default True
        Check the CRC32C of every record's data. That of its length is checked always.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        What to do about damage. ``"tolerate_tail"`` ends a file quietly where its last record is
        incomplete, as a writer leaves it that was killed. ``"skip"`` goes on with the next sound
        record: bad data costs one record, a bad length the bytes up to the next true header. A
        callable is called with each error; when it returns, the damage is skipped. Trouble with
        the operating system and files that shrink while they are read are always raised.
    max_bad : int, optional
        Regions to skip in one pass before the next one is raised.
    max_record_bytes : int, optional
        Refuse longer records. The default is 2 GiB where the input's size is unknown, and the
        size of the file elsewhere.
    max_output_bytes, max_ratio : int, optional
        Refuse a compressed file that inflates to more bytes, or to so many times its own.
    index : {"auto", True, False}, path or Index
        Where records begin, for ``len()`` and random access. ``"auto"`` takes the index that lies
        beside a file if it is of the file as it is now, and scans otherwise; True insists on it;
        False does not look. A path or an :class:`Index` is of a single file.
    follow : bool or float, default False
        Wait at the end of a file for more, for somebody writes to it: for ever, or until nothing
        came for so many seconds. Only for iterating, and only over uncompressed files.

    Raises
    ------
    OSError
        When there is no such file, or it cannot be opened or read.
    CorruptRecordError, TruncatedFileError, LimitExceededError
        From reading: with path, record number and byte offset.
    IndexMismatchError
        When an index is not one, or not of its file.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     for word in (b"a", b"few", b"words"):
    ...         writer.write(word)
    >>> reader = Reader(path)
    >>> len(reader), reader[-1], list(reader)
    (3, b'words', [b'a', b'few', b'words'])
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
        self._file: Any = source if hasattr(source, "read") and not is_path(source) else None
        if isinstance(self._file, io.TextIOBase):
            raise TypeError("the file is open as text; records are bytes: open it with mode 'rb'")
        self.paths: list[str | bytes] = [] if self._file is not None else expand(source)
        # A relative name means what it meant when it was given.
        self._places = [os.path.abspath(path) for path in self.paths]
        self._compression = compression if compression == "auto" else _normalize(compression)
        self._options: dict[str, Any] = {
            "verify": verify,
            "max_record": _limit("max_record_bytes", max_record_bytes) or 0,
        }
        self._limits: dict[str, Any] = {
            "max_output": _limit("max_output_bytes", max_output_bytes),
            "max_ratio": _limit("max_ratio", max_ratio),
        }
        self._on_error, self._max_bad = on_error, max_bad
        self._index_option = index
        self._follow = follow
        if follow is not False and self._compression not in ("auto", None):
            raise ValueError("follow is for uncompressed files")
        self._skipped: dict[tuple[str, int], Skipped] = {}
        self._dataset = None
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._closed = False

    # -- One pass ------------------------------------------------------------------------------

    def _open(
        self, number: int, damage: Damage | None = None, views: bool = False
    ) -> _core.RecordReader:
        path, place, read = self.paths[number], self._places[number], None
        options = {**self._options, "damage": damage, "views": views, "place": place}
        if self._follow is not False:
            seconds = None if self._follow is True else float(self._follow)
            return _core.RecordReader(path, wait=Patience(seconds, lambda: self._closed), **options)
        kind = self._compression
        if kind == "auto":
            kind = compression.detect(head_of(place))
        if kind is not None:
            file = open(place, "rb", buffering=0)  # noqa: SIM115
            name = os.fsdecode(path)
            read = Inflated(file.read, kind, name, close=file.close, seek=file.seek, **self._limits)
        return _core.RecordReader(path, read=read, **options)

    def _open_file(self, damage: Damage | None, views: bool) -> _core.RecordReader:
        if self._follow is not False:
            raise ValueError("follow needs files that are named by path")
        read: Any = Stream(self._file)
        name = getattr(self._file, "name", None)
        path = name if is_path(name) else repr(type(self._file).__name__)
        kind = self._compression
        if kind == "auto":
            kind = compression.detect(read.head)
        if kind is not None:
            read = Inflated(read, kind, path, **self._limits)
        return _core.RecordReader(path, read=read, damage=damage, views=views, **self._options)

    def _policy(self) -> Damage | None:
        if self._on_error == "raise":
            return None
        return Damage(self._on_error, self._max_bad, self._skipped)

    def _readers(self, views: bool = False) -> Iterator[_core.RecordReader]:
        self._check_open()
        damage = self._policy()
        if self._file is not None:
            return iter([self._open_file(damage, views)])
        return map(partial(self._open, damage=damage, views=views), range(len(self.paths)))

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the reader is closed")

    def __iter__(self) -> Iterator[bytes]:
        return _core.RecordChain(self._readers())

    def views(self) -> Iterator[memoryview]:
        """The records as read-only memoryviews, without a copy where a file can be mapped.

        A view stays valid for as long as it is kept, also when the reader is closed or the file
        is replaced or deleted; it keeps its file mapped. It shows the file, not a copy: when
        another process overwrites bytes in place the view changes, and bytes that are cut off
        read as zeros.
        """
        return _core.RecordChain(self._readers(views=True))  # type: ignore[return-value]

    def batches(self, count: int) -> Iterator[Bytes]:
        """Blocks of up to `count` records; no block spans two files.

        A block ends before that when it holds 32 MiB, so that memory depends on `count` only
        as far as records are short.

        Yields
        ------
        Bytes
            One buffer and offsets; no Python object a record.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count}")
        return _core.RecordChain(self._readers(), count)  # type: ignore[return-value]

    @property
    def report(self) -> list[Skipped]:
        """What was skipped so far, in any pass: each region once, by file and position."""
        order = {os.fsdecode(path): number for number, path in enumerate(self.paths)}
        found = list(self._skipped.values())
        return sorted(found, key=lambda each: (order.get(each.path, 0), each.begin))

    # -- Random access -------------------------------------------------------------------------

    def _index(self) -> _core.Dataset:
        self._check_open()
        if self._pid != os.getpid():  # a thread that held the lock is not in a child of fork()
            self._lock, self._pid = threading.Lock(), os.getpid()
        with self._lock:
            if self._dataset is None:
                self._dataset = self._make_dataset()
            return self._dataset

    def _make_dataset(self) -> _core.Dataset:
        if self._follow is not False:
            raise RandomAccessError("a file that is followed can only be iterated over")
        if self._streams():
            raise RandomAccessError(
                f"random access needs uncompressed regular files that are named by path; "
                f"{self._what()} can only be iterated over"
            )
        if self._on_error != "raise":
            # The numbers must be those of iterating, which reads what it counts.
            damage = self._policy()
            found = [self._open(i, damage, False).index() for i in range(len(self.paths))]
            return _core.Dataset(self.paths, places=self._places, indexes=found, **self._options)
        indexes = self._indexes()
        try:
            return _core.Dataset(self.paths, places=self._places, indexes=indexes, **self._options)
        except IndexMismatchError as error:
            if self._index_option != "auto":
                raise
            warnings.warn(str(error), RuntimeWarning, stacklevel=4)
            return _core.Dataset(self.paths, places=self._places, **self._options)

    def _indexes(self) -> list[_core.FileIndex | None]:
        option = self._index_option
        if option is False:
            return [None] * len(self.paths)
        if option is True:
            return [Index._read(path, index_path(path))._core for path in self._places]
        if isinstance(option, str) and option == "auto":
            return [_index_beside(path) for path in self._places]
        if len(self.paths) != 1:
            raise ValueError(f"index={option!r} is of one file, and there are {len(self.paths)}")
        if not isinstance(option, Index):
            option = Index._read(self.paths[0], option)
        return [option._core]

    def _streams(self) -> bool:
        """Whether the records can only be had one after the other."""
        if self._file is not None or any(map(self.is_compressed, self._places)):
            return True
        return any(os.path.exists(p) and not os.path.isfile(p) for p in self._places)

    def is_compressed(self, path: str | bytes) -> bool:
        """Whether records of that file can only be had one after the other."""
        if self._compression == "auto":
            return compression.detect(head_of(path)) is not None
        return self._compression is not None

    def __len__(self) -> int:
        return len(self._index())

    def _at(self, index: Any) -> Any:
        """What ``reader[index]`` is, for slices and before there is an index."""
        dataset = self._index()
        if isinstance(index, slice):
            return dataset.records(np.arange(len(dataset), dtype=np.uint64)[index].copy())
        return dataset[index]

    def __getitems__(self, indices: Sequence[int] | npt.NDArray[Any]) -> list[bytes]:
        """The records of those numbers, as PyTorch and Grain ask for them: one native call."""
        dataset = self._index()
        return dataset.records(_numbers(indices, len(dataset)))

    def read_many(self, indices: Sequence[int] | npt.NDArray[Any]) -> Bytes:
        """The records of those numbers as one block, without a Python object a record.

        Parameters
        ----------
        indices : sequence of int, or integer array of shape (n,)
            In any order, also repeated; negative ones count from the end.

        Returns
        -------
        Bytes
            `n` records.

        Raises
        ------
        IndexError
            When there is no such record.
        """
        dataset = self._index()
        return dataset.take(_numbers(indices, len(dataset)))

    def path_of(self, index: int) -> str | bytes:
        """The path of the file that a record is in."""
        dataset = self._index()
        return dataset.path_of(range(len(dataset))[index])

    # -- Life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the files. Iterators and records that were handed out stay valid."""
        self._dataset = None
        self._closed = True

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._file is not None:
            raise TypeError("a reader of a file object cannot be pickled; name the file by path")
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._pid = threading.Lock(), os.getpid()

    def _what(self) -> str:
        if self._file is not None:
            return repr(self._file)
        return f"{self.paths[0]!a}" if len(self.paths) == 1 else f"{len(self.paths)} files"

    def __repr__(self) -> str:
        return f"<fastrec.Reader of {self._what()}{', closed' if self._closed else ''}>"


def _index_beside(path: str | bytes) -> _core.FileIndex | None:
    """The index beside a file if there is one; one that is damaged is not taken."""
    try:
        return Index._read(path, index_path(path))._core
    except OSError:
        return None  # most have none
    except IndexMismatchError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=6)
        return None


def _numbers(indices: Any, count: int) -> npt.NDArray[np.uint64]:
    """Record numbers, negative ones counted from the end, ready for the core to check."""
    numbers = np.asarray(indices)
    if numbers.ndim != 1:
        raise TypeError(f"indices are one sequence of integers, not of shape {numbers.shape}")
    if numbers.size == 0:
        return np.empty(0, np.uint64)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {numbers.dtype}")
    if numbers.dtype.kind == "i":
        low = int(numbers.min())
        if low < -count:
            raise IndexError(f"record {low} of {count}")
        if low < 0:
            numbers = np.where(numbers < 0, numbers + count, numbers)
    return np.ascontiguousarray(numbers, np.uint64)


def _normalize(kind: str | None) -> str | None:
    return compression.normalize(kind)


def _limit(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value
