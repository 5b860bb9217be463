# SPDX-License-Identifier: Apache-2.0
"""Process blocks of records on the threads of a Batcher, after the native loader."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Arrays, Bytes, Ragged, take_rows
from ..errors import ExampleParseError, FastrecError, RandomAccessError
from ..features.image import encoded_images
from ..features.image_errors import reason
from ..images.augment import Augment
from ..parsing.sequence import SequenceParser
from ..records.byte_sources import check_rereadable
from ..records.recovery import Damage, skips_records
from ..threads.clock import lap
from .bucket_plans import BucketStep
from .buckets import Buckets
from .epoch_pass import Pass
from .iterator import Made
from .options import Options
from .packing import Packing, Step
from .planned import check_lengths
from .stream import EPOCH_BITS, Block

if TYPE_CHECKING:
    from .transform_processes import TransformProcesses

__all__ = ["NativeFeed", "Stage", "Steps"]

_HEAD = 32  # first records of a stream that are kept, to list their features


Failures = list[FastrecError]
Misfits = list[tuple[int, FastrecError]]  # number within the batch, error


class NativeFeed(Iterator[tuple[int, Any, int, Misfits]]):
    """Serial number, columns, rows and skipped records of each batch of a native loader."""

    def __init__(self, loader: _core.Loader) -> None:
        self._loader = loader

    def __next__(self) -> tuple[int, Any, int, Misfits]:
        loader = self._loader
        batch = next(loader)
        return loader.taken - 1, batch, loader.rows, loader.misfits

    @property
    def loader(self) -> _core.Loader:
        """The native loader."""
        return self._loader

    def close(self) -> None:
        """Close the native loader."""
        self._loader.close()

    interrupt = close  # also ends a wait for a batch on any thread


class Steps:
    """The steps of a Batcher's options: parse sequences, decode, augment, bucket, transform.

    The key of an image combines the number of its record with the pass over its source. The pass is
    the epoch, or in a mixture the number of earlier passes over the source.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._is_batching = (
            options.buckets is not None or options.packing is not None or options.batch_size is None
        )
        self.images: Final = options.images
        # The number of batches in use at a time: the ring, and two with the consumer.
        self._spares = {
            name: _core.Spares(options.depth + 2) for part in self.images for name in part
        }
        self._processes: TransformProcesses | None = None
        if options.transform is not None and options.transform_workers:
            from .transform_processes import TransformProcesses

            self._processes = TransformProcesses(
                options.transform, options.transform_workers, options.depth + 2
            )
        self.sequences: SequenceParser | None = None
        if options.sequences is not None:
            self.sequences = SequenceParser(
                encoded_images(options.sequences.context),
                encoded_images(options.sequences.sequence),
                skips=skips_records(options.on_error),
            )

    def begin(self) -> None:
        """Check before a pass whether its steps can run in this process."""
        if self._processes is not None:
            self._processes.begin()

    def close(self) -> None:
        """End the worker processes of the transform."""
        if self._processes is not None:
            self._processes.close()

    @property
    def need_keys(self) -> bool:
        """Whether the steps need the record number of each row."""
        return bool(any(self.images) or self._options.augment or self.sequences)

    @property
    def are_none(self) -> bool:
        """Whether the list of steps is empty: the parsed columns are the batches."""
        dealt = self._options.transform or self._options.buckets or self._options.batch_size is None
        return not dealt and not self.need_keys

    def change(self, columns: Any, keys: Any, run: Pass, failures: Failures) -> Any:
        """Parse sequences, or decode and augment images.

        If the pass skips records, a record that fails is skipped, and its error is added to
        `failures`. Otherwise the first error is raised.
        """
        parts: tuple[Any, ...] = (columns,)
        if self.sequences is not None:
            parts, keys = self._parse_sequences(columns, keys, run, failures)
            lap("parse")
        bad = self._decode(parts, keys, run)
        if any(self.images):
            lap("decode")
        if bad:
            kept = np.array([row for row in range(len(keys)) if row not in bad], np.int64)
            parts = tuple(
                {name: take_rows(column, kept) for name, column in part.items()} for part in parts
            )
            keys = keys[kept]
            failures += [bad[row] for row in sorted(bad)]
        if self.sequences is not None:
            return parts
        columns = parts[0]
        for name, augment in (self._options.augment or {}).items() if len(keys) else ():
            columns[name] = _augmented(name, augment, columns[name], keys, run)
            lap("augment")
        return columns

    def _decode(self, parts: tuple[Any, ...], keys: Any, run: Pass) -> dict[int, FastrecError]:
        """Decode images in place; return the errors of skipped rows."""
        bad: dict[int, FastrecError] = {}
        for columns, images in zip(parts, self.images, strict=False):
            for name, feature in images.items():

                def failed(row: int, error: Exception, name: str = name) -> None:
                    problem = f"feature {name!a}: {reason(error)}"
                    failure = _failure(run, keys[row], problem, "image")
                    if not run.ordering.may_skip:
                        raise failure from error
                    bad.setdefault(row, failure)

                columns[name] = feature._decoder.decode(
                    columns[name], keys, run.spec.seed, failed, self._spares[name]
                )
        return bad

    def _parse_sequences(
        self, records: Any, keys: Any, run: Pass, failures: Failures
    ) -> tuple[tuple[Any, ...], Any]:
        """Return the columns of SequenceExamples, and the keys of their rows."""
        assert self.sequences is not None
        misfits: Misfits | None = [] if run.ordering.may_skip else None
        try:
            columns = self.sequences(records, misfits)
        except ExampleParseError as error:
            raise _located(error, keys, run) from None
        failures += [_located(error, keys, run) for _, error in misfits or ()]
        return columns, np.delete(keys, [row for row, _ in misfits or ()])

    def token_lists(self, records: Any, keys: Any, run: Pass) -> dict[str, Ragged]:
        """Return the feature lists of SequenceExamples with one number per frame."""
        (_, lists, lengths), _ = self._parse_sequences(records, keys, run, [])
        columns = {}
        for name, padded in lists.items():
            counts = lengths[name]
            values = padded[np.arange(padded.shape[1]) < counts[:, None]]
            columns[name] = Ragged(values, np.concatenate([[0], np.cumsum(counts)]))
        return columns

    def finish(self, columns: Any, rows: int) -> list[Any]:
        """Return the batches made from the columns of a block of `rows` rows."""
        if not rows:
            return []
        options = self._options
        batches = [columns]
        if options.buckets is not None:
            size, drop = options.batch_size or 1, options.drop_remainder
            batches = options.buckets._deal(columns, size, drop)
        elif options.batch_size is None:
            batches = list(_rows(columns))
        return self.transformed(batches)

    def transformed(self, batches: list[Any]) -> list[Any]:
        """Return the results of the caller's transform, or the batches without one."""
        if self._is_batching:
            lap("batching")
        if self._processes is not None:
            batches = self._processes(batches)
            lap("transform")
        elif self._options.transform is not None:
            batches = [self._options.transform(batch) for batch in batches]
            lap("transform")
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


