# SPDX-License-Identifier: Apache-2.0
"""Control flow: the order of operations, and conditional execution."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from .._tf.dtypes import DType, as_dtype, bool_
from .._tf.errors import invalid
from .._tf.faces.checks import Checks, summary
from .._tf.faces.control_flow import Choosing
from .._tf.shape import TensorShape, common_shape, in_messages
from .._tf.specs import TensorSpec
from .._tf.structure import LEAF, flatten
from .._tf.tensor import as_array
from .._tf.tracing.loops import in_arrays, in_lists, stacked
from ._composites import COMPOSITES, RaggedTensor, SparseTensor, pieces, ragged_of
from ._nodes import Kernel, Operation, Tensor
from ._ops import GRAPHS
from ._plan import Plan, needed
from .array_ops import math
from .constants import constant_value, convert_to_tensor
from .graph import (
    FunctionGraph,
    control_dependencies,
    create_op,
    get_default_graph,
    name_scope,
)

Assert: Final = Checks(GRAPHS).Assert


def no_op(name: str | None = None) -> Operation:
    """Add an operation that only waits for its control dependencies."""
    return create_op("NoOp", (), [], lambda step: (), name=name, stateful=True)


def group(*inputs: Any, name: str | None = None, **ignored: Any) -> Operation:
    """Add an operation that finishes when all `inputs` have finished."""
    flat = [item for each in inputs for item in _flat(each)]
    with control_dependencies(flat):
        return create_op("NoOp", (), [], lambda step: (), name=name or "group_deps", stateful=True)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for each in value for item in _flat(each)]
    if value is None or not (
        isinstance(value, (Tensor, Operation)) or hasattr(value, "_as_graph_element")
    ):
        raise TypeError(f"Expected tf.Tensor or tf.Operation got {value} with type {type(value)}")
    return [value]


def with_dependencies(dependencies: Sequence[Any], output: Any, name: str | None = None) -> Tensor:
    """Return `output`, available only after `dependencies`."""
    with control_dependencies(dependencies):
        after: Tensor = math.identity(output, name or "control_dependency")
        return after


def tuple_(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None
) -> list[Any]:
    """Return the tensors; each is available only after all of them have been computed."""
    with name_scope(name, "tuple"):
        given = [t for t in tensors if t is not None] + list(control_inputs or ())
        gate = group(*given)
        return [None if t is None else with_dependencies([gate], t) for t in tensors]


@contextlib.contextmanager
def device(device_name_or_function: Any) -> Iterator[None]:
    """Do nothing, because there is only one device."""
    yield


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`; running it prints `data` to standard error."""
    import sys

    tensors = [convert_to_tensor(input_), *[convert_to_tensor(d) for d in data]]

    def kernel(step: Any, value: Any, *shown: Any) -> tuple[Any]:
        texts = "".join(f"[{summary(each, summarize)}]" for each in shown)
        print(f"{message or ''}{texts}", file=sys.stderr)
        return (value,)

    outputs = [(tensors[0].dtype, tensors[0].shape)]
    return create_op("Print", tensors, outputs, kernel, name=name, stateful=True).outputs[0]


def print_v2(*inputs: Any, output_stream: Any = None, end: str = "\n", **ignored: Any) -> Operation:
    """Add an operation that prints `inputs` in full."""
    import sys

    pieces = [i if isinstance(i, str) else convert_to_tensor(i) for i in inputs]
    tensors = [piece for piece in pieces if isinstance(piece, Tensor)]

    def kernel(step: Any, *values: Any) -> tuple[()]:
        found = iter(values)
        texts = [p if isinstance(p, str) else str(next(found)) for p in pieces]
        print(*texts, end=end, file=output_stream or sys.stderr)
        return ()

    return create_op("PrintV2", tensors, [], kernel, stateful=True)


# Parts of the graph that a kernel runs.


