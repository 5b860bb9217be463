# SPDX-License-Identifier: Apache-2.0
"""Select the records that a command line requests, in order or at random."""

from __future__ import annotations

import argparse
import bisect
import difflib
import os
import random
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrec import _core
from fastrec.cli.files import STDIN, name_of, reader_of, size_of
from fastrec.cli.grammar import FINDING, USAGE, status_of
from fastrec.cli.report import Failure, Report, count_text, counted, damage_text, explained, shown
from fastrec.cli.rows import Row, is_other, pieces, rows_of
from fastrec.columns import Bytes, Ragged
from fastrec.errors import FastrecError, RandomAccessError
from fastrec.parsing.conditions import WhereError
from fastrec.parsing.infer import kinds_of
from fastrec.parsing.where import Where, parse
from fastrec.records.reader import Reader
from fastrec.records.record_files import RecordFiles
from fastrec.records.recovery import Skipped

if TYPE_CHECKING:
    from fastrec.records.remote_dataset import RemoteDataset

__all__ = ["Found", "Selector", "parsed_where"]

_BLOCK_RECORDS = 1024  # records that are parsed in one call
_BLOCK_BYTES = 32 << 20  # as in Reader.blocks: a block that reaches this size ends
_MOST_NAMES = 10_000  # names that are compared with a misspelt one; more would take seconds


class Found(NamedTuple):
    """One record: its file, its number there, its bytes, and its values if it has any."""

    path: str
    number: int
    record: bytes
    row: Row | None


class Block(NamedTuple):
    """Several records of one file, with their numbers in the file."""

    path: str
    numbers: Sequence[int]
    records: Bytes


def _in_sequence(path: str, reader: Reader, most: int) -> Iterator[Block]:
    for part in reader._files.readers():
        count = 0
        while (records := part.take(most)) is not None:
            indices: Sequence[int] = range(count, count + len(records))
            if part.gaps:
                indices = [_core.number_of(index, part.gaps) for index in indices]
            yield Block(path, indices, records)
            count += len(records)


def _by_number(
    dataset: _core.Dataset | RemoteDataset, numbers: range, most: int = _BLOCK_RECORDS
) -> Iterator[Block]:
    """Yield consecutive records of a dataset in blocks of at most `most` records of one file."""
    first = numbers.start
    while first < numbers.stop:
        path, within, begin = dataset.position_of(first)

        def is_beyond(number: int, path: object = path, begin: int = begin) -> bool:
            other, _, offset = dataset.position_of(number)
            return other != path or offset - begin >= _BLOCK_BYTES

        rest = range(first + 1, min(first + most, numbers.stop))
        if rest and not is_beyond(rest[-1]):
            stop = rest.stop
        else:
            stop = first + 1 + bisect.bisect_left(rest, True, key=is_beyond)
        yield Block(
            os.fsdecode(path),
            range(within, within + stop - first),
            dataset.take(np.arange(first, stop, dtype=np.uint64)),
        )
        first = stop


def parsed_where(text: str | None) -> Where | None:
    """Parse the condition of ``--where``."""
    try:
        return None if text is None else parse(text)
    except WhereError as error:
        raise Failure(f"--where: {error}", USAGE) from None


