# SPDX-License-Identifier: Apache-2.0
"""``window``, ``group_by_window`` and ``bucket_by_sequence_length``."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import invalid
from ..specs import DatasetSpec, TypeSpec
from ..structure import LEAF
from .batching import Batch
from .functions import Scalar
from .padding import PaddedBatch
from .pipeline import INFINITE, UNKNOWN, Stage
from .streams import Each, Pull, Value, in_turn, of_values, steps


class Window(Stage):
    """Stage whose elements are datasets of up to `size` consecutive elements."""

    def __init__(
        self,
        stage: Stage,
        size: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        make: Callable[[Stage], Any],
    ) -> None:
        super().__init__(stage)
        self._size, self._shift, self._stride, self._drop = size, shift, stride, drop_remainder
        self._make = make

    @property
    def structure(self) -> Any:
        return self.inputs[0].structure

    @property
    def specs(self) -> list[Any]:
        return [DatasetSpec(spec) for spec in self.inputs[0].specs]

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total < 0:
            return total
        if not self._drop:
            return -(-total // self._shift)
        rest = total - ((self._size - 1) * self._stride + 1)
        return 0 if rest < 0 else rest // self._shift + 1

    def start(self, ask: int) -> Pull:
        reach = (self._size - 1) * self._stride + 1
        following = Each(self.inputs[0].elements())
        held: list[Value | Exception] = []  # an error is kept in the place of its element
        shift = 0

        def hold(count: int) -> None:
            while len(held) < count:
                rows = following(count - len(held))
                if not rows:
                    return
                held.extend(rows.values())
                if rows.error is not None:
                    held.append(rows.error)

        def step() -> Value:
            nonlocal shift
            hold(shift)
            del held[:shift]
            hold(reach)
            shift = self._shift
            picked = held[: reach : self._stride]
            if not picked or (self._drop and len(picked) < self._size):
                raise StopIteration
            return self._window(picked)

        return Each(steps(step))

    def _window(self, picked: list[Value | Exception]) -> Value:
        values: list[Value] = []
        for each in picked:
            if isinstance(each, Exception):
                raise each
            values.append(each)
        specs = self.inputs[0].specs
        parts = [
            _Held(LEAF, [spec], [(value[i],) for value in values]) for i, spec in enumerate(specs)
        ]
        return tuple(map(self._make, parts))


class _Held(Stage):
    """Stage over elements that are already in memory."""

    def __init__(self, structure: Any, specs: list[TypeSpec], values: list[Value]) -> None:
        super().__init__()
        self._structure, self._specs, self._values = structure, specs, values

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    def cardinality(self) -> int:
        return len(self._values)

    def _may_run_ahead(self) -> bool:
        return False

    def start(self, ask: int) -> Pull:
        return Each(iter(self._values))


class Bucketed(Stage):
    """Stage that batches elements of similar length.

    Parameters
    ----------
    stage : Stage
    length : Scalar
        Returns the length of an element.
    boundaries : list of int
        Lengths that separate the buckets.
    sizes : list of int
        Batch size of each bucket; one more than there are boundaries.
    shapes, padding
        As for :class:`PaddedBatch`; shapes are None for no padding.
    fill : bool
        Pad to the bucket's boundary minus one instead of the longest element of the batch.
    drop_remainder : bool
        Drop incomplete batches.
    """

    def __init__(
        self,
        stage: Stage,
        length: Scalar,
        boundaries: Sequence[int],
        sizes: Sequence[int],
        shapes: Sequence[Any] | None,
        padding: Sequence[Any],
        fill: bool,
        drop_remainder: bool,
    ) -> None:
        super().__init__(stage)
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(sizes)}` and "
                f"`len(bucket_boundaries)={len(boundaries)}`."
            )
        self._length, self._boundaries, self._sizes = length, list(boundaries), list(sizes)
        self._batches = [
            Batch(stage, size, drop_remainder)
            if shapes is None
            else PaddedBatch(stage, size, drop_remainder, self._filled(shapes, i, fill), padding)
            for i, size in enumerate(sizes)
        ]
        self._fill, self._drop = fill, drop_remainder

    def _filled(self, shapes: Sequence[Any], bucket: int, fill: bool) -> list[Any]:
        if not fill or bucket == len(self._boundaries):
            return list(shapes)
        most = self._boundaries[bucket] - 1
        found = []
        for shape, spec in zip(shapes, self.inputs[0].specs, strict=True):
            sizes = (spec.shape.sizes or ()) if shape is None else shape
            found.append([most if size in (None, -1) else size for size in sizes])
        return found

    @property
    def specs(self) -> list[TypeSpec]:
        found = self._batches[-1].specs
        return [spec.reshaped([None, *(spec.shape.sizes or ())[1:]]) for spec in found]

    def cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def start(self, ask: int) -> Pull:
        stream = self._length.beside(self.inputs[0])
        held: list[list[Value]] = [[] for _ in self._sizes]

        def batch(bucket: int) -> Value:
            group, held[bucket] = held[bucket], []
            return self._batches[bucket]._group(of_values(group))

        def step() -> Value:
            for length, value in stream:
                bucket = self._bucket(length)
                held[bucket].append(value)
                if len(held[bucket]) == self._sizes[bucket]:
                    return batch(bucket)
            for bucket, rest in enumerate(held):
                if rest and not self._drop:
                    return batch(bucket)
            raise StopIteration

        return Each(steps(step))

    def _bucket(self, length: int) -> int:
        bucket = bisect.bisect_right(self._boundaries, length)
        if self._fill and bucket == len(self._boundaries):
            raise invalid(
                "When pad_to_bucket_boundary=True, elements must have length < "
                f"max(bucket_boundaries). ({self._boundaries[-1]})"
            )
        return bucket


class GroupedByKey(Stage):
    """Stage that groups elements by key and reduces each group with a function.

    Parameters
    ----------
    stage : Stage
    key : Scalar
        Returns the key of an element.
    reduced : callable
        Takes a key and a stage of elements; returns the reduced stage.
    size : callable
        Takes a key; returns how many elements to reduce at a time.
    """

    def __init__(
        self,
        stage: Stage,
        key: Scalar,
        reduced: Callable[[int, Stage], Stage],
        size: Callable[[int], int],
    ) -> None:
        super().__init__(stage)
        self._key, self._reduced, self._size = key, reduced, size
        self._sample = reduced(0, _Held(stage.structure, stage.specs, []))

    @property
    def structure(self) -> Any:
        return self._sample.structure

    @property
    def specs(self) -> list[TypeSpec]:
        return self._sample.specs

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def start(self, ask: int) -> Pull:
        stream = self._key.beside(self.inputs[0])
        held: dict[int, list[Value]] = {}

        def reduced(key: int) -> Pull:
            stage = self.inputs[0]
            group = _Held(stage.structure, stage.specs, held.pop(key))
            return self._reduced(key, group).ahead(ask)

        def step() -> Pull:
            for key, value in stream:
                size = self._size(key)
                if size < 1:
                    raise invalid(f"Window size must be greater than zero, but got {size}.")
                held.setdefault(key, []).append(value)
                if len(held[key]) >= size:
                    return reduced(key)
            if not held:
                raise StopIteration
            return reduced(min(held))

        return in_turn(steps(step))
