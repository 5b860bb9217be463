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
    origin: Any  # the operation that errors name


class Program:
    """Instructions that run one after the other, and a list of values that they read and write.

    Each value has a place in the list; constants are in it from the start. An instruction reads
    its inputs with a prepared ``itemgetter`` and writes its outputs with a prepared slice, so its
    overhead is two subscriptions and one call.

    Parameters
    ----------
    given : sequence
        Keys of the values that :meth:`run` takes.

    Attributes
    ----------
    code : list of Instruction
    places : dict
        The place of each value, by key.
    scheduler : callable, optional
        Takes the program, the context and the list of values, and runs the instructions.
    values : list
        The constants, and None in other places.
    """

    __slots__ = ("_given", "_results", "_steps", "_uses", "code", "places", "scheduler", "values")

    def __init__(self, given: Sequence[Hashable]) -> None:
        self._given = len(given)
        self._results: tuple[int, ...] = ()
        self._steps: list[tuple[Any, ...]] = []  # plain tuples are faster to unpack
        self._uses: list[set[int]] = []
        self.code: list[Instruction] = []
        self.scheduler: Callable[[Any, Any, list[Any]], None] | None = None
        self.places: dict[Any, int] = {key: place for place, key in enumerate(given)}
        self.values: list[Any] = [None] * len(given)

    def constant(self, value: Any) -> int:
        """Add a constant; return its place."""
        self.values.append(value)
        return len(self.values) - 1

    def add(
        self,
        kernel: Callable[..., Any],
        inputs: Sequence[int],
        outputs: Iterable[Hashable],
        origin: Any,
    ) -> None:
        """Add an instruction that reads places and writes values with new keys."""
        start = len(self.values)
        for key in outputs:  # an output that the caller gives keeps its first place
            self.places.setdefault(key, self.constant(None))
        reads: Callable[[list[Any]], Iterable[Any]] = itemgetter(*inputs or (slice(0),))
        if len(inputs) == 1:
            reads = itemgetter(slice(inputs[0], inputs[0] + 1))
        self.code.append(Instruction(kernel, reads, slice(start, len(self.values)), (), origin))
        self._uses.append({*inputs, *range(start, len(self.values))})

    def finish(self, results: Sequence[int]) -> None:
        """Set the places of the results."""
        self._results = tuple(results)
        kept = {at for at, value in enumerate(self.values) if value is not None}.union(results)
        for at in reversed(range(len(self.code))):
            self.code[at] = self.code[at]._replace(done=tuple(self._uses[at] - kept))
            kept |= self._uses[at]
        self._uses.clear()
        self._steps = list(map(tuple, self.code))

    def run(self, context: Any, given: Iterable[Any]) -> list[Any]:
        """Return the results for given values; every kernel receives `context`."""
        slots = self.values.copy()
        slots[: self._given] = given
        if self.scheduler is not None:
            self.scheduler(self, context, slots)
            return [slots[place] for place in self._results]
        origin = None
        try:
            for kernel, inputs, outputs, done, origin in self._steps:  # noqa: B007
                slots[outputs] = kernel(context, *inputs(slots))
                for place in done:  # frees memory that is in cache for the next operation
                    slots[place] = None
        except Exception as error:
            changed = self._raised(error, origin)
            if changed is error:
                raise
            raise changed from error
        assert len(slots) == len(self.values), "each kernel must return all of its outputs"
        return [slots[place] for place in self._results]

    def _raised(self, error: Exception, origin: Any) -> Exception:
        """Return the error to raise if the kernel of `origin` raised `error`."""
        return refused(error) if isinstance(error, (IndexError, ValueError)) else error


def _program_of(
    nodes: Sequence[Node],
    given: Sequence[Hashable],
    wanted: Sequence[tuple[bool, Any]],
    kernel_of: Callable[[Node], Callable[..., Any]],
    constant: Callable[[Any], Any],
) -> Program:
    """Return the program that computes slots or values from given slots."""
    program = Program(given)

    def place(reference: tuple[bool, Any]) -> int:
        is_slot, value = reference
        return program.places[value] if is_slot else program.constant(constant(value))

    for node in nodes:
        program.add(kernel_of(node), list(map(place, node.inputs)), node.slots, node)
    program.finish(list(map(place, wanted)))
    return program


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


def column_program(
    nodes: Sequence[Node],
    given: Sequence[Hashable],
    wanted: Sequence[tuple[bool, Any]],
    kernel: Callable[..., list[Block]] = columns_of,
) -> Program:
    """Return the program of operations on Blocks; its context is the number of elements."""

    def constant(value: Any) -> Block:
        return Block(value, False)

    return _program_of(nodes, given, wanted, lambda node: partial(kernel, node), constant)


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

    return _program_of(nodes, given, wanted, kernel_of, lambda value: value)


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
