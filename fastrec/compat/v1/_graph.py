# SPDX-License-Identifier: Apache-2.0
"""A graph: operations, their names, and collections."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any

from ._nodes import Operation, Tensor


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


inside = _Inside()


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
            If there is no such operation.
        """
        found = self.as_graph_element(name, allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor with this name, such as ``"op:0"``.

        Raises
        ------
        KeyError, ValueError
            If there is no such tensor, or `name` does not have this form.
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
