# SPDX-License-Identifier: Apache-2.0
"""The default graph, and the creation of operations.

Nothing is computed here. An operation holds a *kernel*: a function of NumPy arrays that a session
calls when the operation runs (``session.py``).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._tf.dtypes import DType
from .._tf.shape import TensorShape
from ._graph import Graph, inside
from ._nodes import DEAD, Kernel, Operation, Tensor

_MOST_SEED = 2**31 - 1
GRAPH_SEED = 87654321  # TensorFlow's seed of the graph if only the operation has a seed
_HERE = os.path.dirname(os.path.dirname(__file__))

_default = Graph()


class FunctionGraph(Graph):
    """The graph of a dataset's function, separate from the graph in which it is called.

    Parameters
    ----------
    outer : Graph
        The graph that supplies its seed.

    Attributes
    ----------
    captures : dict
        The substitute in this graph for each tensor of another graph.
    """

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self.seed: int | None = outer.seed
        self.captures: dict[Tensor, Tensor] = {}

    def captured(self, tensor: Tensor) -> Tensor:
        """Return the substitute of a tensor of another graph; return other tensors unchanged."""
        if tensor.graph is self:
            return tensor
        if tensor not in self.captures:
            value = tensor.constant_value()
            if value is tensor:
                made = create_op(
                    "Captured", (), [(tensor.dtype, tensor.shape)], _unknown, graph=self
                )
            else:
                made = create_op(
                    "Const",
                    (),
                    [(tensor.dtype, value.shape)],
                    lambda step: (value,),
                    attrs={"value": value},
                    graph=self,
                )
            made.stateful = made.type == "Captured"
            self.captures[tensor] = made.outputs[0]
        return self.captures[tensor]

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        own = control_inputs and [
            each for each in control_inputs if getattr(each, "graph", self) is self
        ]
        with super().control_dependencies(own):
            yield


def _unknown(step: Any) -> Any:
    raise TypeError("a captured tensor has no value outside of its session")


def get_default_graph() -> Graph:
    """Return the graph to which operations are added."""
    return inside.graphs[-1] if inside.graphs else _default


def reset_default_graph() -> None:
    """Replace the default graph by an empty one.

    Raises
    ------
    AssertionError
        Within ``with graph.as_default()``.
    """
    global _default
    if inside.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default = Graph()


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of an operation with the seed `op_seed`; None if no seed is set.

    In a graph with a seed, operations without a seed are numbered.
    """
    graph = get_default_graph()
    if graph.seed is None:
        if op_seed is None:
            return None, None
        return GRAPH_SEED, op_seed % _MOST_SEED
    if op_seed is None:
        op_seed = graph.extras.setdefault("unseeded", 0)
        graph.extras["unseeded"] = op_seed + 1
    pair = graph.seed % _MOST_SEED, op_seed % _MOST_SEED
    return (0, _MOST_SEED) if pair == (0, 0) else pair  # (0, 0) would mean that no seed is set


def add_to_collection(name: Any, value: Any) -> None:
    """Add `value` to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return the items of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return a collection of the default graph itself, not a copy."""
    return get_default_graph().get_collection_ref(key)


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Run new operations after `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)


@contextlib.contextmanager
def name_scope(
    name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
) -> Iterator[str]:
    """Place names of new operations below `name`, or `default_name` if that is None."""
    graph = _graph_of(values or ())
    chosen = default_name if name is None else name
    with graph.as_default(), graph.name_scope(chosen) as scope:
        yield scope


def _graph_of(values: Iterable[Any]) -> Graph:
    if isinstance(get_default_graph(), FunctionGraph):
        return get_default_graph()
    first: Tensor | None = None
    for value in values:
        if isinstance(value, Tensor):
            if first is None:
                first = value
            elif value.op.graph is not first.op.graph:
                raise ValueError(f"{value} must be from the same graph as {first}.")
    return get_default_graph() if first is None else first.op.graph


def _caller() -> tuple[str, int] | None:
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _if_alive(kernel: Kernel, count: int) -> Kernel:
    """Return a kernel that is not called if an input has no value."""

    def alive(step: Any, *values: Any) -> tuple[Any, ...]:
        return (DEAD,) * count if any(each is DEAD for each in values) else kernel(step, *values)

    return alive


def create_op(
    type: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, Any]],
    kernel: Kernel,
    *,
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    blocking: bool = False,
    stateful: bool = False,
    graph: Graph | None = None,
) -> Operation:
    """Add an operation to the graph of its inputs, or to the default graph.

    Parameters
    ----------
    type : str
        The kind of operation, and its name unless `name` is set.
    inputs : sequence of Tensor
        The inputs, all of one graph.
    outputs : sequence of (DType, shape)
        The types and shapes of the outputs.
    kernel : callable
        See :data:`Kernel`.
    name : str, optional
        The name, made unique within the current scope. A name that ends in ``/`` is used unchanged.
    attrs : dict, optional
        Further attributes.
    blocking : bool
        Whether it may wait for another operation.
    stateful : bool
        Whether repeated runs may differ, or it has effects other than its outputs.
    graph : Graph, optional
        The graph, if there are no inputs.
    """
    where = graph or _graph_of(inputs)
    if isinstance(where, FunctionGraph):
        inputs = [where.captured(tensor) for tensor in inputs]
    chosen = name or type
    full = chosen[:-1] if chosen.endswith("/") else where.unique_name(chosen)
    op = Operation(where, type, full, tuple(inputs))
    op.kernel, op.blocking, op.stateful = kernel, blocking, stateful
    op.switched = max([tensor.op.switched for tensor in op.inputs], default=0)
    if op.switched:
        op.kernel = _if_alive(kernel, len(outputs))
    op.attrs = attrs or {}
    op.origin = _caller()
    op.outputs = tuple(
        Tensor(op, i, dtype, shape if shape.__class__ is TensorShape else TensorShape(shape))
        for i, (dtype, shape) in enumerate(outputs)
    )
    where.add(op)
    return op
