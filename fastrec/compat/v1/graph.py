# SPDX-License-Identifier: Apache-2.0
"""The default graph, and the creation of operations.

Nothing is computed here. The node of an operation has a *kernel*: a function of NumPy arrays that a
session calls when the operation runs (``session.py``).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final

from .._tf.arrays import frozen
from .._tf.dtypes import DType
from .._tf.ops import Op, known_specs
from .._tf.seeds import running
from .._tf.shape import TensorShape
from .._tf.tracing.recording import Node
from ._nodes import Kernel, Operation, SessionOp, Tensor


class GraphKeys:
    """The names of the collections that a graph keeps."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    GLOBAL_STEP = "global_step"
    VARIABLES = "variables"


class _Inside(threading.local):
    """The stack of each thread's default graphs."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []


inside: Final = _Inside()


class _Building(threading.local):
    """The scope and control dependencies under which each thread adds operations."""

    def __init__(self) -> None:
        self.scope = ""
        self.control: tuple[Operation, ...] = ()


class Graph:
    """Operations, their names, and collections of objects that belong to them."""

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._lock = threading.RLock()
        self._finalized = False
        self._building = _Building()
        self.seed: int | None = None
        # Data that other modules keep per graph, under their own names.
        self.extras: dict[str, Any] = {}

    # Building.

    def add(self, op: Operation, control: bool = True) -> None:
        """Add an operation that was created for this graph."""
        with self._lock:
            if self._finalized:
                raise RuntimeError("Graph is finalized and cannot be modified.")
            op._id = len(self._operations) + 1
            if control and self._building.control:
                op.control_inputs = self._building.control
            self._operations.append(op)
            self._by_name[op.name] = op

    @property
    def last_op_id(self) -> int:
        """Number of operations."""
        return len(self._operations)

    @property
    def version(self) -> int:
        """Number of operations."""
        return len(self._operations)

    @property
    def finalized(self) -> bool:
        """Whether the graph is read-only."""
        return self._finalized

    def finalize(self) -> None:
        """Make the graph read-only."""
        self._finalized = True

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` within the current scope, with a number if it is taken."""
        full = f"{self._building.scope}{name}"
        with self._lock:
            key = full.lower()
            count = self._names.get(key, 0)
            if mark_as_used:
                self._names[key] = count + 1
            if count == 0:
                return full
            candidate = f"{full}_{count}"
            while candidate.lower() in self._names:
                count += 1
                candidate = f"{full}_{count}"
            if mark_as_used:
                self._names[key] = count + 1
                self._names[candidate.lower()] = 1
            return candidate

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Place names of new operations below `name`; re-enter a scope whose name ends in ``/``."""
        before = self._building.scope
        if not name:
            scope = ""
        elif name.endswith("/"):
            scope = name
        else:
            scope = self.unique_name(name) + "/"
        self._building.scope = scope
        try:
            yield scope
        finally:
            self._building.scope = before

    def get_name_scope(self) -> str:
        """Return the current scope, without its final slash."""
        return self._building.scope[:-1]

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Run new operations after `control_inputs`; None removes all dependencies."""
        before = self._building.control
        if control_inputs is None:
            self._building.control = ()
        else:
            found = [self.as_graph_element(c) for c in control_inputs]
            added = [c if isinstance(c, Operation) else c.op for c in found]
            self._building.control = tuple(dict.fromkeys([*before, *added]))
        try:
            yield
        finally:
            self._building.control = before

    @contextlib.contextmanager
    def device(self, name: Any) -> Iterator[None]:
        """Return a context without effect, because there is one device."""
        yield

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this graph the default graph within the context."""
        inside.graphs.append(self)
        try:
            yield self
        finally:
            inside.graphs.remove(self)

    # Collections.

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Add `value` to the collection `name`."""
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add `value` to several collections."""
        for name in {names} if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the collection `name` itself, not a copy."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return the items of the collection `name`; with `scope`, those whose names match it."""
        found = list(self._collections.get(name, ()))
        if scope is None:
            return found
        starts = re.compile(scope).match
        return [item for item in found if hasattr(item, "name") and starts(item.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """Return the names of the collections."""
        return [name for name, items in self._collections.items() if items]

    def clear_collection(self, name: Any) -> None:
        """Empty a collection."""
        self._collections.pop(name, None)

    # Lookups.

    def get_operations(self) -> list[Operation]:
        """Return all operations, in the order of their creation."""
        return list(self._operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation with this name.

        Raises
        ------
        KeyError
            If the graph lacks this operation.
        """
        found = self.as_graph_element(name, allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor with this name, such as ``"op:0"``.

        Raises
        ------
        KeyError, ValueError
            If the graph lacks this tensor, or `name` has another form.
        """
        found = self.as_graph_element(name, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Return the tensor or operation that `obj` is, represents, or names.

        Raises
        ------
        KeyError
            If a name is not in the graph.
        ValueError
            If `obj` belongs to another graph, or a name has the wrong form.
        TypeError
            If `obj` is anything else.
        """
        if hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if isinstance(obj, (Tensor, Operation)):
            if obj.graph is not self:
                what = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{what} {obj} is not an element of this graph.")
            if allow_tensor if isinstance(obj, Tensor) else allow_operation:
                return obj
        kinds = [("Tensor", allow_tensor), ("Operation", allow_operation)]
        wanted = " or ".join(kind for kind, allowed in kinds if allowed)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        stem, colon, index = name.rpartition(":")
        if colon and allow_tensor and index.isdigit():
            op = self._by_name.get(stem)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{stem!r}, does not exist in the graph."
                )
            if int(index) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{stem!r}, exists but only has {len(op.outputs)} outputs."
                )
            return op.outputs[int(index)]
        if colon:
            raise ValueError(f"The name {name!r} looks like a Tensor name, or is no name at all.")
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        if not allow_operation:
            raise ValueError(
                f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of "
                f'the form "<op_name>:<output_index>".'
            )
        return self._by_name[name]


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
            outputs = [(tensor.dtype, value.shape)]
            if value is tensor:
                made = create_op(
                    "Captured",
                    (),
                    outputs,
                    lambda step: (captured_values()[tensor],),
                    stateful=True,
                    graph=self,
                )
            else:
                made = add_operation(CONST, (), outputs, {"value": value}, graph=self)
            self.captures[tensor] = made.outputs[0]
        return self.captures[tensor]

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        own = control_inputs and [
            each for each in control_inputs if getattr(each, "graph", self) is self
        ]
        with super().control_dependencies(own):
            yield


def captured_values() -> dict[Tensor, Any]:
    """Return the values of captured tensors in the current iteration."""
    found: dict[Tensor, Any] = (running.get() or {}).get("captures", {})
    return found


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


CONST: Final = Op("Const", lambda *, value: frozen(value), known_specs(()))


def add_operation(
    op: Op,
    inputs: Sequence[Tensor],
    outputs: Iterable[tuple[DType, Any]],
    attributes: dict[str, Any],
    name: str | None = None,
    graph: Graph | None = None,
) -> Operation:
    """Add a node to the graph of its inputs; see :func:`create_op`."""
    where = graph or _graph_of(inputs)
    if isinstance(where, FunctionGraph):
        inputs = [where.captured(tensor) for tensor in inputs]
    chosen = name or op.name
    full = chosen[:-1] if chosen.endswith("/") else where.unique_name(chosen)
    made = Operation(where, full, _caller())
    made.switched = max([tensor.op.switched for tensor in inputs], default=0)
    tensors = [
        Tensor(made, i, dtype, shape if shape.__class__ is TensorShape else TensorShape(shape))
        for i, (dtype, shape) in enumerate(outputs)
    ]
    pairs = tuple(zip(repeat(True), inputs))
    made.node = Node(op, pairs, attributes, tuple(tensors), (), made)
    where.add(made)
    return made


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
    """Add an operation that only a session can run, to the graph of its inputs or the default one.

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
    op = SessionOp(type, kernel, not stateful, blocking)
    return add_operation(op, inputs, outputs, {} if attrs is None else attrs, name, graph)
