# SPDX-License-Identifier: Apache-2.0
"""Data sets one after the other."""

from __future__ import annotations

from typing import Any

from ..specs import TypeSpec
from ..structure import pack
from .pipeline import INFINITE, UNKNOWN, Node
from .streams import Values, flattened

__all__ = ["Concatenate", "check_alike"]


class Concatenate(Node):
    """The elements of one after those of the other."""

    def spend_seeds(self) -> None:
        self.inputs[0].spend_seeds()

    def cardinality(self) -> int:
        totals = [node.cardinality() for node in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN if UNKNOWN in totals else sum(totals)

    @property
    def specs(self) -> list[TypeSpec]:
        pairs = zip(*(node.specs for node in self.inputs), strict=True)
        return [first.reshaped(_common(first, other)) for first, other in pairs]

    def values(self, fast: bool = True) -> Values:
        def stream(node: Node) -> Values:
            return node.stream(fast)

        return flattened(map(stream, self.inputs))


def check_alike(first: Node, other: Node) -> None:
    """That two nodes give elements of one structure and of the same types.

    Raises
    ------
    TypeError
        When they do not.
    """
    pairs = list(zip(first.specs, other.specs, strict=False))
    if (
        first.structure != other.structure
        or len(first.specs) != len(other.specs)
        or any(type(a) is not type(b) or a.dtype != b.dtype for a, b in pairs)
    ):
        shown = " vs.   ".join(str(pack(node.structure, node.specs)) for node in (first, other))
        raise TypeError(f"Incompatible dataset elements:\n  {shown}")


def _common(one: TypeSpec, other: TypeSpec) -> Any:
    a, b = one.shape.sizes, other.shape.sizes
    if a is None or b is None or len(a) != len(b):
        return None
    return [x if x == y else None for x, y in zip(a, b, strict=True)]
