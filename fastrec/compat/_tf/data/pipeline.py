# SPDX-License-Identifier: Apache-2.0
"""Nodes: the steps of a dataset, which yield elements one by one or in columns.

An element is the tuple of its parts. Both ways yield the same elements. Columns are used if
every node up to the source supports them; because functions are traced, it is known in advance
whether this is faster. ``FASTREC_COMPAT_LOWERING=0`` disables columns.

Iteration can continue after an error, as described in :mod:`.streams`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..columns import Variants
from ..seeds import in_use, is_looking_ahead
from ..specs import DatasetSpec, NoneTensorSpec, TensorSpec, TypeSpec
from ..structure import LEAF, pack
from ..tracing.recording import wrap
from ..width import AHEAD
from .streams import BLOCKS, ELEMENTS, Blocks, Pieces, Values, steps, to_blocks, to_values

T = TypeVar("T")

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


class Node(ABC):
    """A step of a pipeline.

    Parameters
    ----------
    inputs : Node
        The nodes whose elements it uses.

    Attributes
    ----------
    depth : int
        Number of nodes in the longest chain that ends here.
    """

    dataset: Any = None  # the dataset that shows this node to programs
    draws = False  # whether it draws random numbers for elements
    _drawing: frozenset[int] | None = None
    _inputs_are_pure: bool | None = None

    def __init__(self, *inputs: Node) -> None:
        self.inputs: tuple[Node, ...] = inputs if len(inputs) < 2 else _apart(inputs)
        self.depth: int = 1 + max((node.depth for node in self.inputs), default=0)

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
            self._inputs_are_pure = all(node.pure for node in self.inputs)
        return self._inputs_are_pure

    def drawing(self) -> frozenset[int]:
        """Ids of the steps, up to this one, that may draw random numbers for elements."""
        if self._drawing is None:
            every = {each for node in self.inputs for each in node.drawing()}
            self._drawing = frozenset({id(self), *every} if self.draws or not self.pure else every)
        return self._drawing

    def cardinality(self) -> int:
        """Return the number of elements, `INFINITE` or `UNKNOWN`."""
        return self.inputs[0].cardinality()

    @abstractmethod
    def values(self) -> Values:
        """Iterate over elements; while looking ahead, compute each only when it is requested."""

    def blocks(self, count: int) -> Blocks | None:
        """Return elements as columns of up to `count` rows; None if not supported."""
        return None

    def spend_seeds(self) -> None:
        """Draw the seeds of an iteration that will not be asked for any element."""
        for node in self.inputs:
            node.spend_seeds()

    @property
    def shuffles(self) -> bool:
        """Whether TensorFlow fuses this step with a following repetition."""
        return False

    def stream(self) -> Values:
        """Iterate over the elements in the fastest available way."""
        blocks = self.blocks(AHEAD) if in_columns() else None
        return self.values() if blocks is None else to_values(blocks)

    def gathered(self, count: int, exact: bool = False) -> Blocks | None:
        """Return elements as columns, also elements that are computed one by one.

        Parameters
        ----------
        count : int
        exact : bool
            Whether each use takes `count` elements. Then an effect of an element does not happen
            earlier than in TensorFlow. Otherwise, only scalars without effects are gathered.
        """
        found = self.blocks(count)
        if found is None and (exact or (self.pure and self._is_scalar())):
            found = to_blocks(self.stream(), count)
        return found

    def parsed(self, trace: Any) -> Values | None:
        """Return elements as the first operation of `trace` parses them; None if it cannot."""
        return None

    def _is_scalar(self) -> bool:
        return all(isinstance(s, TensorSpec) and s.shape.sizes == () for s in self.specs)


class Portion(Node):
    """Node that passes on elements of its input, one by one or in blocks."""

    def spend_seeds(self) -> None:
        if not self._is_empty():
            super().spend_seeds()

    def values(self) -> Values:
        if self._is_empty():
            return iter(())
        return self._passed(self.inputs[0].stream(), ELEMENTS)

    def blocks(self, count: int) -> Blocks | None:
        if self._is_empty():
            return iter(())
        blocks = self.inputs[0].blocks(self._needed(count))
        return None if blocks is None else self._passed(blocks, BLOCKS)

    def _is_empty(self) -> bool:
        """Return whether the node yields nothing, so that its input is not started."""
        return False

    def _needed(self, count: int) -> int:
        """Return how many elements of the input to request for `count` elements."""
        return count

    @abstractmethod
    def _passed(self, stream: Iterator[T], pieces: Pieces) -> Iterator[T]:
        """Yield from `stream`, whose pieces are elements or blocks."""


class Use(Node):
    """Second use of a shared node; it draws its own random numbers."""

    def _as_here(self, stream: Iterator[T] | None) -> Iterator[T] | None:
        if stream is None:
            return None

        def step() -> T:
            with in_use(self):
                return next(stream)

        return steps(step)

    def values(self) -> Values:
        with in_use(self):
            found = self._as_here(self.inputs[0].stream())
        assert found is not None
        return found

    def blocks(self, count: int) -> Blocks | None:
        with in_use(self):
            return self._as_here(self.inputs[0].blocks(count))


def _apart(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the nodes, wrapping those in `Use` that share random draws with an earlier one."""
    found: list[Node] = []
    before: set[int] = set()
    for node in nodes:
        own = node.drawing()
        found.append(node if own.isdisjoint(before) else Use(node))
        before |= own
    return tuple(found)


class Once(Node):
    """Source node whose elements come from a function call."""

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

    def values(self) -> Values:
        return self._make()


def spec_of(node: Node) -> Any:
    """Return the specs of the parts of an element, nested like the element.

    Raises
    ------
    TypeError
        If the specs depend on the first element and there is none.
    """
    if node.structure == LEAF and not node.specs:
        raise TypeError("element specs depend on the first element, which could not be computed")
    return pack(node.structure, node.specs, NoneTensorSpec())


def loose_spec(part: Any) -> Any:
    """Return a spec that fits all elements, from the type and rank of one value."""
    if isinstance(part, Node):
        return DatasetSpec(spec_of(part))
    if isinstance(part, Variants):
        return DatasetSpec(spec_of(part[0]), [None])
    value = wrap(part)
    if hasattr(value, "_spec"):
        return value._spec.reshaped([None] * len(value.shape))
    return TensorSpec([None] * len(value.shape), value.dtype)
