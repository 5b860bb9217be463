# SPDX-License-Identifier: Apache-2.0
"""Stages: the steps of a dataset. Each answers requests for rows, as described in :mod:`.streams`.

A row is the tuple of its parts, also called an element. A stage works on the columns of the
rows that the next stage requests, or on one row after the other; both give the same rows.
``FASTREC_COMPAT_LOWERING=0`` lets every stage work on one row after the other.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ..columns import Variants
from ..seeds import in_use, is_looking_ahead
from ..specs import DatasetSpec, NoneTensorSpec, TensorSpec, TypeSpec
from ..structure import LEAF, pack
from ..tracing.recording import wrap
from ..width import AHEAD
from .streams import Chunks, Each, Pull, Rows, Values, elements_of

INFINITE = -1
UNKNOWN = -2


class _Switch:
    on = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(on: bool) -> bool:
    """Set whether elements may be computed in columns; return the previous setting."""
    before, _Switch.on = _Switch.on, on
    return before


def lowering() -> bool:
    """Return whether elements may be computed in columns."""
    return _Switch.on


def in_columns() -> bool:
    """Return whether elements may be computed in columns, before they are requested."""
    return _Switch.on and not is_looking_ahead()


class Stage(ABC):
    """A step of a pipeline.

    Parameters
    ----------
    inputs : Stage
        The stages whose elements it uses.

    Attributes
    ----------
    depth : int
        Number of stages in the longest chain that ends here.
    """

    dataset: Any = None  # the dataset that shows this stage to programs
    draws = False  # whether it draws random numbers for elements
    _drawing: frozenset[int] | None = None
    _inputs_are_pure: bool | None = None
    _runs_ahead: bool | None = None

    def __init__(self, *inputs: Stage) -> None:
        self.inputs: tuple[Stage, ...] = inputs if len(inputs) < 2 else _apart(inputs)
        self.depth: int = 1 + max((stage.depth for stage in self.inputs), default=0)

    @property
    def structure(self) -> Any:
        """Nested structure of the parts of an element."""
        return self.inputs[0].structure

    @property
    def specs(self) -> list[TypeSpec]:
        """Specs of the parts of an element."""
        return self.inputs[0].specs

    @property
    def pure(self) -> bool:
        """Whether elements can be computed ahead of time without a visible difference."""
        if self._inputs_are_pure is None:
            self._inputs_are_pure = all(stage.pure for stage in self.inputs)
        return self._inputs_are_pure

    def drawing(self) -> frozenset[int]:
        """Ids of the steps, up to this one, that may draw random numbers for elements."""
        if self._drawing is None:
            every = {each for stage in self.inputs for each in stage.drawing()}
            self._drawing = frozenset({id(self), *every} if self.draws or not self.pure else every)
        return self._drawing

    def cardinality(self) -> int:
        """Return the number of elements, `INFINITE` or `UNKNOWN`."""
        return self.inputs[0].cardinality()

    @property
    def runs_ahead(self) -> bool:
        """Whether small rows may be made in columns before they are needed, without effects."""
        if not in_columns():
            return False
        if self._runs_ahead is None:
            self._runs_ahead = self._may_run_ahead()
        return self._runs_ahead

    def _may_run_ahead(self) -> bool:
        """Return the value of :attr:`runs_ahead` in columns."""
        return self.pure and self._is_scalar()

    @abstractmethod
    def start(self, ask: int) -> Pull:
        """Begin an iteration.

        Parameters
        ----------
        ask : int
            The number of rows that most requests will be for; a stage chooses its way by it.
        """

    def ahead(self, ask: int, most: int = AHEAD) -> Pull:
        """Begin an iteration that makes up to `most` rows together if it may run ahead."""
        if not in_columns():
            ask = 1
        elif self.runs_ahead and most > ask:
            pull = self.start(most)
            return pull if isinstance(pull, Each) else Chunks(lambda ask: pull(max(ask, most)))
        return self.start(ask)

    def elements(self) -> Values:
        """Iterate over the elements; an error is raised in its place and does not end this."""
        pull = self.ahead(1)
        return elements_of(pull, AHEAD if isinstance(pull, Chunks) else 1)

    def spend_seeds(self) -> None:
        """Draw the seeds of an iteration that will not be asked for any element."""
        for stage in self.inputs:
            stage.spend_seeds()

    @property
    def shuffles(self) -> bool:
        """Whether TensorFlow fuses this step with a following repetition."""
        return False

    def _is_scalar(self) -> bool:
        return all(isinstance(s, TensorSpec) and s.shape.sizes == () for s in self.specs)


class Portion(Stage):
    """Stage that derives rows from the rows of its inputs, or passes them on."""

    def _may_run_ahead(self) -> bool:
        return all(stage.runs_ahead for stage in self.inputs)

    def start(self, ask: int) -> Pull:
        return self.inputs[0].start(ask)


class Use(Portion):
    """Second use of a shared stage; it draws its own random numbers."""

    def start(self, ask: int) -> Pull:
        with in_use(self):
            pull = self.inputs[0].start(ask)

        def pull_here(ask: int) -> Rows:
            with in_use(self):
                return pull(ask)

        return pull_here


def _apart(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return the stages, wrapping those in `Use` that share random draws with an earlier one."""
    found: list[Stage] = []
    before: set[int] = set()
    for stage in stages:
        own = stage.drawing()
        found.append(stage if own.isdisjoint(before) else Use(stage))
        before |= own
    return tuple(found)


class Once(Stage):
    """Source stage whose elements come from a function call."""

    def __init__(
        self,
        make: Callable[[], Values],
        structure: Any,
        specs: list[TypeSpec],
        cardinality: int = UNKNOWN,
    ) -> None:
        super().__init__()
        self._make, self._structure, self._specs = make, structure, specs
        self._cardinality = cardinality

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return self._cardinality

    def start(self, ask: int) -> Pull:
        return Each(self._make())


def spec_of(stage: Stage) -> Any:
    """Return the specs of the parts of an element, nested like the element.

    Raises
    ------
    TypeError
        If the specs depend on the first element and there is none.
    """
    if stage.structure == LEAF and not stage.specs:
        raise TypeError("element specs depend on the first element, which could not be computed")
    return pack(stage.structure, stage.specs, NoneTensorSpec())


def loose_spec(part: Any) -> Any:
    """Return a spec that fits all elements, from the type and rank of one value."""
    if isinstance(part, Stage):
        return DatasetSpec(spec_of(part))
    if isinstance(part, Variants):
        return DatasetSpec(spec_of(part[0]), [None])
    value = wrap(part)
    if hasattr(value, "_spec"):
        return value._spec.reshaped([None] * len(value.shape))
    return TensorSpec([None] * len(value.shape), value.dtype)