class Branch:
    """Operations of a function, to be run by the kernel of another operation.

    Attributes
    ----------
    inside : tuple of Operation
        The operations; each follows the operations that it uses.
    arguments : tuple of Tensor
        The tensors that the kernel supplies.
    captured : list of Tensor
        The other tensors that the operations use.
    tensors : list of Tensor or Operation
        The results.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Tensor] = ()) -> None:
        graph = get_default_graph()
        before = graph.last_op_id
        with graph.control_dependencies(None):
            result = function(*arguments)
        self.result: Any = result
        self.tensors: list[Any] = [
            r if isinstance(r, Operation) else convert_to_tensor(r) for r in _parts(result)
        ]
        roots = [t if isinstance(t, Operation) else t.op for t in self.tensors]
        inside = [op for op in needed(roots, frozenset(arguments)) if op._id > before]
        made = set(inside)
        outer = [t for op in inside for t in op.inputs if t.op not in made]
        outer += [t for t in self.tensors if isinstance(t, Tensor) and t.op not in made]
        self.inside: tuple[Operation, ...] = tuple(inside)
        self.arguments: tuple[Tensor, ...] = tuple(arguments)
        self.captured: list[Tensor] = [t for t in dict.fromkeys(outer) if t not in arguments]
        self.blocking: bool = any(op.node.op.blocking for op in inside)
        self.after: list[Operation] = [
            op for one in inside for op in one.control_inputs if op not in made
        ]
        self.plan: Plan = Plan(self.tensors, [*arguments, *self.captured])

    def types(self) -> list[DType]:
        return [t.dtype for t in self.tensors if isinstance(t, Tensor)]


def branched_op(
    branches: Sequence[Branch],
    type: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, Any]],
    kernel: Kernel,
    name: str = "while",
    **attrs: Any,
) -> Operation:
    """Add an operation whose kernel runs parts of the graph."""
    blocking = any(branch.blocking for branch in branches)
    how: dict[str, Any] = {"blocking": blocking, "stateful": True, "attrs": attrs}
    op = create_op(type, inputs, outputs, kernel, name=name, **how)
    op.inner = tuple(branches)
    return op


def _parts(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [part for key in sorted(result) for part in _parts(result[key])]
    if isinstance(result, (list, tuple)):
        return [part for each in result for part in _parts(each)]
    return pieces(result)


def _as_given(like: Any, parts: Sequence[Any]) -> Any:
    """Arrange `parts` in the structure of `like`."""
    left = iter(parts)

    def build(each: Any) -> Any:
        if isinstance(each, dict):
            made = {key: build(each[key]) for key in sorted(each)}
            return {key: made[key] for key in each}
        if hasattr(each, "_fields"):
            return type(each)(*map(build, each))
        if isinstance(each, (list, tuple)):
            return type(each)(map(build, each))
        if isinstance(each, COMPOSITES):
            whole = [next(left) for _ in pieces(each)]
            return ragged_of(*whole) if isinstance(each, RaggedTensor) else SparseTensor(*whole)
        part = next(left)
        return each.with_flow(part) if hasattr(each, "with_flow") else part

    return build(like)


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return the result of one of two functions; only that part of the graph runs."""
    on_true, on_false = true_fn or fn1, false_fn or fn2
    if not callable(on_true) or not callable(on_false):
        raise TypeError("'true_fn' and 'false_fn' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond"):
        chosen = convert_to_tensor(pred)
        if chosen.dtype is not bool_:
            raise TypeError(f"Input 'pred' has type {chosen.dtype.name}, which is not bool.")
        if chosen.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {chosen.shape.ndims} for 'Switch'")
        yes, no = Branch(on_true), Branch(on_false)
        in_function = isinstance(get_default_graph(), FunctionGraph)
        strict = strict or in_function  # as in TensorFlow since version 2
        known = constant_value(chosen) if in_function else None
        if known is not None:
            _check_alike(yes, no)
            with control_dependencies([*yes.after, *no.after]):
                outputs = _taken(bool(known), yes, no)
            if outputs and len(outputs) == len(yes.tensors):  # neither result contains operations
                return _in_structure(yes, outputs, strict)
        return _conditional(chosen, yes, no, strict)


def _taken(holds: bool, yes: Branch, no: Branch) -> list[Tensor]:
    """Return the results of the branch taken, with the static shapes that both branches share."""
    found: list[Tensor] = []
    for a, b in zip(yes.tensors, no.tensors, strict=True):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            found.append(math.identity(a if holds else b))
            found[-1]._shape = common_shape(a.shape, b.shape)
    return found


def _check_alike(yes: Branch, no: Branch) -> None:
    if len(yes.tensors) != len(no.tensors):
        raise TypeError("true_fn and false_fn must return the same number of values")
    if _nesting(yes.result) != _nesting(no.result):
        raise TypeError("true_fn and false_fn must return values in the same structure")
    if yes.types() != no.types():
        raise TypeError(
            f"Outputs of true_fn and false_fn must have the same type: {yes.types()}, {no.types()}"
        )


def _nesting(result: Any) -> Any:
    structure = flatten(result, lists=True)[0]
    return LEAF if structure == (LEAF,) else structure


def _in_structure(yes: Branch, outputs: Sequence[Tensor], strict: bool) -> Any:
    alone = type(yes.result) in (list, tuple) and len(outputs) == 1 and not strict
    return outputs[0] if alone else _as_given(yes.result, outputs)


