# SPDX-License-Identifier: Apache-2.0
"""Sections of a dataset index, which hold the record offsets of each file."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import IndexMismatchError
from ..storage.ahead import run_all
from ..storage.remote import RemoteFile
from ..threads.locks import ProcessLock
from .byte_sources import NamedFile
from .dataset_table import Table, place_name, refused

__all__ = ["Sections"]

Pause = Callable[[float], None]
_LEAST_PIECE, _MOST_PIECE = 1 << 20, 32 << 20  # bytes of sections per request
_KEPT_BYTES = 256 << 20  # maximum bytes of cached sections
_KEPT_INDEXES = 1 << 14  # maximum number of unpacked sections


class Sections:
    """The record offsets of each file; neighbouring sections are fetched together.

    Thread-safe. Up to 256 MiB of fetched sections are kept.

    Parameters
    ----------
    place : path or RemoteFile
        The index.
    table : Table
        Table of the index.
    files : sequence of path or RemoteFile
        The files that the index describes, for messages.
    """

    def __init__(self, place: str | bytes | RemoteFile, table: Table, files: Sequence[Any]) -> None:
        self._place, self._table, self._files = place, table, files
        begins = table.begins
        area = int(begins[-1] - begins[0])
        piece = min(max(area // 4, _LEAST_PIECE), _MOST_PIECE)
        # A section belongs to the piece that contains its first byte.
        self._piece_of = ((begins[:-1] - begins[0]) // np.uint64(piece)).astype(np.int64)
        self._pieces: OrderedDict[int, memoryview] = OrderedDict()
        self._indexes: OrderedDict[int, _core.FileIndex] = OrderedDict()
        self._held = 0
        self._lock = ProcessLock()

    def counts_until(self, record: int | None, ahead: int = 0) -> NDArray[np.uint64]:
        """Return the record counts of all files."""
        return self._table.counts

    def _bounds(self, piece: int) -> tuple[int, int]:
        """Return the start and stop offsets of a piece."""
        first, last = np.searchsorted(self._piece_of, [piece, piece + 1]).tolist()
        return int(self._table.begins[first]), int(self._table.begins[last])

    def prepare(self, numbers: Iterable[int]) -> None:
        """Fetch the sections of files concurrently."""
        wanted = {int(self._piece_of[n]) for n in numbers if n not in self._indexes}
        missing = sorted(wanted - self._pieces.keys())
        fetched = run_all(partial(self._read, piece) for piece in missing)
        with self._lock.current():
            for piece, data in zip(missing, fetched, strict=True):
                self._held += len(data)
                self._pieces[piece] = data
            while self._held > _KEPT_BYTES and len(self._pieces) > max(1, len(missing)):
                self._held -= len(self._pieces.popitem(last=False)[1])

    def _read(self, piece: int, pause: Pause) -> memoryview:
        begin, end = self._bounds(piece)
        if isinstance(self._place, RemoteFile):
            return self._place.read(begin, end, pause)
        with NamedFile(self._place) as file:
            file.seek(begin)
            return memoryview(file.read(end - begin))

    def bytes_of(self, number: int) -> memoryview:
        """Return the section of a file."""
        piece = int(self._piece_of[number])
        data = self._pieces.get(piece)
        if data is None:
            self.prepare([number])
            data = self._pieces.get(piece)
        if data is None:  # other threads have evicted it
            data = run_all([partial(self._read, piece)])[0]
        base, _ = self._bounds(piece)
        begin, end = (int(each) - base for each in self._table.begins[number : number + 2])
        return data[begin:end]

    def __getitem__(self, number: int) -> _core.FileIndex:
        index = self._indexes.get(number)
        if index is not None:
            return index
        name = os.fspath(self._files[number])
        try:
            index = _core.FileIndex.load(self.bytes_of(number), name)
        except IndexMismatchError as error:
            raise refused(place_name(self._place), f"its section of {name!a} is damaged") from error
        size, count = (int(each[number]) for each in (self._table.sizes, self._table.counts))
        if (index.size, len(index)) != (size, count):
            text = f"its section of {name!a} is of another file"
            raise refused(place_name(self._place), text)
        with self._lock.current():
            self._indexes[number] = index
            while len(self._indexes) > _KEPT_INDEXES:
                self._indexes.popitem(last=False)
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {"_place": self._place, "_table": self._table, "_files": self._files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{name[1:]: value for name, value in state.items()})  # type: ignore[misc]
