# SPDX-License-Identifier: Apache-2.0
"""Reading record files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..columns import Bytes
from .index import Index
from .paths import PathLike
from .record_files import RecordFiles, Source
from .recovery import OnError, Skipped

__all__ = ["Reader", "Source"]


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
        self._files = RecordFiles(
            source,
            compression=compression,
            verify=verify,
            on_error=on_error,
            max_bad=max_bad,
            max_record_bytes=max_record_bytes,
            max_output_bytes=max_output_bytes,
            max_ratio=max_ratio,
            index=index,
            follow=follow,
        )

    @property
    def paths(self) -> list[str | bytes]:
        """The files, in the order in which they are read; none for a file object."""
        return self._files.paths

    # -- One pass ------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[bytes]:
        return _core.RecordChain(self._files.readers())

    def views(self) -> Iterator[memoryview]:
        """The records as read-only memoryviews, without a copy where a file can be mapped.

        A view stays valid for as long as it is kept, also when the reader is closed or the file
        is replaced or deleted; it keeps its file mapped. It shows the file, not a copy: when
        another process overwrites bytes in place the view changes, and bytes that are cut off
        read as zeros.
        """
        return _core.RecordChain(self._files.readers(views=True))  # type: ignore[return-value]

    def blocks(self, count: int) -> Iterator[Bytes]:
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
        return _core.RecordChain(self._files.readers(), count)  # type: ignore[return-value]

    @property
    def skipped(self) -> list[Skipped]:
        """Damaged regions skipped so far, in any pass: each region once, by file and position."""
        return self._files.skipped

    # -- Random access -------------------------------------------------------------------------

    def is_compressed(self, path: str | bytes) -> bool:
        """Whether a file is compressed, by the `compression` option or its first bytes."""
        return self._files.is_compressed(path)

    def __len__(self) -> int:
        return len(self._files.dataset())

    def _at(self, index: Any) -> Any:
        """What ``reader[index]`` is, for slices and before there is an index."""
        dataset = self._dataset = self._files.dataset()
        if isinstance(index, slice):
            return dataset.records(np.arange(len(dataset), dtype=np.uint64)[index].copy())
        return dataset[index]

    def __getitems__(self, indices: Sequence[int] | npt.NDArray[Any]) -> list[bytes]:
        """The records of those numbers, as PyTorch and Grain ask for them: one native call."""
        dataset = self._files.dataset()
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
        dataset = self._files.dataset()
        return dataset.take(_numbers(indices, len(dataset)))

    def path_of(self, index: int) -> str | bytes:
        """The path of the file that a record is in."""
        dataset = self._files.dataset()
        return dataset.path_of(range(len(dataset))[index])

    # -- Life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the files. Iterators and records that were handed out stay valid."""
        self._dataset = None
        self._files.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # the records by number stay here

    def __repr__(self) -> str:
        closed = ", closed" if self._files.closed else ""
        return f"<fastrec.Reader of {self._files.description}{closed}>"


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
