# SPDX-License-Identifier: Apache-2.0
"""Operations, and functions of them that were traced.

Calling a function with symbols instead of values gives the list of operations that it is made of,
as ``tf.data`` does with the function of a ``map``. The list is run on the values of one element, or
on columns of many: operations that have a block kernel then work on all of them at once.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import fastrec

from .columns import Variants, column_of, rows_of
from .dtypes import DType
from .ops import Block, Draw, Op, Parsing, refused
from .specs import TensorSpec, TypeSpec, sample
from .tensor import EagerTensor, Tensor, TensorShape

__all__ = [
    "Block",
    "Called",
    "Draw",
    "Node",
    "Op",
    "Symbol",
    "Trace",
    "Undecided",
    "calling",
    "current_call",
    "raw_of",
    "run",
    "traced",
    "wrap",
]


T = TypeVar("T")
_LARGE_PIXELS = 1 << 14


class Symbol(Tensor):
    """Symbolic result of an operation, while a function is traced."""

    __slots__ = ("slot", "spec", "trace")

    def __init__(self, trace: Trace, slot: int, spec: TypeSpec) -> None:
        self.trace, self.slot, self.spec = trace, slot, spec

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def shape(self) -> TensorShape:
        return self.spec.shape

    def set_shape(self, shape: Any) -> None:
        """Say what is known about the shape."""
        self.spec = self.spec.reshaped(self.shape.merge_with(shape))

    def known(self) -> None:
        """Return None: it has no value."""

    def known_sizes(self) -> list[int | None] | None:
        """Elements that are known, where it is a vector of sizes."""
        maker = self.trace.makers.get(self.slot)
        if maker is not None and maker.op.name == "Pack":
            parts = [None if is_slot else int(value) for is_slot, value in maker.inputs]
            return [None if part == -1 else part for part in parts]
        count = self.shape.num_elements()
        return None if count is None else [None] * count

    def known_rows(self) -> list[list[int | None] | None]:
        """Rows of a matrix of sizes, as far as they are known."""
        makers = self.trace.makers
        maker = makers.get(self.slot)
        if maker is None or maker.op.name != "Pack":
            return []
        rows: list[list[int | None] | None] = []
        for is_slot, value in maker.inputs:
            inner = makers.get(value) if is_slot else None
            if not is_slot:
                rows.append(np.asarray(value).tolist())
            elif inner is not None and inner.op.name == "Pack":
                rows.append([None if late else int(size) for late, size in inner.inputs])
            else:
                rows.append(None)
        return rows

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("Cannot convert a symbolic tf.Tensor to a numpy array.")

    def __bool__(self) -> bool:
        return self.trace.decide(self)

    def __len__(self) -> int:
        sizes = self.shape.sizes
        if not sizes or sizes[0] is None:
            raise TypeError("len is not well defined for a symbolic Tensor.")
        return sizes[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}>"


class Undecided(TypeError):
    """Raised when a function uses a symbol as a Python bool."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.")
        self.symbol = symbol


@dataclass(frozen=True)
class Node:
    """An operation in a trace: its inputs are slots, or values that do not change."""

    op: Op
    inputs: tuple[tuple[bool, Any], ...]  # whether it is a slot; slot or value
    attributes: dict[str, Any]
    slots: tuple[int, ...]
    specs: tuple[TypeSpec, ...] = ()


def raw_of(value: Any) -> Any:
    """Raw value of a tensor, sparse tensor or ragged tensor, or the symbol for one."""
    if isinstance(value, Symbol):
        return value
    return value.raw if isinstance(value, EagerTensor) else value._raw


# How Sparse and Ragged are shown to programs; their module adds them.
WRAPPERS: dict[type, Callable[[Any], Any]] = {Variants: lambda several: several}


def wrap(value: Any) -> Any:
    """A value, as programs see it."""
    if type(value) is np.ndarray:
        return EagerTensor(value)
    maker = WRAPPERS.get(type(value))
    if maker is not None:
        return maker(value)
    if not isinstance(value, (np.ndarray, bytes, fastrec.Bytes)):
        value = np.asarray(value)
    return EagerTensor(value)


# How symbols of composite values are shown to programs.
SYMBOL_WRAPPERS: dict[type, Callable[[Symbol], Any]] = {}


def _wrap_symbol(symbol: Symbol) -> Any:
    maker = SYMBOL_WRAPPERS.get(type(symbol.spec))
    return symbol if maker is None else maker(symbol)


