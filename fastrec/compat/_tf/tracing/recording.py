# SPDX-License-Identifier: Apache-2.0
"""Recording of operations: operations on symbols are recorded instead of run.

To trace a function, it is called with symbols. Operations on symbols are added to a
:class:`Recording`, as ``tf.data`` does with the function of a ``map``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec

from ..columns import Variants
from ..dtypes import DType
from ..ops import Draw, Op, refused
from ..specs import TensorSpec, TypeSpec
from ..tensor import EagerTensor, Tensor, TensorShape
from .calls import DrawOfPart, Draws, Unfit, current_call


class Symbol(Tensor):
    """Symbolic result of an operation, while a function is traced."""

    __slots__ = ("recording", "slot", "spec")

    def __init__(self, recording: Recording, slot: int, spec: TypeSpec) -> None:
        self.recording, self.slot, self.spec = recording, slot, spec

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def shape(self) -> TensorShape:
        return self.spec.shape

    def set_shape(self, shape: Any) -> None:
        """Refine what is known about the shape."""
        self.spec = self.spec.reshaped(self.shape.merge_with(shape))

    def known(self) -> np.ndarray[Any, Any] | None:
        """Value of a size that is known while tracing, or None."""
        maker = self.recording.makers.get(self.slot)
        if maker is None or maker.op.name not in ("StridedSlice", "Unpack"):
            return None
        (late, of), *more = maker.inputs
        sizes = self.recording.symbols[of].known_sizes() if late and not more else None
        at = maker.attributes.get("index", (maker.slots.index(self.slot),))
        if sizes is None or len(at) != 1 or type(at[0]) is not int:
            return None
        found = sizes[at[0]] if -len(sizes) <= at[0] < len(sizes) else None
        return None if found is None else np.asarray(found, self.dtype.numpy)

    def known_sizes(self) -> list[int | None] | None:
        """Known elements of a vector of sizes, or None."""
        maker, symbols = self.recording.makers.get(self.slot), self.recording.symbols
        name = "" if maker is None else maker.op.name
        if maker is not None and name == "Pack":
            values = [symbols[v].known() if late else v for late, v in maker.inputs]
            parts = [None if value is None else int(value) for value in values]
            return [None if part == -1 else part for part in parts]
        if maker is not None and name in ("Shape", "Cast", "StridedSlice") and maker.inputs[0][0]:
            of = symbols[maker.inputs[0][1]]
            if name == "Shape":
                return None if of.shape.sizes is None else list(of.shape.sizes)
            sizes, at = of.known_sizes(), maker.attributes.get("index", (slice(None),))
            if sizes is not None and len(maker.inputs) == len(at) == 1 and type(at[0]) is slice:
                part: list[int | None] = sizes[at[0]]
                return part
        count = self.shape.num_elements()
        return None if count is None else [None] * count

    def known_rows(self) -> list[list[int | None] | None]:
        """Known rows of a matrix of sizes."""
        makers = self.recording.makers
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
        return self.recording.decide(self)

    def __int__(self) -> int:
        if self.recording.number is None:
            raise TypeError("Cannot convert a symbolic tf.Tensor to a Python int.")
        return self.recording.number

    __index__ = __int__

    def __len__(self) -> int:
        sizes = self.shape.sizes
        if not sizes or sizes[0] is None:
            raise TypeError("len is not well defined for a symbolic Tensor.")
        return sizes[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}>"


class Mistake(TypeError):
    """Raised for errors that TensorFlow also reports before it runs anything."""


class Undecided(TypeError):
    """Raised when a function uses a symbol as a Python bool."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.")
        self.symbol = symbol


class Node(NamedTuple):
    """Operation of a graph or of a function; each input is a slot or a constant.

    A slot identifies a value: a number in a recorded function, the tensor in a graph of version 1.
    """

    op: Op
    inputs: tuple[tuple[bool, Any], ...]  # whether it is a slot; slot or value
    attributes: dict[str, Any]
    slots: tuple[Any, ...]
    specs: tuple[TypeSpec, ...] = ()
    view: Any = None  # the operation of version 1 that errors name


def raw_of(value: Any) -> Any:
    """Raw value of a tensor, sparse tensor or ragged tensor, or the symbol for one."""
    if isinstance(value, Symbol):
        return value
    return value.raw if isinstance(value, EagerTensor) else value._raw


# Functions that wrap sparse and ragged values for programs; added by their module.
WRAPPERS: dict[type, Callable[[Any], Any]] = {Variants: lambda several: several}


def wrap(value: Any) -> Any:
    """Return a raw value, or the symbol for one, in the form that programs see."""
    if type(value) is np.ndarray:
        return EagerTensor(value)
    if isinstance(value, Symbol):
        return _wrap_symbol(value)
    maker = WRAPPERS.get(type(value))
    if maker is not None:
        return maker(value)
    if not isinstance(value, (np.ndarray, bytes, fastrec.Bytes)):
        value = np.asarray(value)
    return EagerTensor(value)


# Functions that wrap symbols of composite values for programs.
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
    """Run an operation on tensors, or record it if one of them is a symbol.

    An operation with side effects or random results is recorded in every traced function.
    The name and type of a graph node are ignored.
    """
    raws = [raw_of(each) for each in inputs]
    if (recording := _noting(op, raws)) is not None:
        return recording.add(op, raws, attributes)
    try:
        with np.errstate(all="ignore"):
            result = op.kernel(*raws, **attributes)
    except (IndexError, ValueError) as error:
        raise refused(error) from error
    return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)


