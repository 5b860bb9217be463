# SPDX-License-Identifier: Apache-2.0
"""``concatenate``."""

from __future__ import annotations

from typing import Any

from ..specs import TypeSpec
from ..structure import pack
from .pipeline import INFINITE, UNKNOWN, Node
from .streams import Values, flattened

__all__ = ["Concatenate", "check_alike"]


class Concatenate(Node):
    """Node that yields the elements of its inputs one after the other.

    A chain of concatenations is one node with many inputs, so a program may append thousands.
    """

    def __init__(self, first: Node, other: Node) -> None:
        super().__init__(first, other)
        first, other = self.inputs
        self._specs = [
            one.reshaped(_common(one, another))
            for one, another in zip(first.specs, other.specs, strict=True)
        ]
        self.inputs = (*_parts(first), *_parts(other))
        self.depth = 1 + max(first.depth - _is_chain(first), other.depth - _is_chain(other))

    def spend_seeds(self) -> None:
        self.inputs[0].spend_seeds()

    def cardinality(self) -> int:
        totals = [node.cardinality() for node in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN if UNKNOWN in totals else sum(totals)

    @property
    def specs(self) -> list[TypeSpec]:
        return self._specs

    def values(self, fast: bool = True) -> Values:
        def stream(node: Node) -> Values:
            return node.stream(fast)

        return flattened(map(stream, self.inputs))


def _is_chain(node: Node) -> bool:
    """Return whether a node is a chain without options that may be extended."""
    return type(node) is Concatenate and getattr(node.dataset, "_options", None) is None


def _parts(node: Node) -> tuple[Node, ...]:
    return node.inputs if _is_chain(node) else (node,)


def check_alike(first: Node, other: Node) -> None:
    """Check that two nodes have elements of one structure and of the same types.

    Raises
    ------
    TypeError
        If they do not.
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
