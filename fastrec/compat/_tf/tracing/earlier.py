# SPDX-License-Identifier: Apache-2.0
"""Operations that cost nothing, moved to before those that make an array.

The shape of what arithmetic gives is that of what it is of, and an array that is cast is put in
another shape before that. What is left has nothing between its steps, and is needed by fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..specs import TensorSpec, TypeSpec
from .recording import Node

__all__ = ["moved_to_front"]

_SHAPED = {"Shape", "Size", "Rank"}
_ALIKE = {"Cast", "Neg", "Abs", "Square"}  # of what they are of in shape
_BROADCAST = {"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"}

Reference = tuple[bool, Any]


def moved_to_front(
    nodes: Sequence[Node], outputs: Sequence[Reference], specs: list[TypeSpec]
) -> list[Node]:
    """The same operations, in such an order; `specs` of the slots gets those of new ones.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        Of what is returned, whether it is a slot, and which.
    specs : list of TypeSpec
        Of each slot.
    """
    first = _with_shapes_first(nodes, specs)
    makers = {node.slots[0]: node for node in first if node.op.name == "Cast"}
    uses = Counter(slot for late, slot in [*_references(first), *outputs] if late)
    found: dict[int, Node] = {}
    for node in first:
        late, slot = node.inputs[0] if node.op.name == "Reshape" else (False, -1)
        cast = makers.get(slot) if late and uses[slot] == 1 else None
        if cast is None or not cast.inputs[0][0]:
            found[id(node)] = node
            continue
        del found[id(cast)]
        source, new = cast.inputs[0], len(specs)
        specs.append(TensorSpec(node.specs[0].shape, specs[source[1]].dtype))
        shaped = node._replace(inputs=(source, *node.inputs[1:]), slots=(new,), specs=(specs[new],))
        cast = cast._replace(inputs=((True, new),), slots=node.slots, specs=node.specs)
        makers[node.slots[0]] = cast
        found.update({id(shaped): shaped, id(cast): cast})
    return _with_shapes_first(list(found.values()), specs)


def _references(nodes: Sequence[Node]) -> list[Reference]:
    return [ref for node in nodes for ref in node.inputs]


def _with_shapes_first(nodes: Sequence[Node], specs: Sequence[TypeSpec]) -> list[Node]:
    """Take the shapes of arrays from the first that have these."""
    makers = {slot: node for node in nodes for slot in node.slots}

    def source(reference: Reference) -> Reference:
        node = makers.get(reference[1]) if reference[0] else None
        if node is None or node.op.name not in _ALIKE | _BROADCAST:
            return reference
        parts = [ref for ref in node.inputs if not _is_scalar(ref, specs)]
        return source(parts[0]) if len(parts) == 1 and parts[0][0] else reference

    return [
        node._replace(inputs=(source(node.inputs[0]), *node.inputs[1:]))
        if node.op.name in _SHAPED
        else node
        for node in nodes
    ]


def _is_scalar(reference: Reference, specs: Sequence[TypeSpec]) -> bool:
    late, value = reference
    return (specs[value].shape.ndims if late else getattr(value, "ndim", None)) == 0
