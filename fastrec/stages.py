# SPDX-License-Identifier: Apache-2.0
"""What the threads of a Batcher do with a block of records, beyond what the native loader does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from .arrays import Bytes
from .batches import Made
from .state import Position
from .streams import Block

__all__ = ["NativeFeed", "Stage"]


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
    """Blocks into batches: parsed where that is not done yet, transformed.

    Parameters
    ----------
    schema : Schema
        What is parsed.
    transform : callable or None
        Applied to each batch.
    epoch_blocks : callable
        The blocks of an epoch, or 0 where epochs are not told apart.
    """

    def __init__(
        self,
        schema: _core.Schema,
        transform: Callable[[Any], Any] | None,
        epoch_blocks: Callable[[], int],
    ) -> None:
        self._schema = schema
        self._transform = transform
        self._epoch_blocks = epoch_blocks

    def native(self, numbered: tuple[int, Any]) -> Made:
        """A batch that the native loader has parsed."""
        serial, columns = numbered
        blocks = self._epoch_blocks()
        at = Position(*divmod(serial, blocks)) if blocks else Position(0, serial)
        then = Position(*divmod(serial + 1, blocks)) if blocks else Position(0, serial + 1)
        return Made(self._finish(columns), at, then)

    def streamed(self, block: Block) -> Made:
        """The records of a batch, from a stream."""
        columns = self.parse(block.records)
        return Made(self._finish(columns), block.at, block.at._replace(block=block.at.block + 1))

    def parse(self, records: list[bytes]) -> Any:
        return self._schema.parse(records) if self._schema.parses else Bytes.from_list(records)

    def _finish(self, columns: Any) -> list[Any]:
        return [columns if self._transform is None else self._transform(columns)]
