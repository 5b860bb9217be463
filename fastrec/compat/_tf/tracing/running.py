# SPDX-License-Identifier: Apache-2.0
"""Execution of one operation, on the values of one element or on columns of many.

An operation with a block kernel processes all elements of a column at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..columns import column_of, rows_of, taken
from ..ops import Block, refused
from .recording import Node


def run_node(node: Node, slots: list[Any], room: Callable[..., Any] | None = None) -> None:
    """Run an operation on the slots of one element and store the result in its slots.

    `room` may provide memory for a result of a given shape and type.
    """
    arguments = [slots[ref] if is_slot else ref for is_slot, ref in node.inputs]
    try:
        if room is not None and node.op.into is not None:
            result = node.op.into(room, *arguments, **node.attributes)
        else:
            result = node.op.kernel(*arguments, **node.attributes)
    except (IndexError, ValueError) as error:
        raise refused(error) from error
    if isinstance(result, tuple):
        for slot, each in zip(node.slots, result, strict=True):
            slots[slot] = each
    else:
        slots[node.slots[0]] = result


def blocks_of(node: Node, slots: Sequence[Any]) -> list[Any]:
    """Return the inputs of an operation as Blocks."""
    return [slots[ref] if is_slot else Block(ref, False) for is_slot, ref in node.inputs]


def columns_of(node: Node, count: int, blocks: Sequence[Block]) -> list[Block]:
    """Return the results of an operation for `count` elements."""
    if blocks and node.op.pure and not any(block.many for block in blocks):
        once = node.op.kernel(*[block.value for block in blocks], **node.attributes)
        return [Block(each, False) for each in (once if isinstance(once, tuple) else (once,))]
    result = None
    if node.op.block is not None:
        result = node.op.block(count, *blocks, **node.attributes)
    if result is None:
        result = _one_by_one(node, count, blocks)
    results = result if isinstance(result, tuple) else (result,)
    return [each if isinstance(each, Block) else Block(each, True) for each in results]


def _one_by_one(node: Node, count: int, blocks: Sequence[Block]) -> Any:
    streams = [rows_of(b.value) if b.many else iter([b.value] * count) for b in blocks]
    results = [node.op.kernel(*row, **node.attributes) for row in zip(*streams, strict=True)]
    if results and isinstance(results[0], tuple):
        return tuple(column_of(list(part)) for part in zip(*results, strict=True))
    return column_of(results)


def as_column(block: Block, count: int) -> Any:
    """Return a Block as a column of `count` elements."""
    return block.value if block.many else column_of([block.value] * count)


def part_of(block: Block, rows: np.ndarray[Any, Any]) -> Block:
    """Return the rows of a Block with these numbers."""
    return Block(taken(block.value, rows), True) if block.many else block


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