def _conditional(pred: Tensor, yes: Branch, no: Branch, strict: bool) -> Any:
    _check_alike(yes, no)
    captured = list(dict.fromkeys([*yes.captured, *no.captured]))
    at = {tensor: i for i, tensor in enumerate(captured)}
    places = {b: [at[tensor] for tensor in b.captured] for b in (yes, no)}

    def kernel(step: Any, holds: Any, *values: Any) -> tuple[Any, ...]:
        if holds.ndim:
            shape = in_messages(holds.shape)
            raise invalid(f"The second input must be a scalar, but it has shape {shape}")
        branch = yes if holds else no
        results = branch.plan.run(step, [values[i] for i in places[branch]])
        return tuple(r for r in results if r is not None)

    pairs = zip(yes.tensors, no.tensors, strict=True)
    outputs = [
        (a.dtype, common_shape(a.shape, b.shape))
        for a, b in pairs
        if isinstance(a, Tensor) and isinstance(b, Tensor)
    ]
    with control_dependencies([*yes.after, *no.after]):
        op = branched_op([yes, no], "Cond", [pred, *captured], outputs, kernel, "Merge")
    if not outputs:
        return op
    return _in_structure(yes, op.outputs, strict)


def _either(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    known = constant_value(convert_to_tensor(pred))
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn, false_fn)


def _numbered(number: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    index, last = convert_to_tensor(number), len(functions) - 1

    def from_(place: int) -> Any:
        if place == last:
            return functions[last]()
        return _either(math.equal(index, place), functions[place], lambda: from_(place + 1))

    return from_(0)


_choosing = Choosing(GRAPHS, _either, _numbered, control_dependencies)
case: Final = _choosing.case
switch_case: Final = _choosing.switch_case


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply `fn` to each element along the first dimension, and stack the results.

    `elems` is a tensor or a nested structure of tensors, and so is the result of `fn`.
    """
    kind = fn_output_signature if dtype is None else dtype
    with name_scope(name, "map"):
        given = [convert_to_tensor(each) for each in flatten(elems, lists=True)[1]]
        if any(t.shape.ndims == 0 for t in given):
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        check_lengths(given)
        graph = get_default_graph()
        inner = [
            create_op(
                "MapElement", (), [(t.dtype, t.shape[1:])], _not_alone, stateful=True
            ).outputs[0]
            for t in given
        ]
        branch = Branch(lambda *parts: _of_type(fn(_as_given(elems, parts)), kind), inner)
        assert graph is get_default_graph()
        return _mapping(given, branch, elems if kind is None else kind)


def _of_type(result: Any, kind: Any) -> Any:
    """Convert the results of a function to tensors of the declared types.

    Raises
    ------
    InvalidArgumentError
        If a tensor has another type.
    """
    parts, kinds = _parts(result), flatten(kind, lists=True)[1]
    if kind is None or len(parts) != len(kinds):  # the components of sparse tensors have no types
        return result
    tensors = []
    for part, each in zip(parts, kinds, strict=True):
        dtype = as_dtype(getattr(each, "dtype", each))
        tensors.append(part if isinstance(part, Tensor) else convert_to_tensor(part, dtype))
        if tensors[-1].dtype is not dtype:
            raise invalid(f"fn must return values of type {dtype.name}, got {part.dtype.name}")
        if isinstance(each, TensorSpec):
            tensors[-1].set_shape(each.shape)
    return _as_given(result, tensors)


def _not_alone(step: Any) -> Any:
    raise invalid("an element of map_fn has no value outside of it")


def _mapping(given: list[Tensor], branch: Branch, like: Any) -> Any:
    count = given[0].shape.sizes[0] if given[0].shape.sizes else None
    tensors = [t for t in branch.tensors if isinstance(t, Tensor)]
    align = alignment(get_default_graph())

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        rows, outer = rows_of(align(values[: len(given)])), values[len(given) :]
        return stacked([branch.plan.run(step, [*row, *outer]) for row in rows], tensors)

    outputs = [(t.dtype, TensorShape([count]).concatenate(t.shape)) for t in tensors]
    op = branched_op([branch], "Map", [*given, *branch.captured], outputs, kernel)
    return _as_given(like if isinstance(like, (list, tuple)) else branch.result, op.outputs)


def alignment(graph: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """Return the function that gives the columns of a loop in `graph` the same length."""
    return in_lists if isinstance(graph, FunctionGraph) else in_arrays


def check_lengths(columns: Sequence[Tensor]) -> None:
    """Check that the static lengths of the columns of a loop are the same.

    Raises
    ------
    ValueError
        If they differ.
    """
    for column in columns[1:]:
        columns[0].shape[:1].assert_is_compatible_with(column.shape[:1])


def rows_of(columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of columns of one length; each part is an array."""
    return list(zip(*[map(as_array, column) for column in columns], strict=True))
