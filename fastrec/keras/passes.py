# SPDX-License-Identifier: Apache-2.0
"""The passes over a Batcher that Keras makes, and the parts of a batch that a model receives."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .. import Batcher

__all__ = ["Columns", "Passes", "Selection", "State"]

Columns = str | Sequence[str] | Mapping[str, str] | None
State = dict[str, Any]


class Selection:
    """The parts of a batch that a model receives.

    Parameters
    ----------
    x, y, sample_weight
        As in :func:`dataset`.
    """

    def __init__(self, x: Columns, y: Columns, sample_weight: Columns) -> None:
        self._x, self._y, self._weight = x, y, sample_weight
        self.is_whole: bool = x is None and y is None and sample_weight is None
        if x is None and sample_weight is not None and y is None:
            raise ValueError("sample_weight requires y")

    def __call__(self, batch: Any) -> Any:
        """Return ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``; or the batch as it is."""
        if self.is_whole:
            return batch
        if not isinstance(batch, Mapping):
            raise TypeError(
                f"x, y and sample_weight name columns, but a batch is a {type(batch).__name__}: "
                "leave them out, and have the transform return (x, y)"
            )
        used = {*_names(self._y), *_names(self._weight)}
        x = [name for name in batch if name not in used] if self._x is None else self._x
        parts = [_picked(batch, x)]
        if self._y is not None:
            parts.append(_picked(batch, self._y))
        if self._weight is not None:
            parts.append(_picked(batch, self._weight))
        return tuple(parts)


def _names(columns: Columns) -> list[str]:
    if columns is None:
        return []
    if isinstance(columns, str):
        return [columns]
    return list(columns.values()) if isinstance(columns, Mapping) else list(columns)


def _picked(batch: Mapping[str, Any], columns: Any) -> Any:
    missing = [name for name in _names(columns) if name not in batch]
    if missing:
        raise KeyError(f"no column {missing[0]!r}: the columns are {', '.join(map(repr, batch))}")
    if isinstance(columns, str):
        return batch[columns]
    if isinstance(columns, Mapping):
        return {name: batch[column] for name, column in columns.items()}
    return {name: batch[name] for name in columns}


class Passes:
    """The batches of each Keras epoch, counted, with the Batcher's state after each of them.

    Parameters
    ----------
    batcher : Batcher
    select : Selection
    steps : int, optional
        Number of batches of a Keras epoch, if it differs from an epoch of the Batcher.
    """

    def __init__(self, batcher: Batcher, select: Selection, steps: int | None) -> None:
        if steps is None:
            if batcher._options.epochs is None:
                raise ValueError("a Batcher with epochs=None requires steps_per_epoch=")
            try:
                steps_of_epoch = len(batcher)
            except TypeError:
                raise ValueError(
                    "the number of batches of a stream, or with buckets, is unknown: it requires "
                    "steps_per_epoch="
                ) from None
        else:
            steps_of_epoch = steps
        if steps_of_epoch < 1:
            raise ValueError(f"an epoch must have at least 1 batch, got {steps_of_epoch}")
        self.batcher: Final = batcher
        self.select: Final = select
        self.steps: int | None = steps
        self.length = steps_of_epoch
        self.done: int = 0  # batches of the Keras epoch that a run before the resumed one has used
        self.serial: int = 0  # number of the pass that was begun last
        self.delivered: int = 0  # batches of that pass
        self.is_tracked = False
        self._expected = 0  # batches of that pass; 0 if it does not matter whether it was used up
        self._start: tuple[State, int] = ({}, 0)  # where that pass began
        self._states: deque[tuple[int, int, State]] = deque()
        self._stream: Any = None

    @property
    def left(self) -> int:
        """Batches of the Keras epoch that comes next."""
        return self.length - self.done

    def begin(self) -> Iterator[Any]:
        """Begin a Keras epoch.

        Keras takes a batch of an epoch that it does not train on, in order to build a model, and
        discards the iterator. The epoch then begins again.
        """
        if self.delivered < self._expected:
            self.resume(*self._start)
        self._start, self._expected = (self._state(), self.done), self.left
        self.serial += 1
        self.delivered = 0
        self._states.clear()
        left, self.done = self.left, 0
        return self._epoch(self.serial, left)

    def _epoch(self, serial: int, left: int) -> Iterator[Any]:
        count = 0
        for batch in itertools.islice(self._unending() if self.steps else self._one(), left):
            count += 1
            if serial == self.serial:
                self.delivered += 1
                if self.is_tracked:
                    self._states.append((serial, self.delivered, self._stream.state_dict()))
            yield batch
        if count < left:
            raise ValueError(
                f"an epoch must have {self.length} batches, got {self.length - left + count}: if "
                "damaged records are skipped, pass steps_per_epoch= to fastrec.keras.dataset()"
            )

    def _one(self) -> Iterator[Any]:
        self._stream = iter(self.batcher)
        yield from self._stream

    def _unending(self) -> Iterator[Any]:
        empty = 0
        while empty < 2:
            if self._stream is None:
                self._stream = iter(self.batcher)
            for batch in self._stream:
                empty = -1
                yield batch
            self._stream = None
            empty += 1
        raise ValueError("the Batcher has no batches")

    def state_after(self, count: int) -> State:
        """Return the Batcher's state after `count` batches of the pass that was begun last."""
        while self._states and self._states[0][1] < count:
            self._states.popleft()
        if not self._states:
            raise ValueError(f"batch {count} of this epoch has not been delivered yet")
        return self._states[0][2]

    def _state(self) -> State:
        """Return the state before the next batch."""
        if self.steps is not None and self._stream is not None and self._stream.is_live:
            return self._stream.state_dict()  # type: ignore[no-any-return]
        batcher = self.batcher
        return batcher._order.describe(batcher._next, batcher._shard()[1])

    def begin_epoch(self, epoch: int) -> None:
        """Have the next pass be the Batcher's epoch of this number, unless `steps` is set."""
        if self.steps is None:
            self._expected = 0
            self.batcher.set_epoch(epoch)

    def end_epoch(self, epoch: int) -> State:
        """Return the state at the start of the next Keras epoch."""
        self.begin_epoch(epoch + 1)
        return self._state()

    def resume(self, state: State, done: int) -> None:
        """Continue with the next batch after a state, `done` batches into a Keras epoch."""
        self.batcher.load_state_dict(state)
        self._stream = None
        self._expected = 0
        self.done = done