def _place(run: Pass, key: Any) -> tuple[int, Any, int | None]:
    """Return number, file and offset of a record."""
    path, record, offset = run.ordering.position_of(int(key) % 2**EPOCH_BITS, run.chain)
    return record, path or None, offset


def _failure(run: Pass, key: Any, problem: str, kind: str) -> ExampleParseError:
    return ExampleParseError(problem, kind=kind).in_record(*_place(run, key))


def _located(error: Any, keys: Any, run: Pass) -> Any:
    """Convert an error about a row of a block to an error about the record of a file."""
    if error.record is None:
        return error
    return error.in_record(*_place(run, keys[error.record]))


class Stage:
    """Converts blocks of one pass to batches with positions.

    Parameters
    ----------
    run : Pass
    schema : Schema
        The schema for parsing.
    steps : Steps
    """

    def __init__(self, run: Pass, schema: _core.Schema, steps: Steps) -> None:
        self._run = run
        self._schema = schema
        self._steps = steps
        self._has_steps = run.has_steps
        self._head: list[bytes] = []  # the first records of a stream

    def native(self, numbered: tuple[int, Any, int, Misfits]) -> Made:
        """Return the batches of a block that the native loader has parsed."""
        serial, columns, rows, misfits = numbered
        failures = [error for _, error in misfits]
        if self._steps.need_keys:
            numbers, columns = columns
            passes = np.delete(self._run.native.passes(serial), [row for row, _ in misfits])  # type: ignore[arg-type]
            keys = numbers + (passes % np.uint64(2**24) << np.uint64(EPOCH_BITS))
            columns = self._steps.change(columns, keys, self._run, failures)
            rows -= len(failures) - len(misfits)
        batches = self._steps.finish(columns, rows)
        if self._has_steps:  # the number of delivered batches determines the position
            return Made(batches, self._run.start.position, self._run.start.position, rows, failures)
        at, then = self._run.find_block(serial), self._run.find_block(serial + 1)
        return Made(batches, at, then, rows, failures)

    def fetched(self, fetched: tuple[int, NDArray[np.uint64], Bytes]) -> Made:
        """Parse a block of remote records, and return its batches."""
        serial, numbers, records = fetched
        columns, numbers, misfits = self._parse(records, numbers)
        given = (numbers, columns) if self._steps.need_keys else columns
        return self.native((serial, given, len(numbers), misfits))

    def streamed(self, block: Block) -> Made:
        """Parse a block of a stream, and return its batches."""
        self._head = self._head or block.records[:_HEAD]
        keys = np.array(block.keys, np.uint64)
        columns, keys, misfits = self._parse(block.records, keys)
        failures = [error for _, error in misfits]
        if self._steps.need_keys:
            columns = self._steps.change(columns, keys, self._run, failures)
        rows = len(block.keys) - len(failures)
        return Made(self._steps.finish(columns, rows), block.at, block.then, rows, failures)

    def packed(self, packing: Packing, step: Step) -> Made:
        """Read the documents of some planned rows, and return their batch."""
        columns = self._read(step.numbers)
        if self._steps.sequences is not None:
            columns = self._steps.token_lists(columns, step.numbers, self._run)
        packing._check_batch(self._run.ordering, step, columns)
        batch = packing._batch(columns, step.segments, step.splits, len(step.numbers))
        return self._delivered(batch, len(step.splits) - 1)

    def bucketed(self, buckets: Buckets, step: BucketStep) -> Made:
        """Read and pad some planned records, and return their batch."""
        columns = self._read(step.numbers)
        check_lengths(
            self._run.ordering, step.numbers, step.lengths, columns[buckets.by].row_lengths
        )
        rows = len(step.numbers)
        batch = buckets._pad_batch(columns, np.arange(rows), step.bucket)
        return self._delivered(batch, rows)

    def _read(self, numbers: NDArray[np.uint64]) -> Any:
        """Return the columns of records, selected by number."""
        dataset = self._run.ordering.dataset
        if isinstance(dataset, _core.Dataset) and self._schema.parses:
            columns = self._schema.gather(dataset, numbers)
            lap("parse")
            return columns
        records = dataset.take(numbers)
        lap("parse" if isinstance(dataset, _core.Dataset) else "storage")
        return self._parse(records, numbers)[0]

    def _delivered(self, batch: Any, rows: int) -> Made:
        """Return a planned batch; the number of delivered batches determines its position."""
        at = self._run.start.position
        return Made(self._steps.transformed([batch]), at, at, rows, [])

    def sample(self, count: int) -> tuple[list[bytes], NDArray[np.uint64] | None]:
        """Return some records from all parts of the source, and their numbers.

        For a stream, return its first records and None.
        """
        if self._run.ordering.streams:
            return self._head, None
        ordering = self._run.ordering
        return ordering.valid(ordering.spread(count))

    def is_any_usable(self) -> bool:
        """Return whether any record of the source is usable, also outside this shard.

        Records by number are represented by a sample; a stream is read again until a record is
        usable. If a stream can be read only once, its other shards count as usable.
        """
        ordering = self._run.ordering
        if ordering.streams:
            return self._is_any_streamed_usable()
        return any(self.usable(*ordering.valid(numbers)) for numbers in ordering.samples())

    def _is_any_streamed_usable(self) -> bool:
        files = self._run.ordering.files
        try:
            check_rereadable(files, "")
        except RandomAccessError:
            return self._run.spec.shard[1] > 1
        damage = Damage("skip", None, {})
        records = _core.RecordChain(copy.copy(files).readers(damage))
        first = 0
        while block := list(islice(records, _HEAD)):
            if self.usable(block, np.arange(first, first + len(block), dtype=np.uint64)):
                return True
            first += len(block)
        return False

    def usable(self, records: Any, numbers: NDArray[np.uint64]) -> int:
        """Return the number of usable records among some records."""
        columns, keys, misfits = self._parse(records, numbers)
        failures = [error for _, error in misfits]
        if self._steps.need_keys:
            self._steps.change(columns, keys, self._run, failures)
        return len(numbers) - len(failures)

    def _parse(
        self, records: list[bytes] | Bytes, keys: NDArray[np.uint64]
    ) -> tuple[Any, NDArray[np.uint64], Misfits]:
        """Return columns, the keys of their rows, and the skipped records."""
        if isinstance(records, Bytes):
            size = int(records.offsets[-1] - records.offsets[0])
        else:
            size = sum(map(len, records))
        if not self._schema.parses:
            records = records if isinstance(records, Bytes) else Bytes.from_list(records)
            lap("parse", size)
            return records, keys, []
        misfits: Misfits = []
        try:
            columns = self._schema.parse(records, misfits=misfits)
        except ExampleParseError as error:
            raise _located(error, keys, self._run) from None
        lap("parse", size)
        located: Misfits = [(row, _located(error, keys, self._run)) for row, error in misfits]
        return columns, np.delete(keys, [row for row, _ in misfits]), located


def _rows(columns: Any) -> Iterator[Any]:
    """Yield single records, like parse_single_example and parse_single_sequence_example."""
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
