# SPDX-License-Identifier: Apache-2.0
"""The rewrite rules of traces and pipelines by name, each of which can be disabled.

``FASTREC_COMPAT_DISABLE=pixels,formulas`` disables rules for a process, and :func:`without` for a
block of a test. A rule changes the time that a program takes, never its elements.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..specs import TensorSpec, TypeSpec
from .recording import Node

RULES = {
    "shapes first": "take shapes from operands, and reshape before a cast",
    "pixels": "run operations on an image in one pass over its pixels",
    "formulas": "run arithmetic in one pass over memory",
    "raw images": "parse the bytes of raw images as images",
    "parse together": "parse many records before each large row runs alone",
    "shuffle first": "shuffle the operands of a map instead of its results",
}

_disabled: set[str] = set()


def _disable(names: Iterator[str]) -> None:
    for name in names:
        if name not in RULES:
            raise ValueError(f"a rule must be one of {', '.join(RULES)}, got {name!r}")
        _disabled.add(name)


_disable(filter(None, map(str.strip, os.environ.get("FASTREC_COMPAT_DISABLE", "").split(","))))


def enabled(name: str) -> bool:
    """Return whether a rule applies to traces and pipelines that are made now."""
    return name not in _disabled


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Disable rules inside a ``with`` statement."""
    before = set(_disabled)
    _disable(iter(names))
    try:
        yield
    finally:
        _disabled.clear()
        _disabled.update(before)


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
