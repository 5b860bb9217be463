# SPDX-License-Identifier: Apache-2.0
"""Loops of a graph; one operation runs the body of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .._tf.faces.control_flow import Folds
from .._tf.shape import TensorShape, common_shape
from .._tf.structure import flatten, pack
from .._tf.tracing.loops import folded, turned
from ._nodes import Tensor
from .constants import convert_to_tensor
from .control_flow import _Branch, _not_alone, alignment, branched_op, check_lengths, rows_of
from .graph import create_op, get_default_graph, name_scope
from .tensor_array import TensorArray


def _inner(dtype: Any, shape: Any) -> Tensor:
    """Create the placeholder for a loop variable."""
    return create_op("LoopVariable", (), [(dtype, shape)], _not_alone, stateful=True).outputs[0]


_Shown = Callable[[Sequence[Any]], list[Any]]


def _shown(leaves: Sequence[Any]) -> _Shown:
    """Return a function that wraps tensors as the loop's variables: tensors or arrays of them."""
    arrays = [leaf if isinstance(leaf, TensorArray) else None for leaf in leaves]
    return lambda tensors: [
        tensor if array is None else array.with_flow(tensor)
        for array, tensor in zip(arrays, tensors, strict=True)
    ]


def _called(
    function: Callable[..., Any], structure: Any, shown: _Shown
) -> Callable[..., list[Any]]:
    """Wrap `function` to take and return the flattened parts of a structure."""

    def call(*parts: Any) -> list[Any]:
        found = flatten(function(pack(structure, shown(parts))), lists=True)[1]
        return [convert_to_tensor(part) for part in found]

    return call


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Apply `body` to the variables again and again, while `cond` holds."""
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body must be callable.")
    structure, leaves = flatten(tuple(loop_vars), lists=True)
    if not leaves:
        raise ValueError("No loop variables provided.")
    with name_scope(name, "while"):
        given = [convert_to_tensor(leaf) for leaf in leaves]
        shapes = [tensor.shape for tensor in given]
        if shape_invariants is not None:
            wanted = flatten(tuple(shape_invariants), lists=True)[1]
            shapes = [TensorShape(each) for each in wanted]
        inner = [_inner(t.dtype, shape) for t, shape in zip(given, shapes, strict=True)]
        shown = _shown(leaves)
        test = _Branch(_called(lambda parts: cond(*parts), structure, shown), inner)
        kind: list[type] = []

        def once(parts: Any) -> Any:
            found = body(*parts)
            kind[:] = [type(found)]
            return tuple(found) if isinstance(found, (list, tuple)) else (found,)

        step = _Branch(_called(once, structure, shown), inner)
        _check_body(inner, step.tensors)
        most = [] if maximum_iterations is None else [convert_to_tensor(maximum_iterations)]
        made = pack(structure, shown(_loop(given, shapes, test, step, most)))
        if len(made) == 1 and not return_same_structure:
            return made[0]
        return list(made) if kind == [list] else made


def _check_body(before: Sequence[Tensor], after: Sequence[Any]) -> None:
    if len(before) != len(after):
        raise ValueError(
            f"The number of inputs and outputs of body must match: {len(before)}, {len(after)}"
        )
    for one, other in zip(before, after, strict=True):
        if one.dtype is not other.dtype:
            raise TypeError(
                f"body must give tensors of the types of loop_vars, got {other.dtype.name} for "
                f"{one.dtype.name}"
            )
        wider = common_shape(one.shape, other.shape)
        if wider.sizes != one.shape.sizes:
            raise ValueError(
                f"Input tensor enters the loop with shape {one.shape}, but has shape {other.shape} "
                f"after one iteration. To allow the shape to vary across iterations, use the "
                f"`shape_invariants` argument of tf.while_loop to specify a less-specific shape."
            )


def _loop(
    given: Sequence[Tensor],
    shapes: Sequence[TensorShape],
    test: _Branch,
    step: _Branch,
    most: Sequence[Tensor],
) -> Sequence[Tensor]:
    size, of_test = len(given), len(test.captured)

    def kernel(run: Any, *values: Any) -> tuple[Any, ...]:
        of_step = size + of_test
        before, inside = values[size:of_step], values[of_step : of_step + len(step.captured)]
        return turned(
            lambda state: test.plan.run(run, [*state, *before])[0],
            lambda state: step.plan.run(run, [*state, *inside]),
            values[:size],
            int(values[-1]) if most else -1,
        )

    outputs = [(t.dtype, shape) for t, shape in zip(given, shapes, strict=True)]
    inputs = [*given, *test.captured, *step.captured, *most]
    return branched_op([test, step], "While", inputs, outputs, kernel).outputs


def _folded(
    fn: Callable[..., Any], elems: Any, initial: Any, reverse: bool, name: str | None, every: bool
) -> Any:
    with name_scope(name, "scan" if every else "fold"):
        of_elements, leaves = flatten(elems, lists=True)
        rows = [convert_to_tensor(leaf) for leaf in leaves]
        check_lengths(rows)
        parts = [_inner(t.dtype, t.shape[1:]) for t in rows]
        from_first = initial is None
        kind, starts = flatten(elems if from_first else initial, lists=True)
        begin = parts if from_first else [convert_to_tensor(each) for each in starts]
        state = [_inner(t.dtype, t.shape) for t in begin]

        def body(*values: Any) -> list[Any]:
            before, now = values[: len(state)], values[len(state) :]
            made = flatten(fn(pack(kind, before), pack(of_elements, now)), lists=True)[1]
            return [convert_to_tensor(part) for part in made]

        branch = _Branch(body, [*state, *parts])
        _check_body(state, branch.tensors)
        first = [] if from_first else begin
        count, align = len(rows), alignment(get_default_graph())

        def kernel(run: Any, *values: Any) -> tuple[Any, ...]:
            begins = count + len(first)
            start, outer = values[count:begins], values[begins:]
            return folded(
                lambda held, row: branch.plan.run(run, [*held, *row, *outer]),
                rows_of(align(values[:count])),
                start,
                reverse,
                begin if every else None,
            )

        length = rows[0].shape[:1] if every else TensorShape([])
        outputs = [(t.dtype, length.concatenate(t.shape)) for t in begin]
        inputs = [*rows, *first, *branch.captured]
        type = "Scan" if every else "Fold"
        op = branched_op([branch], type, inputs, outputs, kernel, reverse=reverse)
        found = pack(kind, op.outputs)
        return list(found) if isinstance(elems if from_first else initial, list) else found


_folds = Folds(_folded)
scan: Final = _folds.scan
foldl: Final = _folds.foldl
foldr: Final = _folds.foldr