def _noting(op: Op, raws: Sequence[Any]) -> Recording | None:
    """Return the recording to which an operation belongs; None if it must be run."""
    if not op.pure:
        call = current_call()
        if isinstance(call, Recording):
            return call
    for raw in raws:
        if isinstance(raw, Symbol):
            call = current_call()
            return call if isinstance(call, Recording) else raw.recording
    return None


class Recording(Draws):
    """Operations that a function calls, in order.

    Parameters
    ----------
    specs : sequence of TypeSpec
        Specs of the function's inputs.
    answers : sequence of bool, optional
        Answers to the questions whether symbols are true; without them, every question raises.
    parent : Recording, optional
        Recording of the enclosing function, whose symbols may be used.

    Attributes
    ----------
    number : int, optional
        Value of every symbol that becomes a Python int; None if that is an error.
    nodes : list of Node
    inputs : list
        The symbols that the function is called with.
    given : list of int
        Slots of all inputs: the function's own, then captured and drawn ones in order of use.
    drawn : list of int
        Slots of random numbers.
    places : dict
        Place in the program of each draw, by slot.
    captures : dict
        Symbols of this recording, by their slots in `parent`.
    """

    def __init__(
        self,
        specs: Sequence[TypeSpec],
        answers: Sequence[bool] | None = None,
        parent: Recording | None = None,
    ) -> None:
        super().__init__()
        self.is_asking = answers is not None
        self.number: int | None = None
        self._answers = list(answers or ())[::-1]
        self._parent = parent
        self.symbols: list[Symbol] = []
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.inputs = [_wrap_symbol(self._symbol(spec)) for spec in specs]
        self.given = list(range(len(self.symbols)))
        self.captures: dict[int, Symbol] = {}
        self.drawn: list[int] = []
        self.places: dict[int, Any] = {}
        self._known: dict[Any, Any] = {}

    def _symbol(self, spec: TypeSpec) -> Symbol:
        self.symbols.append(Symbol(self, len(self.symbols), spec.reshaped(spec.shape)))
        return self.symbols[-1]

    def decide(self, symbol: Symbol) -> bool:
        """Return the next answer to a question whether a symbol is true."""
        if self._parent is not None:
            raise Unfit("a part of a function decides by values")
        if not self._answers:
            raise Undecided(symbol)
        return self._answers.pop()

    def draw(self, draw: Draw | DrawOfPart) -> Any:
        """Record random numbers, which become additional inputs of the function.

        Draws at one place are one draw that is made several times.

        Raises
        ------
        Unfit
            If draws at one place take different amounts of random numbers.
        """
        symbol = self._symbol(draw.spec)
        if not isinstance(draw, DrawOfPart):
            self.places[symbol.slot] = place = self._place()
            first = self._known.setdefault(place, draw)
            if first.blocks != draw.blocks:
                raise Unfit("a loop draws more numbers for some rows")
            draw = first
        self.given.append(symbol.slot)
        self.drawn.append(symbol.slot)
        self.draws.append(draw)
        return symbol

    def own(self, raw: Any) -> Any:
        """Return this recording's symbol for a captured symbol; other values are returned as is.

        Raises
        ------
        TypeError
            If the symbol belongs to an unrelated function.
        """
        if not isinstance(raw, Symbol) or raw.recording is self:
            return raw
        if self._parent is None:
            raise TypeError("a symbol of another function")
        outer = self._parent.own(raw)
        if outer.slot not in self.captures:
            self.captures[outer.slot] = symbol = self._symbol(outer.spec)
            self.given.append(symbol.slot)
        return self.captures[outer.slot]

    def add(
        self,
        op: Op,
        raws: Sequence[Any],
        attributes: dict[str, Any],
        specs: Sequence[TypeSpec] | None = None,
        view: Any = None,
    ) -> Any:
        """Record an operation; return symbols of its results. Known `specs` are not inferred."""
        own = [self.own(raw) for raw in raws]
        if specs is None:
            specs = op.infer([spec_of(raw) for raw in raws], raws, **attributes)
        symbols = [self._symbol(spec) for spec in specs]
        inputs = tuple(reference(raw) for raw in own)
        slots = tuple(symbol.slot for symbol in symbols)
        node = Node(op, inputs, attributes, slots, tuple(specs), view)
        self.nodes.append(node)
        self.makers.update(dict.fromkeys(node.slots, node))
        shown = [_wrap_symbol(symbol) for symbol in symbols]
        return shown[0] if len(shown) == 1 else tuple(shown)


def reference(raw: Any) -> tuple[bool, Any]:
    """Return how a node refers to a value: (True, slot) for a symbol, else (False, value)."""
    return (True, raw.slot) if isinstance(raw, Symbol) else (False, raw)


def spec_of(raw: Any) -> TypeSpec:
    """Return the spec of a value or symbol."""
    if isinstance(raw, Symbol):
        return raw.spec
    wrapped = wrap(raw)
    return (
        TensorSpec(wrapped.shape, wrapped.dtype) if isinstance(wrapped, Tensor) else wrapped._spec
    )
