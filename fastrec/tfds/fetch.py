# SPDX-License-Identifier: Apache-2.0
"""Read the values of steps from the offsets that rows store, and assemble batches."""

from __future__ import annotations

import bisect
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

import fastrec

from .. import _core
from ..columns import Arrays, Bytes
from ..errors import CorruptRecordError, FastrecError, TruncatedFileError
from ..records.paths import expand
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..threads.locks import ProcessLock
from .columns import nested
from .rows import RowFile

if TYPE_CHECKING:
    from .steps import StepPart

__all__ = ["Fetch", "Source"]

_OPEN_FILES = 128  # files that stay open
_GAP = 1 << 17  # largest gap, in bytes, between two values of a remote file that share a request


class _Descriptor:
    """An open file descriptor, closed when the last thread stops using it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


@dataclass(frozen=True)
class Source:
    """A file in the state that it had when its steps were located.

    Attributes
    ----------
    path : str
    size, mtime_ns : int
        Size in bytes and time of modification in nanoseconds.
    remote : RemoteFile or None
        One version of an object in a store; None for a local file.
    """

    path: str
    size: int
    mtime_ns: int
    remote: RemoteFile | None = None

    @classmethod
    def of(cls, path: str, storage: StorageOptions) -> Source:
        """Return the source for the one file that a path or a URL names."""
        [file] = expand([path], storage, shards="any")
        if isinstance(file, RemoteFile):
            return cls(path, file.size, 0, file)
        status = os.stat(file)
        return cls(os.path.abspath(os.fsdecode(file)), status.st_size, status.st_mtime_ns)

    @property
    def stamp(self) -> str:
        """A text that differs for each version of the file."""
        version = self.mtime_ns if self.remote is None else self.remote.version
        return f"{self.size} {version}"

    def open(self) -> _Descriptor:
        """Open the local file, after checking that it has not changed.

        Raises
        ------
        FastrecError
            If the file has changed.
        """
        file = _Descriptor(os.open(self.path, os.O_RDONLY))
        status = os.fstat(file.number)
        if (status.st_size, status.st_mtime_ns) != (self.size, self.mtime_ns):
            error = FastrecError(f"{self.path!a} has changed since its steps were looked up")
            error.path = self.path
            raise error
        return file


class _Ranges:
    """Ranges of bytes of one remote file; ranges that are close together share a request."""

    def __init__(self, references: NDArray[Any]) -> None:
        begins = references["offset"].astype(np.int64)
        order = np.argsort(begins, kind="stable")
        begins = begins[order]
        ends = np.maximum.accumulate(begins + references["size"].astype(np.int64)[order])
        firsts = np.flatnonzero(np.append(True, begins[1:] - ends[:-1] > _GAP))
        self._begins = begins[firsts].tolist()
        self._ends = ends[np.append(firsts[1:] - 1, len(ends) - 1)].tolist()
        self._data: list[memoryview] = [memoryview(b"")] * len(firsts)

    def jobs(self, source: Source) -> Iterator[Callable[[Any], None]]:
        """Yield the functions that fetch the ranges."""
        for number in range(len(self._data)):
            yield partial(self._fetch, source, number)

    def _fetch(self, source: Source, number: int, pause: Any) -> None:
        assert source.remote is not None
        begin, end = self._begins[number], self._ends[number]
        if end > source.size:
            error = FastrecError(f"{source.path!a} has changed since its steps were looked up")
            error.path = source.path
            raise error
        self._data[number] = source.remote.read(begin, end, pause)

    def copy(self, at: int, out: memoryview) -> None:
        """Copy fetched bytes, starting at an offset, to `out`."""
        number = bisect.bisect_right(self._begins, at) - 1
        begin = at - self._begins[number]
        out[:] = self._data[number][begin : begin + len(out)]


class Fetch:
    """A function that reads batches of steps, given their rows. Several threads may call it.

    Parameters
    ----------
    rows : RowFile
        The rows, which store the location of each value.
    dtype : dtype
        The dtype of a row.
    sources : sequence of Source
        The files, in the order of their numbers in rows.
    parts : sequence of (StepPart, ndarray of int64 or None)
        The features to read, each with the steps to return of it, as their distances from the drawn
        step; None for the drawn step alone.
    masks : mapping of str to ndarray of int64
        Names of masks to add, which are True for the steps at these distances that exist.
    """

    def __init__(
        self,
        rows: RowFile,
        dtype: np.dtype[Any],
        sources: Sequence[Source],
        parts: Sequence[tuple[StepPart, NDArray[np.int64] | None]],
        masks: Mapping[str, NDArray[np.int64]],
    ) -> None:
        self.rows = rows
        self.dtype = dtype
        self.sources: Final = list(sources)
        self.parts: Final = list(parts)
        self.masks: Final = dict(masks)
        self.reader: Final = fastrec.Reader(rows.path)
        self._files: OrderedDict[int, _Descriptor] = OrderedDict()
        self._lock = ProcessLock()
        for part, offsets in self.parts:
            several = part.image is not None and part.image.shape is None
            if several and offsets is not None and None in part.column.value.shape:
                raise ValueError(
                    f"images {'/'.join(part.path)!r} have several sizes: a window of them "
                    "requires decode={...: fastrec.ImageFeature(shape, fit='resize')}"
                )

    def __call__(self, drawn: Bytes) -> dict[str, Any]:
        rows = RowFile.as_array(drawn, self.dtype)
        values: dict[tuple[str, ...], Any] = {}
        around: dict[bytes, tuple[Any, Any]] = {}
        for part, offsets in self.parts:
            if offsets is None:
                values[part.path] = self._values(part, rows)
                continue
            key = offsets.tobytes()
            if key not in around:
                around[key] = self._around(rows, offsets)
            others, places = around[key]
            values[part.path] = _spread(self._values(part, others), places)
        masks = {name: self._mask(rows, offsets) for name, offsets in self.masks.items()}
        return self._batch(values, rows, masks)

    def _batch(
        self, values: dict[tuple[str, ...], Any], rows: NDArray[Any], masks: dict[str, Any]
    ) -> dict[str, Any]:
        """Return a batch of the values of its features."""
        return {
            **nested(values),
            "_traj_index": rows["episode"].astype(np.int64),
            "_frame_index": rows["t"].astype(np.int64),
            "_len": rows["length"].astype(np.int64),
            **masks,
        }

    @staticmethod
    def _mask(rows: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        t = rows["t"].astype(np.int64)[:, None] + offsets
        found: NDArray[np.bool_] = (t >= 0) & (t < rows["length"].astype(np.int64)[:, None])
        return found

    def _around(self, rows: NDArray[Any], offsets: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return the distinct rows of neighbours, and the places of each step's neighbours."""
        t = rows["t"].astype(np.int64)[:, None]
        last = rows["length"].astype(np.int64)[:, None] - 1
        numbers = rows["step"].astype(np.int64)[:, None] - t + np.clip(t + offsets, 0, last)
        unique, places = np.unique(numbers, return_inverse=True)
        others = RowFile.as_array(self.reader.read_many(unique), self.dtype)
        return others, places.reshape(numbers.shape)

    # --- values -----------------------------------------------------------------------------

    def _values(self, part: StepPart, rows: NDArray[Any]) -> Any:
        value = part.column.value
        if part.is_inline:
            # NumPy calls one row contiguous whatever its strides are, and PyTorch refuses these.
            return np.array(rows[part.field], value.dtype, order="C")
        data = self._read(rows["file"], rows[part.field], "/".join(part.path))
        if part.image is not None:
            images = part.image.decode(data, f"feature {'/'.join(part.path)!a}")
            return self._as_array(part, images)
        if part.decode:
            made = [part.column.finish(each, part.column.rank) for each in data]
            shapes = {each.shape for each in made if isinstance(each, np.ndarray)}
            return np.stack(made) if len(shapes) == 1 else made
        if value.wire_dtype.kind == "O":
            return data
        return data.data.view("<f4").reshape(len(data), *value.shape).astype(value.dtype)

    @staticmethod
    def _as_array(part: StepPart, images: Any) -> Any:
        """Stack images of equal size in one array."""
        shape = part.column.value.shape
        if not isinstance(images, Arrays) or None in shape:
            return images
        others = np.flatnonzero((images.shapes != np.array(shape)).any(axis=1))
        if len(others):
            found = tuple(images.shapes[others[0]].tolist())
            raise part.column.error(f"the image must be of shape {shape}, got {found}")
        return images.values.reshape(len(images), *shape)

    def _read(self, files: NDArray[Any], references: NDArray[Any], name: str) -> Bytes:
        """Read the referenced values and check each against its checksum."""
        offsets = np.zeros(len(references) + 1, np.int64)
        np.cumsum(references["size"], out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        numbers, places = np.unique(files, return_inverse=True)
        sources = [self.sources[number] for number in numbers.tolist()]
        opened = [
            self._file(number) if source.remote is None else None
            for number, source in zip(numbers.tolist(), sources, strict=True)
        ]
        self._fetch_remote(sources, places, references, memoryview(data), offsets)  # type: ignore[arg-type]
        pieces = np.empty(len(references), _core.PIECE)
        for field in ("offset", "size", "crc"):
            pieces[field] = references[field]
        pieces["file"] = places
        fds = np.array([-1 if file is None else file.number for file in opened], np.intc)
        try:
            _core.read_pieces(pieces, fds, data, [source.path for source in sources])
        except CorruptRecordError as error:
            raise _failure(error, name) from None
        return Bytes(data, offsets)

    @staticmethod
    def _fetch_remote(
        sources: list[Source],
        places: NDArray[np.int64],
        references: NDArray[Any],
        out: memoryview,
        offsets: NDArray[np.int64],
    ) -> None:
        """Fetch the referenced values of remote files in parallel."""
        remote = [(n, source) for n, source in enumerate(sources) if source.remote is not None]
        if not remote:
            return
        ranges = {number: _Ranges(references[places == number]) for number, _ in remote}
        run_all([job for number, source in remote for job in ranges[number].jobs(source)])
        files = [source.remote for _, source in remote]
        run_all(file.identify for file in files if file is not None and file.silent)
        for row in np.flatnonzero(np.isin(places, list(ranges))).tolist():
            piece = out[offsets[row] : offsets[row + 1]]
            ranges[int(places[row])].copy(int(references["offset"][row]), piece)

    def _file(self, number: int) -> _Descriptor:
        with self._lock.current():
            if number not in self._files:
                self._files[number] = self.sources[number].open()
                while len(self._files) > _OPEN_FILES:
                    self._files.popitem(last=False)  # The last user closes the file.
            self._files.move_to_end(number)
            return self._files[number]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_files": OrderedDict()}


def _failure(error: CorruptRecordError, name: str) -> CorruptRecordError:
    """Convert an error about a range of a file to an error about the value of a feature."""
    reason = "the checksum differs from the one when the steps were looked up"
    if isinstance(error, TruncatedFileError):
        reason = "the file ends before the value"
    found = type(error)(f"{error.path!a}: offset {error.offset}: feature {name!a}: {reason}")
    found.path, found.offset, found.kind = error.path, error.offset, error.kind
    return found


def _spread(values: Any, places: NDArray[np.int64]) -> Any:
    """Return the value for each place from an array of distinct values."""
    if isinstance(values, np.ndarray):
        return values[places]
    if isinstance(values, Bytes):
        taken = values.take(places.reshape(-1))
        return Bytes(taken.data, taken.offsets, places.shape)
    assert not isinstance(values, Arrays)
    return [[values[place] for place in row] for row in places.tolist()]
