# SPDX-License-Identifier: Apache-2.0
"""The ``shuffle`` of datasets: elements drawn from a buffer."""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fastrec
from fastrec.batches.shuffle_buffer import ring_shuffled
from fastrec.errors import FastrecError

from ..errors import invalid
from ..record_errors import data_error
from ..seeds import SeedSource
from ..tracing.rules import enabled
from ..width import AHEAD, READ_BYTES
from .mapping import Map
from .pipeline import UNKNOWN, Stage
from .sources import Slices, plain_files
from .streams import Attempted, Each, Pull, Rows, Value, chunks_of, flattened


class Shuffle(Stage):
    """Stage that draws elements from a buffer, with TensorFlow's random numbers."""

    def __init__(self, stage: Stage, size: int, seed: int | None, reshuffle: bool) -> None:
        super().__init__(stage)
        if size == UNKNOWN:  # number of all elements
            size = sys.maxsize
        if size < 1:
            raise invalid("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        self._size, self._seeds = size, SeedSource(seed, reshuffle)

    def _shuffled(self, items: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Iterate over `items()` in a new order.

        As in TensorFlow, this draws its seeds at the start, and begins the iteration over its input
        with the first element. So all uses of a dataset draw their seeds in TensorFlow's order.
        """
        seeds = self._seeds()
        return ring_shuffled(flattened(items() for _ in range(1)), self._size, lambda: seeds)

    def spend_seeds(self) -> None:
        self._seeds()
        super().spend_seeds()

    @property
    def shuffles(self) -> bool:
        return True

    def _may_run_ahead(self) -> bool:
        return self.pure and self._with_maps_last.runs_ahead

    @functools.cached_property
    def _with_maps_last(self) -> Stage:
        """The stages in an order where elements are shuffled before they are mapped."""
        stage = self.inputs[0]
        maps: list[Map] = []
        while isinstance(stage, Map):  # shuffling before an element-wise map is equivalent
            maps.append(stage)
            stage = stage.inputs[0]
        source: Stage = _Reordered(stage, self._shuffled)
        for each in reversed(maps):
            source = each.over(source)
        return source

    def start(self, ask: int) -> Pull:
        if enabled("shuffle first") and self.runs_ahead:
            return self._with_maps_last.start(ask)
        return Each(self._shuffled(self.inputs[0].elements))


class _Reordered(Stage):
    """Stage that reorders its input's elements."""

    def __init__(
        self, stage: Stage, reorder: Callable[[Callable[[], Iterator[Any]]], Iterator[Any]]
    ) -> None:
        super().__init__(stage)
        self._reorder = reorder

    def _may_run_ahead(self) -> bool:
        return super()._may_run_ahead() or self._is_picked()

    def _is_picked(self) -> bool:
        return isinstance(self.inputs[0], Slices) and self.inputs[0].is_array

    def start(self, ask: int) -> Pull:
        stage = self.inputs[0]
        if isinstance(stage, Slices) and stage.is_array:
            return self._picked(stage, ask)
        paths = plain_files(stage)
        pull = None if paths is None else self._read(paths, ask)
        return pull or Each(self._reorder(stage.elements))

    def _read(self, paths: list[str], ask: int) -> Pull | None:
        """Read records in the order of their shuffled numbers, so that the buffer holds numbers.

        Return None if the files are damaged.
        """
        reader = fastrec.Reader(paths, index=False)
        try:
            total = len(reader)
        except (FastrecError, OSError):  # reading in order reports it at its record
            return None

        record_bytes = sum(map(os.path.getsize, paths)) // max(total, 1)
        ask = min(ask, max(AHEAD, READ_BYTES // max(record_bytes, 1)))

        def record(number: Value) -> Value:
            try:
                return (reader[number[0]],)
            except (FastrecError, OSError) as error:
                raise data_error(error) from error

        return Attempted(
            self._numbers(total, ask),
            lambda rows: Rows(rows.count, [reader.read_many(rows.columns[0])]),
            lambda numbers: map(record, numbers),
        )

    def _picked(self, stage: Slices, ask: int) -> Pull:
        def picked(rows: Rows) -> Rows:
            where = np.array(rows.columns[0])
            found = [
                c[where] if isinstance(c, np.ndarray) else c.take(where) for c in stage.columns
            ]
            return Rows(rows.count, found)

        return Attempted(self._numbers(stage.count, ask), picked, lambda numbers: numbers)

    def _numbers(self, total: int, ask: int) -> Pull:
        """Begin an iteration over the numbers of elements in the new order."""
        numbers = self._reorder(lambda: iter(range(total)))
        chunks = iter(lambda: list(itertools.islice(numbers, ask)), [])
        return chunks_of(Rows(len(chunk), [chunk]) for chunk in chunks)
