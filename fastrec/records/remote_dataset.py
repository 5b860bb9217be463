# SPDX-License-Identifier: Apache-2.0
"""Read records by number from objects that are fetched range by range."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from multiprocessing.context import get_spawning_popen
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..errors import CorruptRecordError, FastrecError, IndexMismatchError, detached
from ..storage.ahead import Ahead, Job, run_all
from ..storage.options import StorageOptions
from ..threads.locks import ProcessLock
from .kept_objects import KeptObjects, fetch

__all__ = ["Extract", "IndexList", "RemoteDataset", "for_spawned", "index_mismatch", "reserve"]

_GAP = 1 << 17  # maximum bytes of a gap between two records that are fetched together
_LONG = 1 << 16  # minimum bytes without gaps for a separate request
_MOST_RANGE = 8 << 20  # bytes of one request, so that several run in parallel
_RUN = 1 << 20  # bytes of records without gaps that are planned together
_IN_MEMORY = 64 << 20  # maximum bytes of an extract in memory; a larger one is a temporary file


class RangedFile(Protocol):
    """A file that is read range by range."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def silent(self) -> bool: ...
    def read(self, begin: int, end: int, pause: Any) -> bytes | memoryview:
        """Return the bytes from `begin` to `end`; `pause` waits between attempts."""

    def identify(self, pause: Any) -> None:
        """Request the file's version unless it is known."""


class Indexes(Protocol):
    """The record offsets of each file."""

    def counts_until(self, record: int | None, ahead: int = 0) -> NDArray[np.uint64]:
        """Return the record counts of the first files, at least up to the one with a record.

        With None, return the counts of all files. If files must be counted, up to `ahead` more
        records are counted with them.
        """

    def prepare(self, numbers: Iterable[int]) -> None:
        """Fetch the indexes of files that are not in memory yet."""

    def __getitem__(self, number: int, /) -> _core.FileIndex: ...


class IndexList:
    """Indexes that are in memory."""

    def __init__(self, indexes: Sequence[_core.FileIndex]) -> None:
        self._indexes = indexes
        self.counts: NDArray[np.uint64] = np.array([*map(len, indexes)], np.uint64)

    def counts_until(self, record: int | None, ahead: int = 0) -> NDArray[np.uint64]:
        """Return the record counts of all files."""
        return self.counts

    def prepare(self, numbers: Iterable[int]) -> None:
        """Do nothing: all indexes are in memory."""

    def __getitem__(self, number: int, /) -> _core.FileIndex:
        return self._indexes[number]

    def __getstate__(self) -> list[tuple[bytes, list[int]]]:
        return [(bytes(memoryview(index.save())), index.gaps) for index in self._indexes]

    def __setstate__(self, state: list[tuple[bytes, list[int]]]) -> None:
        indexes = [_core.FileIndex.load(saved) for saved, _ in state]
        for index, (_, gaps) in zip(indexes, state, strict=True):
            index.gaps.extend(gaps)
        self.__init__(indexes)  # type: ignore[misc]


