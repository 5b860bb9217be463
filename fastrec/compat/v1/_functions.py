# SPDX-License-Identifier: Apache-2.0
"""Functions of version 1's datasets, which consist of operations of a graph.

Such a function is called once, with placeholders, in a separate graph. Its nodes are then copied
into the recording of the dataset, which runs them on one element or on columns of many, like those
of version 2. Errors name the operations that are views of the nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec

from .._tf.dtypes import resource
from .._tf.kernels.philox import Philox
from .._tf.ops import Op, known_specs
from .._tf.ops.draws import Starts
from .._tf.seeds import running
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.structure import flatten, pack
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.tracing import recording
from .._tf.tracing.calls import Unfit
from .._tf.tracing.loops import IN_ARRAYS, folded_rows, looped, mapped_rows
from .._tf.tracing.parts import chosen, tracing
from ._composites import (
    COMPOSITES,
    SparseTensor,
    make_op,
    parts_of,
    pieces,
    put_together,
    ragged_of,
    specs_of,
    take_op,
)
from ._nodes import Operation, SessionOp, Tensor
from ._plan import Plan, needed
from .constants import convert_to_tensor as as_graph_tensor
from .constants import of_array, placeholder
from .control_flow import Branch
from .draws import attributes_of, first_state
from .graph import FunctionGraph, captured_values, get_default_graph

# Besides draws, these stateful operations may process a block before the next operation runs.
_INDEPENDENT = (
    "Assert", "Captured", "LoopVariable", "MapElement", "Merge", "NoOp", "ReadFile", "Switch"
)  # fmt: skip


def _step() -> Any:
    return (running.get() or {}).get("step")


class Way(NamedTuple):
    """How a trace runs the operations of a graph.

    Attributes
    ----------
    step : callable
        Returns the session step in which operations run.
    start : callable
        Takes an operation that draws; returns the random state at the start of a block.
    refuses : bool
        Whether to raise :class:`Effects` for elements that reach a branch with side effects.
    """

    step: Callable[[], Any]
    start: Callable[[Operation], Philox]
    refuses: bool = False


class Effects(Exception):
    """Raised if an element reaches an operation whose side effects must happen per element."""


_OF_DATA_SET = Way(_step, first_state)


def _within(ops: Iterable[Operation]) -> Iterator[Operation]:
    """Yield operations, and those inside their branches and loop bodies."""
    for op in ops:
        yield op
        for part in op.inner:
            yield from _within(part.inside)


def dependent(op: Operation) -> Operation | None:
    """Return the operation in `op` that must finish each record before the next, or None."""
    return next((each for each in _within([op]) if not _independent(each)), None)


def is_avoidable(op: Operation) -> bool:
    """Return whether only branches of a choice are dependent, and only their values are used."""
    inside = list(_within([op]))[1:]
    controls = {each for one in inside for each in one.control_inputs}
    needed_for_values = all(_independent(e) or (e.outputs and e not in controls) for e in inside)
    return _is_choice(op) and not op.node.op.blocking and needed_for_values


def _is_choice(op: Operation) -> bool:
    return op.type == "Cond" and op.inputs[0].shape.ndims == 0


def _independent(op: Operation) -> bool:
    known = op.inner or _drawing(op) is not None or op.type in _INDEPENDENT
    return not op.node.op.blocking and (not op.stateful or bool(known))


def _drawing(op: Operation) -> Any:
    """Return the operation of the registry whose random numbers `op` draws, or None."""
    return op.node.op.drawing if isinstance(op.node.op, SessionOp) else None


def drawing(ops: Iterable[Operation]) -> list[Operation]:
    """Return the operations that draw random numbers, also inside others."""
    return [op for op in _within(ops) if _drawing(op) is not None]


def _specs(op: Operation) -> list[TypeSpec]:
    return [TensorSpec(out.shape.sizes, out.dtype) for out in op.outputs]


def _without_step(op: Operation, way: Way) -> Op:
    """Return the operation of a node that runs outside of a session, in the step of `way`."""
    found = op.node.op
    if way.refuses and dependent(op) is not None:

        def refusing(*_: Any, **__: Any) -> Any:
            raise Effects(op.name)

        return Op(found.name, refusing, known_specs(()))
    if not isinstance(found, SessionOp):
        return found

    def kernel(*values: Any) -> tuple[Any, ...]:
        return tuple(found.kernel(way.step(), *map(as_array, values)))

    return Op(found.name, kernel, known_specs(()), pure=dependent(op) is None and not drawing([op]))


class GraphFunction:
    """Function of a version 1 dataset, with the interface that datasets call.

    Parameters
    ----------
    function : callable
        Takes graph tensors; returns tensors or datasets.
    wrap : callable
        Converts a dataset to the argument of `function`.
    built : callable
        Converts a dataset that the function returned to one that can be run.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        wrap: Callable[[Any], Any],
        built: Callable[[Any], Any],
    ) -> None:
        self._function, self._wrap, self._built = function, wrap, built
        self._outer = get_default_graph()
        self.captures: dict[Tensor, None] = {}
        self._traced: tuple[Any, ...] | None = None
        self._plan: Plan | None = None  # of the traced graph, for calls with values
        self.__qualname__ = getattr(function, "__qualname__", "function")

    def __call__(self, *arguments: Any) -> Any:
        structure, leaves = flatten(arguments)
        raws = [leaf if hasattr(leaf, "_node") else recording.raw_of(leaf) for leaf in leaves]
        if any(isinstance(raw, recording.Symbol) for raw in raws):
            return self._of_symbols(structure, leaves, [raw.spec for raw in raws])
        return self._of_values(structure, raws)

    def _called(self, graph: FunctionGraph, structure: Any, leaves: Sequence[Any]) -> Any:
        returned = self._function(*pack(structure, leaves))
        kind, found = flatten(tuple(returned) if isinstance(returned, list) else returned)
        if not any(_is_dataset(leaf) for leaf in found):
            found = _tensors(found)
        return kind, found

    def sampled(self, structure: Any, specs: Sequence[TypeSpec]) -> Any:
        """The dataset that the function returns for sample inputs; only its specs are used."""
        arguments = structure if isinstance(structure, tuple) else (structure,)
        graph = FunctionGraph(self._outer)
        with graph.as_default():
            _, found = self._called(graph, arguments, self._placeholders(specs))
        self._note(graph)
        return found[0]

    def _placeholders(self, specs: Sequence[TypeSpec]) -> list[Any]:
        made = [placeholder(dtype, shape) for s in specs for dtype, shape in specs_of(s)]
        return put_together(specs, made)

    def _note(self, graph: FunctionGraph) -> None:
        found = [each for each, inner in graph.captures.items() if inner.op.type == "Captured"]
        self.captures.update(dict.fromkeys(found))

    def _of_values(self, structure: Any, raws: Sequence[Any]) -> Any:
        if self._traced is not None and self._traced[0] == structure:
            _, given, kind, found = self._traced
            if self._plan is None:
                self._plan = Plan(_pieces(found), _pieces(given))
            feeds = [as_array(part) for raw in raws for part in parts_of(raw)]
            return pack(kind, _evaluated(found, self._plan, feeds))
        graph = FunctionGraph(self._outer)
        graph.captures = {}
        with graph.as_default():
            for tensor, value in captured_values().items():
                graph.captures[tensor] = of_array(as_array(value))
            leaves = []
            for raw in raws:
                if hasattr(raw, "_node"):
                    leaves.append(self._wrap(raw))
                    continue
                parts = [of_array(part) for part in parts_of(raw)]
                sparse = isinstance(raw, fastrec.Sparse)
                leaves.append(SparseTensor(*parts) if sparse else ragged_of(*parts))
            kind, found = self._called(graph, structure, leaves)
            if any(_is_dataset(leaf) for leaf in found):
                return pack(kind, [self._built(leaf) for leaf in found])
        return pack(kind, _evaluated(found, Plan(_pieces(found), ()), ()))

    def _of_symbols(self, structure: Any, leaves: Sequence[Any], specs: Sequence[TypeSpec]) -> Any:
        graph = FunctionGraph(self._outer)
        with graph.as_default():
            given = self._placeholders(specs)
            kind, found = self._called(graph, structure, given)
            make = None
            if any(_is_dataset(leaf) for leaf in found):
                if len(found) > 1 or found[0].of_tensors is None:
                    raise TypeError("not tensors")
                make, kind, found = found[0].of_tensors
                found = [
                    leaf if isinstance(leaf, COMPOSITES) else as_graph_tensor(leaf)
                    for leaf in found
                ]
            found = [
                each if isinstance(each, COMPOSITES) else graph.captured(each) for each in found
            ]
        self._note(graph)
        if make is None:
            self._traced, self._plan = (structure, given, kind, found), None
        values: dict[Tensor, Any] = {}
        for inner, leaf in zip(given, leaves, strict=True):
            if isinstance(inner, COMPOSITES):
                parts = recording.run(take_op(), [leaf])
                values.update(zip(pieces(inner), parts, strict=True))
            else:
                values[inner] = leaf
        whole = pack(kind, _emitted(found, values))
        return whole if make is None else make(whole)


