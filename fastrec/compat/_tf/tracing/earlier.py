# SPDX-License-Identifier: Apache-2.0
"""Reordering: cheap shape operations move in front of operations that compute an array.

The shape of an element-wise result is that of its input, and a reshape of a cast array is moved
before the cast. More operations then follow each other directly and can be fused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..specs import TensorSpec, TypeSpec
from .recording import Node

__all__ = ["moved_to_front"]

_SHAPED = {"Shape", "Size", "Rank"}
_ALIKE = {"Cast", "Neg", "Abs", "Square"}  # results have the shape of the input
_BROADCAST = {"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"}

Reference = tuple[bool, Any]


def moved_to_front(
    nodes: Sequence[Node], outputs: Sequence[Reference], specs: list[TypeSpec]
) -> list[Node]:
    """Return reordered operations; specs of new slots are appended to `specs`.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        For each result, whether it is a slot, and the slot or value.
    specs : list of TypeSpec
        Spec of each slot.
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
    """Read shapes from the earliest array that has the same shape."""
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
