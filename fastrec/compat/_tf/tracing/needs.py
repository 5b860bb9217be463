# SPDX-License-Identifier: Apache-2.0
"""Liveness of operations and values in a trace."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from .recording import Node

__all__ = ["live", "needed_of", "with_last_uses"]


def live(nodes: Sequence[Node], outputs: Sequence[tuple[bool, Any]]) -> list[Node]:
    """Return the operations whose outputs are needed or that have side effects."""
    needed = {slot for is_slot, slot in outputs if is_slot}
    kept = []
    for node in reversed(nodes):
        if not (node.op.pure and node.slots) or needed.intersection(node.slots):
            needed.update(slot for is_slot, slot in node.inputs if is_slot)
            kept.append(node)
    return kept[::-1]


def needed_of(node: Node, wanted: Container[int]) -> Node:
    """Return an operation restricted to its wanted outputs, if it supports that."""
    places = [at for at, slot in enumerate(node.slots) if slot in wanted]
    if node.op.only is None or len(places) == len(node.slots):
        return node
    op, inputs = node.op.only(places)
    return Node(
        op,
        tuple([node.inputs[at] for at in inputs]),
        node.attributes,
        tuple([node.slots[at] for at in places]),
        tuple([node.specs[at] for at in places]),
    )


def with_last_uses(
    nodes: Sequence[Node], outputs: Sequence[tuple[bool, Any]]
) -> list[tuple[Node, list[int]]]:
    """Pair each operation with the slots that are not needed after it."""
    found = []
    needed = {slot for is_slot, slot in outputs if is_slot}
    for node in reversed(nodes):
        touched = {slot for is_slot, slot in node.inputs if is_slot}.union(node.slots)
        found.append((node, sorted(touched - needed)))
        needed |= touched
    return found[::-1]