def _tensors(leaves: Iterable[Any]) -> list[Any]:
    return [leaf if isinstance(leaf, COMPOSITES) else as_graph_tensor(leaf) for leaf in leaves]


def _pieces(found: Iterable[Any]) -> list[Tensor]:
    """Return the tensors that values of any kind consist of."""
    return [tensor for each in found for tensor in pieces(each)]


def _evaluated(found: Sequence[Any], plan: Plan, given: Sequence[Any]) -> list[Any]:
    """Return the results of a function whose tensors `plan` computes."""
    with np.errstate(all="ignore"):
        return _assembled(found, map(convert_to_tensor, plan.run(_step(), given)))


def _emitted(found: Sequence[Any], values: dict[Tensor, Any]) -> list[Any]:
    """Record the operations of a function one by one; return its results."""
    wanted = _pieces(found)
    for op in needed([tensor.op for tensor in wanted if tensor not in values], frozenset(values)):
        emit(op, values, _OF_DATA_SET)
    return _assembled(found, [values[tensor] for tensor in wanted])


def _assembled(found: Sequence[Any], parts: Iterable[Any]) -> list[Any]:
    """Return tensors, and ragged and sparse tensors made of several `parts`."""
    left = iter(parts)
    return [
        recording.run(make_op(each), [next(left) for _ in pieces(each)])
        if isinstance(each, COMPOSITES)
        else next(left)
        for each in found
    ]