@dataclass
class Selector:
    """Selects records from files, and reports damage.

    Attributes
    ----------
    status : int
        The exit status for the files so far.
    strict : bool
        Whether to raise errors that end a file, so that nothing is written.
    span : range, optional
        Record numbers to select in each file; None for all.
    last : bool
        Whether `limit` selects the last records instead of the first.
    """

    report: Report
    names: tuple[str, ...] | None = None
    where: Where | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    skip_damage: bool = False
    status: int = 0
    strict: bool = False
    span: range | None = None
    last: bool = False
    _seen: set[str] = field(default_factory=set)
    _other_count: int = 0
    _first_other: str = ""

    @classmethod
    def of(cls, arguments: argparse.Namespace, report: Report) -> Selector:
        """Create a selector from the options of :func:`~fastrec.cli.grammar.add_selection`."""
        limit = arguments.limit
        if arguments.sample is not None:
            if limit is not None:
                raise Failure("--limit and --sample are mutually exclusive", USAGE)
            if arguments.span is not None:
                raise Failure("--sample and --records are mutually exclusive", USAGE)
            limit = arguments.sample
        elif limit is None and arguments.span is None:
            limit = getattr(arguments, "default_limit", None)
        return cls(
            report,
            arguments.features,
            parsed_where(arguments.where),
            limit,
            arguments.sample,
            arguments.seed,
            arguments.skip_damage,
            span=arguments.span,
        )

    # -- Records, with their values --------------------------------------------------------------

    def records(self, files: Sequence[str], missing: Sequence[Exception] = ()) -> Iterator[Found]:
        """Yield the records in the order of the files, with the requested values."""
        for error in missing:
            self.complain(error)
        known: set[str] = set()
        for block in self.blocks(files):
            if self.names is not None and not known:
                known.update(kinds_of(block.records))
            rows = rows_of(block.records, self.names)
            for number, record, row in zip(block.numbers, block.records, rows, strict=True):
                if row is not None:
                    self._see(row)
                    if self.names is not None:
                        row = {name: row[name] for name in self.names if name in row}
                yield Found(block.path, number, record, row)
        if self.names is not None and self.status == 0 and known:
            # With a limit or a span, other records may have the feature: only a similar name is
            # a mistake, unless all names are unknown.
            self.name_unknown(
                self.names, known, only_close=self.limit is not None or self.span is not None
            )

    def blocks(self, files: Sequence[str]) -> Iterator[Block]:
        """Yield blocks of records, parsing only the features of the condition."""
        if self.sample is not None:
            yield from self._sampled(files)
            return
        if self.last:
            yield from self._last(files)
            return
        left = self.limit
        with self.report.progress("reading", size_of(files)) as advance:
            for block in self._matching(files):
                advance(block.records.nbytes + 16 * len(block.records))
                if left is None:
                    yield block
                    continue
                if left > 0:
                    yield Block(block.path, block.numbers[:left], block.records[:left])
                left -= len(block.records)
                if left <= 0:
                    return

    def _see(self, names: Iterable[str]) -> None:
        """Remember the names of features for a hint; for a hostile file, only some of them."""
        if len(self._seen) < _MOST_NAMES:
            self._seen.update(names)

    def complain(self, error: Exception) -> None:
        """Report the error that ended a file; the other files are still read."""
        self.report.complain(f"error: {explained(error)}")
        self.status = max(self.status, status_of(error))

    def note_other(self, path: str, number: int) -> None:
        """Count a record whose features cannot be read."""
        self._first_other = self._first_other or f"{shown(name_of(path))}:{number}"
        self._other_count += 1

    def name_others(self) -> None:
        """Report the records whose features could not be read."""
        if self._other_count:
            count = counted(self._other_count, "record")
            self.report.complain(
                f"warning: {count} left out: not a readable tf.train.Example; the first is "
                f"{self._first_other}"
            )
            self._other_count = 0

    # -- In sequence -----------------------------------------------------------------------------

    def _matching(self, files: Sequence[str]) -> Iterator[Block]:
        unmet = 0
        for block in self._all(files):
            if self.where is None:
                yield block
                continue
            unmet += len(block.records)
            kept = self._kept(block)
            if len(kept):
                unmet = -(2**63)
                numbers = [block.numbers[index] for index in kept.tolist()]
                yield Block(block.path, numbers, block.records.take(kept))
        if self.where is not None:
            self.name_others()
            if unmet > 0 and self._seen:
                self.name_unknown(self.where.names)

    def _kept(self, block: Block) -> NDArray[np.int64]:
        """Return the positions of the records that satisfy the condition."""
        assert self.where is not None
        masks: list[NDArray[np.bool_]] = []
        for piece in pieces(block.records, None if not self._seen else self.where.names):
            count, first = len(piece.records), sum(map(len, masks))
            if not piece.columns:
                for row, record in enumerate(piece.records):
                    if piece.columns is None or is_other(record):
                        self.note_other(block.path, block.numbers[first + row])
            if piece.columns is None:
                masks.append(np.zeros(count, np.bool_))
                continue
            self._see(piece.columns)
            masks.append(self._mask(block, first, piece.columns, count))
        return np.flatnonzero(np.concatenate(masks))

    def _mask(
        self, block: Block, first: int, columns: dict[str, Ragged], count: int
    ) -> NDArray[np.bool_]:
        """Evaluate the condition; name the record if it does not fit the kind of a feature."""
        assert self.where is not None
        try:
            return self.where.mask(columns, count)
        except WhereError as error:
            place = f"{shown(name_of(block.path))}:{block.numbers[first]}"
            raise Failure(f"--where: {place}: {error}", FINDING) from None

    def _all(self, files: Sequence[str]) -> Iterator[Block]:
        most = _BLOCK_RECORDS
        if self.limit is not None and self.where is None and not (self.sample or self.last):
            most = max(1, min(most, self.limit))
        if self.limit == 0:
            return
        for path in files:
            policy = "skip" if self.skip_damage else "raise"
            try:
                reader = reader_of(path, on_error=policy)
                try:
                    if self.span is None:
                        yield from _in_sequence(path, reader, most)
                    else:
                        yield from self._spanned(path, reader, most)
                finally:  # the caller may stop before the end
                    self._name_damage(path, reader.skipped)
            except (FastrecError, OSError) as error:
                if self.strict:
                    raise
                self.complain(error)

    def _name_damage(self, path: str, losses: Iterable[Skipped]) -> None:
        """Report the damage that was skipped."""
        for lost in losses:
            size = "the rest" if lost.size is None else f"{count_text(lost.size)} bytes"
            self.report.complain(f"damage: {shown(path)}: {size} lost: {damage_text(lost)}")
            self.status = max(self.status, FINDING)

    def _spanned(self, path: str, reader: Reader, most: int) -> Iterator[Block]:
        """Yield the records of `span`, by random access if that is possible without a pass."""
        assert self.span is not None
        start, stop, total = self.span.start, self.span.stop, 0
        if path != STDIN and not self.skip_damage:
            try:
                dataset = RecordFiles([path], shards="any").dataset()
                total = len(dataset)
                for block in _by_number(dataset, range(start, min(stop, total)), most):
                    yield block._replace(path=path)
                self._check_span(path, total)
                return
            except RandomAccessError:
                pass  # a compressed file is read in sequence
        for block in _in_sequence(path, reader, most):
            total = block.numbers[-1] + 1
            begin = bisect.bisect_left(block.numbers, start)
            end = bisect.bisect_left(block.numbers, stop)
            if begin < end:
                yield Block(path, block.numbers[begin:end], block.records[begin:end])
            if total >= stop:
                return
        self._check_span(path, total)

    def _check_span(self, path: str, total: int) -> None:
        """Report that the file has fewer records than the span requires."""
        assert self.span is not None
        if self.span.start < total:
            return
        self.report.complain(
            f"error: record {self.span.start} is out of range: "
            f"{shown(name_of(path))} has {counted(total, 'record')}, counted from 0"
        )
        self.status = max(self.status, FINDING)

    # -- At the end ------------------------------------------------------------------------------

    def _last(self, files: Sequence[str]) -> Iterator[Block]:
        """Yield the last `limit` records, by random access if that is possible without a pass."""
        assert self.limit is not None
        if self.where is None and self.span is None and not self.skip_damage and STDIN not in files:
            try:
                dataset = RecordFiles(files, shards="any").dataset()
                total = len(dataset)
                blocks = _by_number(dataset, range(max(total - self.limit, 0), total))
                first = next(blocks, None)
            except (FastrecError, OSError):
                pass  # reading in sequence reports the error, or reads a compressed file
            else:
                if first is not None:
                    yield first
                del first  # it may be as large as the next block
                yield from blocks
                return
        kept: deque[tuple[str, int, bytes]] = deque(maxlen=self.limit)
        for block in self._matching(files):
            pairs = zip(block.numbers, block.records, strict=True)
            kept.extend((block.path, number, record) for number, record in pairs)
        for path, number, record in kept:
            yield Block(path, [number], Bytes.from_list([record]))

    # -- At random -------------------------------------------------------------------------------

    def _sampled(self, files: Sequence[str]) -> Iterator[Block]:
        assert self.sample is not None
        draw = random.Random(self.seed)
        if self.where is None and not self.skip_damage and files and STDIN not in files:
            try:
                dataset = RecordFiles(files, shards="any").dataset()
                total = len(dataset)
                for index in sorted(draw.sample(range(total), min(self.sample, total))):
                    path, number = dataset.place_of(index)
                    records = dataset.take(np.array([index], np.uint64))
                    yield Block(os.fsdecode(path), [number], records)
                return
            except RandomAccessError:
                pass  # a compressed file is read once, in sequence
            except (FastrecError, OSError) as error:
                if self.strict:
                    raise
                self.complain(error)
                return
        kept: list[tuple[int, str, int, bytes]] = []
        order = 0
        for block in self._matching(files):
            for index, number in enumerate(block.numbers):
                place = order if order < self.sample else draw.randrange(order + 1)
                if place < self.sample:
                    item = (order, block.path, number, block.records[index])
                    kept[place : place + 1] = [item]
                order += 1
        for _, path, number, record in sorted(kept):
            yield Block(path, [number], Bytes.from_list([record]))

    def name_unknown(
        self, names: Iterable[str], known: Collection[str] = (), *, only_close: bool = False
    ) -> None:
        """Report the features that no record has, with similar names as hints."""
        known = known or self._seen
        unknown = set(names) - self._seen
        any_known = len(unknown) < len(set(names))
        for name in sorted(unknown):
            close = difflib.get_close_matches(name, sorted(known)[:_MOST_NAMES], 1)
            hint = f" (did you mean {shown(close[0])!r}?)" if close else ""
            which = "none of these records" if only_close else "no record"
            if close or not (only_close and any_known):
                self.report.complain(f"warning: {which} has a feature {shown(name)!r}{hint}")
