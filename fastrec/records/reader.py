# SPDX-License-Identifier: Apache-2.0
"""Read record files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import check_int, check_path, check_types, checked_arguments, is_int, shown
from ..columns import Bytes
from ..storage.options import StorageOptions
from .compression import Compression
from .index import Index
from .manifest import Manifest
from .paths import PathLike
from .record_files import RecordFiles, Source
from .recovery import OnError, Skipped
from .shard_sets import Shards

__all__ = ["Reader", "Source"]


class Reader(_core.Indexed, Sequence[bytes]):
    """The records of one or more files, as a sequence of ``bytes``.

    Iteration streams through the files without an index. The first use of ``len()`` or
    ``reader[i]`` reads all headers to find the offset of each record.

    A reader can be pickled, shared by threads, and used after ``fork()``. Each ``iter()`` starts
    from the beginning.

    Parameters
    ----------
    source : path, URL, glob pattern, directory, ``name@10``, list of these, or binary file object
        ``name@10`` and ``name@*`` are the shards ``name-00000-of-00010`` and so on. Braces
        (``{00..15}``) and commas separate names. A file object is read from its current
        position, once, and is not closed.
    compression : {"auto", None, "GZIP", "ZLIB", "TAR", "ZSTD"}
        ``"TAR"`` reads each sample of an archive (WebDataset) as one Example. ``"auto"`` detects
        the compression from each file's first bytes. The first use of ``len()`` or ``reader[i]``
        inflates compressed files from start to end, unless each file has an index next to it.
        After that, each record requires inflating about a megabyte.
    verify : bool, default True
        Whether to verify the CRC32C of every record's data. The CRC32C of its length is always
        verified.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        Policy for damage. ``"tolerate_tail"`` ends a file without an error at an incomplete last
        record, which a killed writer may leave. ``"skip"`` continues at the next valid record:
        damaged data loses one record, a damaged length loses the bytes up to the next valid header.
        A callable is called with each error; if it returns, the damage is skipped. Errors of the
        operating system and files that shrink while they are read always raise.
    max_bad : int, optional
        Maximum number of regions to skip in one pass; the next one raises.
    max_record_bytes : int, optional
        Maximum size of a record; longer records raise an error. Default: the size of the file, or
        2 GiB if the size is unknown.
    max_output_bytes, max_ratio : int, optional
        Limits for a compressed file: its decompressed size, and the ratio of that size to its
        compressed size.
    index : {"auto", True, False}, path or Index
        Index for ``len()`` and random access. ``"auto"`` uses the index next to a file if it
        matches the file, and otherwise scans the file. True requires the index, False ignores it.
        A path or an :class:`Index` requires a single file.
    shards : {"complete", "any"}
        ``"complete"`` raises an error if a pattern, a directory or ``name@10`` yields an
        incomplete set of shards, or if the source mixes two generations of a set, or a file and
        its repaired copy. ``"any"`` reads the files as they are.
    follow : bool or float, default False
        Whether to wait at the end of a file for more records: True waits forever, a number waits
        until nothing was appended for that number of seconds. Only for iteration over uncompressed
        local files.
    storage_options : StorageOptions or mapping, optional
        Options for access to URLs, and options of the store; see :class:`StorageOptions`.
    manifest : Manifest or path, optional
        Sizes and counts of exactly these files. With it, ``len()`` and random access open a local
        file only when one of its records is requested. A file that differs from the manifest raises
        an error when it is opened, or after its last record.

    Raises
    ------
    OSError
        If a file does not exist, or cannot be opened or read.
    CorruptRecordError, TruncatedFileError, LimitExceededError
        While reading, with path, record index and byte offset.
    IndexMismatchError
        If an index is damaged or does not match its file.
    MissingRecordsError
        If the files differ from the manifest, or shards are missing or mixed.

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
    ) -> None:
        self._files = RecordFiles(**checked_arguments(Reader.__init__, locals()))

    @property
    def paths(self) -> list[str | bytes]:
        """Paths of the files in reading order; empty for a file object."""
        return [*self._files.paths]

    # -- One pass ------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[bytes]:
        return _core.RecordChain(self._files.readers())

    def views(self) -> Iterator[memoryview]:
        """Return an iterator over read-only memoryviews; records of mapped files are not copied.

        A view stays valid after the reader is closed, and after the file is replaced or deleted.
        It keeps the file mapped. It shows the file, not a copy: if another process overwrites bytes
        in place, the view changes, and bytes that are truncated read as zeros.
        """
        return _core.RecordChain(self._files.readers(views=True))  # type: ignore[return-value]

    def blocks(self, count: int) -> Iterator[Bytes]:
        """Return an iterator over blocks of up to `count` records; no block spans two files.

        A block that reaches 32 MiB ends earlier, to limit the memory that long records need.

        Yields
        ------
        Bytes
            One buffer and offsets, without a Python object per record.
        """
        check_types(Reader.blocks, locals())
        check_int("count", count, 1, 2**40)
        return _core.RecordChain(self._files.readers(), count)  # type: ignore[return-value]

    @property
    def skipped(self) -> list[Skipped]:
        """Damaged regions skipped so far, in any pass: each region once, by file and position."""
        return self._files.skipped

    # -- Random access -------------------------------------------------------------------------

    def is_compressed(self, path: str | bytes) -> bool:
        """Return whether a file is compressed, by the `compression` option or its first bytes."""
        check_path("path", path)
        return self._files.compression_of(path) is not None

    def __len__(self) -> int:
        self._files.check_length()
        return len(self._files.dataset())

    def _at(self, index: Any) -> Any:
        """Evaluate ``reader[index]`` for slices, and before an index is available."""
        dataset = self._files.dataset()
        if isinstance(dataset, _core.Dataset):
            self._dataset = dataset
        if isinstance(index, slice):
            return dataset.records(np.arange(len(dataset), dtype=np.uint64)[index].copy())
        return dataset[index]

    def __getitems__(self, indices: Sequence[int] | npt.NDArray[Any]) -> list[bytes]:
        """Read records by index in one native call; PyTorch and Grain use this method."""
        dataset = self._files.dataset()
        return dataset.records(record_numbers(indices, len(dataset)))

    def read_many(self, indices: Sequence[int] | npt.NDArray[Any]) -> Bytes:
        """Read records by index as one :class:`Bytes`, without a Python object per record.

        Parameters
        ----------
        indices : sequence of int, or integer array of shape (n,)
            Record numbers in any order, with repeats; negative numbers count from the end.

        Returns
        -------
        Bytes
            The `n` records.

        Raises
        ------
        IndexError
            If an index is out of range.

        See Also
        --------
        fastrec.parse_many : Parse records into columns, without the intermediate copy.
        """
        dataset = self._files.dataset()
        return dataset.take(record_numbers(indices, len(dataset)))

    def path_of(self, index: int) -> str | bytes:
        """Return the path of the file that holds a record."""
        dataset = self._files.dataset()
        count = len(dataset)
        if not is_int(index):
            raise TypeError(f"index must be an int, got {shown(index)}")
        if not -count <= index < count:
            raise IndexError(f"record index {index} is out of range ({count} records)")
        return dataset.path_of(index % count)

    # -- Life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the files. Iterators and records stay valid."""
        self._dataset = None
        self._files.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # copies and pickles load the index again

    def __repr__(self) -> str:
        closed = ", closed" if self._files.closed else ""
        return f"<fastrec.Reader of {self._files.description}{closed}>"


def usable_count(reader: Reader) -> int:
    """Return the number of records; raise an error if all of them are damaged."""
    count, damage = len(reader), reader._files.policy()
    if not count and damage is not None and damage.regions:
        raise damage.useless(None, len(damage.regions))
    return count


def record_numbers(indices: Any, count: int) -> npt.NDArray[np.uint64]:
    """Return record numbers, with negative ones counted from the end, for the core to check."""
    try:
        numbers = np.asarray(indices)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"indices must be integers, got {shown(indices)}") from None
    if numbers.ndim != 1:
        raise TypeError(f"indices must be one sequence of integers, got shape {numbers.shape}")
    if numbers.size == 0:
        return np.empty(0, np.uint64)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, got {numbers.dtype}")
    if numbers.dtype.kind == "i":
        low = int(numbers.min())
        if low < -count:
            raise IndexError(f"record index {low} is out of range ({count} records)")
        if low < 0:
            numbers = np.where(numbers < 0, numbers + count, numbers)
    return np.ascontiguousarray(numbers, np.uint64)