def emit(op: Operation, values: dict[Tensor, Any], way: Way, depth: int = 0) -> None:
    """Record an operation with inputs from `values`, and add its outputs to `values`.

    An operation without effects whose inputs are known is run instead.

    Operations behind more than `depth` switches are skipped; the merges run them.
    """
    known = op.outputs and all(tensor in values for tensor in op.outputs)
    if op.type == "NoOp" or op.switched > depth or known:
        return
    if op.type == "Switch":  # the side that is taken uses it
        values.update(dict.fromkeys(op.outputs, values[op.inputs[0]]))
        return
    if op.type == "Merge":
        from .control_flow_ops import merged_values  # rarely needed

        merged_values(op, values, lambda each, own, depth: emit(each, own, way, depth))
        return
    found = _drawn(op, values, way) if _drawing(op) is not None else _of_parts(op, values, way)
    values.update(zip(op.outputs, _copied(op, values, way) if found is None else found))  # noqa: B905


def _copied(op: Operation, values: dict[Tensor, Any], way: Way) -> Sequence[Any]:
    """Copy a node into the recording, or run it if its inputs are known; return its results."""
    made, inputs = _without_step(op, way), [values[tensor] for tensor in op.inputs]
    how = {} if isinstance(op.node.op, SessionOp) else op.attrs
    raws = list(map(recording.raw_of, inputs))
    if any(isinstance(raw, recording.Symbol) for raw in raws) or op.stateful or op.node.op.blocking:
        found = tracing().add(made, raws, how, _specs(op), op)
    else:
        found = recording.run(made, inputs, **how)
    return found if isinstance(found, tuple) else (found,)


def _of_parts(op: Operation, values: dict[Tensor, Any], way: Way) -> list[Any] | None:
    """Record an operation with branches or loop bodies; return its results, or None."""

    def made(part: Branch, *given: Any) -> list[Any]:
        own = {**values, **dict(zip(part.arguments, given, strict=True))}
        for each in part.inside:
            emit(each, own, way, op.switched)
        return [own[tensor] for tensor in part.tensors if isinstance(tensor, Tensor)]

    parts = [functools.partial(made, part) for part in op.inner]
    if not parts or any(tensor.dtype is resource for tensor in op.outputs):
        return None
    try:
        found = _recorded(op, parts, [values[tensor] for tensor in op.inputs])
    except Unfit:
        return None
    for symbol, tensor in zip(found, op.outputs, strict=True):
        symbol.set_shape(tensor.shape)
    return found


def _recorded(
    op: Operation, parts: Sequence[Callable[..., list[Any]]], given: Sequence[Any]
) -> list[Any]:
    """Record an operation as the same operation of the functions `parts`; return its results."""
    first, *others = parts
    if op.type == "Cond":
        if not _is_choice(op):
            raise Unfit("a predicate of unknown rank")
        return list(chosen(given[0], parts, {1: 0}))
    if op.type == "While":
        count = len(op.outputs)
        limit = given[count + sum(len(part.captured) for part in op.inner) :] or [-1]
        shapes = [tensor.shape for tensor in op.outputs]
        return list(looped(first, others[0], given[:count], shapes, limit[0]))
    (body,) = op.inner
    width = 0 if op.type == "Map" else len(op.outputs)
    count = len(body.arguments) - width
    rows, states = given[:count], given[count : len(given) - len(body.captured)]
    if count > 1 and not isinstance(op.graph, FunctionGraph):
        rows = recording.run(IN_ARRAYS, rows)
    if op.type == "Map":
        return list(mapped_rows(first, rows))
    return list(
        folded_rows(
            lambda state, row: first(*state, *row),
            rows,
            states or None,
            op.attrs["reverse"],
            op.type == "Scan",
        )
    )


def _drawn(op: Operation, values: dict[Tensor, Any], way: Way) -> list[Any] | None:
    """Record the numbers that an operation draws for each element; return its results.

    Return None if the amount of random numbers is not known before the operation runs.
    """
    row, call, how = _drawing(op), tracing(), attributes_of(op)
    raws = [recording.raw_of(values[tensor]) for tensor in op.inputs]
    blocks = row.blocks(*raws, **how)
    if blocks is None:
        return None
    start = call.draw(Starts(functools.partial(way.start, op), blocks))
    found = call.add(row, [start, *raws], how, None, op)
    return list(found) if isinstance(found, tuple) else [found]


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "_build")
