# SPDX-License-Identifier: Apache-2.0
"""``switch`` and ``merge``, with which graphs of TensorFlow 1 select the operations to run.

A switch passes its data to one of two outputs. An operation with an input without a value does not
run, and its outputs have no value either. A merge passes on the one input that has a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tf.dtypes import bool_, int32
from .._tf.errors import invalid
from .._tf.ops.arithmetic import LOGICAL_AND, LOGICAL_NOT
from .._tf.shape import common_shape
from .._tf.tensor import convert_to_tensor as as_eager
from .._tf.tracing.calls import Unfit
from .._tf.tracing.parts import chosen
from .._tf.tracing.recording import Symbol, run
from ._nodes import DEAD, Operation, SessionOp, Tensor
from .constants import constant_value, convert_to_tensor
from .control_flow import tuple_
from .graph import create_op

tuple = tuple_


class MergeOutput(NamedTuple):
    """The result of a merge: the value, and the number of the input that had it."""

    output: Tensor
    value_index: Tensor


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Sequence[Tensor]:
    """Return `data` twice: the second has a value if `pred` holds, the first otherwise."""
    given, holds = convert_to_tensor(data, dtype), convert_to_tensor(pred, bool_)

    def kernel(step: Any, value: Any, chosen: Any) -> Any:
        return (DEAD, value) if chosen else (value, DEAD)

    outputs = [(given.dtype, given.shape)] * 2
    op = create_op("Switch", [given, holds], outputs, kernel, name=name, stateful=True)
    op.switched += 1
    return op.outputs


def merge(inputs: Sequence[Any], name: str | None = None) -> MergeOutput:
    """Return the one input that has a value, and its number.

    Raises
    ------
    ValueError
        If none of the inputs depends on a switch.
    """
    tensors = [convert_to_tensor(each) for each in inputs]

    def kernel(step: Any, *values: Any) -> Any:
        found = ((each, np.int32(i)) for i, each in enumerate(values) if each is not DEAD)
        return next(found, (DEAD, DEAD))

    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = common_shape(shape, tensor.shape)
    outputs = [(tensors[0].dtype, shape), (int32, ())]
    op = create_op("Merge", tensors, outputs, kernel, name=name, stateful=True)
    if not op.switched:
        raise ValueError("At least one of the inputs of a merge has to depend on a switch.")
    conditions = [_conditions(tensor, op.switched) for tensor in tensors]
    op.switched -= 1
    op.attrs["conditions"] = conditions
    return MergeOutput(*op.outputs)


def _conditions(tensor: Tensor, depth: int) -> dict[Any, Any]:
    """Return the predicates that decide whether a tensor has a value, with their required values.

    Predicates that are computed in the same way are one.
    """
    found: dict[Any, Any] = {}
    ahead, seen = [tensor], set()
    while ahead:
        each = ahead.pop()
        if each.op.switched < depth or each in seen:
            continue
        seen.add(each)
        if each.op.type == "Switch" and each.op.switched == depth:
            pred, side = each.op.inputs[1], bool(each.value_index)
            found.setdefault((_computed(pred), side), (pred, side))
        else:
            ahead.extend(each.op.inputs)
    return found


def _computed(tensor: Tensor) -> Any:
    """Return a key that is equal for tensors that are always equal."""
    known, op = constant_value(tensor), tensor.op
    if known is not None:
        return known.dtype.str, known.shape, known.tobytes() if known.dtype != object else tensor
    if op.stateful or isinstance(op.node.op, SessionOp):
        return tensor
    return op.type, op.node.op.kernel, str(op.attrs), tensor.value_index, *map(_computed, op.inputs)


Emit = Callable[[Operation, dict[Tensor, Any], int], None]


def merged_values(op: Operation, values: dict[Tensor, Any], emit: Emit) -> None:
    """Add the outputs of a merge to `values`, and of the merges with the same conditions.

    A merge joins the branches of a condition; the operations of a branch run only if it is taken.

    Parameters
    ----------
    op : Operation
        The merge.
    values : dict
        The values of all tensors that do not depend on a switch.
    emit : callable
        ``emit(operation, values, depth)`` adds the outputs of an operation to `values`; `depth` is
        the number of nested conditions around it.
    """
    conditions, depth = op.attrs["conditions"], op.switched + 1
    merges = [each for each in op.graph.get_operations() if each.type == "Merge"]
    beside = [each for each in merges if each.switched == op.switched]
    alike = [each for each in beside if _same(each.attrs["conditions"], conditions)]
    ready = [each for each in alike if _ready(each, values, depth)]
    parts = [
        sorted({one for m in ready for one in _region(m.inputs[at], depth)}, key=lambda o: o._id)
        for at in range(len(op.inputs))
    ]
    once = {one for ops in parts for one in ops if one.stateful and one.type != "Switch"}
    for other in set(beside).difference(ready):
        if any(not once.isdisjoint(_region(each, depth)) for each in other.inputs):
            raise Unfit("merges under other conditions share what may run only once")

    def part(at: int) -> list[Any]:
        own = dict(values)
        for each in parts[at]:
            emit(each, own, depth)
        return [*[own[each.inputs[at]] for each in ready], as_eager(np.int32(at))]

    def holds(at: int) -> Any:
        found = None
        for pred, side in conditions[at].values():
            value = values[pred] if side else run(LOGICAL_NOT, [values[pred]])
            found = value if found is None else run(LOGICAL_AND, [found, value])
        return found

    def from_(at: int) -> list[Any]:
        chance = holds(at)
        if not isinstance(chance, Symbol):
            if chance is None or bool(chance):
                return part(at)
            if at == len(parts) - 1:
                raise invalid(f"no input of {op.name} has a value")
            return from_(at + 1)
        if at == len(parts) - 1:
            return part(at)
        found: list[Any] = chosen(chance, [lambda: part(at), lambda: from_(at + 1)], {1: 0})
        return found

    *found, number = from_(0)
    for each, value in zip(ready, found, strict=True):
        values.update(zip(each.outputs, (value, number), strict=True))
        if isinstance(value, Symbol):
            value.set_shape(each.outputs[0].shape)


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return [set(each) for each in some] == [set(each) for each in others]


def _region(tensor: Tensor, depth: int) -> list[Operation]:
    """Return the operations of a tensor below `depth` switches."""
    found: set[Operation] = set()
    ahead = [tensor.op]
    while ahead:
        op = ahead.pop()
        if op.switched >= depth and op not in found:
            found.add(op)
            ahead.extend([*(each.op for each in op.inputs), *op.control_inputs])
    return sorted(found, key=lambda op: op._id)


def _ready(op: Operation, values: dict[Tensor, Any], depth: int) -> bool:
    """Return whether all external inputs of a merge have values."""
    regions = [_region(tensor, depth) for tensor in op.inputs]
    inside = {tensor for ops in regions for one in ops for tensor in one.outputs}
    given = [*op.inputs, *(tensor for ops in regions for one in ops for tensor in one.inputs)]
    return all(tensor in values or tensor in inside for tensor in given)
