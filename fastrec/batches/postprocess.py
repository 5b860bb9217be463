# SPDX-License-Identifier: Apache-2.0
"""Steps that the threads of a Batcher take on a block of records after the native loader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Arrays, Bytes, take_rows
from ..errors import ExampleParseError
from ..features.image import reason
from ..images.augment import Augment
from ..parsing.sequence import SequenceParser
from ..records.recovery import Damage
from .iterator import Made
from .options import Options
from .order import Pass
from .stream import EPOCH_BITS, Block

__all__ = ["NativeFeed", "Stage", "Steps"]

Parse = Callable[[Any], Any]


class NativeFeed(Iterator[tuple[int, Any]]):
    """A native loader whose batches come with their serial numbers."""

    def __init__(self, loader: _core.Loader) -> None:
        self._loader = loader
        self._serial = 0

    def __next__(self) -> tuple[int, Any]:
        batch = next(self._loader)
        self._serial += 1
        return self._serial - 1, batch

    def close(self) -> None:
        self._loader.close()

    interrupt = close  # also ends a wait for a batch, in whatever thread


class Steps:
    """Steps of a Batcher's options: parse sequences, decode, augment, deal out, transform.

    An image's key is its record's number with the pass over its source above it: the epoch, or in
    a mixture how often the source was through before.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self.images = options.images
        # As many as are in hand at once: in the ring, and two with the consumer.
        self._spares = {name: _core.Spares(options.depth + 2) for name in self.images}
        self.sequences: SequenceParser | None = None
        if options.sequences is not None:
            self.sequences = SequenceParser(options.sequences.context, options.sequences.sequence)

    @property
    def need_keys(self) -> bool:
        """Whether they need the record number of each row."""
        return bool(self.images or self._options.augment or self.sequences)

    @property
    def are_none(self) -> bool:
        """Whether there are no steps: columns are batches as they are."""
        dealt = self._options.transform or self._options.buckets or self._options.batch_size is None
        return not dealt and not self.need_keys

    def change(self, columns: Any, keys: Any, run: Pass, damage: Damage | None) -> Any:
        """Parse sequences, or decode and augment images; None where no record is left.

        `damage` decides about images that cannot be decoded; None raises the first error.
        """
        if self.sequences is not None:
            try:
                return self.sequences(columns)
            except ExampleParseError as error:
                raise _located(error, keys, run) from None
        bad: set[int] = set()
        for name, feature in self.images.items():

            def failed(row: int, error: Exception, name: str = name) -> None:
                failure = _failure(run, keys[row], f"feature {name!a}: {reason(error)}", "image")
                if damage is None:
                    raise failure from error
                damage.leave_out(failure)
                bad.add(row)

            columns[name] = feature.decode_rows(
                columns[name], keys, run.spec.seed, failed, self._spares[name]
            )
        if bad:
            kept = np.array([row for row in range(len(keys)) if row not in bad], np.int64)
            if not len(kept):
                return None
            columns = {name: take_rows(column, kept) for name, column in columns.items()}
            keys = keys[kept]
        for name, augment in self._options.augment.items():
            columns[name] = _augmented(name, augment, columns[name], keys, run)
        return columns

    def finish(self, columns: Any) -> list[Any]:
        """The batches that the columns of a block become; none of None."""
        if columns is None:
            return []
        options = self._options
        batches = [columns]
        if options.buckets is not None:
            size, drop = options.batch_size or 1, options.drop_remainder
            batches = options.buckets.deal(columns, size, drop)
        elif options.batch_size is None:
            batches = list(_rows(columns))
        if options.transform is not None:
            batches = [options.transform(batch) for batch in batches]
        return batches


def _augmented(name: str, augment: Augment, images: Any, keys: Any, run: Pass) -> Any:
    if not isinstance(images, Arrays):
        return augment(images, keys, run.spec.seed)
    made = []
    for row in range(len(images)):
        try:
            made.append(augment(images[row : row + 1], keys[row : row + 1], run.spec.seed))
        except ValueError as error:
            raise _failure(run, keys[row], f"augment of {name!a}: {error}", "image") from error
    return np.concatenate(made)


def _failure(run: Pass, key: Any, problem: str, kind: str) -> ExampleParseError:
    path, record, offset = run.ordering.position_of(int(key) % 2**EPOCH_BITS)
    where = f" in {os.fsdecode(path)!a}" if path else ""
    failure = ExampleParseError(f"record {record}{where}: {problem}")
    failure.kind, failure.record, failure.offset = kind, record, offset
    failure.path = os.fsdecode(path) if path else None
    return failure


def _located(error: ExampleParseError, keys: Any, run: Pass) -> ExampleParseError:
    """An error about a row of a block as one about the record of a file."""
    if error.record is None:
        return error
    problem = str(error).removeprefix(f"record {error.record}: ")
    return _failure(run, keys[error.record], problem, error.kind)


class Stage:
    """Blocks of one pass into batches that know where they are.

    Parameters
    ----------
    run : Pass
    schema : Schema
        What is parsed.
    steps : Steps
    """

    def __init__(self, run: Pass, schema: _core.Schema, steps: Steps) -> None:
        self._run = run
        self._schema = schema
        self._steps = steps
        self._has_steps = run.has_steps
        self._damage = run.ordering.files.policy()

    def native(self, numbered: tuple[int, Any]) -> Made:
        """Batches of a block that the native loader has parsed."""
        serial, columns = numbered
        if self._steps.need_keys:
            numbers, columns = columns
            passes = self._run.native.passes(serial) % np.uint64(2**24)  # type: ignore[operator]
            keys = numbers + (passes << np.uint64(EPOCH_BITS))
            columns = self._steps.change(columns, keys, self._run, self._damage)
        batches = self._steps.finish(columns)
        if self._has_steps:  # the number of batches delivered says where it stands
            return Made(batches, self._run.start.position, self._run.start.position)
        return Made(batches, self._run.find_block(serial), self._run.find_block(serial + 1))

    def fetched(self, fetched: tuple[int, NDArray[np.uint64], Bytes]) -> Made:
        """Batches of a block of remote records, parsed here."""
        serial, numbers, records = fetched
        try:
            columns = self._schema.parse(records) if self._schema.parses else records
        except ExampleParseError as error:
            raise _located(error, numbers, self._run) from None
        return self.native((serial, (numbers, columns) if self._steps.need_keys else columns))

    def streamed(self, block: Block) -> Made:
        """Batches of a block of a stream, parsed here."""
        try:
            columns = self._parse(block.records)
        except ExampleParseError as error:
            raise _located(error, block.keys, self._run) from None
        if self._steps.need_keys:
            keys = np.array(block.keys, np.uint64)
            columns = self._steps.change(columns, keys, self._run, self._damage)
        return Made(self._steps.finish(columns), block.at, block.then)

    def _parse(self, records: list[bytes]) -> Any:
        return self._schema.parse(records) if self._schema.parses else Bytes.from_list(records)


def _rows(columns: Any) -> Iterator[Any]:
    """Single records, as parse_single_example and parse_single_sequence_example give them."""
    if isinstance(columns, Bytes):
        yield from columns
        return
    context, lists, lengths = columns if isinstance(columns, tuple) else (columns, {}, {})
    for row in range(len(next(iter({**context, **lists}.values())))):
        single = {key: column[row] for key, column in context.items()}
        if not isinstance(columns, tuple):
            yield single
            continue
        frames = {key: column[row] for key, column in lists.items()}
        yield single, frames | {key: frames[key][: lengths[key][row]] for key in lengths}
