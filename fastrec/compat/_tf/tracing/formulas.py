# SPDX-License-Identifier: Apache-2.0
"""Fusion of float arithmetic and comparisons into one native pass.

Separate operations spend more time reading and writing arrays than computing. A formula is a group
of operations on arrays of one shape; it stores only the results that others need. Each step rounds
as the separate operation does, so results are bit-identical.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from ..ops import Block, Op, known_specs
from ..ops.arithmetic import aligned, of_rows
from ..specs import TypeSpec
from .recording import Node
from .running import Program, column_program, row_program

_NUMBERS = {
    "Add": "add",
    "AddV2": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "RealDiv": "divide",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Neg": "negate",
    "Abs": "absolute",
    "Less": "less",
    "LessEqual": "less_equal",
    "Equal": "equal",
    "NotEqual": "not_equal",
}
_TURNED = {"Greater": "less", "GreaterEqual": "less_equal"}  # with swapped operands
_SQUARES = {"Square", "SquaredDifference"}
_TRUTHS = {"LogicalAnd": "and", "LogicalOr": "or", "LogicalNot": "not"}
_NAMES = {**_NUMBERS, **_TURNED, **_TRUTHS, "SelectV2": "select", "Cast": "number"}
_MOST = 64  # maximum registers of a formula
_LONGEST = 30  # maximum operations of a formula

Reference = tuple[bool, Any]
Steps = list[tuple[Any, ...]]


def _is_step(node: Node, given: Sequence[TypeSpec]) -> bool:
    """Return whether an operation can be a step of a formula."""
    name, types = node.op.name, [spec.dtype.name for spec in given]
    if len(node.specs) != 1 or node.specs[0].shape.sizes is None or not node.op.pure:
        return False
    if name == "Cast":
        return types[0] in ("bool", "uint8") and node.specs[0].dtype.name == "float32"
    if node.attributes:
        return False
    if name == "SelectV2":
        return types[0] == "bool" and types[1] == types[2] in ("bool", "float32")
    if name in _TRUTHS:
        return set(types) == {"bool"}
    known = name in _NUMBERS or name in _TURNED or name in _SQUARES
    return known and set(types) == {"float32"}


class _Formula:
    """Group of operations that becomes a single operation.

    Parameters
    ----------
    nodes : list of Node
    The slots that operations outside of the group use.
        The slots that others need.
    spec_of : callable
        Returns the spec of a reference.
    """

    def __init__(
        self, nodes: Sequence[Node], wanted: set[int], spec_of: Callable[[Reference], TypeSpec]
    ) -> None:
        self.nodes = nodes
        made = {node.slots[0] for node in nodes}
        self.inputs: list[Reference] = []
        places: dict[Any, int] = {}
        for node in nodes:
            for is_slot, value in node.inputs:
                key = (is_slot, value if is_slot else id(value))
                if not (is_slot and value in made) and key not in places:
                    places[key] = len(self.inputs)
                    self.inputs.append((is_slot, value))
        self._registers, steps = len(self.inputs), Steps()
        for node in nodes:
            given = [places[late, each if late else id(each)] for late, each in node.inputs]
            types = [spec_of(each).dtype.name for each in node.inputs]
            places[True, node.slots[0]] = self._put(steps, node.op.name, given, types)
        self.slots = tuple([node.slots[0] for node in nodes if node.slots[0] in wanted])
        specs = {node.slots[0]: node.specs[0] for node in nodes}
        self.specs = tuple([specs[slot] for slot in self.slots])
        results = [
            (places[True, slot], spec.dtype.name == "bool")
            for slot, spec in zip(self.slots, self.specs, strict=True)
        ]
        self._types = [spec_of(each).dtype.name for each in self.inputs]
        self._parts = steps, results

    def _put(self, steps: Steps, name: str, given: Sequence[int], types: Sequence[str]) -> int:
        """Add an operation; return the register of its result."""
        if name == "SquaredDifference":
            given = [self._put(steps, "Sub", given, types)]
        if name in ("Square", "SquaredDifference"):
            given, name = [given[0], given[0]], "Mul"
        if name in _TURNED:
            given = [given[1], given[0]]
        register, self._registers = self._registers, self._registers + 1
        # Bytes are converted to floats when they are read.
        kind = "absolute" if name == "Cast" and types[0] == "uint8" else _NAMES[name]
        steps.append((kind, *given, register))
        return register

    @property
    def is_worth_it(self) -> bool:
        """Whether the group has several operations that fit into the registers."""
        return len(self.nodes) > 1 and self._registers <= _MOST

    def joined(self) -> Node:
        """Return the fused operation."""
        self._formula = _tensor.Formula(self._types, *self._parts)
        given = [value if is_slot else None for is_slot, value in self.inputs]
        wanted = [(True, slot) for slot in self.slots]
        self._rows = row_program(self.nodes, given, wanted)
        self._columns = column_program(self.nodes, given, wanted)
        name = "+".join(node.op.name for node in self.nodes)
        alone = len(self.specs) == 1 and self.specs[0].dtype.name == "float32"
        op = Op(name, self._one, known_specs(self.specs), self._block)
        if alone:
            op = op.but(into=self._into)
        return Node(op, tuple(self.inputs), {}, self.slots, self.specs)

    def _one(self, *values: Any) -> Any:
        found = None
        if all(type(value) is np.ndarray for value in values):
            found = self._formula(list(values))
        if found is None:
            found = self._apart(self._rows, None, values)
        return found if len(found) > 1 else found[0]

    def _into(self, room: Callable[..., Any], *values: Any) -> Any:
        """Return the result, written to memory from `room` if it offers any."""
        known = all(type(value) is np.ndarray for value in values)
        shape = self._formula.shape_of(list(values)) if known else None
        out = None if shape is None else room(shape, np.dtype(np.float32))
        if out is None or self._formula(list(values), out) is None:
            return self._one(*values)
        return out

    def _block(self, count: int, *blocks: Block) -> Any:
        arrays = aligned(blocks)
        found = of_rows(self._formula, blocks) if arrays is None else self._formula(arrays)
        if found is None:
            return self._apart(self._columns, count, blocks)
        return found

    def _apart(self, program: Program, context: Any, values: Sequence[Any]) -> tuple[Any, ...]:
        """Run the operations one by one, for inputs that are not of one shape."""
        return tuple(program.run(context, values))


def _users(nodes: Sequence[Node], outputs: Sequence[Reference]) -> dict[int, list[Node | None]]:
    """Return the operations that use each slot; None stands for a returned result."""
    found: dict[int, list[Node | None]] = collections.defaultdict(list)
    for node in nodes:
        for late, slot in node.inputs:
            if late:
                found[slot].append(node)
    for late, slot in outputs:
        if late:
            found[slot].append(None)
    return found


def _groups(
    nodes: Sequence[Node],
    users: Mapping[int, Sequence[Node | None]],
    spec_of: Callable[[Reference], TypeSpec],
) -> list[list[Node]]:
    """Group operations that pass arrays of one shape directly to each other."""
    level: dict[int, int] = {}  # number of group changes on the path to a slot
    of_slot: dict[int, list[Node]] = {}  # operations of one level
    for node in nodes:
        slots = [value for late, value in node.inputs if late]
        if not _is_step(node, [spec_of(each) for each in node.inputs]):
            own = 1 + max([level.get(slot, 0) for slot in slots], default=0)
            level.update(dict.fromkeys(node.slots, own))
            continue
        sizes = node.specs[0].shape.sizes
        near = {s for s in slots if s in of_slot and of_slot[s][0].specs[0].shape.sizes == sizes}
        own = max([level.get(slot, 0) + (slot not in near) for slot in slots], default=0)
        joined = {id(of_slot[slot]): of_slot[slot] for slot in near if level[slot] == own}
        group = [node, *itertools.chain.from_iterable(joined.values())]
        if len(group) > _LONGEST:
            own, group = own + 1, [node]
        group.sort(key=lambda each: each.slots)
        level[node.slots[0]] = own
        of_slot.update((each.slots[0], group) for each in group)

    def group_of(node: Node | None) -> list[Node] | None:
        return of_slot.get(node.slots[0]) if node is not None and node.slots else None

    for first in sorted(of_slot, key=lambda slot: -level[slot]):  # merge a group into its only user
        group = of_slot[first]
        others = [group_of(user) for node in group for user in users[node.slots[0]]]
        outside = {id(each): each for each in others if each is not group}
        if len(outside) != 1 or (only := outside.popitem()[1]) is None:
            continue
        alike = only[0].specs[0].shape.sizes == group[0].specs[0].shape.sizes
        if alike and len(only) + len(group) <= _LONGEST:
            only.extend(group)
            only.sort(key=lambda each: each.slots)
            of_slot.update((each.slots[0], only) for each in group)
    return list({id(group): group for group in of_slot.values()}.values())


def with_formulas(
    nodes: Sequence[Node],
    outputs: Sequence[Reference],
    specs: Sequence[TypeSpec],
    spec_of: Callable[[Any], TypeSpec],
) -> list[Node]:
    """Replace groups of operations by fused ones, ordered so that inputs come first.

    Parameters
    ----------
    nodes : list of Node
    outputs : list
        For each result, whether it is a slot, and the slot or value.
    specs : list
        Spec of each slot.
    spec_of : callable
        Returns the spec of a value.
    """

    def spec(reference: Reference) -> TypeSpec:
        return specs[reference[1]] if reference[0] else spec_of(reference[1])

    makers = {slot: node for node in nodes for slot in node.slots}
    fused: dict[int, Node] = {}  # fused operation by member
    users = _users(nodes, outputs)
    for group in _groups(nodes, users, spec):
        inside = {id(node) for node in group}
        made = [node.slots[0] for node in group]
        wanted = {slot for slot in made if any(id(user) not in inside for user in users[slot])}
        formula = _Formula(group, wanted, spec)
        if formula.is_worth_it:
            joined = formula.joined()
            fused.update(dict.fromkeys(inside, joined))
            makers.update(dict.fromkeys(joined.slots, joined))
    if not fused:
        return list(nodes)
    found: dict[int, Node] = {}

    def place(node: Node) -> None:
        if id(node) not in found:
            for late, slot in node.inputs:
                if late and slot in makers:
                    place(makers[slot])
            found[id(node)] = node

    last = {id(fused[id(node)]): id(node) for node in nodes if id(node) in fused}
    for node in nodes:
        joined = fused.get(id(node), node)
        if last.get(id(joined), id(node)) == id(node):
            place(joined)
    return list(found.values())
