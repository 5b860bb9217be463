# SPDX-License-Identifier: Apache-2.0
"""Read records by number for the viewer; damage is described instead of raised."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastrec.cli.files import STDIN, name_of, reader_of
from fastrec.cli.report import damage_text, explained
from fastrec.cli.rows import pieces
from fastrec.columns import Bytes
from fastrec.errors import FastrecError
from fastrec.parsing.where import Where
from fastrec.records.record_files import RecordFiles
from fastrec.records.recovery import Skipped

__all__ = ["Source"]

MOST_IN_MEMORY = 1 << 28  # bytes of records of compressed files and pipes that are kept
_BLOCK = 2048  # records that are parsed in one call
_SAMPLE = 20_000  # records of the sample that describes the features


class Source:
    """The records of several files.

    Plain files are read by number. Compressed files and standard input are read into memory once,
    up to 256 MiB.

    Attributes
    ----------
    count : int
        Number of records.
    paths : list of str
        The files.
    damage : list of dict
        Damage found so far: path, record, offset, bytes (None if unknown) and reason.
    note : str
        A remark about records that are not shown.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.paths: list[str] = list(files)
        self.damage: list[dict[str, Any]] = []
        self.note: str = ""
        self._dataset: Any = None
        self._blocks: list[Bytes] = []
        self._places: list[tuple[str, int]] = []
        self._starts = np.zeros(1, np.int64)
        if STDIN in files or RecordFiles(files, shards="any").sequential:
            self._load(files)
            return
        try:
            self._dataset = RecordFiles(files, shards="any").dataset()
        except FastrecError:  # a length is damaged, so only the records that can be found are shown
            kept = RecordFiles(files, on_error="skip", shards="any")
            self._dataset = kept.dataset()
            self._add_damage(kept.skipped)
        self.count: int = len(self._dataset)

    def _load(self, files: Sequence[str]) -> None:
        size = number = 0
        for path in files:
            reader = reader_of(path, on_error="skip")
            first = 0
            for block in reader.blocks(_BLOCK):
                self._blocks.append(block)
                self._places.append((path, first))
                first += len(block)
                number += len(block)
                size += block.nbytes
                if size >= MOST_IN_MEMORY:
                    self.note = f"only the first {number} records are shown: the source cannot be "\
                        "read by number"  # fmt: skip
                    break
            self._add_damage(reader.skipped)
            if self.note:
                break
        self._starts = np.cumsum([0, *map(len, self._blocks)])
        self.count = number

    def _add_damage(self, skipped: Sequence[Skipped]) -> None:
        self.damage += [
            {"path": lost.path, "record": lost.record, "offset": lost.begin, "bytes": lost.size,
             "reason": damage_text(lost)}
            for lost in skipped
        ]  # fmt: skip

    def _note_damage(self, number: int, error: FastrecError) -> None:
        path, record = self.place(number)
        lost = {"path": path, "record": record, "offset": error.offset, "bytes": None,
                "reason": explained(error, hints=False)}  # fmt: skip
        if lost not in self.damage:
            self.damage.append(lost)

    def place(self, number: int) -> tuple[str, int]:
        """Return the file that holds a record, and the number of the record in that file."""
        if self._dataset is not None:
            path, record = self._dataset.place_of(number)
            return os.fsdecode(path), record
        block = int(np.searchsorted(self._starts, number, "right")) - 1
        path, first = self._places[block]
        return name_of(path), first + number - int(self._starts[block])

    def read(self, numbers: Sequence[int]) -> list[bytes | FastrecError]:
        """Return records, or the errors of damaged ones."""
        if self._dataset is None:
            return [self._in_memory(number) for number in numbers]
        try:
            return list(self._dataset.take(np.array(numbers, np.uint64)))
        except FastrecError as error:
            if len(numbers) == 1:
                return [error]
        half = len(numbers) // 2
        return self.read(numbers[:half]) + self.read(numbers[half:])

    def _in_memory(self, number: int) -> bytes:
        block = int(np.searchsorted(self._starts, number, "right")) - 1
        return self._blocks[block][number - int(self._starts[block])]

    def sample(self, seed: int, *, shuffled: bool) -> list[int]:
        """Return the numbers of a random sample of the records, or of all if they are few."""
        draw = np.random.default_rng(seed)
        if self.count <= _SAMPLE:
            numbers = np.arange(self.count)
        else:
            numbers = np.sort(draw.choice(self.count, _SAMPLE, replace=False))
        return list((draw.permutation(numbers) if shuffled else numbers).tolist())

    def some(self) -> Iterator[Bytes]:
        """Yield blocks of a sample of the records, or of all if they are few."""
        numbers = np.array(self.sample(0, shuffled=False), np.int64)
        for begin in range(0, len(numbers), _BLOCK):
            found = self.read(numbers[begin : begin + _BLOCK].tolist())
            for number, each in zip(numbers[begin:], found, strict=False):
                if isinstance(each, FastrecError):
                    self._note_damage(int(number), each)
            yield Bytes.from_list([each for each in found if isinstance(each, bytes)])

    def search(self, where: Where, begin: int, most: int) -> Iterator[tuple[int, int | None]]:
        """Yield the progress of the search, and the number of each matching record."""
        found = 0
        while begin < self.count and found < most:
            numbers = range(begin, min(begin + _BLOCK, self.count))
            read = self.read(numbers)
            sound = [number for number, each in zip(numbers, read, strict=True)
                     if isinstance(each, bytes)]  # fmt: skip
            records = Bytes.from_list([each for each in read if isinstance(each, bytes)])
            for number in itertools.compress(sound, _mask(records, where)):
                yield number + 1, number
                found += 1
                if found == most:
                    return
            begin += len(numbers)
            yield begin, None


def _mask(records: Bytes, where: Where) -> list[bool]:
    found: list[bool] = []
    for piece in pieces(records, where.names):
        count = len(piece.records)
        columns = piece.columns
        found += [False] * count if columns is None else where.mask(columns, count).tolist()
    return found
