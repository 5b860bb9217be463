# SPDX-License-Identifier: Apache-2.0
"""Large arrays that are put together of others, each of which is made in its place.

One by one, what is cut, filled and joined is copied each time, and goes through memory. Operations
that give :class:`..kernels.pieces.Piece` to each other only say what is where; it is written once.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.pieces import whole
from ..ops import Op
from .recording import Node

__all__ = ["assembled"]

_JOINING = {"ConcatV2"}
_LEAST = 1 << 12  # numbers, which take longer to copy than to say where they are

Reference = tuple[bool, Any]


class _Assembly(Op):
    """Several operations, of which each array is made in its place."""


def _assembly(nodes: Sequence[Node]) -> Node:
    """The operation that does what these do, of which only the last is needed by others."""
    made = {node.slots[0] for node in nodes}
    inputs = [ref for node in nodes for ref in node.inputs if ref[0] and ref[1] not in made]
    slots = tuple(dict.fromkeys(slot for _, slot in inputs))

    def into(room: Callable[..., Any] | None, *values: Any) -> Any:
        known = dict(zip(slots, values, strict=True))
        for node in nodes:
            given = [known[value] if late else value for late, value in node.inputs]
            assert node.op.piece is not None
            known[node.slots[0]] = node.op.piece(*given, **node.attributes)
        return whole(known[nodes[-1].slots[0]], room)

    name = "&".join(node.op.name for node in nodes)
    op = _Assembly(name, functools.partial(into, None), into=into)
    return Node(op, tuple([(True, slot) for slot in slots]), {}, nodes[-1].slots, nodes[-1].specs)


def assembled(nodes: Sequence[Node], outputs: Sequence[Reference]) -> list[Node]:
    """The same operations for one element at a time; of those that join arrays, some are one.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        Of what is returned, whether it is a slot, and which.
    """
    references = [ref for node in nodes for ref in node.inputs] + list(outputs)
    uses = Counter(slot for late, slot in references if late)
    makers = {node.slots[0]: node for node in nodes if node.op.piece is not None}
    inside: set[int] = set()  # the slots of what is part of another
    found = []
    for last in reversed(nodes):
        if last.slots and last.slots[0] in inside:
            continue
        group = [last]
        if last.op.name in _JOINING and _is_worth_it(last):
            for node in group:  # which grows
                parts = [makers.get(value) for late, value in node.inputs if late]
                group += [part for part in parts if part and uses[part.slots[0]] == 1]
        inside.update(node.slots[0] for node in group[1:])
        order = {id(node): node for node in group}
        whole_group = [node for node in nodes if id(node) in order] if len(group) > 1 else group
        found.append(_assembly(whole_group) if len(group) > 1 else last)
    return found[::-1]


def _is_worth_it(node: Node) -> bool:
    spec = node.specs[0]
    count = spec.shape.num_elements()
    return spec.dtype.name != "string" and (count is None or count >= _LEAST)