def run(
    op: Op,
    inputs: Sequence[Any],
    name: str | None = None,
    type: str | None = None,
    /,
    **attributes: Any,
) -> Any:
    """Run an operation on tensors, or note it down when one of them is a symbol.

    The name and the type of a node of a graph are nothing here.
    """
    raws = [raw_of(each) for each in inputs]
    trace = next((raw.trace for raw in raws if isinstance(raw, Symbol)), None)
    if trace is not None:
        return trace.add(op, raws, attributes)
    try:
        with np.errstate(all="ignore"):
            result = op.kernel(*raws, **attributes)
    except (IndexError, ValueError) as error:
        raise refused(error) from error
    return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)


class Trace:
    """The operations of a function, in the order in which it calls them."""

    def __init__(self, specs: Sequence[TypeSpec], answers: Sequence[bool] = ()) -> None:
        self._answers = list(answers)[::-1]
        self.nodes: list[Node] = []
        self.count = 0
        self._symbols: list[Symbol] = []
        self.makers: dict[int, Node] = {}
        self.inputs = [_wrap_symbol(self._symbol(spec)) for spec in specs]
        self.given = list(range(self.count))  # the slots of what it is run on
        self.draws: list[Draw] = []
        self.unseeded = 0  # how many of them have no seed of their own
        self.outputs: list[tuple[bool, Any]] = []
        self._steps = self._fused = self._late = _steps([], [])
        self._early: list[Node] = []
        self._early_steps = self._steps
        self._carried: list[int] = []
        self.specs: list[TypeSpec] = []

    def _symbol(self, spec: TypeSpec) -> Symbol:
        self.count += 1
        self._symbols.append(Symbol(self, self.count - 1, spec.reshaped(spec.shape)))
        return self._symbols[-1]

    def decide(self, symbol: Symbol) -> bool:
        """Whether a symbol is true, as the answers to the function's questions have it."""
        if not self._answers:
            raise Undecided(symbol)
        return self._answers.pop()

    def draw(self, draw: Draw) -> Any:
        """Note down random numbers: they are given after the parts of an element."""
        symbol = self._symbol(draw.spec)
        self.given.append(symbol.slot)
        self.draws.append(draw)
        return symbol

    def add(self, op: Op, raws: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Note down an operation; the symbols of what it will give."""
        self._check_own(raws)
        specs = (op.infer or _tried(op))([_spec_of(raw) for raw in raws], raws, **attributes)
        symbols = [self._symbol(spec) for spec in specs]
        inputs = tuple(_reference(raw) for raw in raws)
        slots = tuple(symbol.slot for symbol in symbols)
        node = Node(op, inputs, attributes, slots, tuple(specs))
        self.nodes.append(node)
        self.makers.update(dict.fromkeys(node.slots, node))
        shown = [_wrap_symbol(symbol) for symbol in symbols]
        return shown[0] if len(shown) == 1 else tuple(shown)

    def _check_own(self, raws: Sequence[Any]) -> None:
        if any(isinstance(raw, Symbol) and raw.trace is not self for raw in raws):
            raise TypeError("a symbol of another function")

    def finish(self, results: Sequence[Any]) -> None:
        """Say what the function has returned, and forget what it does not need."""
        raws = [raw_of(each) for each in results]
        self._check_own(raws)
        self.outputs = [_reference(raw) for raw in raws]
        self.specs = [_spec_of(raw) for raw in raws]
        needed = {slot for is_slot, slot in self.outputs if is_slot}
        kept = []
        for node in reversed(self.nodes):
            if not node.op.pure or needed.intersection(node.slots):
                needed.update(slot for is_slot, slot in node.inputs if is_slot)
                kept.append(node)
        self.nodes = kept[::-1]
        self._steps = self._fused = _steps(self.nodes, self.outputs)
        if self.is_large and self.is_pure:
            from .fusing import fused  # which others do without

            specs = [symbol.spec for symbol in self._symbols]
            self._fused = _steps(fused(self.nodes, self.outputs, specs, _spec_of), self.outputs)
            late = self._divide(specs)
            self._late = _steps(fused(late, self.outputs, specs, _spec_of), self.outputs)

    def _divide(self, specs: Sequence[TypeSpec]) -> list[Node]:
        """Tell what does not come to images apart, to do it for many elements at once.

        Returns the rest.
        """
        ready = set(self.given)
        for node in self.nodes:
            needs = {slot for is_slot, slot in node.inputs if is_slot}
            small = not any(map(_is_image, [*node.specs, *(specs[slot] for slot in needs)]))
            if node.op.block is not None and small and needs and needs <= ready:
                self._early.append(node)
                ready.update(node.slots)
        done = {id(node) for node in self._early}
        late = [node for node in self.nodes if id(node) not in done]
        references = [ref for node in late for ref in node.inputs] + self.outputs
        self._carried = sorted(ready.intersection(slot for is_slot, slot in references if is_slot))
        self._early_steps = _steps(self._early, [(True, slot) for slot in self._carried])
        return late

    @property
    def is_divided(self) -> bool:
        """Whether part of it is done for many elements at once, and the rest one by one."""
        return bool(self._early)

    def early(self, count: int, columns: Sequence[Any]) -> list[Any]:
        """Columns of what :meth:`late` takes, from columns of `count` elements."""
        wanted = [(True, slot) for slot in self._carried]
        return self._run_columns(self._early_steps, self.given, wanted, count, columns)

    def late(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Run the rest of it on the values of one element."""
        return self._run(self._late, self._carried, values)

    @property
    def is_pure(self) -> bool:
        """Whether it may be run ahead of time, and again."""
        return all(node.op.pure for node in self.nodes)

    @property
    def is_large(self) -> bool:
        """Whether elements are images of some size, which are best worked on one by one.

        What a block of them takes fits in no cache, and each takes longer than a call.
        """
        specs = [spec for node in self.nodes for spec in node.specs]
        return any(_is_image(spec) for spec in [*specs, *self.specs])

    @property
    def parsing(self) -> Parsing | None:
        """Native parsing, if the first operation parses the only input; otherwise None."""
        if not self.nodes or len(self.given) != 1 or not self.is_pure:
            return None
        first, *others = self.nodes
        uses = [ref for node in others for ref in node.inputs] + self.outputs
        alone = first.inputs == ((True, 0),) and (True, 0) not in uses
        return first.op.parsing if alone else None

    @property
    def is_cheap(self) -> bool:
        """Whether the operations other than parsing take almost no time."""
        return all(node.op.cheap or node.op.parsing is not None for node in self.nodes)

    def __call__(
        self, values: Sequence[Any], parsed: bool = False, together: bool = False
    ) -> tuple[Any, ...]:
        """Run it on the values of one element; on what its first operation gives, if `parsed`.

        Operations on images that follow each other are one, if `together`.
        """
        steps = self._fused if together else self._steps
        if parsed:
            return self._run(steps[1:], self.nodes[0].slots, values)
        return self._run(steps, self.given, values)

    def _run(
        self, steps: Sequence[tuple[Node, list[int]]], given: Sequence[int], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        slots: list[Any] = [None] * self.count
        for slot, value in zip(given, values, strict=True):
            slots[slot] = value
        with np.errstate(all="ignore"):
            for node, done in steps:
                arguments = [slots[ref] if is_slot else ref for is_slot, ref in node.inputs]
                try:
                    result = node.op.kernel(*arguments, **node.attributes)
                except (IndexError, ValueError) as error:
                    raise refused(error) from error
                if isinstance(result, tuple):
                    for slot, each in zip(node.slots, result, strict=True):
                        slots[slot] = each
                else:
                    slots[node.slots[0]] = result
                for slot in done:  # whose memory is the next operation's, which has it in a cache
                    slots[slot] = None
                del arguments, result
        return tuple(slots[ref] if is_slot else ref for is_slot, ref in self.outputs)

    def run_block(self, count: int, columns: Sequence[Any], parsed: bool = False) -> list[Any]:
        """Run it on columns of `count` elements; of what its first operation gives, if `parsed`."""
        if parsed:
            steps, given = self._steps[1:], self.nodes[0].slots
        else:
            steps, given = self._steps, tuple(self.given)
        return self._run_columns(steps, given, self.outputs, count, columns)

    def _run_columns(
        self,
        steps: Sequence[tuple[Node, list[int]]],
        given: Sequence[int],
        wanted: Sequence[tuple[bool, Any]],
        count: int,
        columns: Sequence[Any],
    ) -> list[Any]:
        slots: list[Any] = [None] * self.count
        for slot, column in zip(given, columns, strict=True):
            slots[slot] = Block(column, True)
        with np.errstate(all="ignore"):
            for node, done in steps:
                blocks = [slots[ref] if late else Block(ref, False) for late, ref in node.inputs]
                result = None
                if node.op.block is not None:
                    result = node.op.block(count, *blocks, **node.attributes)
                if result is None:
                    result = _one_by_one(node, count, blocks)
                results = result if isinstance(result, tuple) else (result,)
                for slot, each in zip(node.slots, results, strict=True):
                    slots[slot] = each if isinstance(each, Block) else Block(each, True)
                for slot in done:
                    slots[slot] = None
                del blocks, result, results
        found = [slots[ref] if is_slot else Block(ref, False) for is_slot, ref in wanted]
        return [b.value if b.many else column_of([b.value] * count) for b in found]


class Called:
    """A call of a function with values.

    Parameters
    ----------
    states : dict
        What each of its draws has come to in earlier calls.
    """

    def __init__(self, states: dict[Any, Any]) -> None:
        self._states, self._at, self.unseeded = states, 0, 0

    def state(self, make: Callable[[], T]) -> T:
        """Random state of the next draw of this call; `make` returns the initial one."""
        self._at += 1
        found: T | None = self._states.get(self._at)
        return self._states.setdefault(self._at, make()) if found is None else found


# The function that a data set calls now.
_CURRENT: contextvars.ContextVar[Trace | Called | None] = contextvars.ContextVar("call")


def current_call() -> Trace | Called | None:
    """The call of a function of a data set that is going on: with symbols, or with values."""
    return _CURRENT.get(None)


@contextlib.contextmanager
def calling(call: Trace | Called) -> Iterator[None]:
    """While a data set calls a function."""
    before = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def _steps(
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


def _is_image(spec: TypeSpec) -> bool:
    sizes = spec.shape.sizes
    if sizes is None or len(sizes) != 3 or spec.dtype.name == "string":
        return False
    rows, columns, _ = sizes
    return rows is None or columns is None or rows * columns >= _LARGE_PIXELS


def _one_by_one(node: Node, count: int, blocks: Sequence[Block]) -> Any:
    streams = [rows_of(b.value) if b.many else iter([b.value] * count) for b in blocks]
    results = [node.op.kernel(*row, **node.attributes) for row in zip(*streams, strict=True)]
    if results and isinstance(results[0], tuple):
        return tuple(column_of(list(part)) for part in zip(*results, strict=True))
    return column_of(results)


def _reference(raw: Any) -> tuple[bool, Any]:
    return (True, raw.slot) if isinstance(raw, Symbol) else (False, raw)


def _spec_of(raw: Any) -> TypeSpec:
    if isinstance(raw, Symbol):
        return raw.spec
    wrapped = wrap(raw)
    return (
        TensorSpec(wrapped.shape, wrapped.dtype) if isinstance(wrapped, Tensor) else wrapped._spec
    )


# Unknown sizes and numbers to try; the first two have to work, the others may show more.
_TRIALS = ((2, 1), (3, 1), (0, 1), (1, 1), (2, 0), (2, 2))


def _tried(op: Op) -> Callable[..., list[TypeSpec]]:
    """Return a function that infers specs by running the kernel on samples of several sizes."""

    def infer(specs: list[TypeSpec], raws: list[Any], **attributes: Any) -> list[TypeSpec]:
        trials: list[list[Any]] = []
        for unknown, number in _TRIALS:
            values = [
                sample(spec, unknown, number) if isinstance(raw, Symbol) else raw
                for spec, raw in zip(specs, raws, strict=True)
            ]
            try:
                result = op.kernel(*values, **attributes)
            except Exception:
                if len(trials) < 2:
                    raise
                continue
            trials.append([wrap(x) for x in (result if isinstance(result, tuple) else (result,))])
        ranks_known = all(spec.shape.sizes is not None for spec in specs)
        return [
            TensorSpec(_agreed(found) if ranks_known else None, found[0].dtype)
            for found in zip(*trials, strict=True)
        ]

    return infer


def _agreed(found: Sequence[Any]) -> list[int | None] | None:
    if len({each.shape.ndims for each in found}) > 1:
        return None
    return [n[0] if len(set(n)) == 1 else None for n in zip(*(v.shape for v in found), strict=True)]


def traced(
    function: Callable[..., Any],
    specs: Sequence[TypeSpec],
    arguments: Callable[[list[Any]], Any],
    results: Callable[[Any], tuple[Any, list[Any]]],
    answers: Sequence[bool] = (),
) -> tuple[Trace, Any]:
    """The operations of a function, and the structure of what it returns.

    Parameters
    ----------
    function : callable
    specs : list of TypeSpec
        Of what it is called with.
    arguments, results : callable
        From tensors to the arguments of `function`, and from what it returns to the structure and
        the tensors of that.
    answers : sequence of bool
        To the questions whether a symbol is true.

    Raises
    ------
    Undecided
        At a question that has no answer.
    """
    trace = Trace(specs, answers)
    with calling(trace):
        structure, tensors = results(function(*arguments(trace.inputs)))
    trace.finish(tensors)
    return trace, structure