class RemoteDataset:
    """The records of remote files under one numbering, like ``_core.Dataset`` for local files.

    Thread-safe. It holds no connection. If all files fit into ``window_bytes``, it keeps files from
    which records are requested repeatedly.

    Parameters
    ----------
    files : sequence of RangedFile
    indexes : Indexes
    storage : StorageOptions
    options : mapping
        ``verify`` and ``max_record`` of ``_core.Dataset``.
    """

    def __init__(
        self,
        files: Sequence[RangedFile],
        indexes: Indexes,
        storage: StorageOptions,
        options: dict[str, Any],
        size: int | None = None,
    ) -> None:
        self.files = files
        self.storage = storage
        self.options = options
        self._indexes = indexes
        if isinstance(indexes, IndexList):
            for number, file in enumerate(files):
                if indexes[number].size != file.size:
                    raise index_mismatch(file, indexes[number])
        self._size = size
        self._lock = ProcessLock()
        # Number of the first record in each file that is counted, and of the record after these.
        self._firsts = _firsts_of(indexes.counts_until(-1))

    @cached_property
    def size(self) -> int:
        """Total size of all files, in bytes."""
        if self._size is not None:
            return self._size
        self._count(None)  # the index of a file also contains its size
        return sum(file.size for file in self.files)

    @cached_property
    def kept(self) -> KeptObjects:
        """Objects that are kept in memory."""
        return KeptObjects(self.files, self.storage, self.size)

    def _count(self, record: int | None, ahead: int = 0) -> NDArray[np.int64]:
        """Return the number of the first record in each counted file, at least up to a record."""
        firsts = self._firsts
        is_complete = len(firsts) > len(self.files)
        if not is_complete and (record is None or record >= firsts[-1]):
            firsts = _firsts_of(self._indexes.counts_until(record, ahead))
            with self._lock.current():  # meanwhile, another thread may have counted more
                self._firsts = max(firsts, self._firsts, key=len)
        return firsts

    @property
    def uncounted(self) -> int:
        """Number of files whose records were not counted yet."""
        return len(self.files) + 1 - len(self._firsts)

    def count_until(self, records: int, ahead: int = 0) -> int:
        """Return the number of counted records, after counting at least `records` if possible."""
        return int(self._count(records - 1, ahead)[-1])

    def __len__(self) -> int:
        return int(self._count(None)[-1])

    def file_counts(self) -> list[int]:
        """Return the number of records in each file."""
        counts: list[int] = np.diff(self._count(None)).tolist()
        return counts

    def position_of(self, number: int) -> tuple[str, int, int]:
        """Return the file of a record, its number in the file, and its offset."""
        file, begin, _ = self.frame_of(number)
        index = number - int(self._firsts[file])
        return self.files[file].name, _core.number_of(index, self._indexes[file].gaps), begin

    def frame_of(self, number: int) -> tuple[int, int, int]:
        """Return the file number of a record, and the start and stop of its frame in the file."""
        firsts = self._count(number)
        file = int(np.searchsorted(firsts, number, "right")) - 1
        within = np.array([number - int(firsts[file])], np.uint64)
        begin, end = (np.frombuffer(each, np.uint64) for each in self._indexes[file].bounds(within))
        return file, int(begin[0]), int(end[0])

    def record_at(self, file: int, offset: int) -> int:
        """Return the number, within a file, of the record that contains the byte at `offset`."""
        return self._indexes[file].find(offset)

    def place_of(self, number: int) -> tuple[str, int]:
        """Return the file of a record, and its number in the file."""
        return self.position_of(number)[:2]

    def path_of(self, number: int) -> str:
        """Return the path of the file that contains a record."""
        return self.position_of(number)[0]

    def sizes_of(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the frame sizes of records, in bytes."""
        _, begins, ends = self._frames(numbers)
        sizes: NDArray[np.uint64] = ends - begins
        return sizes

    def _frames(self, numbers: NDArray[np.uint64]) -> tuple[Any, Any, Any]:
        """Return file, start and stop of the frames of records, given in ascending order."""
        firsts = self._count(int(numbers[-1])) if len(numbers) else self._firsts
        files = np.searchsorted(firsts, numbers, "right") - 1
        begins, ends = np.empty_like(numbers), np.empty_like(numbers)
        cuts = np.flatnonzero(np.diff(files)) + 1
        self._indexes.prepare(
            files[np.append(cuts - 1, len(files) - 1)].tolist() if len(files) else []
        )
        for first, last in pairwise([0, *cuts.tolist(), len(numbers)]):
            if first < last:
                file = files[first]
                within = numbers[first:last] - np.uint64(firsts[file])
                begins[first:last], ends[first:last] = (
                    np.frombuffer(found, np.uint64) for found in self._indexes[file].bounds(within)
                )
        return files, begins, ends

    def plan(self, numbers: NDArray[np.uint64]) -> Plan:
        """Return a plan with the ranges to fetch for records.

        Raises
        ------
        IndexError
            If a number is out of range.
        """
        ascends = (numbers[1:] > numbers[:-1]).all()  # much faster than sorting
        wanted = numbers if ascends else np.unique(numbers)
        if len(wanted) and wanted[-1] >= self._count(int(wanted[-1]))[-1]:
            raise IndexError(f"record index {wanted[-1]} is out of range ({len(self)} records)")
        return Plan(wanted, *self._frames(wanted))

    def table_of(self, plan: Plan) -> tuple[tuple[str, ...], NDArray[np.uint64]]:
        """Return the paths and the table of ``_core.MemoryRecords`` for the records of a plan."""
        used, files = np.unique(plan.files, return_inverse=True)
        within = plan.numbers - self._firsts[plan.files].astype(np.uint64)
        columns = (files, within, plan.begins, plan.places, plan.sizes)
        table = np.stack([np.asarray(column, np.uint64) for column in columns], axis=1)
        return tuple(self.files[number].name for number in used.tolist()), table

    def jobs(self, plan: Plan) -> Iterator[Job]:
        """Yield the jobs that fetch the ranges of a plan."""
        for file, begin, end in plan.ranges:
            yield Job(partial(fetch, self.files[file], begin, end), end - begin)

    def take_jobs(self, plan: Plan) -> Iterator[Job]:
        """Yield the jobs for one of many calls to :meth:`take`."""
        return self.kept.jobs(plan)

    def take(
        self, numbers: NDArray[np.uint64], misfits: list[tuple[int, FastrecError]] | None = None
    ) -> Bytes:
        """Return the records with these numbers as one block.

        With `misfits`, records with damaged data are left out, and their places in `numbers` and
        errors are added to it.
        """
        extract = self._extract(numbers)
        if misfits is None:
            return extract.take(numbers)
        with contextlib.suppress(CorruptRecordError):
            return extract.take(numbers)
        return extract.take_sound(numbers, misfits)

    def records(self, numbers: NDArray[np.uint64]) -> list[bytes]:
        """Return the records with these numbers as a list."""
        return list(self.take(numbers))

    def __getitem__(self, number: Any) -> bytes:
        count = len(self)
        at = number.__index__()
        if not -count <= at < count:
            raise IndexError(f"record index {number} is out of range ({count} records)")
        return self.take(np.array([at % count], np.uint64))[0]

    def _extract(self, numbers: NDArray[np.uint64]) -> Extract:
        plan = self.plan(numbers)
        extract = Extract(self, plan, self.ahead(self.take_jobs(plan)))
        self.check_version({file for file, _, _ in plan.ranges if file not in self.kept})
        return extract

    def ahead(self, jobs: Iterator[Job]) -> Ahead[Any]:
        """Return the results of jobs, which threads run ahead within the window."""
        return Ahead(jobs, budget=self.storage.window_bytes)

    def check_version(self, files: Iterable[int]) -> None:
        """Check the versions of files in stores whose responses omit the version."""
        if silent := [self.files[number] for number in files if self.files[number].silent]:
            run_all(file.identify for file in silent)


def _firsts_of(counts: NDArray[np.uint64]) -> NDArray[np.int64]:
    firsts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return firsts


def for_spawned(dataset: object) -> RemoteDataset | None:
    """Return the dataset if ``multiprocessing`` is pickling it to share it, otherwise None."""
    if type(dataset) is not RemoteDataset or get_spawning_popen() is None:
        return None
    return dataset if dataset.kept.fits else None


class Plan:
    """Records in ascending order, and the ranges of files that contain them.

    Records that are near each other share a range, unless more than half of it would be unused. In
    long runs of records, at most an eighth may be unused.

    Attributes
    ----------
    numbers : ndarray of uint64
    files, begins, sizes : ndarray of int
        File of each record, and the start and size of its frame in the file.
    ranges : list of (file, begin, end)
    places : ndarray of uint64
        Offset of each record in the concatenated ranges.
    size : int
        Total size of all ranges, in bytes.
    """

    def __init__(self, numbers: Any, files: Any, begins: Any, ends: Any) -> None:
        self.numbers = numbers
        self.ranges: list[tuple[int, int, int]] = []
        starts: list[int] = []  # number of the first record in each range
        file, begin, end, waste = -1, 0, 0, 0
        for row, where, at, until, run_bytes in _runs(files, begins, ends):
            gap = at - end
            useful = end - begin - waste
            most = useful - waste if run_bytes < _LONG else useful // 8 - waste
            if where != file or gap > min(_GAP, most) or until - begin > _MOST_RANGE:
                if file >= 0:
                    self.ranges.append((file, begin, end))
                starts.append(row)
                file, begin, waste = where, at, 0
            else:
                waste += gap
            end = until
        if file >= 0:
            self.ranges.append((file, begin, end))
        self.files: Final = files
        self.begins: Final = begins
        self.sizes: Final = ends - begins
        sizes = np.array([end - begin for _, begin, end in self.ranges], np.uint64)
        self.size: int = int(sizes.sum())
        bases = np.cumsum(sizes) - sizes
        counts = np.diff([*starts, len(numbers)])
        firsts = np.array([begin for _, begin, _ in self.ranges], np.uint64)
        self.places: Final = begins - np.repeat(firsts, counts) + np.repeat(bases, counts)


def _runs(files: Any, begins: Any, ends: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the pieces of runs of records without gaps.

    A piece consists of the row of its first record, the file, start and stop, and the bytes of its
    run.
    """
    if not len(files):
        return
    breaks = np.append(True, (files[1:] != files[:-1]) | (begins[1:] != ends[:-1]))
    starts = np.flatnonzero(breaks)
    run_bytes = ends[np.append(starts[1:], len(files)) - 1] - begins[starts]
    # The size of a piece is limited, so that a range does not exceed its maximum size.
    firsts = np.flatnonzero(breaks | np.append(True, begins[1:] // _RUN != begins[:-1] // _RUN))
    lasts = np.append(firsts[1:], len(files)) - 1
    run_bytes = run_bytes[np.searchsorted(starts, firsts, "right") - 1]
    columns = firsts, files[firsts], begins[firsts], ends[lasts], run_bytes
    yield from zip(*(column.tolist() for column in columns), strict=True)


class Extract:
    """Records in fetched ranges of remote files.

    Parameters
    ----------
    dataset : RemoteDataset
    plan : Plan
    data : iterable of buffers
        The ranges of the plan, in order; one buffer may contain several ranges.
    """

    def __init__(self, dataset: RemoteDataset, plan: Plan, data: Iterator[memoryview]) -> None:
        self._numbers = plan.numbers
        pieces: list[memoryview | mmap.mmap] = []
        size = 0
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(_scratch(plan.size)) if plan.size > _IN_MEMORY else None
            while size < plan.size:
                piece = next(data)
                if file is None:
                    pieces.append(piece)
                else:
                    _write(file, piece, size)
                size += len(piece)
            if file is not None:
                pieces.append(mmap.mmap(file, plan.size, access=mmap.ACCESS_READ))
        paths, table = dataset.table_of(plan)
        self._records = _core.MemoryRecords(paths, pieces, table, **dataset.options)

    def take(self, numbers: NDArray[np.uint64]) -> Bytes:
        """Return records of the plan, verified.

        Raises
        ------
        CorruptRecordError, LimitExceededError
        """
        rows = np.searchsorted(self._numbers, numbers)
        if rows.max(initial=-1) >= len(self._numbers) or (self._numbers[rows] != numbers).any():
            raise IndexError("a record is not in the ranges that were fetched for it")
        return self._records.take(rows.astype(np.uint64))

    def take_sound(
        self, numbers: NDArray[np.uint64], misfits: list[tuple[int, FastrecError]]
    ) -> Bytes:
        """Return records of the plan whose data is sound; add the others to `misfits`."""
        records: list[bytes] = []
        for row in range(len(numbers)):
            try:
                records += self.take(numbers[row : row + 1])
            except CorruptRecordError as error:
                if error.kind != "data-crc":
                    raise
                misfits.append((row, detached(error)))
        return Bytes.from_list(records)


@contextlib.contextmanager
def _scratch(size: int) -> Iterator[int]:
    """Open a temporary file of `size` bytes; its name is removed when the context ends."""
    import tempfile

    number, place = tempfile.mkstemp(prefix="fastrec-")
    try:
        reserve(number, size)
        yield number
    finally:
        os.close(number)
        with contextlib.suppress(OSError):
            os.unlink(place)


def reserve(number: int, size: int) -> None:
    """Reserve disk space for `size` bytes of a file."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(number, 0, size)  # a full disk raises here, not on access to a mapping
    else:
        os.truncate(number, size)


def _write(number: int, data: memoryview, at: int) -> None:
    while data:
        done = os.pwrite(number, data, at)
        data, at = data[done:], at + done


def index_mismatch(file: RangedFile, index: _core.FileIndex) -> IndexMismatchError:
    """Return the error for an index that belongs to a file of another size."""
    error = IndexMismatchError(
        f"the index of {file.name!a} is refused: it is of {index.size} bytes, the object has "
        f"{file.size}; build it again"
    )
    error.path = file.name
    return error
