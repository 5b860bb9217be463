# SPDX-License-Identifier: Apache-2.0
"""Nodes of data sets, which give elements one by one, or many at once as columns.

An element is the tuple of its parts, each a value as :mod:`._columns` has it. Both ways give the
same. The fast way is taken where a node has it, all the way up to its source; that it was worth it
is known beforehand, for functions are traced. ``FASTREC_COMPAT_LOWERING=0`` takes the slow one.

Either way, iterating goes on after an error, as :mod:`._streams` does.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from .. import errors as _errors
from ..columns import Variants
from ..seeds import in_use
from ..specs import DatasetSpec, NoneTensorSpec, TensorSpec, TypeSpec
from ..structure import LEAF, pack
from ..tracing.recording import wrap
from ..width import AHEAD
from .streams import Blocks, Values, steps, to_blocks, to_values

__all__ = [
    "INFINITE",
    "UNKNOWN",
    "Node",
    "Once",
    "invalid",
    "loose_spec",
    "lowering",
    "set_lowering",
    "spec_of",
]

T = TypeVar("T")

INFINITE = -1
UNKNOWN = -2


class _Switch:
    on = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(on: bool) -> bool:
    """Whether many elements may be made at once where that gives the same; what it was before."""
    before, _Switch.on = _Switch.on, on
    return before


def lowering() -> bool:
    """Whether many elements may be made at once."""
    return _Switch.on


def invalid(text: str) -> _errors.OpError:
    """Return TensorFlow's error for arguments that it checks only when it runs."""
    return _errors.InvalidArgumentError(None, None, text)


class Node(ABC):
    """A step of a pipeline.

    Parameters
    ----------
    inputs : Node
        Where its elements come from.

    Attributes
    ----------
    depth : int
        Number of nodes of the longest chain that ends here.
    """

    dataset: Any = None  # what shows it to programs
    draws = False  # whether it draws for elements
    _drawing: frozenset[int] | None = None
    _inputs_are_pure: bool | None = None

    def __init__(self, *inputs: Node) -> None:
        self.inputs = inputs if len(inputs) < 2 else _apart(inputs)
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
        """Whether elements may be made ahead of time, without a visible difference."""
        if self._inputs_are_pure is None:
            self._inputs_are_pure = all(node.pure for node in self.inputs)
        return self._inputs_are_pure

    def drawing(self) -> frozenset[int]:
        """The ids of those of the steps up to this one that may draw for elements."""
        if self._drawing is None:
            every = {each for node in self.inputs for each in node.drawing()}
            self._drawing = frozenset({id(self), *every} if self.draws or not self.pure else every)
        return self._drawing

    def cardinality(self) -> int:
        """Number of elements; `INFINITE` or `UNKNOWN`."""
        return self.inputs[0].cardinality()

    @abstractmethod
    def values(self, fast: bool = True) -> Values:
        """The elements. When not `fast`, each is only made when it is requested."""

    def blocks(self, count: int) -> Blocks | None:
        """The elements as columns of up to `count`; None when there are none to be had."""
        return None

    def spend_seeds(self) -> None:
        """Draw the seeds of an iterator that will not be asked for an element."""
        for node in self.inputs:
            node.spend_seeds()

    @property
    def shuffles(self) -> bool:
        """Whether TensorFlow makes one step of this and of a repetition that follows."""
        return False

    def ahead(self) -> Values | None:
        """The elements, when they are made ahead of time anyway."""
        return None

    def stream(self, fast: bool = True) -> Values:
        """The elements, by the fastest way there is."""
        blocks = self.fast_blocks(AHEAD) if fast else None
        return self.values(fast) if blocks is None else to_values(blocks)

    def gathered(self, count: int) -> Blocks | None:
        """The elements as columns, into which scalars are gathered where need be."""
        found = self.blocks(count)
        if found is not None or not self.pure:
            return found
        scalars = all(isinstance(s, TensorSpec) and s.shape.sizes == () for s in self.specs)
        return to_blocks(self.values(), count) if scalars else None

    def fast_blocks(self, count: int) -> Blocks | None:
        """The elements as columns, unless that is switched off."""
        return self.blocks(count) if _Switch.on else None


class Use(Node):
    """A node that is used elsewhere, too; here it draws for itself."""

    def _as_here(self, stream: Iterator[T] | None) -> Iterator[T] | None:
        if stream is None:
            return None

        def step() -> T:
            with in_use(self):
                return next(stream)

        return steps(step)

    def values(self, fast: bool = True) -> Values:
        with in_use(self):
            found = self._as_here(self.inputs[0].stream(fast))
        assert found is not None
        return found

    def blocks(self, count: int) -> Blocks | None:
        with in_use(self):
            return self._as_here(self.inputs[0].blocks(count))


def _apart(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes; those that have what draws in common with one before are uses of their own."""
    found: list[Node] = []
    before: set[int] = set()
    for node in nodes:
        own = node.drawing()
        found.append(node if own.isdisjoint(before) else Use(node))
        before |= own
    return tuple(found)


class Once(Node):
    """A node whose elements are made by calling something."""

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

    def values(self, fast: bool = True) -> Values:
        return self._make()


def spec_of(node: Node) -> Any:
    """The specs of the parts of an element, nested as these are.

    Raises
    ------
    TypeError
        When only an element could tell, and there is none.
    """
    if node.structure == LEAF and not node.specs:
        raise TypeError("what the elements are is not known: the first of them cannot be made")
    return pack(node.structure, node.specs, NoneTensorSpec())


def loose_spec(part: Any) -> Any:
    """Spec of all elements, from one value: its type and number of dimensions."""
    if isinstance(part, Node):
        return DatasetSpec(spec_of(part))
    if isinstance(part, Variants):
        return DatasetSpec(spec_of(part[0]), [None])
    value = wrap(part)
    if hasattr(value, "_spec"):
        return value._spec.reshaped([None] * len(value.shape))
    return TensorSpec([None] * len(value.shape), value.dtype)
