# SPDX-License-Identifier: Apache-2.0
"""Programs: what executes graphs, those of version 1's sessions and those of datasets' functions.

An operation with a block kernel processes all elements of a column at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..columns import column_of, rows_of, taken
from ..ops import Block, refused
from .recording import Node


class Instruction(NamedTuple):
    """One step of a program."""

    kernel: Callable[..., Any]  # takes the context and the inputs; returns a sequence of outputs
    inputs: Callable[[list[Any]], Iterable[Any]]  # takes the list of values
    outputs: slice
    done: tuple[int, ...]  # places of values that are not needed after it
    node: Node


class Program:
    """Instructions that run one after the other, and a list of values that they read and write.

    Each value has a place in the list; constants are in it from the start. An instruction reads
    its inputs with a prepared ``itemgetter`` and writes its outputs with a prepared slice, so its
    overhead is two subscriptions and one call.

    Parameters
    ----------
    nodes : sequence of Node
        The operations; each follows the operations that it uses.
    given : sequence
        Slots of the values that :meth:`run` takes.
    wanted : sequence
        The results: for each, whether it is a slot, and the slot or value.
    kernel_of : callable
        Takes a node; returns a function of the context and the inputs that returns a sequence of
        outputs.
    constant : callable, optional
        Converts a constant to a value of this program.
    folded : callable, optional
        Takes a node and its inputs, which are None unless they are constants. Returns its outputs
        if they can be computed before the program runs, otherwise None.

    Attributes
    ----------
    code : list of Instruction
    scheduler : callable, optional
        Takes the program, the context and the list of values, and runs the instructions.
    values : list
        The constants, and None in other places.
    """

    __slots__ = ("_given", "_results", "_steps", "code", "scheduler", "values")

    def __init__(
        self,
        nodes: Iterable[Node],
        given: Sequence[Hashable],
        wanted: Iterable[tuple[bool, Any]],
        kernel_of: Callable[[Node], Callable[..., Any]],
        constant: Callable[[Any], Any] = lambda value: value,
        folded: Callable[[Node, Sequence[Any]], Sequence[Any] | None] = lambda *_: None,
    ) -> None:
        self._given = len(given)
        self.scheduler: Callable[[Any, Any, list[Any]], None] | None = None
        self.values: list[Any] = [None] * len(given)
        places: dict[Any, int] = {slot: place for place, slot in enumerate(given)}
        values, code, uses = self.values, list[Instruction](), list[set[int]]()

        def place(reference: tuple[bool, Any]) -> int:
            is_slot, value = reference
            if is_slot:
                return places[value]
            values.append(constant(value))
            return len(values) - 1

        for node in nodes:
            inputs, start = list(map(place, node.inputs)), len(values)
            outputs = folded(node, [values[at] for at in inputs])
            values.extend([None] * len(node.slots) if outputs is None else outputs)
            for at, slot in enumerate(node.slots, start):
                places.setdefault(slot, at)  # a result that the caller gives keeps its first place
            if outputs is None:
                reads: Callable[[list[Any]], Iterable[Any]] = itemgetter(*inputs or (slice(0),))
                if len(inputs) == 1:
                    reads = itemgetter(slice(inputs[0], inputs[0] + 1))
                writes = slice(start, len(values))
                code.append(Instruction(kernel_of(node), reads, writes, (), node))
                uses.append({*inputs, *range(start, len(values))})
        self._results = tuple(map(place, wanted))
        kept = {at for at, value in enumerate(values) if value is not None}.union(self._results)
        for number in reversed(range(len(code))):
            code[number] = code[number]._replace(done=tuple(uses[number] - kept))
            kept |= uses[number]
        self.code = code
        self._steps: list[tuple[Any, ...]] = list(map(tuple, code))  # faster to unpack

    def run(self, context: Any, given: Iterable[Any]) -> list[Any]:
        """Return the results for given values; every kernel receives `context`."""
        slots = self.values.copy()
        slots[: self._given] = given
        if self.scheduler is not None:
            self.scheduler(self, context, slots)
            return [slots[place] for place in self._results]
        node: Any = None
        try:
            for kernel, inputs, outputs, done, node in self._steps:  # noqa: B007
                slots[outputs] = kernel(context, *inputs(slots))
                for place in done:  # frees memory that is in cache for the next operation
                    slots[place] = None
        except Exception as error:
            changed = self._raised(error, node)
            if changed is error:
                raise
            raise changed from error
        assert len(slots) == len(self.values), "each kernel must return all of its outputs"
        return [slots[place] for place in self._results]

    def _raised(self, error: Exception, node: Node) -> Exception:
        """Return the error to raise if the kernel of `node` raised `error`."""
        named = error if node.view is None else node.view.named(error)
        return refused(named) if isinstance(named, (IndexError, ValueError)) else named


def _row_kernel(node: Node, number: int | None) -> Callable[..., tuple[Any, ...]]:
    """Return the kernel of an operation that may write result `number` to provided memory."""
    op, how = node.op, node.attributes
    kernel = partial(op.kernel, **how) if how else op.kernel

    def run(into: Any, *values: Any) -> tuple[Any, ...]:
        if into is None or number is None or op.into is None:
            result = kernel(*values)
        else:
            result = op.into(partial(into, number), *values, **how)
        return result if isinstance(result, tuple) else (result,)

    return run


def blocks_of(node: Node, slots: Mapping[int, Any]) -> list[Any]:
    """Return the inputs of an operation as Blocks; None for those that are not in `slots`."""
    return [slots.get(ref) if is_slot else Block(ref, False) for is_slot, ref in node.inputs]


def columns_of(node: Node, count: int, *blocks: Block) -> list[Block]:
    """Return the results of an operation for `count` elements; the kernel of a column program."""
    if node.op.pure and not any(block.many for block in blocks):
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


def column_program(
    nodes: Sequence[Node],
    given: Sequence[Hashable],
    wanted: Sequence[tuple[bool, Any]],
    kernel: Callable[..., list[Block]] = columns_of,
) -> Program:
    """Return the program of operations on Blocks; its context is the number of elements."""

    def constant(value: Any) -> Block:
        return Block(value, False)

    return Program(nodes, given, wanted, lambda node: partial(kernel, node), constant)


def row_program(
    nodes: Sequence[Node], given: Sequence[Hashable], wanted: Sequence[tuple[bool, Any]]
) -> Program:
    """Return the program of operations on one element.

    Its context is None, or a function that may provide memory for a result, by its number, shape
    and type.
    """
    numbers = {value: at for at, (is_slot, value) in enumerate(wanted) if is_slot}

    def kernel_of(node: Node) -> Callable[..., tuple[Any, ...]]:
        alone = len(node.slots) == 1 and node.op.into is not None
        return _row_kernel(node, numbers.get(node.slots[0]) if alone else None)

    return Program(nodes, given, wanted, kernel_of)


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
    return node._replace(
        op=op,
        inputs=tuple([node.inputs[at] for at in inputs]),
        slots=tuple([node.slots[at] for at in places]),
        specs=tuple([node.specs[at] for at in places]),
    )
