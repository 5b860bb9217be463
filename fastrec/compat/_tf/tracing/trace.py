# SPDX-License-Identifier: Apache-2.0
"""Traces: the recorded operations of a function, run on one element or on columns of many."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..columns import column_of, size_of
from ..ops import Block, Draw, Parsing
from ..specs import TensorSpec, TypeSpec
from ..width import LARGE, LARGE_PIXELS
from .calls import CALLERS, DrawOfPart, Unfit, calling
from .recording import Node, Recording, raw_of, reference, spec_of
from .rules import enabled, moved_to_front
from .running import (
    Program,
    as_column,
    blocks_of,
    column_program,
    columns_of,
    live,
    needed_of,
    row_program,
)

_PARTS = {"CentralCrop", "CropToBoundingBox", "RandomCrop", "Slice", "StridedSlice"}  # of images
_MOST_QUESTIONS = 64  # with constant answers; more mean a loop


Into = Callable[[int, tuple[int, ...], np.dtype[Any]], Any]


class Trace:
    """Operations of a function, and its results.

    Parameters
    ----------
    recording : Recording
        Operations that the function called.
    results : sequence
        The function's results; operations that these do not need are dropped.

    Attributes
    ----------
    given : list of int
        Slots of all inputs, in order.
    values, drawn : list of int
        Slots of arguments and captured values, and slots of random numbers.
    draws : list of Draw
        Draw of each slot in `drawn`; one draw may occur several times.
    places : list
        Place in the program of each draw.
    draws_need : list of int
        Slots of the values that draws depend on.
    is_large : bool
        Whether elements are images or similarly large. They are best processed one by one, because
        a block of them exceeds the processor's cache, and a call is cheap in comparison.
    rules : list of str
        Names of the rewrite rules that changed the trace; see :mod:`.rules`.
    function : callable, optional
        The program's function that was traced, for messages.
    may_be_small : bool
        Whether `is_large` follows only from unknown sizes; :meth:`bytes_made` then tells.
    made : int, optional
        If set, it is increased by the bytes of each created column, except for views.

    Raises
    ------
    Unfit
        If the draws of a part depend on an image, which would delay all draws, or on an operation
        with side effects.
    """

    def __init__(self, recording: Recording, results: Sequence[Any]) -> None:
        raws = [recording.own(raw_of(each)) for each in results]
        self.outputs = [reference(raw) for raw in raws]
        self.specs = [spec_of(raw) for raw in raws]
        self.captures = recording.captures
        self.made: int | None = None
        specs = [symbol.spec for symbol in recording.symbols]  # includes information from set_shape
        known = [
            node._replace(specs=tuple([specs[slot] for slot in node.slots]))
            for node in recording.nodes
        ]
        self._recorded = len(specs)
        self.nodes = live(known, self.outputs)
        self.rules: list[str] = []
        self.function: Callable[..., Any] | None = None
        if enabled("shapes first"):
            moved = live(moved_to_front(self.nodes, self.outputs, specs), self.outputs)
            self.nodes = self._noted("shapes first", self.nodes, moved)
        references = [ref for node in self.nodes for ref in node.inputs] + self.outputs
        self._find_draws(recording, {slot for is_slot, slot in references if is_slot})
        self.is_large = self._makes_large(specs, _is_image)
        self.may_be_small = self.is_large and not self._makes_large(specs, _is_known_image)
        self._specs = specs
        self._fuse()

    def _noted(self, rule: str, before: list[Node], after: list[Node]) -> list[Node]:
        """Return the operations `after` a rule, and note the rule if it changed them."""
        if names_of(before) != names_of(after):
            self._note(rule)
        return after

    def _note(self, rule: str) -> None:
        if rule not in self.rules:
            self.rules.append(rule)

    def over(
        self, nodes: Sequence[Node], given: Sequence[int], outputs: Sequence[tuple[bool, Any]]
    ) -> Trace:
        """Return a trace of some operations without draws, with other inputs and outputs."""
        found = copy.copy(self)
        for name in ("after_parsing", "divided"):
            vars(found).pop(name, None)
        found.nodes, found.given, found.outputs = list(nodes), list(given), list(outputs)
        found.specs = [self._specs[ref] if is_slot else spec_of(ref) for is_slot, ref in outputs]
        found._fuse()
        return found

    def only(self, places: Sequence[int]) -> Trace:
        """Return a trace that computes only these outputs."""
        outputs = [self.outputs[at] for at in places]
        needed = {slot for is_slot, slot in outputs if is_slot}
        nodes = []
        for node in reversed(self.nodes):
            if needed.intersection(node.slots):
                nodes.append(needed_of(node, needed))
                needed.update(slot for is_slot, slot in nodes[-1].inputs if is_slot)
        return self.over(nodes[::-1], [slot for slot in self.given if slot in needed], outputs)

    def _fuse(self) -> None:
        """Fuse operations that follow each other."""
        from .formulas import with_formulas

        specs = self._specs
        self._programs: dict[Any, Program] = {}
        self.fused = self.columns = self.nodes
        self._rest: tuple[list[int], list[int], Program] | None = None

        def joined(nodes: Sequence[Node]) -> list[Node]:
            if not enabled("formulas"):
                return list(nodes)
            found = with_formulas(nodes, self.outputs, specs, spec_of)
            return self._noted("formulas", list(nodes), found)

        if not self.is_large and all(spec.shape.ndims not in (3, 4) for spec in specs):
            if self.is_pure and len(self.nodes) > 1:
                self.fused = self.columns = joined(self.nodes)
            return
        from .fusing import Distortion, Pixels, fused  # rarely needed

        def chained(nodes: Sequence[Node], kind: type[Any]) -> list[Node]:
            if not enabled("pixels"):
                return joined(nodes)
            found = fused(nodes, self.outputs, specs, spec_of, kind)
            return joined(self._noted("pixels", list(nodes), found))

        self.columns = chained(self._with_images(), Distortion)
        if self.is_pure:
            self.fused = chained(self.nodes, Pixels)

    def _with_images(self) -> list[Node]:
        """Return the operations, with raw images read as such."""
        from .rules import with_images

        if not enabled("raw images"):
            return self.nodes
        return self._noted("raw images", self.nodes, with_images(self.nodes, self.outputs))

    def _find_draws(self, recording: Recording, needed: set[int]) -> None:
        """Find the operations that decide which parts of the function draw numbers."""
        pairs = zip(recording.drawn, recording.draws, strict=True)
        drawn = {s: d for s, d in pairs if s in needed or not isinstance(d, DrawOfPart)}
        self.drawn, self.draws = list(drawn), list(drawn.values())
        self.places = [recording.places.get(slot) for slot in drawn]
        self._own_draws: dict[int, tuple[Draw, list[int]]] = {}  # and the slots that it fills
        for slot, draw in drawn.items():
            if not isinstance(draw, DrawOfPart):
                self._own_draws.setdefault(id(draw), (draw, []))[1].append(slot)
        self.values = [slot for slot in recording.given if slot not in recording.drawn]
        self.given = [s for s in recording.given if s in drawn or s not in recording.drawn]
        self._deciding: list[tuple[Node, Node | None]] = []  # and its needed part
        wanted: set[int] = set()
        for node in reversed(self.nodes):
            runs = None if wanted.isdisjoint(node.slots) else needed_of(node, wanted)
            draws = node.op.draws
            if runs and (not node.op.pure or any(map(_is_image, runs.specs))):
                raise Unfit("what a part of a function draws depends on an image, or on effects")
            if runs or draws is not None:
                self._deciding.append((node, runs))
                uses = [node.inputs[at] for at in draws.needs] if draws is not None else []
                uses.extend(runs.inputs if runs is not None else ())
                wanted.update(slot for late, slot in uses if late)
        self._deciding.reverse()
        self.draws_need = sorted(wanted.intersection(self.values))

    def draws_of(self, count: int, columns: Sequence[Block | None], states: Any) -> list[Any]:
        """Return columns of random numbers for `count` elements.

        Parameters
        ----------
        count : int
        columns : sequence of Block
            Arguments and captured values; may be None for slots outside of :attr:`draws_need`.
        states : dict
            Random state of each draw, kept between calls.
        """
        slots: dict[int, Any] = dict(zip(self.values, columns, strict=True))
        for draw, own in self._own_draws.values():
            if (state := states.get(id(draw))) is None:
                state = states[id(draw)] = draw.start()
            many = draw.many(state, count * len(own))
            for turn, slot in enumerate(own):
                slots[slot] = Block(np.ascontiguousarray(many[turn :: len(own)]), True)
        with np.errstate(all="ignore"):
            for node, runs in self._deciding:
                if node.op.draws is not None:
                    drawn = node.op.draws(count, blocks_of(node, slots), states)
                    for at, column in drawn.items():
                        slots[node.inputs[at][1]] = Block(column, True)
                if runs is not None:
                    found = columns_of(runs, count, *blocks_of(runs, slots))
                    slots.update(zip(runs.slots, found, strict=True))
        return [slots[slot].value for slot in self.drawn]

    @cached_property
    def divided(self) -> tuple[Trace, Trace] | None:
        """The traces of operations on small values, for columns, and of the others; or None."""
        few = not any(_is_large(self._specs[slot]) for slot in self.given)
        if not (self.is_large and self.is_pure and few and enabled("small together")):
            return None  # columns of large values would be many bytes
        ready, early, late = set(self.given), [], []
        for node in self._with_images():
            needs = {slot for is_slot, slot in node.inputs if is_slot}
            specs = [*node.specs, *(self._specs[slot] for slot in needs)]
            if node.op.block is not None and needs <= ready and not any(map(_is_large, specs)):
                early.append(node)
                ready.update(node.slots)
            else:
                late.append(node)
        if not early:
            return None
        references = [ref for node in late for ref in node.inputs] + self.outputs
        carried = sorted(ready.intersection(slot for is_slot, slot in references if is_slot))
        self._note("small together")
        first = self.over(early, self.given, [(True, slot) for slot in carried])
        return first, self.over(late, carried, self.outputs)

    @cached_property
    def after_parsing(self) -> Trace:
        """The trace without its first operation, which parses."""
        return self.over(self.nodes[1:], self.nodes[0].slots, self.outputs)

    @property
    def is_pure(self) -> bool:
        """Whether the trace may be run ahead of time, and repeatedly."""
        return all(node.op.pure for node in self.nodes)

    @property
    def is_waiting(self) -> bool:
        """Whether an operation may wait for a file or for Python code."""
        return any(node.op.name == "ReadFile" or not node.op.pure for node in self.nodes)

    def bytes_made(self, values: Sequence[Any]) -> int:
        """Return the bytes of all values that the trace creates for an element."""
        alone = copy.copy(self)  # other threads may run this trace
        alone.made, alone._programs = 0, {}
        alone.run_block(1, [column_of([value]) for value in values])
        return alone.made

    def _makes_large(self, specs: Sequence[TypeSpec], is_image: Callable[[TypeSpec], bool]) -> bool:
        """Return whether any value is large; natively parsed arrays count only as images."""

        def large(spec: TypeSpec) -> bool:
            return is_image(spec) or (not parses and _has_many(spec))

        parses = self.parsing is not None
        found = {slot for slot in self.values if large(specs[slot])}
        for node in self.nodes:
            if node.op.large:
                return True
            is_slot, whole = node.inputs[0] if node.inputs else (False, None)
            small = is_slot and whole not in found and node.op.name in _PARTS
            found.update(slot for slot in node.slots if large(specs[slot]) and not small)
        returned = {slot for is_slot, slot in self.outputs if is_slot}
        return any(slot in returned or slot not in self.values for slot in found)

    @property
    def parsing(self) -> Parsing | None:
        """Native parsing, if the first operation parses the only input; otherwise None."""
        if not self.nodes or len(self.given) != 1 or not self.is_pure:
            return None
        first, *others = self.nodes
        uses = [ref for node in others for ref in node.inputs] + self.outputs
        alone = first.inputs == ((True, 0),) and (True, 0) not in uses
        return first.op.parsing if alone else None

    def __call__(
        self, values: Sequence[Any], into: Into | None = None, plain: bool = False
    ) -> tuple[Any, ...]:
        """Run the trace on the values of one element.

        `into` may provide memory for a result, by result number, shape and type. Operations are
        not fused if `plain`.
        """
        with np.errstate(all="ignore"):
            return tuple(self._program("plain" if plain else "fused").run(into, values))

    def _program(self, which: str) -> Program:
        """Return a program of this trace, compiled when it is first used."""
        found = self._programs.get(which)
        if found is None:
            given, wanted = self.given, self.outputs
            if which == "columns":
                found = column_program(self.columns, given, wanted, self._columns_of)
            else:
                found = row_program(self.nodes if which == "plain" else self.fused, given, wanted)
            self._programs[which] = found
        return found

    def _columns_of(self, node: Node, count: int, *blocks: Block) -> list[Block]:
        """Run an operation on columns, and count the bytes of its results."""
        found = columns_of(node, count, *blocks)
        if self.made is not None and not node.op.cheap:
            self.made += sum(size_of(each.value) for each in found)
        return found

    def resumed(self, values: Sequence[Any], known: dict[int, Any]) -> tuple[Any, ...]:
        """Run the trace on one element, except for operations whose results are in `known`.

        Parameters
        ----------
        values : sequence
        known : dict
            Results by slot, of traces that begin with the same operations; new ones are added.
        """
        known.update(zip(self.given, values, strict=True))
        if self._rest is None:  # the traces before this one are always the same
            nodes = [node for node in self.fused if not known.keys() >= {*node.slots}]
            more = [slot for node in nodes for slot in node.slots if slot < self._recorded]
            wanted = [*self.outputs, *((True, slot) for slot in more)]
            self._rest = list(known), more, row_program(nodes, list(known), wanted)
        slots, more, program = self._rest
        with np.errstate(all="ignore"):
            found = tuple(program.run(None, [known[slot] for slot in slots]))
        known.update(zip(more, found[len(self.outputs) :], strict=True))
        return found[: len(self.outputs)]

    def run_block(self, count: int, columns: Sequence[Any]) -> list[Any]:
        """Run the trace on columns of `count` elements."""
        found = self.run_blocks(count, [Block(column, True) for column in columns])
        return [as_column(block, count) for block in found]

    def run_blocks(self, count: int, given: Sequence[Block]) -> list[Block]:
        """Run the trace on Blocks; return Blocks."""
        with np.errstate(all="ignore"):
            return self._program("columns").run(count, given)


def names_of(nodes: Sequence[Node]) -> str:
    """Return the names of operations; plus signs join the names within a fused operation."""
    return ", ".join(node.op.name for node in nodes)


def _is_large(spec: TypeSpec) -> bool:
    return _is_image(spec) or _has_many(spec)


def _has_many(spec: TypeSpec) -> bool:
    """Return whether a value is known to store many numbers; a sparse tensor stores few."""
    is_stored = isinstance(spec, TensorSpec) and spec.dtype.name != "string"
    count = spec.shape.num_elements() if is_stored else None
    return count is not None and count >= LARGE


def _is_image(spec: TypeSpec) -> bool:
    """Return whether a value is an image that is large or of unknown size."""
    sizes = spec.shape.sizes
    if sizes is None or len(sizes) != 3 or spec.dtype.name == "string":
        return False
    return None in sizes[:2] or _is_known_image(spec)


def _is_known_image(spec: TypeSpec) -> bool:
    sizes = spec.shape.sizes
    if sizes is None or len(sizes) != 3 or spec.dtype.name == "string":
        return False
    rows, columns, _ = sizes
    return rows is not None and columns is not None and rows * columns >= LARGE_PIXELS


def traced(
    function: Callable[..., Any],
    specs: Sequence[TypeSpec],
    arguments: Callable[[list[Any]], Any],
    results: Callable[[Any], tuple[Any, list[Any]]],
    answers: Sequence[bool] | None = None,
    parent: Recording | None = None,
) -> tuple[Trace, Any]:
    """Trace a function; return its operations and the structure of its result.

    Parameters
    ----------
    function : callable
    specs : list of TypeSpec
        Specs of the arguments.
    arguments, results : callable
        Converts tensors to the arguments of `function`, and its result to a structure and a list
        of tensors.
    answers, parent
        See :class:`.recording.Recording`.

    Raises
    ------
    Undecided
        At a question without an answer.
    """
    recording = Recording(specs, answers, parent)
    with calling(recording):
        structure, tensors = results(function(*arguments(recording.inputs)))
    return Trace(recording, tensors), structure


def sketched(
    function: Callable[..., Any],
    specs: Sequence[TypeSpec],
    arguments: Callable[[list[Any]], Any],
    results: Callable[[Any], tuple[Any, list[Any]]],
    answer: bool,
    number: int | None = None,
) -> tuple[Any, list[TypeSpec]]:
    """Return the structure and the specs of the result if every question has that `answer`.

    Like :func:`traced`, but the result is never run, so the function may draw random numbers whose
    count depends on elements. Symbols that become a Python int have the value `number`.
    """
    recording = Recording(specs, [answer] * _MOST_QUESTIONS)
    recording.is_asking, recording.number = False, number
    with calling(recording):
        structure, tensors = results(function(*arguments(recording.inputs)))
    return structure, [spec_of(raw_of(each)) for each in tensors]


CALLERS.update([traced.__code__, sketched.__code__])
