# SPDX-License-Identifier: Apache-2.0
"""``interleave`` and ``flat_map``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import OpError
from ..seeds import looking_ahead
from ..specs import DatasetSpec, TypeSpec, sample
from ..structure import LEAF
from .batching import Unbatch
from .functions import DatasetSignature, Function, dataset_of, failed
from .mapping import Drawn, Map
from .pipeline import UNKNOWN, Portion, Stage
from .sources import Slices, Tensors
from .streams import Each, Pull, Value, Values, first, flattened, in_turn, raising, steps


def interleaved(
    stage: Stage,
    function: Callable[..., Any],
    cycle: int = 1,
    block: int = 1,
    parallel: bool = False,
) -> Stage:
    """Return a stage for ``interleave`` or ``flat_map``, with arguments of :class:`Interleave`.

    If the function can be traced and returns a dataset of computed tensors, no dataset is
    created for each element, provided that inner datasets are concatenated or have one element.
    """
    call = Function(function, stage.structure)
    found = call.trace_dataset(stage.specs)
    if found is not None:
        trace, source = found
        alone = type(source) is Tensors
        if alone or (cycle == 1 and type(source) is Slices):
            name = "FlatMap" if cycle == 1 else "Interleave"
            made = Map(
                Drawn(stage, trace) if trace.draws else stage, trace, source.structure, name=name
            )
            return Flattened(made if alone else Unbatch(made))
    return Interleave(stage, call, cycle, block, parallel)


class Flattened(Portion):
    """Stage over inner datasets that were computed as columns; their total length is unknown."""

    def cardinality(self) -> int:
        return UNKNOWN


class Interleave(Stage):
    """Stage that takes turns among the datasets that a function returns for each element.

    Parameters
    ----------
    stage : Stage
    call : Function
    cycle : int
        Number of datasets to take elements from at a time.
    block : int
        Number of elements to take from a dataset in its turn.
    parallel : bool
        Whether TensorFlow would run them in threads.

    Attributes
    ----------
    known : DatasetSignature, optional
        Signature of all inner datasets; None until it is first used.
    """

    def __init__(
        self,
        stage: Stage,
        call: Function,
        cycle: int = 1,
        block: int = 1,
        parallel: bool = False,
    ) -> None:
        super().__init__(stage)
        self._function = call
        self._cycle, self._block, self._parallel = cycle, block, parallel
        self.known: DatasetSignature | None = None

    def _of(self, value: Value) -> Stage:
        try:
            _, parts = self._function(value)
        except OpError as error:
            raise failed(
                error, "FlatMap" if self._cycle == 1 else "Interleave"
            ) from error.__cause__
        if not isinstance(parts[0], Stage):
            raise TypeError("`map_func` must return a `Dataset` object.")
        return parts[0]

    def _signature(self) -> DatasetSignature:
        """Return the signature of all inner datasets, from symbols if possible."""
        if self.known is None:
            specs = self.inputs[0].specs
            self.known = self._function.signature_of_dataset(specs) or self._of_elements(specs)
        return self.known

    def _of_elements(self, specs: Sequence[Any]) -> DatasetSignature:
        """Return what the inner datasets of the first element and of made-up elements share.

        Made-up elements differ in the sizes that `specs` leave open, so sizes that depend on them
        are unknown in the result.
        """
        known: DatasetSignature | None = None
        with looking_ahead():
            stage = first(map(self._of, self.inputs[0].elements()))
            if stage is not None:
                known = DatasetSignature.of(stage)
            for size in (1, 2):
                # the function may refuse values that no real element has
                with contextlib.suppress(Exception):
                    stage = self._of(tuple(_sample(spec, size) for spec in specs))
                    other = DatasetSignature.of(stage)
                    known = (known and known.common(other)) or known or other
        return known or DatasetSignature(LEAF, [], False)

    @property
    def structure(self) -> Any:
        return self._signature().structure

    @property
    def specs(self) -> list[TypeSpec]:
        return self._signature().specs

    @property
    def pure(self) -> bool:
        return super().pure and self._signature().pure

    def cardinality(self) -> int:
        return UNKNOWN

    def start(self, ask: int) -> Pull:
        def begun(value: Value) -> Pull:
            return self._of(value).ahead(ask)

        def elements(value: Value) -> Values:
            return self._of(value).elements()

        if self._cycle == 1 and ask > 1:
            return in_turn(map(begun, self.inputs[0].elements()))
        streams = map(elements, self.inputs[0].elements())
        if self._cycle == 1:
            return Each(flattened(streams))
        return Each(in_turns(streams, self._cycle, self._block, self._parallel))


def _sample(spec: Any, size: int) -> Any:
    """Return a made-up part of an element, of `size` in each unknown dimension."""
    return dataset_of(spec)._node if isinstance(spec, DatasetSpec) else sample(spec, size, 0)


def in_turns(streams: Iterator[Values], cycle: int, block: int, parallel: bool) -> Values:
    """Yield from streams in TensorFlow's order: an ended stream is replaced in its next turn.

    If `parallel`, an error of a stream counts as an element of its turn, and an error raised
    instead of a stream counts as a stream.
    """
    slots: list[Values | None] = [None] * cycle
    at, taken, ended = 0, 0, False

    def took(count: int) -> None:
        nonlocal at, taken
        taken += count
        if taken >= block:
            at, taken = (at + 1) % cycle, 0

    def step() -> Value:
        nonlocal ended
        while True:
            current = slots[at]
            if current is not None:
                try:
                    found = next(current, None)
                except Exception:
                    took(parallel)
                    raise
                if found is not None:
                    took(1)
                    return found
                slots[at] = None
                took(block)
            elif not ended:
                try:
                    slots[at] = next(streams, None)
                except Exception as error:
                    if not parallel:
                        raise
                    slots[at] = raising(error)
                ended = slots[at] is None
            elif any(slot is not None for slot in slots):
                took(block)
            else:
                raise StopIteration

    return steps(step)


def _failing(error: Exception) -> Values:
    try:
        raise error
    finally:
        del error  # otherwise the error and this frame would keep each other alive
    yield
