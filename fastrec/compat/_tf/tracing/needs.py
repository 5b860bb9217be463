# SPDX-License-Identifier: Apache-2.0
"""What of the operations of a function is needed, and how long."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from .recording import Node

__all__ = ["live", "needed_of", "with_last_uses"]


def live(nodes: Sequence[Node], outputs: Sequence[tuple[bool, Any]]) -> list[Node]:
    """The operations whose outputs are needed, or that do more than to give these."""
    needed = {slot for is_slot, slot in outputs if is_slot}
    kept = []
    for node in reversed(nodes):
        if not (node.op.pure and node.slots) or needed.intersection(node.slots):
            needed.update(slot for is_slot, slot in node.inputs if is_slot)
            kept.append(node)
    return kept[::-1]


def needed_of(node: Node, wanted: Container[int]) -> Node:
    """An operation without the parts of it that make what is not wanted."""
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
    """Operations, each with the slots that nothing needs after it."""
    found = []
    needed = {slot for is_slot, slot in outputs if is_slot}
    for node in reversed(nodes):
        touched = {slot for is_slot, slot in node.inputs if is_slot}.union(node.slots)
        found.append((node, sorted(touched - needed)))
        needed |= touched
    return found[::-1]
