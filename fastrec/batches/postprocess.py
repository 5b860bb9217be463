# SPDX-License-Identifier: Apache-2.0
"""What the threads of a Batcher do with a block of records, beyond what the native loader does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import _core
from ..columns import Arrays, Bytes, take_rows
from ..errors import ExampleParseError
from ..features.image import ImageFeature, reason
from ..images.augment import Augment
from ..records.recovery import Damage
from .buckets import Buckets
from .checkpoint import Position
from .iterator import Made
from .stream import EPOCH_BITS, Block

__all__ = ["Maker", "NativeFeed", "Painter", "Stage"]


class NativeFeed(Iterator[tuple[int, Any]]):
    """A native loader whose batches come with their serial numbers."""

    def __init__(self, loader: _core.Loader, serial: int) -> None:
        self._loader = loader
        self._serial = serial

    def __next__(self) -> tuple[int, Any]:
        batch = next(self._loader)
        self._serial += 1
        return self._serial - 1, batch

    def close(self) -> None:
        self._loader.close()

    interrupt = close  # also ends a wait for a batch, in whatever thread


class Stage:
    """Blocks into batches, which know where they are; parsed, where that is not done yet.

    Parameters
    ----------
    schema : Schema
        What is parsed.
    make : callable
        What a block is made into: a list of batches.
    epoch_blocks : callable
        The blocks of an epoch, or 0 where epochs are not told apart.
    """

    def __init__(
        self,
        schema: _core.Schema,
        make: Callable[[Any], list[Any]],
        epoch_blocks: Callable[[], int],
        paint: Painter | None = None,
    ) -> None:
        self._schema = schema
        self._paint = paint
        self._make = make
        self._epoch_blocks = epoch_blocks

    def native(self, numbered: tuple[int, Any]) -> Made:
        """A batch that the native loader has parsed."""
        serial, columns = numbered
        blocks = self._epoch_blocks()
        at = Position(*divmod(serial, blocks)) if blocks else Position(0, serial)
        if self._paint is not None:
            numbers, columns = columns
            columns = self._paint(columns, self._paint.keys(numbers, serial))
        then = Position(*divmod(serial + 1, blocks)) if blocks else Position(0, serial + 1)
        return Made([] if columns is None else self._make(columns), at, then)

    def streamed(self, block: Block) -> Made:
        """The records of a batch, from a stream."""
        try:
            columns = self.parse(block.records)
        except ExampleParseError as error:
            raise _of_stream(error, block) from None
        if self._paint is not None:
            columns = self._paint(columns, np.array(block.keys, np.uint64))
        made = [] if columns is None else self._make(columns)
        return Made(made, block.at, block.at._replace(block=block.at.block + 1))

    def parse(self, records: list[bytes]) -> Any:
        return self._schema.parse(records) if self._schema.parses else Bytes.from_list(records)


def _of_stream(error: ExampleParseError, block: Block) -> ExampleParseError:
    """An error about a row of a block as one about the record of the stream."""
    if error.record is None:
        return error
    record = block.keys[error.record] % 2**EPOCH_BITS
    problem = str(error).removeprefix(f"record {error.record}: ")
    located = ExampleParseError(f"record {record}: {problem}")
    located.kind, located.record = error.kind, record
    return located


class Painter:
    """Decodes and changes the images of a batch.

    An image's key is its record's number with the pass over its source above it: the epoch, or in
    a mixture how often the source was through before.

    Parameters
    ----------
    position : callable
        Path, number within the file and offset of a record, by its number.
    passes : callable
        Those of the records of a native batch, by its serial number.
    damage : Damage, optional
        Decides about images that cannot be decoded; None raises the first error.
    """

    def __init__(
        self,
        images: Mapping[str, ImageFeature],
        augment: Mapping[str, Augment],
        seed: int,
        position: Callable[[int], tuple[Any, int, int | None]],
        passes: Callable[[int], Any],
        damage: Damage | None,
    ) -> None:
        self._images = images
        self._augment = augment
        self._seed = seed
        self._position = position
        self._passes = passes
        self._damage = damage

    def keys(self, numbers: Any, serial: int) -> Any:
        """Of the records of a block that the native loader made."""
        passes = self._passes(serial) % np.uint64(2**24)
        return numbers + (passes << np.uint64(EPOCH_BITS))

    def __call__(self, columns: dict[str, Any], keys: Any) -> dict[str, Any] | None:
        """Change the columns; None where no record is left."""
        bad: set[int] = set()
        for name, feature in self._images.items():

            def failed(row: int, error: Exception, name: str = name) -> None:
                failure = self._located(keys[row], f"feature {name!a}: {reason(error)}")
                if self._damage is None:
                    raise failure from error
                self._damage.leave_out(failure)
                bad.add(row)

            columns[name] = feature.decode_rows(columns[name], keys, self._seed, failed)
        if bad:
            kept = np.array([row for row in range(len(keys)) if row not in bad], np.int64)
            if not len(kept):
                return None
            columns = {name: take_rows(column, kept) for name, column in columns.items()}
            keys = keys[kept]
        for name, augment in self._augment.items():
            columns[name] = self._augmented(name, augment, columns[name], keys)
        return columns

    def _augmented(self, name: str, augment: Augment, images: Any, keys: Any) -> Any:
        if not isinstance(images, Arrays):
            return augment(images, keys, self._seed)
        made = []
        for row in range(len(images)):
            try:
                made.append(augment(images[row : row + 1], keys[row : row + 1], self._seed))
            except ValueError as error:
                raise self._located(keys[row], f"augment of {name!a}: {error}") from error
        return np.concatenate(made)

    def _located(self, key: Any, problem: str) -> ExampleParseError:
        path, record, offset = self._position(int(key) % 2**EPOCH_BITS)
        where = f" in {os.fsdecode(path)!a}" if path else ""
        failure = ExampleParseError(f"record {record}{where}: {problem}")
        failure.kind, failure.record, failure.offset = "image", record, offset
        failure.path = os.fsdecode(path) if path else None
        return failure


class Maker:
    """What becomes of the columns of a block: rows, or buckets, or the one batch that they are."""

    def __init__(
        self,
        transform: Callable[[Any], Any] | None,
        buckets: Buckets | None,
        batch_size: int | None,
        drop_remainder: bool,
    ) -> None:
        self._transform = transform
        self._buckets = buckets
        self._batch_size = batch_size
        self._drop = drop_remainder

    @property
    def is_idle(self) -> bool:
        """Whether columns are batches as they are."""
        return self._transform is None and self._buckets is None and self._batch_size is not None

    def __call__(self, columns: Any) -> list[Any]:
        batches = [columns]
        if self._buckets is not None:
            batches = self._buckets.deal(columns, self._batch_size or 1, self._drop)
        elif self._batch_size is None:
            batches = list(_rows(columns))
        if self._transform is not None:
            batches = [self._transform(batch) for batch in batches]
        return batches


def _rows(columns: Any) -> Iterator[Any]:
    """Single records, as parse_single_example gives them."""
    if isinstance(columns, Bytes):
        yield from columns
        return
    count = len(next(iter(columns.values())))
    for row in range(count):
        yield {key: column[row] for key, column in columns.items()}
