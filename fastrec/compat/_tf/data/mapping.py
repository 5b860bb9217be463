# SPDX-License-Identifier: Apache-2.0
"""Functions of elements: traced and run on many at once, or called for each."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..branching import Branches
from ..columns import Variants, column_of, rows_of
from ..errors import InvalidArgumentError, OpError, OutOfRangeError
from ..ops import Block as Given
from ..ops import refused
from ..recording import Called, Mistake, Unfit, calling, raw_of, wrap
from ..seeds import kept_for_run, looking_ahead, running
from ..specs import TypeSpec
from ..structure import LEAF, flatten, pack
from ..tensor import EagerTensor, Tensor, convert_to_tensor
from ..trace import Trace, traced
from .explaining import explain, explaining
from .native import with_fallback
from .pipeline import Node, loose_spec, lowering
from .rooms import Place, Room, places
from .streams import (
    AHEAD,
    Block,
    Blocks,
    Value,
    Values,
    elements,
    first,
    flattened,
    in_blocks,
    steps,
    to_blocks,
)
from .threads import in_order

__all__ = ["EagerMap", "Function", "Map", "Scalar", "Unsupported", "Untraced", "failed", "mapped"]

_MOST_AHEAD = 1 << 16  # random numbers
_FEW = 16  # elements, with encoded images

_Part = tuple[bool, Value]  # an element, and whether its function has begun


class Scalar:
    """A function of elements that gives one whole number: traced where it can be.

    Parameters
    ----------
    function : callable
    node : Node
        Whose elements it is given.
    """

    def __init__(self, function: Callable[..., Any], node: Node) -> None:
        self._call = Function(function, node.structure)
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        found = self._call.trace(node.specs) if known else None
        self._trace = found[0] if found is not None and not found[0].draws else None

    def __call__(self, value: Value) -> int:
        if self._trace is not None and lowering():
            return int(np.asarray(self._trace(value)[0]))
        return int(np.asarray(self._call(value)[1][0]))

    def beside(self, node: Node, fast: bool) -> Iterator[tuple[int, Value]]:
        """The number and the element, for each element of `node`."""
        trace = self._trace if fast and lowering() else None
        if trace is None or trace.is_large or not trace.is_pure:
            return self._each(node.stream(fast))
        if (blocks := node.fast_blocks(AHEAD)) is None:
            return self._each(node.stream(fast))
        return flattened(map(functools.partial(self._of_block, trace), blocks))

    def _each(self, values: Values) -> Iterator[tuple[int, Value]]:
        def with_number(value: Value) -> tuple[int, Value]:
            return self(value), value

        return map(with_number, values)

    def _of_block(self, trace: Trace, block: Block) -> Iterator[tuple[int, Value]]:
        try:
            numbers = np.asarray(trace.run_block(*block)[0]).reshape(block[0]).tolist()
        except Exception:  # which one it is of, the elements tell
            return self._each(elements(block))
        return zip(map(int, numbers), elements(block), strict=True)


def shown(raw: Any) -> Any:
    """A value, as programs see it."""
    if type(raw) is np.ndarray:
        return EagerTensor(raw)
    return raw.dataset if isinstance(raw, Node) else wrap(raw)


def hidden(value: Any) -> Any:
    """A value that a program has given, as it is kept."""
    if hasattr(value, "_node"):
        return value._node
    if isinstance(value, (list, tuple)) and any(hasattr(each, "_node") for each in value):
        return Variants([hidden(each) for each in value])
    if isinstance(value, Tensor) or hasattr(value, "_raw"):
        return raw_of(value)
    return raw_of(convert_to_tensor(value))


class Function:
    """A function of a program, and how it is called with an element."""

    def __init__(self, function: Callable[..., Any], structure: Any) -> None:
        self.function, self.structure = function, structure
        self._states: dict[Any, Any] = {}  # where no iteration has its own

    def arguments(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """A tuple is given as one argument for each of its parts."""
        value = pack(self.structure, parts)
        plain = isinstance(value, tuple) and not hasattr(value, "_fields")
        return value if plain else (value,)

    def states(self) -> dict[Any, Any]:
        """Random states that the calls of this iteration draw from."""
        return self._states if running.get() is None else kept_for_run(self, dict)

    def __call__(self, parts: Sequence[Any], states: Any = None) -> tuple[Any, list[Any]]:
        """The structure and the parts of what it returns.

        Threads that call it have to be given its `states`.
        """
        with calling(Called(self.states() if states is None else states)):
            returned = self.function(*self.arguments([shown(part) for part in parts]))
        structure, leaves = flatten(_unlisted(returned))
        return structure, [hidden(leaf) for leaf in leaves]

    def trace(self, specs: Sequence[TypeSpec]) -> tuple[Trace, Any] | None:
        """The operations that it consists of; None when it is not made of operations.

        Raises
        ------
        AttributeError, NameError, ImportError, KeyError, TypeError
            For a name or a key that there is not, or another number of arguments, which no element
            would change.
        """
        try:
            return self._traced(specs)
        except (NameError, ImportError, Mistake):
            raise
        except Unfit as error:
            with contextlib.suppress(Exception):
                return self._traced(specs, ())  # without what cannot be drawn ahead
            self._untraced(error)
        except AttributeError as error:
            if isinstance(error.obj, types.ModuleType):
                raise
            self._untraced(error)
        except Exception as error:
            if _is_mistake(error):
                raise
            self._untraced(error)
        return None

    def check_dataset(self, specs: Sequence[Any]) -> None:
        """That it returns a data set, as far as can be seen without an element.

        Raises
        ------
        TypeError
        """
        if not all(isinstance(spec, TypeSpec) for spec in specs):
            return
        returned: list[Any] = []

        def results(value: Any) -> tuple[Any, list[Any]]:
            returned.append(value)
            return LEAF, []

        with contextlib.suppress(Exception):  # which comes again with an element
            traced(self.function, specs, self.arguments, results)
        if returned and not hasattr(returned[0], "_node"):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {type(returned[0])}."
            )

    def _untraced(self, error: Exception) -> None:
        """Say why a function is called with each element, to those who ask."""
        if explaining():
            explain(self.function, error)

    def branches(self, specs: Sequence[TypeSpec]) -> Branches | None:
        """The ways through it, where what it does depends on values."""
        found = Branches(lambda answers: self._traced(specs, answers))
        return found if found.possible() else None

    def _traced(
        self, specs: Sequence[TypeSpec], answers: Sequence[bool] | None = None
    ) -> tuple[Trace, Any]:
        def results(value: Any) -> tuple[Any, list[Any]]:
            structure, leaves = flatten(_unlisted(value))
            if any(hasattr(leaf, "_node") for leaf in leaves):
                raise TypeError("not tensors")
            return structure, [_as_result(leaf) for leaf in leaves]

        return traced(self.function, specs, self.arguments, results, answers)


def _is_mistake(error: Exception) -> bool:
    """Whether a program looks up a key that there is not, or calls what cannot be called so."""
    if isinstance(error, TypeError):
        wrong = ("positional argument", "unexpected keyword argument")
        return any(text in str(error) for text in wrong)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return (
        isinstance(error, KeyError)
        and at is not None
        and not str(at.tb_frame.f_globals.get("__name__")).startswith("fastrec.")
    )


class Unsupported(Mistake):
    """A function returns what no element consists of."""


def _as_result(value: Any) -> Any:
    if isinstance(value, Tensor) or hasattr(value, "_raw"):
        return value
    if isinstance(value, type):
        raise Unsupported(
            f"Unsupported return value from function passed to Dataset.map(): {value}."
        )
    return convert_to_tensor(value)


def failed(error: OpError, name: str) -> OpError:
    """An error of a program's function, as TensorFlow tells it.

    An end that the function comes to is none of the data set.
    """
    if isinstance(error, OutOfRangeError):
        text = f"Function invocation produced OutOfRangeError: {error.message}"
        return InvalidArgumentError(None, None, text)
    return error.within(
        f"Error in user-defined function passed to {name} transformation with iterator: "
        f"Iterator::Root::{name}: "
    )


def _unlisted(value: Any) -> Any:
    """A list that a function returns is several tensors, which need not be alike."""
    return tuple(value) if type(value) is list else value


def _workers(parallel: int | None) -> int:
    if parallel is None:
        return 0
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cpus if parallel < 1 else min(parallel, 4 * cpus)


def mapped(node: Node, function: Callable[..., Any], parallel: int | None) -> Node:
    """A node for ``map``."""
    call = Function(function, node.structure)
    found = call.trace(node.specs) if all(isinstance(s, TypeSpec) for s in node.specs) else None
    if found is None:
        return EagerMap(node, call, parallel)
    trace, structure = found
    return Map(Drawn(node, trace) if trace.draws else node, trace, structure, parallel)


class Drawn(Node):
    """Elements, and after their parts the random numbers that a function draws for each."""

    def __init__(self, node: Node, trace: Trace) -> None:
        super().__init__(node)
        self._trace = trace
        # The time of a draw is not visible: draw several at a time, unless they are large.
        most = max(draw.spec.shape.num_elements() or 0 for draw in trace.draws)
        self._ahead = max(1, min(AHEAD, _MOST_AHEAD // max(most, 1)))

    @property
    def specs(self) -> list[TypeSpec]:
        return [*self.inputs[0].specs, *(draw.spec for draw in self._trace.draws)]

    def values(self, fast: bool = True) -> Values:
        values = self.inputs[0].stream(fast)
        if self._trace.draws_need:
            states: dict[Any, Any] = kept_for_run((self, "states"), dict)
            return map(functools.partial(self._of_one, states), values)
        drawn = kept_for_run((self, "rows"), self._rows)

        def with_draws(value: Value) -> Value:
            return (*value, *next(drawn))

        return map(with_draws, values)

    def _rows(self) -> Values:
        states: dict[Any, Any] = {}
        nothing = [None] * len(self._trace.values)

        def some() -> Values:
            _, columns = self._of_block(states, self._ahead, nothing)
            return zip(*map(rows_of, columns[len(nothing) :]), strict=True)

        return flattened(steps(some))

    def blocks(self, count: int) -> Blocks | None:
        if (blocks := self.inputs[0].blocks(count)) is None:
            return None
        states: dict[Any, Any] = kept_for_run((self, "columns"), dict)
        each = functools.partial(self._of_one, states)
        return in_blocks(
            blocks, functools.partial(self._of_block, states), functools.partial(map, each)
        )

    def _of_one(self, states: dict[Any, Any], value: Value) -> Value:
        _, columns = self._of_block(states, 1, [column_of([part]) for part in value])
        return (*value, *next(zip(*map(rows_of, columns[len(value) :]), strict=True)))

    def _of_block(self, states: dict[Any, Any], count: int, columns: list[Any]) -> Block:
        before = {key: state.position for key, state in states.items()}
        try:
            given = [Given(column, True) for column in columns]
            return count, [*columns, *self._trace.draws_of(count, given, states)]
        except Exception as error:  # as nothing came of it, it is drawn again
            for key in states.keys() - before.keys():
                del states[key]
            for key, position in before.items():
                states[key].position = position
            if isinstance(error, (IndexError, ValueError)):
                error = refused(error)
            raise failed(error, "Map") if isinstance(error, OpError) else error from error.__cause__


class Parsable(Node):
    """Node whose elements can be parsed natively."""

    def parsed(self, trace: Trace) -> Values | None:
        """The elements, as the first operation of `trace` parses them; None if it cannot."""
        raise NotImplementedError


def _whole(value: Value) -> _Part:
    return False, value


class Map(Node):
    """A function that consists of operations."""

    def __init__(
        self, node: Node, trace: Trace, structure: Any, parallel: int | None = None
    ) -> None:
        super().__init__(node)
        self.trace, self._structure, self.parallel = trace, structure, parallel

    structure = property(lambda self: self._structure)

    @property
    def shuffles(self) -> bool:
        return self.inputs[0].shuffles

    @property
    def specs(self) -> list[TypeSpec]:
        return self.trace.specs

    @property
    def pure(self) -> bool:
        return super().pure and self.trace.is_pure

    def over(self, node: Node) -> Map:
        """The same function of the elements of another node."""
        return Map(node, self.trace, self._structure, self.parallel)

    def values(self, fast: bool = True) -> Values:
        parsed = self._parsed() if fast else None
        if parsed is None:
            return self._values(fast)
        found = (self.trace(value, parsed=True) for value in parsed)
        return with_fallback(found, lambda: self._values(fast))

    def _values(self, fast: bool) -> Values:
        if fast and (parts := self._divided()) is not None:
            return in_order(self._rest, parts, _workers(self.parallel))
        workers = _workers(self.parallel) if fast else 0
        return in_order(self._of_one, self.inputs[0].stream(fast), workers)

    def _divided(self) -> Iterator[_Part] | None:
        """Elements of which all but images is done, many at once; None where that cannot be."""
        if not lowering() or not self.trace.is_divided:
            return None
        blocks = self.inputs[0].fast_blocks(_FEW)
        return None if blocks is None else flattened(map(self._early, blocks))

    def _early(self, block: Block) -> Iterator[_Part]:
        try:
            done = elements((block[0], self.trace.early(*block)))
        except Exception:  # which one it is of, the elements tell
            return zip(itertools.repeat(False), elements(block))
        return zip(itertools.repeat(True), done)

    def _rest(self, part: _Part) -> Value:
        done, value = part
        if not done:
            return self._of_one(value)
        try:
            return self.trace.late(value)
        except OpError as error:
            raise failed(error, "Map") from error.__cause__

    def placed(self, size: int) -> Iterator[Place] | None:
        """The elements, each in its place of a batch of `size`; None where they are small."""
        if not lowering() or not self.trace.is_large:
            return None
        following = places(size)
        if (parts := self._divided()) is None:
            parts = map(_whole, self.inputs[0].stream())

        def with_place(part: _Part) -> tuple[tuple[Room, int], _Part]:
            return next(following), part

        return in_order(self._put, map(with_place, parts), _workers(self.parallel))

    def _put(self, job: tuple[tuple[Room, int], _Part]) -> Place:
        (room, row), part = job
        return room, row, room.put(row, self._rest(part))

    def _of_one(self, value: Value) -> Value:
        try:
            return self.trace(value, together=lowering())
        except OpError as error:
            raise failed(error, "Map") from error.__cause__

    def _parsed(self) -> Values | None:
        """Batches of records, parsed natively as this would do."""
        batch = self.inputs[0]
        return batch.parsed(self.trace) if isinstance(batch, Parsable) else None

    def ahead(self) -> Values | None:
        return self.values() if self.trace.is_cheap and self._parsed() is not None else None

    def blocks(self, count: int) -> Blocks | None:
        if not self.pure or self.trace.is_large:
            return None
        if (blocks := self.inputs[0].gathered(count)) is None:
            return None
        return self._in_blocks(blocks)

    def chunks(self, count: int) -> Blocks | None:
        """Columns of exactly `count` elements, whatever makes what the function is given."""
        if not lowering() or not self.trace.is_pure or self.trace.is_large:
            return None
        node = self.inputs[0]
        inner = node.chunks(count) if isinstance(node, Map) else None
        return self._in_blocks(to_blocks(node.stream(), count) if inner is None else inner)

    def _in_blocks(self, blocks: Blocks) -> Blocks:
        return in_blocks(blocks, self._of_block, lambda values: map(self._of_one, values))

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        return count, self.trace.run_block(count, columns)


class Untraced(Node):
    """A node of which only an element tells what its elements are."""

    _found: tuple[Any, list[TypeSpec]] | None = None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None:
            with looking_ahead():
                first(self._tried())
        return self._found or (LEAF, [])

    def _tried(self) -> Values:
        """Elements that are only passed to `_learn`, and then dropped."""
        return self.values(False)

    def _learn(self, structure: Any, parts: Sequence[Any]) -> None:
        if self._found is None:
            self._found = structure, list(map(loose_spec, parts))

    @property
    def structure(self) -> Any:
        return self._known()[0]

    @property
    def specs(self) -> list[TypeSpec]:
        return self._known()[1]

    @property
    def pure(self) -> bool:
        return False


class EagerMap(Untraced):
    """A function that is called with each element."""

    def __init__(self, node: Node, function: Function, parallel: int | None = None) -> None:
        super().__init__(node)
        self._function, self._parallel = function, parallel
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        self._branches = function.branches(node.specs) if known else None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None and self._branches is not None:
            self._found = self._branches.signature()
        return super()._known()

    def _tried(self) -> Values:
        return map(functools.partial(self._call, {}), self.inputs[0].stream(False))

    def _call(self, states: dict[Any, Any], value: Value) -> Value:
        try:
            structure, parts = self._made(states, value)
        except OpError as error:
            raise failed(error, "Map") from error.__cause__
        self._learn(structure, parts)
        return tuple(parts)

    def _made(self, states: dict[Any, Any], value: Value) -> tuple[Any, list[Any]]:
        if self._branches is not None and lowering():
            try:
                return self._branches(value, Called(states))
            except OpError:
                raise
            except Exception:  # called with values it says what is wrong, if anything is
                self._branches = None
        return self._function(value, states)

    def values(self, fast: bool = True) -> Values:
        workers = _workers(self._parallel) if fast else 0
        call = functools.partial(self._call, self._function.states())
        return in_order(call, self.inputs[0].stream(fast), workers)

    def blocks(self, count: int) -> Blocks | None:
        ways, node = self._branches, self.inputs[0]
        if ways is None or not node.pure or not ways.are_small():
            return None
        if (blocks := node.blocks(count)) is None:
            return None
        call = functools.partial(self._call, self._function.states())

        def of_block(count: int, columns: list[Any]) -> Block:
            structure, found = ways.run_block(count, columns)
            self._learn(structure, next(elements((count, found))))
            return count, found

        return in_blocks(blocks, of_block, functools.partial(map, call))
